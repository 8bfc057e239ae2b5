"""`permparse evaluate`: accuracy by group, and the errors explained."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from permparse.cli.show import ShownError, show_error, show_error_kinds, show_evaluation
from permparse.console import err, note, out
from permparse.errors import UserError

if TYPE_CHECKING:
    from permparse.data import Example
    from permparse.parser import Parser


def command(
    model: Annotated[Path, typer.Argument(help="Folder of a run or of a saved parser.")],
    split: Annotated[str | None, typer.Option("--split", help="Split of the task; its last one if not given.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Evaluate on a tab-separated file instead of a split.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the paper's data instead of a download.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Only N examples, evenly spread; 0 takes all.")] = 0,
    decoder: Annotated[
        Literal["search", "hungarian"] | None,
        typer.Option(
            "--decoder", help="Put tokens in order by path search or the paper's way, whatever the recipe says."
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            "--candidates", min=1, help="Compare N multisets, 1 being the paper's way, whatever the recipe says."
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
    """
    from permparse.parser import Parser
    from permparse.training.batching import spread
    from permparse.training.errors import count_kinds, difference, error_kind, spread_over_groups
    from permparse.training.evaluation import as_json, evaluate
    from permparse.training.storage import write_atomically

    if file is not None and split is not None:
        raise UserError("--file takes the place of a split; leave out --split")
    parser = Parser.load(model, decoder, candidates)
    split = split or parser.codec.task.splits[-1]
    examples = _examples(parser, split, file, data)
    examples = [examples[i] for i in spread(len(examples), limit)]
    if not examples:
        raise UserError(f"{file or split}: no examples to evaluate on")
    with err.status(f"parsing {len(examples):,} sentences") as status:
        evaluation, outcomes = evaluate(
            parser,
            examples,
            file.stem if file else split,
            progress=lambda done: status.update(f"parsed {done:,} of {len(examples):,} sentences"),
        )
        wrong = [o for o in outcomes if not o.seq] if errors else []
        status.update(f"explaining {len(wrong):,} errors")
        kinds = [error_kind(parser, o) for o in wrong]
    groups = [parser.codec.task.groups(o.example) for o in wrong]
    if errors:
        evaluation = replace(evaluation, error_kinds=count_kinds(evaluation, groups, kinds))
    shown = [
        ShownError(wrong[e], kinds[e], groups[e], difference(parser.codec, wrong[e]))
        for e in spread_over_groups(groups, errors)
    ]
    name = f"{model.resolve().name}-{evaluation.split}" + (f"-{decoder}" if decoder else "")
    name += f"-candidates{candidates}" if candidates else ""
    path = results / f"{name}.json"
    write_atomically(path, (json_module.dumps(as_json(evaluation), indent=2) + "\n").encode())
    if json:
        content = as_json(evaluation) | ({"errors": [_error_as_json(error) for error in shown]} if errors else {})
        out.print(json_module.dumps(content, ensure_ascii=False), markup=False, soft_wrap=True)
        return
    show_evaluation(evaluation)
    note(f"[dim]saved {path}[/]")
    for error in shown:
        show_error(error)
    if evaluation.error_kinds:
        show_error_kinds(evaluation, evaluation.error_kinds)


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


def _examples(parser: Parser, split: str, file: Path | None, data: Path | None) -> list[Example]:
    task = parser.codec.task
    if file is not None:
        return task.read(file)
    return task.load(split, data or parser.recipe.data.folder)
