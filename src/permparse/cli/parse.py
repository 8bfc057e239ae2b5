"""`permparse parse`: sentences in, outputs out, one per line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BufferedIOBase, UnsupportedOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from permparse.base.console import note
from permparse.base.errors import UserError
from permparse.cli.show import show_parse

if TYPE_CHECKING:
    from permparse.parsers import Parse, Parser

BATCH = 128
CHUNK, LONGEST_LINE = 1 << 16, 1 << 20
"""Bytes that are read at a time, and that a line may have."""
BOX = "fragment"
"""The parser that comes with the package."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
Line = str | UserError
"""A sentence, or why a line is none."""


def command(
    model: Annotated[
        str | None,
        typer.Argument(help="Folder, packaged file or name of a parser; without one, the parser in the box is used."),
    ] = None,
    sentence: Annotated[
        list[str] | None, typer.Argument(help="Sentences; without any, lines are read from stdin or --file.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Parse the lines of this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per line, with everything known.")] = False,
    n_best: Annotated[
        int, typer.Option("--n-best", min=1, max=100, help="The N best outputs, each after its confidence and a tab.")
    ] = 1,
    show: Annotated[bool, typer.Option("--show", help="Draw the multiset of every word and the jumps.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw one sentence as a picture into this file.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Draw all sentences on a page in this file.")] = None,
) -> None:
    """Parse sentences from the arguments, from a file or from stdin, line by line, as they come.

    A line that cannot be parsed gives an empty line (with --json: an object with "error") and a message on
    stderr; the exit code is then 2.

    [bold]Examples[/]

      permparse parse "Zeno said that Ines gave a bell to Dora ." --show

      permparse parse "Ines gave a bell to Dora ." --svg bell.svg

      permparse parse runs/cogs --file sentences.txt > outputs.txt

      permparse parse runs/cogs "Emma ate the cake ." --n-best 3 --json | jq .alternatives
    """
    from permparse.parsers import Parser

    name, sentence = _model_and_sentences(model, sentence)
    if sentence and file is not None:
        raise UserError("give sentences or --file, not both")
    parser = Parser.load(name)
    drawn: list[Parse] = []
    if not sentence and file is None and sys.stdin is not None and sys.stdin.isatty():
        note("[dim]one sentence per line; Ctrl-D ends[/]")
    failed = number = 0
    for batch in _batches(sentence, file):
        for answer in _parse_all(parser, batch, n_best):
            number += 1
            if isinstance(answer, UserError):
                failed += 1
                where = f"{'sentence' if sentence else 'line'} {number}"
                note("[bold red]error:[/] {where}: {error}", where=where, error=" ".join(str(answer).split()))
            elif svg is not None or html is not None:
                drawn.append(answer)
            _print(answer, json, show, n_best)
        sys.stdout.flush()
    for text in sentence or []:
        if Path(text).is_file():
            note("[dim]{text} is a file, but was parsed as a sentence; --file parses its lines[/]", text=text)
    _draw(drawn, svg, html)
    if failed:
        raise typer.Exit(2)


def _model_and_sentences(model: str | None, sentences: list[str] | None) -> tuple[str, list[str]]:
    """A first argument with spaces that names nothing on the disk is a sentence for the parser in the box."""
    given = sentences or []
    if model is not None and (" " not in model.strip() or Path(model).exists()):
        return model, given
    note("[dim]parsing with {box}, the parser in the box; name another before the sentence[/]", box=BOX)
    return BOX, given if model is None else [model, *given]


def _draw(parses: list[Parse], svg: Path | None, html: Path | None) -> None:
    """Write the pictures that were asked for."""
    from permparse.base.storage import write_atomically
    from permparse.drawing import standalone

    if svg is not None:
        if len(parses) != 1:
            raise UserError(f"--svg: expected one sentence that can be parsed, got {len(parses)}; --html draws many")
        write_atomically(svg, parses[0].to_svg().encode())
    if html is not None:
        page = standalone("Parses", [parse._repr_html_() for parse in parses])
        write_atomically(html, page.encode())


def _parse_all(parser: Parser, batch: list[Line], n_best: int) -> Iterator[Parse | UserError]:
    """An answer for every line of a batch."""
    answers = iter(parser.parse_each([line for line in batch if isinstance(line, str)], n_best))
    return (line if isinstance(line, UserError) else next(answers) for line in batch)


def _print(answer: Parse | UserError, json: bool, show: bool, n_best: int) -> None:
    import json as json_module

    if isinstance(answer, UserError):
        sys.stdout.write((json_module.dumps({"error": str(answer)}) if json else "") + "\n")
    elif json:
        sys.stdout.write(answer.to_json() + "\n")
    elif show:
        show_parse(answer)
    elif n_best > 1:
        for alternative in answer.alternatives:
            sys.stdout.write(f"{alternative.confidence:.3f}\t{alternative.output}\n")
    else:
        sys.stdout.write(answer.output + "\n")


def _batches(sentences: list[str] | None, file: Path | None) -> Iterator[list[Line]]:
    if sentences:
        yield list(sentences)
        return
    try:
        if file is not None:
            with open(file, "rb") as lines:
                yield from _as_they_come(lines)
        elif sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed")
        else:
            yield from _as_they_come(_blocking(cast(BufferedIOBase, sys.stdin.buffer)))
    except OSError as error:
        raise UserError(f"{file or 'stdin'}: cannot be read ({error.strerror})") from error


def _blocking(file: BufferedIOBase) -> BufferedIOBase:
    """A stream that waits for input: another program may have left the terminal in a mode that does not."""
    with suppress(UnsupportedOperation):  # a stream in memory has no descriptor
        os.set_blocking(file.fileno(), True)
    return file


def _as_they_come(file: BufferedIOBase) -> Iterator[list[Line]]:
    """Lines as they arrive: a single one immediately, a batch if many are waiting.

    A line that is too long is an error of its own, and never held in memory.
    """
    rest, first, skipping = b"", True, False
    while chunk := file.read1(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if skipping and lines:
            lines, skipping = lines[1:], False
        elif skipping:
            rest = b""
        batch = _decoded(lines, first)
        first = first and not lines and not skipping
        if len(rest) > LONGEST_LINE:
            batch.append(UserError(f"the line is longer than {LONGEST_LINE:,} bytes; expected one sentence per line"))
            rest, skipping = b"", True
        for start in range(0, len(batch), BATCH):
            yield batch[start : start + BATCH]
    if rest and not skipping:
        yield _decoded([rest], first)


def _decoded(lines: Iterable[bytes], first: bool = False) -> list[Line]:
    """Lines as text; a byte-order mark before the first is none of it."""
    decoded: list[Line] = []
    for number, line in enumerate(lines):
        try:
            text = line.removeprefix(BYTE_ORDER_MARK) if first and number == 0 else line
            decoded.append(text.decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} is 0x{line[error.start]:02x}"
            decoded.append(UserError(f"not UTF-8 text ({byte}); convert it first"))
    return decoded
