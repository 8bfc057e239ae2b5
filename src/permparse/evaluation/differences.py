"""Where a parser errs: the kind of every error, counted by group, and what is wrong in an output.

An error is an output that the task's main metric refuses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from permparse.evaluation.scores import ErrorCounts, ErrorKinds, Evaluation, Outcome, natural
from permparse.tasks import Task

START = "<start>"


@dataclass(frozen=True)
class WrongJump:
    """The first jump that differs from gold: after ``previous``, gold continues with one token, the output with
    another."""

    previous: str
    gold: str
    found: str


@dataclass(frozen=True)
class Difference:
    """What is wrong in an output, in tokens as they are compared: in lower case where case does not matter.

    ``jump`` is None unless the multiset is right.
    """

    missing: tuple[str, ...]
    surplus: tuple[str, ...]
    jump: WrongJump | None


def difference(task: Task, outcome: Outcome) -> Difference:
    """Compare the tokens of an output with gold, then their order."""
    gold, found = list(outcome.gold), list(outcome.found)
    missing, surplus = Counter(gold) - Counter(found), Counter(found) - Counter(gold)
    jump = None if missing or surplus else _first_wrong_jump(gold, _as_output(task, outcome, found))
    return Difference(tuple(missing.elements()), tuple(surplus.elements()), jump)


def _as_output(task: Task, outcome: Outcome, found: list[str]) -> list[str]:
    """The tokens in the order of the output: a task may sort what it restores, and then that order counts."""
    restored = task.canonical(task.shorten(outcome.parse.output))
    return restored if Counter(restored) == Counter(found) else found


def _first_wrong_jump(gold: Sequence[str], found: Sequence[str]) -> WrongJump | None:
    for previous, right, wrong in zip([START, *gold], gold, found, strict=False):
        if right != wrong:
            return WrongJump(previous, right, wrong)
    return None


def count_kinds(
    evaluation: Evaluation, groups: Sequence[dict[str, str]], kinds: Sequence[str], possible: Sequence[str]
) -> ErrorKinds:
    """The errors of each kind that is possible, in total and in every group of the evaluation, also those without any.

    ``groups[e]`` are the groups that the e-th wrong example belongs to, ``kinds[e]`` is its kind.
    """
    counted: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for of, kind in zip(groups, kinds, strict=True):
        for group in of.items():
            counted[group][kind] += 1

    def counts(counter: Counter[str]) -> ErrorCounts:
        return {kind: counter[kind] for kind in possible}

    return ErrorKinds(
        total=counts(Counter(kinds)),
        groups={
            name: {value: counts(counted[name, value]) for value in values}
            for name, values in evaluation.groups.items()
        },
    )


def spread_over_groups(groups: Sequence[dict[str, str]], number: int) -> list[int]:
    """At most ``number`` of the wrong examples, one of every group in turn, those with most errors first.

    ``groups[e]`` are the groups that the e-th wrong example belongs to. The examples returned are sorted by group.
    """
    members: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for e, of in enumerate(groups):
        members[tuple(of.values())].append(e)
    largest_first = sorted(members.values(), key=lambda of: -len(of))
    turns = sorted((turn, place, e) for place, of in enumerate(largest_first) for turn, e in enumerate(of))
    chosen = [e for _, _, e in turns[:number]]
    return sorted(chosen, key=lambda e: ([natural(value) for value in groups[e].values()], e))
