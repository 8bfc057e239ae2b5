"""The attacks of `benchmarks/robustness.py`, a few of each: nothing may give way."""

from pathlib import Path

import pytest

from attacks.saves import attack_saves
from attacks.solver import attack_solver
from attacks.verdict import FAULT, Section, isolated


@pytest.mark.parametrize(("attack", "count"), [(attack_saves, 10), (attack_solver, 100)])
def test_a_few_attacks_change_nothing(tmp_path: Path, attack, count: int) -> None:
    section = attack(count, tmp_path)
    assert section.failed == {}
    assert section.holds >= count


def test_a_hang_a_crash_and_a_raw_exception_are_told_from_an_answer() -> None:
    def hang() -> tuple[str, str]:
        while True:
            pass

    def fail() -> tuple[str, str]:
        raise KeyError("x")

    assert isolated(lambda: ("fine", ""), 10) == ("fine", "")
    assert isolated(hang, 0.1)[0] == f"{FAULT}hang"
    assert isolated(fail, 10)[0] == f"{FAULT}raw KeyError"


def test_only_faults_count_as_failures() -> None:
    section = Section()
    section.add("a", "refused in words")
    section.add("b", f"{FAULT}hang", "no answer")
    assert (section.holds, section.failures, section.failed) == (1, 1, {"b": "hang: no answer"})
