"""`permparse data` and `permparse tasks`: the data and tasks available for training."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from permparse.base.console import note, out
from permparse.cli.options import DataFolder, TaskOptions, read_options

if TYPE_CHECKING:
    from permparse.text import Example


def command(
    task: Annotated[str, typer.Argument(help="Name of a task (see `permparse tasks`), or module:Class.")],
    split: Annotated[str | None, typer.Option("--split", help="Show only this split; default: all.")] = None,
    show: Annotated[int, typer.Option("--show", min=0, help="Print N examples of each split.")] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the split (input, output, category) as TSV.")
    ] = None,
    data: DataFolder = None,
    option: TaskOptions = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Download (or generate, or read) a task's data, and show its size and a few examples.

    [bold]Examples[/]

      permparse data cogs

      permparse data doubling --split length-40 --output long.tsv

      permparse data tsv --option train=mine.tsv      checks every line of your file
    """
    from permparse.base.errors import UserError
    from permparse.tasks import get_task

    chosen = get_task(task, **read_options(option))
    splits = [split] if split else chosen.available_splits(data)
    if output is not None and len(splits) != 1:
        raise UserError("--output writes one split; choose it with --split")
    loaded = {name: chosen.load(name, data) for name in splits}
    if output is not None:
        _write(loaded[splits[0]], output)
    figures = [_figures(name, examples) for name, examples in loaded.items()]
    if json:
        out.print(json_module.dumps(figures), markup=False)
        return
    for examples in loaded.values():
        for example in examples[:show]:
            out.print(Text(example.sentence, style="bold"))
            out.print(Text("  " + example.output))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in figures[0]:
        table.add_column(column.replace("_", " "), justify="left" if column == "split" else "right")
    for row in figures:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else escape(str(value)) for value in row.values()))
    out.print(table)


def _figures(split: str, examples: list[Example]) -> dict[str, str | int | float]:
    words, tokens = [len(e.source) for e in examples], [len(e.target) for e in examples]
    return {
        "split": split,
        "examples": len(examples),
        "words": round(mean(words), 1),
        "longest": max(words),
        "tokens": round(mean(tokens), 1),
        "longest_output": max(tokens),
    }


def _write(examples: list[Example], path: Path) -> None:
    from permparse.base.storage import write_atomically

    rows = ("\t".join([e.sentence, e.output, *([e.category] if e.category else [])]) for e in examples)
    write_atomically(path, ("\n".join(rows) + "\n").encode())
    note("[dim]wrote {count} examples to {path}[/]", count=f"{len(examples):,}", path=path)


def tasks_command(
    name: Annotated[str | None, typer.Argument(help="Show splits, metrics and options of one task.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the tasks and the recipes that train them.

    [bold]Examples[/]

      permparse tasks

      permparse tasks tsv          its options, for --option KEY=VALUE
    """
    from permparse.tasks import get_task, task_names, task_options

    if name is None:
        from permparse.parsers.recipe import recipe_names

        names = task_names()
        summaries = {known: get_task(known).summary for known in names}
        if json:
            out.print(json_module.dumps({"tasks": summaries, "recipes": recipe_names()}), markup=False)
            return
        table = Table("task", "what it is", box=None, pad_edge=False, header_style="bold")
        for known, summary in summaries.items():
            table.add_row(known, escape(summary))
        out.print(table)
        out.print(f"[dim]recipes for `permparse train`: {', '.join(recipe_names())}[/]")
        return
    task, options = get_task(name), task_options(name)
    if json:
        described = {
            "task": name,
            "summary": task.summary,
            "splits": list(task.splits),
            "metrics": list(task.metrics),
            "options": {option.name: {"default": _plain(option.default), "help": option.help} for option in options},
        }
        out.print(json_module.dumps(described, ensure_ascii=False), markup=False)
        return
    out.print(f"[bold]{escape(name)}[/]  {escape(task.summary)}")
    out.print(f"splits   {', '.join(task.splits)}")
    out.print(f"metrics  {', '.join(task.metrics)}")
    table = Table("option", "default", "what it does", box=None, pad_edge=False, header_style="bold")
    for option in options:
        default = _plain(option.default)
        table.add_row(option.name, "" if default is None else json_module.dumps(default), escape(option.help))
    if options:
        out.print(table)


def _plain(default: object) -> object:
    """The default of an option as JSON has it, which is also how it is written in a recipe."""
    return sorted(default) if isinstance(default, frozenset) else default
