"""Whole files: every line answered once and in order, whatever stops the work in between."""

import errno
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inline import InlineExecutor
from permparse import Parser, UserError
from permparse.bulk import parse_file, shards
from permparse.bulk import run as bulk_run
from permparse.bulk.lines import Line
from permparse.bulk.shards import Shards, cut
from permparse.cli import run
from permparse.executors.base import Work, perform

SENTENCES = [f"{name} {verb} a bell ." for name in ("Ines", "Zeno", "Dora") for verb in ("saw", "found", "gave")]
LINES = [*SENTENCES[:4], "", *SENTENCES[4:]]
"""The fifth line holds nothing to parse."""
Use = Callable[[InlineExecutor], InlineExecutor]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Let the work be done by this executor."""

    def use(executor: InlineExecutor) -> InlineExecutor:
        monkeypatch.setattr(bulk_run, "executor_for", lambda *_: executor)
        return executor

    return use


@given(st.lists(st.text("ab\r", max_size=5), max_size=30), st.integers(1, 7), st.booleans())
def test_shards_are_the_file(lines: list[str], size: int, ends: bool) -> None:
    content = ("\n".join(lines) + "\n" * (ends and bool(lines))).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "BLOCK", 4)
        found = list(cut(io.BytesIO(content), size))
    assert b"".join(content[shard.begin : shard.end] for shard in found) == content
    assert [shard.number for shard in found] == list(range(len(found)))
    for shard in found:
        part = content[shard.begin : shard.end]
        assert part.count(b"\n") == size or shard is found[-1]
        assert shard.line == 1 + content[: shard.begin].count(b"\n")


def test_answers_are_those_of_the_parser_in_order(source: Path, tmp_path: Path, on: Use) -> None:
    executor = on(InlineExecutor())
    seen: list[tuple[int, int]] = []
    output = tmp_path / "out.txt"
    assert parse_file("fragment", source, output, shard_lines=3, progress=lambda *now: seen.append(now)) == 1
    parser = Parser.load("fragment")
    assert output.read_text().split("\n") == [*(parser.parse(line).output if line else "" for line in LINES), ""]
    assert (tmp_path / "out.txt.errors").read_text().startswith("line 5: ")
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert len(executor.done) == 4
    assert {path.name for path in tmp_path.iterdir()} == {"sentences.txt", "out.txt", "out.txt.errors"}


def test_a_shard_is_parsed_in_batches_as_large_as_those_of_the_parser(
    tmp_path: Path, on: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def refuse(parser: Parser, batch: list[Line], n_best: int) -> list[UserError]:
        sizes.append(len(batch))
        return [UserError("no")] * len(batch)

    on(InlineExecutor())
    monkeypatch.setattr("permparse.bulk.shard.answers", refuse)
    lines = Parser.load("fragment").chunk + 1
    (tmp_path / "in.txt").write_text("a\n" * lines)
    assert parse_file("fragment", tmp_path / "in.txt", tmp_path / "out.txt") == lines
    assert sizes == [lines - 1, 1]


def test_after_an_interruption_only_the_rest_is_done(source: Path, tmp_path: Path, on: Use) -> None:
    output = tmp_path / "out.jsonl"
    on(InlineExecutor(most=2))
    with pytest.raises(KeyboardInterrupt):
        parse_file("fragment", source, output, json=True, shard_lines=3)
    assert not output.exists()
    # A file that a kill has left half-written is not an answer.
    (tmp_path / "out.jsonl.shards" / "0000002.answers.99.part").write_text("half")
    rest = on(InlineExecutor())
    assert parse_file("fragment", source, output, json=True, shard_lines=3) == 1
    assert len(rest.done) == 2
    answers = [json.loads(line) for line in output.read_text().splitlines()]
    assert [answer.get("sentence", "") for answer in answers] == LINES


def test_what_changes_the_answers_is_refused(source: Path, tmp_path: Path, on: Use) -> None:
    on(InlineExecutor(most=1))
    with pytest.raises(KeyboardInterrupt):
        parse_file("fragment", source, tmp_path / "out", shard_lines=3)
    with pytest.raises(UserError, match="format has changed"):
        parse_file("fragment", source, tmp_path / "out", json=True, shard_lines=3)
    source.write_text("another\n")
    with pytest.raises(UserError, match="file has changed"):
        parse_file("fragment", source, tmp_path / "out", shard_lines=3)


def test_a_plan_without_answers_binds_nobody(source: Path, tmp_path: Path, on: Use) -> None:
    on(InlineExecutor(most=0))
    with pytest.raises(KeyboardInterrupt):
        parse_file("fragment", source, tmp_path / "out", shard_lines=3)
    source.write_text(SENTENCES[0])
    on(InlineExecutor())
    assert parse_file("fragment", source, tmp_path / "out", shard_lines=3) == 0
    assert (tmp_path / "out").read_text().count("\n") == 1


def test_a_failed_shard_loses_nothing(source: Path, tmp_path: Path, on: Use) -> None:
    on(InlineExecutor(do=lambda work: "no space left"))
    with pytest.raises(UserError, match=r"no space left; what is done is safe in .*out\.shards"):
        parse_file("fragment", source, tmp_path / "out", shard_lines=3)
    assert not (tmp_path / "out").exists()


def test_a_disk_that_fills_up_is_one_line_and_the_same_command_goes_on(source: Path, tmp_path: Path, on: Use) -> None:
    done: list[Work] = []

    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def second_fails(work: Work) -> str | None:
        done.append(work)
        with pytest.MonkeyPatch.context() as patch:
            if len(done) == 2:
                patch.setattr("os.fsync", no_space)
            return perform(work)

    on(InlineExecutor(do=second_fails, slots=1))
    with pytest.raises(UserError, match=r"0000001\.\w+: the disk is full; .*the same command goes on") as found:
        parse_file("fragment", source, tmp_path / "out", shard_lines=3)
    assert "\n" not in str(found.value)
    rest = on(InlineExecutor())
    assert parse_file("fragment", source, tmp_path / "out", shard_lines=3) == 1
    assert len(rest.done) == 3
    assert len((tmp_path / "out").read_text().splitlines()) == len(LINES)


def test_a_full_disk_keeps_the_shards(source: Path, tmp_path: Path, on: Use) -> None:
    on(InlineExecutor())
    (tmp_path / "out").mkdir()  # no file can take its place
    with pytest.raises(UserError, match="the answers are safe in"):
        parse_file("fragment", source, tmp_path / "out", shard_lines=3)
    assert len(Shards(tmp_path / "out.shards", source, 3, _question(tmp_path)).left()) == 0


def _question(folder: Path) -> dict[str, object]:
    question: dict[str, object] = json.loads((folder / "out.shards" / "plan.json").read_text())["question"]
    return question


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jobs", "2", "one sentence"], "give --file and --output"),
        (["--file", "nowhere.txt", "--output", "out"], "nowhere.txt: no such file"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["parse", "fragment", *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
