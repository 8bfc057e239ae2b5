"""`permparse evaluate`: accuracy by group, and the errors explained."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from permparse.base.console import err, note, out
from permparse.base.errors import UserError
from permparse.cli.options import DataFolder, Model, read_options
from permparse.cli.show import ShownError, show_error, show_error_kinds, show_evaluation

if TYPE_CHECKING:
    from permparse.evaluation.scores import Evaluation
    from permparse.parsers import Parser
    from permparse.tasks import Task
    from permparse.text import Example


def command(
    model: Model,
    split: Annotated[str | None, typer.Option("--split", help="Split of the task; default: its last one.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Evaluate on a tab-separated file instead of a split.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", help="Use the metrics and groups of another task, such as atis-length.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help='An option of that task, KEY=VALUE, such as unordered="and or" of tsv.'),
    ] = None,
    data: DataFolder = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Use only N examples, evenly spread; 0: all.")] = 0,
    decoder: Annotated[
        Literal["search", "hungarian", "beam"] | None,
        typer.Option("--decoder", help="Override the recipe's decoder: path search, the paper's rounding, a beam."),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            "--candidates", min=1, help="Override the recipe: rerank N multisets; 1, as in the paper, turns it off."
        ),
    ] = None,
    errors: Annotated[
        int,
        typer.Option(
            "--errors", min=0, help="Show N wrong examples, spread over the groups, and count the kinds of errors."
        ),
    ] = 0,
    results: Annotated[
        Path, typer.Option("--results", help="Folder for the JSON file with the scores and settings.")
    ] = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Measure a parser: the task's metrics, Freq (multiset right), Seq/Freq, in total and by group.

    With --errors, wrong outputs are split into [bold]tagging[/] (the multiset is wrong), [bold]search[/]
    (the gold order scores higher than the one found) and [bold]model[/] (the scores prefer a wrong order),
    and counted in every group.

    [bold]Examples[/]

      permparse evaluate runs/doubling

      permparse evaluate runs/cogs --split gen --errors 20

      permparse evaluate runs/cogs --split gen --decoder hungarian

      permparse evaluate runs/mine --file new.tsv --json

      permparse evaluate runs/atis --file test.tsv --metrics atis-length

      permparse evaluate runs/mine --file test.tsv --metrics tsv --option unordered="and or"
    """
    from permparse.parsers import Parser
    from permparse.tasks import get_task

    if file is not None and split is not None:
        raise UserError("--file takes the place of a split; leave out --split")
    if option and metrics is None:
        raise UserError("--option is one of the task that --metrics names; add --metrics TASK")
    parser = Parser.load(model, decoder=decoder, candidates=candidates)
    split = split or parser.task.available_splits(data)[-1]
    examples = _examples(parser, split, file, data, limit)
    task = get_task(metrics, **read_options(option)) if metrics else parser.task
    evaluation, shown = _evaluate(parser, task, examples, file.stem if file else split, errors)
    # Printed before it is saved: a folder that cannot be written to must not cost the figures.
    if json:
        content = asdict(evaluation) | ({"errors": [_error_as_json(error) for error in shown]} if errors else {})
        out.print(json_module.dumps(content, ensure_ascii=False), markup=False, soft_wrap=True)
    else:
        show_evaluation(evaluation)
        for error in shown:
            show_error(error)
        if evaluation.error_kinds:
            show_error_kinds(evaluation, evaluation.error_kinds)
    changes = [decoder, f"candidates{candidates}" if candidates else None]
    _save(evaluation, results / f"{'-'.join([model.resolve().name, evaluation.split, *filter(None, changes)])}.json")


def _examples(parser: Parser, split: str, file: Path | None, data: Path | None, limit: int) -> list[Example]:
    from permparse.base.batching import spread

    task = parser.task
    examples = task.read(file) if file is not None else task.load(split, data or parser.recipe.data.folder)
    if not examples:
        raise UserError(f"{file or split}: no examples to evaluate on")
    return [examples[i] for i in spread(len(examples), limit)]


def _evaluate(
    parser: Parser, task: Task, examples: list[Example], split: str, errors: int
) -> tuple[Evaluation, list[ShownError]]:
    """The scores and, if asked for, the kinds of errors and some of them to show."""
    from permparse.evaluation.differences import count_kinds, difference, spread_over_groups
    from permparse.evaluation.scores import evaluate

    with err.status(f"parsing {len(examples):,} sentences") as status:
        evaluation, outcomes = evaluate(
            parser,
            examples,
            split,
            progress=lambda done: status.update(f"parsed {done:,} of {len(examples):,} sentences"),
            task=task,
        )
        if not errors:
            return evaluation, []
        wrong = [o for o in outcomes if not o.seq]
        status.update(f"explaining {len(wrong):,} errors")
        kinds = [parser.error_kind(o.example, o.parse) for o in wrong]
    groups = [task.groups(o.example) for o in wrong]
    evaluation = replace(evaluation, error_kinds=count_kinds(evaluation, groups, kinds, parser.error_kinds))
    shown = [
        ShownError(wrong[e], kinds[e], groups[e], difference(parser.task, wrong[e]))
        for e in spread_over_groups(groups, errors)
    ]
    return evaluation, shown


def _save(evaluation: Evaluation, path: Path) -> None:
    from permparse.base.storage import write_atomically

    write_atomically(path, (json_module.dumps(asdict(evaluation), indent=2) + "\n").encode())
    note("[dim]saved {path}[/]", path=path)


def _error_as_json(error: ShownError) -> dict[str, object]:
    example = error.outcome.example
    return {
        "kind": error.kind,
        "line": example.line,
        "groups": error.groups,
        "gold": example.output,
        **asdict(error.difference),
        "parse": asdict(error.outcome.parse),
    }
