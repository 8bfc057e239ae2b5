"""`permparse notation`: what a learned notation drops from the outputs of a file, and why."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from permparse.base.console import note, out

if TYPE_CHECKING:
    from permparse.text import Example, Writing

RULES = 12
"""Rules that are shown, the most used first."""


def command(
    file: Annotated[Path, typer.Argument(help="Your .tsv file of training examples.")],
    level: Annotated[
        Literal["raw", "signs", "wordless", "full", "ends", "bold"],
        typer.Option("--level", help="How much to drop; training tries several levels and takes the best."),
    ] = "full",
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", help="How inputs are split: words, blanks or spacy.")
    ] = "words",
    show: Annotated[int, typer.Option("--show", min=0, help="Print N outputs before and after.")] = 5,
    rules: Annotated[int, typer.Option("--rules", min=0, help="Print the N rules used most.")] = RULES,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the rules as JSON, which you can edit and train with.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Learn from the training pairs which output tokens the others imply, and show what would be dropped.

    Dropped tokens are restored exactly. A token that an input word expresses is kept, because the tagger can align
    it to that word; a bracket or a keyword that no word expresses is dropped wherever the tokens around it imply it.
    To keep a type, remove it from "dropped" in the file that --output writes, and train with that file.

    [bold]Examples[/]

      permparse notation my.tsv

      permparse notation my.tsv --level wordless --output rules.json

      permparse train my.tsv --set data.notation=rules.json
    """
    from permparse.base.batching import spread
    from permparse.base.storage import write_atomically
    from permparse.tasks import get_task
    from permparse.text import Writing

    task = get_task("tsv", train=str(file), dev=str(file), tokenizer=tokenizer)
    examples = task.load("train")
    writing = Writing.learn(level, task, True, [(example.source, example.output) for example in examples])
    figures = _figures(writing, examples)
    if output is not None:
        write_atomically(output, (json_module.dumps(writing.to_json(), indent=1, ensure_ascii=False) + "\n").encode())
        note("[dim]wrote {path}; train with --set data.notation={path}[/]", path=output)
    if json:
        out.print(json_module.dumps(figures, ensure_ascii=False), markup=False)
        return
    for i in spread(len(examples), show) if show else ():
        out.print(Text(examples[i].output, style="dim"))
        out.print(Text("  " + " ".join(writing.shorten(examples[i].output)), style="bold"))
    if writing.statements is not None:
        out.print("Statements about one position stand together, and find their places again when restored.")
    _print_types(figures)
    _print_rules(writing, rules)
    out.print(
        f"[dim]{figures['outputs']:,} outputs; tokens per output {figures['tokens_before']} → "
        f"{figures['tokens_after']}; {figures['exceptions']:,} outputs with an exception; "
        f"{'all' if figures['restored'] else 'NOT ALL'} restored exactly[/]"
    )


def _figures(writing: Writing, examples: list[Example]) -> dict[str, object]:
    """Before and after, in numbers."""
    from collections import Counter

    from permparse.text.notation.notation import MARK

    cut = [writing.cutter.shorten(example.output) for example in examples]
    short = [writing.shorten(example.output) for example in examples]
    before, after = Counter(t for tokens in cut for t in tokens), Counter(t for tokens in short for t in tokens)
    dropped = writing.notation.language.dropped
    exceptions = sum(any(t in dropped or t.startswith(MARK) for t in tokens) for tokens in short)
    return {
        "outputs": len(examples),
        "tokens_before": round(sum(map(len, cut)) / len(cut), 1),
        "tokens_after": round(sum(map(len, short)) / len(short), 1),
        "dropped": {t: {"before": before[t], "kept": after[t]} for t in sorted(dropped, key=lambda t: -before[t])},
        "numbers_name_positions": writing.first_position is not None,
        "statements_gathered": writing.statements is not None,
        "exceptions": exceptions,
        "restored": all(writing.restore(s) == e.output for s, e in zip(short, examples, strict=True)),
    }


def _print_types(figures: dict[str, object]) -> None:
    table = Table("dropped", "in training", "kept all the same", box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    types = figures["dropped"]
    assert isinstance(types, dict)
    for token, counts in types.items():
        if counts["before"]:
            table.add_row(escape(token), f"{counts['before']:,}", f"{counts['kept']:,}" if counts["kept"] else "–")
    out.print(table if table.row_count else "[dim]nothing is implied by the rest: nothing would be dropped[/]")


def _print_rules(writing: Writing, most: int) -> None:
    from permparse.text.notation import explain

    rows = explain(writing.notation)[:most]
    if not rows:
        return
    table = Table("insert", "where", "right", box=None, pad_edge=False, header_style="bold")
    table.columns[2].justify = "right"
    for row in rows:
        table.add_row(escape(row.token), escape(row.context), f"{row.right:,} of {row.seen:,}")
    out.print(table)
