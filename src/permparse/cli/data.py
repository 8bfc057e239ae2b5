"""`permparse data` and `permparse tasks`: what there is to train on."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from statistics import mean
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from permparse.console import note, out


def command(
    task: Annotated[str, typer.Argument(help="Name of a task (see `permparse tasks`).")],
    split: Annotated[str | None, typer.Option("--split", help="Show this split; all if not given.")] = None,
    show: Annotated[int, typer.Option("--show", min=0, help="Print N examples of each split.")] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the split (input, output, category) as TSV.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the paper's data instead of a download.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Option of the task (`permparse tasks NAME` lists them); may be repeated.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Download (or generate, or read) a task's data, and show its size and a few examples.

    [bold]Examples[/]

      permparse data cogs

      permparse data doubling --split length-40 --output long.tsv

      permparse data tsv --set train=mine.tsv      checks every line of your file
    """
    from permparse.errors import UserError
    from permparse.tasks import get_task
    from permparse.training.storage import write_atomically

    chosen = get_task(task, **_options(set_ or []))
    splits = [split] if split else list(chosen.splits)
    if output is not None and len(splits) != 1:
        raise UserError("--output writes one split; choose it with --split")
    figures = []
    for name in splits:
        examples = chosen.load(name, data)
        sizes = [len(e.source) for e in examples], [len(e.target) for e in examples]
        figures.append(
            {
                "split": name,
                "examples": len(examples),
                "words": round(mean(sizes[0]), 1),
                "longest": max(sizes[0]),
                "tokens": round(mean(sizes[1]), 1),
                "longest_output": max(sizes[1]),
            }
        )
        if output is not None:
            rows = ("\t".join([e.sentence, e.output, *([e.category] if e.category else [])]) for e in examples)
            write_atomically(output, ("\n".join(rows) + "\n").encode())
            note(f"[dim]wrote {len(examples):,} examples to {escape(str(output))}[/]")
        if not json:
            for example in examples[:show]:
                out.print(Text(example.sentence, style="bold"))
                out.print(Text("  " + example.output))
    if json:
        out.print(json_module.dumps(figures), markup=False)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in figures[0]:
        table.add_column(column.replace("_", " "), justify="left" if column == "split" else "right")
    for row in figures:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    out.print(table)


def tasks_command(
    name: Annotated[str | None, typer.Argument(help="Show splits, metrics and options of one task.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the tasks and the recipes that train them.

    [bold]Examples[/]

      permparse tasks

      permparse tasks tsv          its options, for --set data.options.KEY=VALUE
    """
    from permparse.tasks import get_task, task_names, task_options

    if name is None:
        names = task_names()
        summaries = {known: get_task(known).summary for known in names}
        if json:
            out.print(json_module.dumps({"tasks": summaries, "recipes": recipe_files()}), markup=False)
            return
        table = Table("task", "what it is", box=None, pad_edge=False, header_style="bold")
        for known, summary in summaries.items():
            table.add_row(known, escape(summary))
        out.print(table)
        out.print(f"[dim]recipes for `permparse train`: {', '.join(recipe_files())}[/]")
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
    out.print(f"[bold]{name}[/]  {escape(task.summary)}")
    out.print(f"splits   {', '.join(task.splits)}")
    out.print(f"metrics  {', '.join(task.metrics)}")
    table = Table("option", "default", "what it does", box=None, pad_edge=False, header_style="bold")
    for option in options:
        default = _plain(option.default)
        table.add_row(option.name, "" if default is None else json_module.dumps(default), escape(option.help))
    if options:
        out.print(table)


def recipe_files() -> list[str]:
    """The recipes that come with the package (without importing what trains them)."""
    from importlib import resources

    folder = resources.files("permparse") / "recipes"
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))


def _plain(default: object) -> object:
    """The default of an option as JSON has it, which is also how it is written in a recipe."""
    return sorted(default) if isinstance(default, frozenset) else default


def _options(pairs: list[str]) -> dict[str, str | int | float | bool | list[str]]:
    import tomllib

    from permparse.errors import UserError

    options: dict[str, str | int | float | bool | list[str]] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise UserError(f"--set {pair}: expected KEY=VALUE, such as train=mine.tsv")
        try:
            options[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            options[key] = text
    return options
