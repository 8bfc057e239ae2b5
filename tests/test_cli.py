"""The command line: exit codes that mean something, one line for a mistake, never a traceback."""

import gc
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from conftest import TINY
from permparse.cli import COLLECT_AFTER, main, run
from permparse.evaluation.scores import evaluate
from permparse.parsers import Parser
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.tasks import get_task

PATIENCE = 600
"""Seconds after which a process hangs: on a busy machine, or while it compiles kernels, it may take a while."""


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("PERMPARSE_DATA", raising=False)


def _mistake(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a command prints about a mistake."""
    capsys.readouterr()
    assert run(arguments) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    return message


def test_help_teaches_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    commands = ["train", "evaluate", "parse", "compare", "data", "tasks", "reproduce", "bench", "demo", "warmup"]
    for command in (*commands, "serve", "package", "export", "ensemble"):
        assert run([command, "--help"]) == 0
        assert f"permparse {command}" in capsys.readouterr().out
    assert run(["--version"]) == 0


@pytest.mark.filterwarnings("error")
def test_timing_a_few_sweeps_warns_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--size", "3", "--sweeps", "2", "--json"]) == 0
    assert [row["tokens"] for row in json.loads(capsys.readouterr().out)["seconds"]] == [3]


def test_a_mistake_gets_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str], tiny_run: Path) -> None:
    assert "did you mean 'doubling'" in _mistake(capsys, "train", "dubling")
    assert "which recipe?" in _mistake(capsys, "train")
    assert "did you mean 'lr'" in _mistake(capsys, "train", "doubling", "--set", "tagger.training.lrr=3")
    assert "no task is called 'cog'" in _mistake(capsys, "train", "doubling", "--set", "task=cog")
    assert "no run to resume" in _mistake(capsys, "train", "doubling", "--resume")
    assert "does not exist" in _mistake(capsys, "train", "cogs", "--data", "nowhere")
    assert "no such folder" in _mistake(capsys, "parse", "nowhere", "a b")
    assert "no such folder" in _mistake(capsys, "evaluate", "nowhere")
    assert "did you mean 'test'" in _mistake(capsys, "evaluate", str(tiny_run), "--split", "tset")
    assert "leave out --split" in _mistake(capsys, "evaluate", str(tiny_run), "--split", "dev", "--file", "x.tsv")
    assert "holds a run already" in _mistake(capsys, "train", "doubling", "--output", str(tiny_run))
    assert "did you mean 'cogs'" in _mistake(capsys, "data", "cgos")
    assert "no option" in _mistake(capsys, "data", "doubling", "--option", "nope=1")


def test_a_mistyped_command_or_option_gets_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Did you mean 'train'" in _mistake(capsys, "trian")
    assert "--nonsense" in _mistake(capsys, "train", "--nonsense")
    assert "permparse train --help says what there is" in _mistake(capsys, "train", "doubling", "--seed", "x")
    assert "add --metrics" in _mistake(capsys, "evaluate", "x", "--option", "unordered=and")
    assert "'search', 'hungarian'" in _mistake(capsys, "evaluate", "x", "--decoder", "magic")
    assert "run" in _mistake(capsys, "package").lower()


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "First steps" in capsys.readouterr().out


def test_an_internal_fault_exits_with_1_and_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(Parser, "load", fail)
    monkeypatch.delenv("PERMPARSE_DEBUG", raising=False)
    assert run(["parse", "x", "a"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("internal error: RuntimeError: boom")
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a b\tc d\nno tab here\n", "mine.tsv:2"),
        (b"a b\tc\n\xff\xfe\td\n", "UTF-8"),
        (b"", "mine.tsv"),
        (b"a\t\n", "mine.tsv"),
        (b"a\tb\tc\td\n", "mine.tsv"),
    ],
)
def test_a_malformed_file_is_named(capsys: pytest.CaptureFixture[str], content: bytes, words: str) -> None:
    Path("mine.tsv").write_bytes(content)
    message = _mistake(capsys, "train", "tsv", "--option", "train=mine.tsv")
    assert "mine.tsv" in message
    assert words in message


def test_tasks_and_data_speak_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tasks", "--json"]) == 0
    assert "doubling" in json.loads(capsys.readouterr().out)["tasks"]
    assert run(["data", "doubling", "--split", "dev", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["examples"] == 200
    assert run(["tasks", "tsv", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["options"]["non_copyable"]["default"] == []
    assert described["splits"] == ["train", "dev", "test"]
    assert run(["tasks"]) == run(["tasks", "tsv"]) == 0


def test_settings_are_listed_as_they_are_written_with_their_choices(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "--settings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    tensorboard = next(line for line in lines if line.startswith("tensorboard "))
    assert tensorboard.split()[1] == "false"
    assert "One of: search, hungarian, beam." in " ".join(" ".join(lines).split())
    assert not any("None" in line for line in lines)


def test_a_written_split_can_be_trained_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "doubling", "--split", "length-3", "--output", "three.tsv"]) == 0
    arguments = ["train", "tsv", "--quiet", "--json", "--option", "train=three.tsv"]
    capsys.readouterr()
    small = [*(item for item in TINY if not item.startswith("data.")), "adapt=false"]
    assert run([*arguments, *(part for item in small for part in ("--set", item))]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["task"] == "tsv"
    assert run(["evaluate", "runs/tsv", "--file", "three.tsv", "--limit", "5"]) == 0
    assert Path("results/tsv-three.json").is_file()


def test_parse_prints_one_line_per_sentence(capsys: pytest.CaptureFixture[str], tiny_run: Path) -> None:
    assert run(["parse", str(tiny_run), "a b", "c d"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert run(["parse", str(tiny_run), "a b", "--json", "--n-best", "2"]) == 0
    assert len(json.loads(capsys.readouterr().out)["alternatives"]) == 2
    assert run(["parse", str(tiny_run), "a b [red]", "--show", "--n-best", "3"]) == 0
    drawn = capsys.readouterr().out
    assert "[red]" in drawn
    assert drawn.count("\nor  ") == 2


def test_bad_lines_of_stdin_do_not_stop_the_stream(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tiny_run: Path
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO("a b\n\n\ufeffb\nx\x00y\n😀\r\n".encode() + b"\xff\xfe\n" + b"a b"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert run(["parse", str(tiny_run)]) == 2
    captured = capsys.readouterr()
    lines = captured.out.split("\n")[:-1]
    assert len(lines) == 7
    assert lines[0] == lines[6] != ""
    assert "line 2: the sentence is empty" in captured.err
    assert "line 6: not UTF-8" in captured.err
    assert "Traceback" not in captured.err


def test_evaluate_writes_its_scores(capsys: pytest.CaptureFixture[str], tiny_run: Path) -> None:
    assert run(["evaluate", str(tiny_run), "--limit", "20"]) == 0
    assert "kinds of errors" not in capsys.readouterr().out
    saved = json.loads(Path("results/tiny-test.json").read_text())
    assert saved["total"]["examples"] == 20
    assert set(saved["groups"]) == {"length"}
    assert 0 <= saved["total"]["freq"] <= 1
    assert saved["error_kinds"] is None


def test_evaluate_by_the_metric_of_another_task(tmp_path: Path, tiny_run: Path) -> None:
    """The order of the arguments of f means nothing to the metric that is asked for."""
    parser, file = Parser.load(tiny_run), Path("calls.tsv")
    gold, other = "f ( a , b )", "f ( b , a )"
    parser.codec.__dict__["output"] = lambda tokens: other
    file.write_text(f"x y\t{gold}\n", encoding="utf-8")
    by_order, at_will = get_task("tsv"), get_task("tsv", unordered="f")
    example = by_order.read(file)
    assert evaluate(parser, example, "calls", task=by_order)[0].total.metrics["exact"] == 0.0
    assert evaluate(parser, example, "calls", task=at_will)[0].total.metrics["exact"] == 1.0
    command = ["evaluate", str(tiny_run), "--file", str(file), "--metrics", "tsv", "--option", "unordered=f"]
    assert run([*command, "--results", str(tmp_path)]) == 0


def test_evaluate_explains_errors_of_every_group(capsys: pytest.CaptureFixture[str], tiny_run: Path) -> None:
    command = ["evaluate", str(tiny_run), "--limit", "20", "--errors", "2"]
    assert run(command) == 0
    drawn = capsys.readouterr().out
    assert "kinds of errors" in drawn
    assert drawn.count("\ngold ") == 2
    assert drawn.count("\ntokens ") + drawn.count("\njump ") == 2
    kinds = json.loads(Path("results/tiny-test.json").read_text())["error_kinds"]
    assert set(kinds["total"]) == {"tagging", "search", "model"}
    assert sum(kinds["total"].values()) > 2
    assert run([*command, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["error_kinds"] == kinds
    one, other = printed["errors"]
    assert set(one) == {"kind", "line", "groups", "gold", "missing", "surplus", "jump", "parse"}
    assert one["groups"] != other["groups"]


def test_evaluating_with_another_decoder_keeps_the_scores_of_the_first(tiny_run: Path) -> None:
    for options in ([], ["--decoder", "hungarian"], ["--candidates", "3"]):
        assert run(["evaluate", str(tiny_run), "--limit", "5", *options]) == 0
    saved = {path.name: json.loads(path.read_text())["recipe"] for path in Path("results").iterdir()}
    assert set(saved) == {"tiny-test.json", "tiny-test-hungarian.json", "tiny-test-candidates3.json"}
    assert "candidates = 3" in saved["tiny-test-candidates3.json"]
    assert 'decoder = "hungarian"' in saved["tiny-test-hungarian.json"]


def _signalled_training(which: signal.Signals, folder: str) -> tuple[int, str]:
    """Exit code and stderr of a training of the tiny run that gets a signal as soon as it has a checkpoint."""
    settings = [part for item in TINY for part in ("--set", item)]
    # A process started in the background may ignore Ctrl-C; one at a terminal does not.
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program += "; from permparse.training import loop; loop.CHECKPOINT_SECONDS = 0.2"
    program += "; from permparse.cli import main; main()"
    command = [sys.executable, "-c", program, "train", "doubling", *settings, "-o", folder]
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + PATIENCE
    while not Path(folder, "tag/manifest.json").exists() and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(which)
    _, message = process.communicate(timeout=PATIENCE)
    return process.returncode, message


def _same_weights(one: Path, other: Path) -> bool:
    names = ("tagger", "scorer")
    first, second = (
        [next((run_ / "parser").glob(f"{name}-*")).read_bytes() for name in names] for run_ in (one, other)
    )
    return first == second


def test_a_killed_training_resumes_to_the_same_weights(tiny_run: Path) -> None:
    code, _ = _signalled_training(signal.SIGKILL, "killed")
    assert code == -signal.SIGKILL
    assert run(["train", "doubling", "--resume", "-o", "killed", "--quiet"]) == 0
    assert _same_weights(Path("killed"), tiny_run)


def test_ctrl_c_exits_with_130_and_says_how_to_continue(tiny_run: Path) -> None:
    code, message = _signalled_training(signal.SIGINT, "my run")
    assert code == 130
    assert "Traceback" not in message
    stopped, _, again = message.splitlines()[-1].partition("; continue with: ")
    assert stopped == "stopped"
    assert again == "permparse train --resume --output 'my run'"
    assert run([*shlex.split(again)[1:], "--quiet"]) == 0
    assert _same_weights(Path("my run"), tiny_run)


def test_ctrl_c_before_the_run_begins_offers_no_resuming(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Codec, "build", interrupt)
    assert run(["train", "doubling"]) == 130
    assert capsys.readouterr().err == "stopped; nothing was trained yet\n"


def test_resuming_takes_no_other_settings(capsys: pytest.CaptureFixture[str], tiny_run: Path) -> None:
    message = _mistake(capsys, "train", "--resume", "-o", str(tiny_run), "--set", "seed=3")
    assert "--resume continues with the recipe of the run" in message


def test_data_shows_the_splits_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.tsv").write_text("".join(f"a b {i}\tB A {i}\n" for i in range(20)))
    assert run(["data", "tsv", "--option", "train=mine.tsv", "--json"]) == 0
    assert [row["split"] for row in json.loads(capsys.readouterr().out)] == ["train", "dev"]


def test_a_folder_named_like_markup_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    small = [part for item in [*TINY, "tagger.training.epochs=1"] for part in ("--set", item)]
    assert run(["train", "doubling", "-o", "t[/x]", *small]) == 0
    assert "parser saved in t[/x]" in capsys.readouterr().err


def test_the_remedy_names_the_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from permparse.cli.demo import _plot

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    _plot({}, "exact", 2, Path("depth.png"))
    assert "pip install 'permparse[plot]'" in capsys.readouterr().err


def test_the_demo_plots_both_parsers_by_depth(tmp_path: Path) -> None:
    from permparse.cli.demo import _plot
    from permparse.evaluation.scores import GroupScore

    scores = {depth: GroupScore(10, {"exact": 0.5}, 0.6, 0.8) for depth in ("1", "2", "4")}
    _plot({"ours": scores, "an LSTM with attention": scores}, "exact", 2, tmp_path / "depth.png")
    assert (tmp_path / "depth.png").stat().st_size > 1000


def test_a_byte_order_mark_is_no_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tiny_run: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\ufeffa b\n".encode())))
    assert run(["parse", str(tiny_run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["words"] == ["a", "b", "<end>"]


def test_a_file_of_sentences_is_parsed_by_option(capsys: pytest.CaptureFixture[str], tiny_run: Path) -> None:
    Path("sentences.txt").write_text("a b\nc d\n")
    assert run(["parse", str(tiny_run), "--file", "sentences.txt"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert run(["parse", str(tiny_run), "sentences.txt"]) == 0
    assert "sentences.txt is a file, but was parsed as a sentence; --file parses its lines" in capsys.readouterr().err
    assert "cannot be read" in _mistake(capsys, "parse", str(tiny_run), "--file", "nowhere.txt")
    assert "not both" in _mistake(capsys, "parse", str(tiny_run), "a", "--file", "sentences.txt")


def test_figures_are_printed_although_they_cannot_be_saved(capsys: pytest.CaptureFixture[str], tiny_run: Path) -> None:
    Path("results").write_text("not a folder")
    assert run(["evaluate", str(tiny_run), "--limit", "5"]) == 2
    captured = capsys.readouterr()
    assert "total" in captured.out
    assert "cannot be written" in captured.err


def test_who_reads_one_line_only_ends_the_command_in_peace(tiny_run: Path) -> None:
    lines = "\n".join(["a b c d e"] * 3000)
    command = f"{shlex.quote(sys.executable)} -m permparse parse {shlex.quote(str(tiny_run))} --json"
    script = f"set -o pipefail; {command} | head -1 > /dev/null"
    found = subprocess.run(["bash", "-c", script], input=lines, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")


def test_the_parser_in_the_box_needs_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["parse", "the nurse slept .", "Ines slept ."]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == ["the nurse(1); sleep(2, agent=1)", "sleep(1, agent=Ines)"]
    assert "the parser in the box" in captured.err


def test_pictures_are_written_into_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["parse", "the nurse slept .", "--svg", "one.svg", "--html", "one.html"]) == 0
    assert Path("one.svg").read_text().startswith("<svg")
    assert "sleep(2, agent=1)" in Path("one.html").read_text()
    assert "expected one sentence" in _mistake(
        capsys, "parse", "fragment", "Ines slept .", "Dora slept .", "--svg", "x.svg"
    )


def test_loading_modules_does_not_wait_for_garbage_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_threshold()
    monkeypatch.setattr(sys, "argv", ["permparse", "--version"])
    try:
        with pytest.raises(SystemExit):
            main()
        assert gc.get_threshold() == COLLECT_AFTER
        assert gc.isenabled()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
