"""`permparse compare`: the same data for all, one table, an honest verdict, and nothing lost by a kill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from permparse.base.errors import UserError
from permparse.cli import run
from permparse.evaluation.comparison import Comparison, Result, length, read_comparison, verdict
from permparse.experiments.contest import OURS, Question, chosen_parsers, require_same_data

TINY = {
    "ours": [
        "adapt=false",
        "data.notation=raw",
        "tagger.training.epochs=1",
        "scorer.training.epochs=1",
        "tagger.encoder.hidden_size=16",
        "scorer.encoder.hidden_size=16",
    ],
    "lstm": ["training.epochs=1", "encoder.hidden_size=16", "decoder.hidden_size=16"],
}
SETTINGS = [part for name, changes in TINY.items() for change in changes for part in ("--set", f"{name}:{change}")]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    rows = [f"see {a} and {b}\tboth({a},{b})\t{a}" for a in ("ada", "bo") for b in ("cy", "di", "eve", "fay", "gus")]
    (folder / "mine.tsv").write_text("\n".join([*rows, *rows]) + "\n")
    command = ["compare", str(folder / "mine.tsv"), "--parsers", "ours,lstm", "--output", str(folder / "out")]
    assert run([*command, *SETTINGS]) == 0
    return folder


def test_every_parser_is_measured_on_the_same_held_out_lines(compared: Path) -> None:
    comparison = read_comparison(compared / "out" / "compare.json")
    assert [result.parser for result in comparison.results] == [OURS, "lstm"]
    held_out = (compared / "out" / "data" / "test.tsv").read_text().splitlines()
    assert len(held_out) == 2
    assert {len(result.right) for result in comparison.results} == {2}
    assert {len(result.evaluation.groups["category"]) for result in comparison.results} == {1}
    assert all(result.minutes > 0 and result.parameters > 0 for result in comparison.results)
    train = (compared / "out" / "data" / "train.tsv").read_text().splitlines()
    assert len(train) == 18
    assert (compared / "out" / "compare.png").stat().st_size > 0


def test_run_again_it_trains_nothing(compared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained = {path: path.stat().st_mtime_ns for path in (compared / "out" / "runs").rglob("*.safetensors")}
    command = ["compare", str(compared / "mine.tsv"), "--parsers", "ours,lstm", "--output", str(compared / "out")]
    assert run([*command, *SETTINGS]) == 0
    assert trained == {path: path.stat().st_mtime_ns for path in (compared / "out" / "runs").rglob("*.safetensors")}
    assert "Use " in capsys.readouterr().out


def test_other_data_in_the_same_folder_is_refused(compared: Path, tmp_path: Path) -> None:
    other = tmp_path / "mine.tsv"
    other.write_text("a\tb\nc\td\n")
    with pytest.raises(UserError, match="holds a comparison of other data"):
        require_same_data(compared / "out", [other])


def test_a_parser_without_a_recipe_of_its_own_adapts_to_the_data() -> None:
    question = Question("doubling", (), "test", 3)
    assert question.run("lstm").row.recipe == "lstm-doubling"
    assert question.run(OURS).row.recipe == "doubling"
    tsv = Question("tsv", ("data.options.train=a.tsv",), "test", 3).run("transformer").recipe
    assert (tsv.parser, tsv.adapt, tsv.seed) == ("transformer", True, 3)


def test_an_unknown_parser_is_refused_in_words() -> None:
    assert chosen_parsers("ours, lstm,multiset-permutation") == [OURS, "lstm"]
    with pytest.raises(UserError, match="no parser is called 'lstn'; there are ours, lstm"):
        chosen_parsers("ours,lstn")


def _with(result: Result, name: str, right: list[bool], minutes: float) -> Result:
    total = replace(result.evaluation.total, metrics={"exact": sum(right) / len(right)})
    evaluation = replace(result.evaluation, total=total)
    return replace(result, parser=name, right=tuple(right), evaluation=evaluation, minutes=minutes)


def test_the_verdict_says_when_chance_may_explain_a_lead(compared: Path) -> None:
    comparison: Comparison = read_comparison(compared / "out" / "compare.json")
    one = comparison.results[0]
    clear = replace(
        comparison, results=(_with(one, "a", [False] * 30, 1.0), _with(one, "b", [True] * 20 + [False] * 10, 2.0))
    )
    assert verdict(clear) == "Use b: 66.7 % right, 66.7 points more than a, which chance does not explain."
    close = replace(comparison, results=(_with(one, "a", [True] * 9 + [False], 1.0), _with(one, "b", [True] * 10, 2.0)))
    assert verdict(close) == (
        "Use b: 100.0 % right, but on these 10 sentences its lead over a may be chance; of these, a trains fastest."
    )


def test_length_does_not_depend_on_how_an_output_is_glued() -> None:
    assert length("answer(flight(to_city(x)))") == length("answer ( flight ( to_city ( x ) ) )") == 10
