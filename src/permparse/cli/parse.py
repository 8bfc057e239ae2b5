"""`permparse parse`: sentences in, outputs out, one a line."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from permparse.cli.show import show_parse
from permparse.console import err, note
from permparse.errors import UserError

if TYPE_CHECKING:
    from permparse.parser import Parse, Parser

BATCH = 128


def command(
    model: Annotated[Path, typer.Argument(help="Folder of a run or of a saved parser.")],
    sentence: Annotated[
        list[str] | None, typer.Argument(help="Sentences; without any, lines are read from stdin.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with everything known.")] = False,
    n_best: Annotated[
        int, typer.Option("--n-best", min=1, max=100, help="The N best outputs, each after its confidence and a tab.")
    ] = 1,
    show: Annotated[bool, typer.Option("--show", help="Draw the multiset of every word and the jumps.")] = False,
) -> None:
    """Parse sentences from the arguments or from stdin, line by line, as they come.

    A line that cannot be parsed gives an empty line (with --json: an object with "error") and a message on
    stderr; the exit code is then 2.

    [bold]Examples[/]

      permparse parse runs/fragment "a cat saw that a dog slept" --show

      permparse parse runs/cogs < sentences.txt > outputs.txt

      permparse parse runs/cogs "Emma ate the cake ." --n-best 3 --json | jq .alternatives
    """
    from permparse.parser import Parser

    parser = Parser.load(model)
    failed = 0
    if not sentence and sys.stdin.isatty():
        note("[dim]one sentence a line; Ctrl-D ends[/]")
    lines = _decoded(sentence) if sentence else _stdin_batches()
    number = 0
    for batch in lines:
        for parse in _parse_all(parser, batch, n_best):
            number += 1
            if isinstance(parse, UserError):
                failed += 1
                where = f"sentence {number}" if sentence else f"line {number}"
                err.print(f"[bold red]error:[/] {where}: {escape(' '.join(str(parse).split()))}")
            _print(parse, json, show, n_best)
        sys.stdout.flush()
    if failed:
        raise typer.Exit(2)


def _parse_all(parser: Parser, batch: list[str | UserError], n_best: int) -> list[Parse | UserError]:
    """Parse a batch; if some sentence is at fault, each gets its own verdict."""
    good = [text for text in batch if isinstance(text, str)]
    try:
        parses: list[Parse | UserError] = list(parser.parse(good, n_best=n_best))
    except UserError:
        parses = []
        for text in good:
            try:
                parses.append(parser.parse(text, n_best=n_best))
            except UserError as error:
                parses.append(error)
    answers = iter(parses)
    return [item if isinstance(item, UserError) else next(answers) for item in batch]


def _print(parse: Parse | UserError, json: bool, show: bool, n_best: int) -> None:
    import json as json_module

    if isinstance(parse, UserError):
        sys.stdout.write((json_module.dumps({"error": str(parse)}) if json else "") + "\n")
    elif json:
        sys.stdout.write(parse.to_json() + "\n")
    elif show:
        show_parse(parse)
    elif n_best > 1:
        for alternative in parse.alternatives:
            sys.stdout.write(f"{alternative.confidence:.3f}\t{alternative.output}\n")
    else:
        sys.stdout.write(parse.output + "\n")


def _decoded(sentences: list[str]) -> Iterator[list[str | UserError]]:
    yield list(sentences)


def _stdin_batches() -> Iterator[list[str | UserError]]:
    """Lines of stdin as they come: one at once if one is there, a batch if many wait."""
    lines: queue.Queue[bytes | None] = queue.Queue(maxsize=4 * BATCH)

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    open_ = True
    while open_:
        batch = [lines.get()]
        while len(batch) < BATCH and not lines.empty():
            batch.append(lines.get())
        if None in batch:
            open_ = False
        decoded = [_decode(line) for line in batch if line is not None]
        if decoded:
            yield decoded


def _decode(line: bytes) -> str | UserError:
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return UserError(f"not UTF-8 text (byte {error.start + 1} is 0x{line[error.start]:02x}); convert it first")
