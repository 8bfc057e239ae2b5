"""`permparse compare`: train our parser and others on the same data, print one table, and recommend one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from permparse.base.console import err, note, out
from permparse.base.errors import UserError
from permparse.cli.options import Cluster, DataFolder, TaskOptions, as_overrides, is_own_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from permparse.evaluation.comparison import Comparison, Score
    from permparse.experiments.contest import Question
    from permparse.experiments.plan import Run
    from permparse.experiments.records import Record

TRAINED = "runs"
HELD_OUT = 10
"""Without a test file, every tenth line is held out."""


def command(
    data_or_task: Annotated[str, typer.Argument(metavar="FILE|TASK", help="Your .tsv file, or the name of a recipe.")],
    parsers: Annotated[
        str, typer.Option("--parsers", help="Parsers to compare, with commas between: ours, lstm, transformer, ...")
    ] = "ours,lstm,transformer",
    dev: Annotated[Path | None, typer.Option("--dev", help="File for selecting the epoch.")] = None,
    test: Annotated[
        Path | None, typer.Option("--test", help="File to compare on; without it, every tenth line is held out.")
    ] = None,
    split: Annotated[str | None, typer.Option("--split", help="Split to compare on, if a task is given.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="The seed of every training run.")] = 0,
    metrics: Annotated[
        str | None, typer.Option("--metrics", help="Use the metrics of another task, such as okapi-calendar.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of runs, table and plot; runs/compare-NAME.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of training runs in parallel.")] = 2,
    cluster: Cluster = None,
    data: DataFolder = None,
    option: TaskOptions = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PARSER:KEY=VALUE", help="Change a setting of one parser; may be repeated."),
    ] = None,
) -> None:
    """Train our parser and common alternatives on the same data, and say which one to use.

    Prints accuracy in total, for outputs no longer than in training and for longer ones, and by category if the file
    has a third column; minutes, parameters and sentences per second. Saves compare.json and a plot.
    After Ctrl-C, kill -9 or a power cut, the same command continues where it stopped.

    [bold]Examples[/]

      permparse compare my.tsv

      permparse compare train.tsv --dev dev.tsv --test test.tsv --metrics okapi-calendar

      permparse compare doubling --parsers ours,lstm
    """
    from permparse.evaluation.comparison import compare, verdict, write_comparison
    from permparse.experiments.contest import chosen_parsers, contestant
    from permparse.experiments.figures import draw_comparison
    from permparse.tasks import get_task

    chosen, task = chosen_parsers(parsers), get_task(metrics) if metrics else None
    output = output or Path("runs") / f"compare-{Path(data_or_task).stem}"
    changes = tuple(_change(pair) for pair in set_ or [])
    if is_own_file(data_or_task):
        question = _own_file(Path(data_or_task), dev, test, option, seed, changes, output)
    elif dev or test:
        raise UserError("--dev and --test go with a file of your own; a task has its splits (--split)")
    else:
        question = _task(data_or_task, split, data, option, seed, changes)
    try:
        records = _train([question.run(parser) for parser in chosen], output, jobs, cluster)
        with err.status("evaluating") as status:
            contestants = [contestant(record, output / TRAINED) for record in records]
            comparison = compare(contestants, Path(data_or_task).stem, question.split, task, status.update)
    except KeyboardInterrupt:
        note("stopped; the same command continues from here")
        raise typer.Exit(130) from None
    write_comparison(comparison, output / "compare.json")
    _show(comparison)
    out.print(f"\n[bold]{escape(verdict(comparison))}[/]")
    if draw_comparison(comparison, output / "compare.png"):
        note("[dim]saved {path}[/]", path=output / "compare.png")


def _change(pair: str) -> tuple[str, str]:
    parser, colon, change = pair.partition(":")
    if not colon or "=" not in change:
        raise UserError(f"--set {pair}: expected PARSER:KEY=VALUE, such as lstm:training.epochs=20")
    return parser, change


def _own_file(
    path: Path,
    dev: Path | None,
    test: Path | None,
    option: list[str] | None,
    seed: int,
    changes: tuple[tuple[str, str], ...],
    output: Path,
) -> Question:
    from permparse.experiments.contest import Question, require_same_data

    for file in filter(None, (path, dev, test)):
        if not file.is_file():
            raise UserError(f"{file}: no such file; expected tab-separated input and output")
    require_same_data(output, [file for file in (path, dev, test) if file])
    train, held_out = (path, test) if test else _held_out(path, output)
    files = {"train": train, "dev": dev, "test": held_out}
    named = [f"data.options.{name}={str(file.absolute())!r}" for name, file in files.items() if file]
    return Question("tsv", (*named, *as_overrides(option, None)), "test", seed, changes)


def _held_out(path: Path, output: Path) -> tuple[Path, Path]:
    """The lines to train on and every tenth one to compare on, as files in the output folder."""
    from permparse.base.storage import write_atomically

    lines = [line for line in path.read_bytes().splitlines(keepends=True) if line.strip()]
    if len(lines) < 2:
        raise UserError(f"{path}: expected at least two examples, one to train on and one to compare on")
    step = min(HELD_OUT, len(lines))
    train, test = output / "data" / "train.tsv", output / "data" / "test.tsv"
    write_atomically(train, b"".join(line for i, line in enumerate(lines, 1) if i % step))
    write_atomically(test, b"".join(lines[step - 1 :: step]))
    return train, test


def _task(
    name: str,
    split: str | None,
    data: Path | None,
    option: list[str] | None,
    seed: int,
    changes: tuple[tuple[str, str], ...],
) -> Question:
    from permparse.experiments.contest import Question
    from permparse.parsers.recipe import load_recipe
    from permparse.tasks import get_task

    overrides = as_overrides(option, data)
    recipe = load_recipe(name, overrides)
    task = get_task(recipe.task, **recipe.data.options)
    there = task.available_splits(recipe.data.folder)
    if split is not None and split not in there:
        raise UserError(f"{name} has no split {split!r}; there are {', '.join(there)}")
    preferred = [s for s in ("gen", "test") if s in there]
    return Question(name, tuple(overrides), split or (preferred or there[-1:])[0], seed, changes)


def _train(runs: Sequence[Run], output: Path, jobs: int, cluster: str | None) -> list[Record]:
    from permparse.executors import executor_for
    from permparse.experiments.display import Display
    from permparse.experiments.plan import Known, missing
    from permparse.experiments.runner import Places, run_all

    for run in runs:
        _ = run.recipe  # a mistake in one shows before any is trained
    known = Known(output)
    left = missing(runs, known)
    if left:
        with (
            executor_for(cluster, min(jobs, len(left)), [output]) as executor,
            Display(len(left), executor, known) as display,
        ):
            failures = run_all(left, Places(output / TRAINED, output), executor, display)
        if failures:
            raise UserError(f"{failures[0].run.row.name} could not be trained: {failures[0].reason}")
    known = Known(output)
    return [record for record in map(known.find, runs) if record is not None]


def _show(comparison: Comparison) -> None:
    metric = comparison.results[0].evaluation.main_metric
    title = f"{escape(comparison.data)}, {comparison.split}: {metric}, %"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("parser")
    longest = comparison.longest
    for name in ("total", f"length ≤ {longest}", f"> {longest}", "minutes", "parameters (M)", "sentences/s"):
        table.add_column(name, justify="right")
    for result in comparison.results:
        evaluation = result.evaluation
        total = f"{100 * evaluation.total.metrics[metric]:.1f}"
        costs = (f"{result.minutes:.1f}", f"{result.parameters / 1e6:.2f}", f"{evaluation.sentences_per_second:.0f}")
        table.add_row(escape(result.parser), total, _percent(result.within), _percent(result.beyond), *costs)
    out.print(table)
    for group in comparison.results[0].evaluation.groups:
        _show_group(comparison, group, metric)
    out.print("[dim]length: words and signs of the output, against the longest of training[/]")


def _show_group(comparison: Comparison, group: str, metric: str) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(escape(group))
    table.add_column("examples", justify="right")
    for result in comparison.results:
        table.add_column(escape(result.parser), justify="right")
    for value, score in comparison.results[0].evaluation.groups[group].items():
        found = [result.evaluation.groups[group][value].metrics[metric] for result in comparison.results]
        table.add_row(escape(value), f"{score.examples:,}", *(f"{100 * share:.1f}" for share in found))
    out.print()
    out.print(table)


def _percent(score: Score | None) -> str:
    return "–" if score is None else f"{100 * score.right:.1f} ({score.examples:,})"
