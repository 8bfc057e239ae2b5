"""`permparse parse`: sentences in, outputs out, one per line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedIOBase, UnsupportedOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from permparse.base.console import err, note
from permparse.base.errors import UserError
from permparse.cli.options import Cluster
from permparse.cli.show import show_parse

if TYPE_CHECKING:
    from permparse.bulk.answers import Format
    from permparse.bulk.lines import Line
    from permparse.parsers import Parse

BOX = "fragment"
"""The parser that comes with the package."""


def command(
    model: Annotated[
        str | None,
        typer.Argument(help="Folder, packaged file or name of a parser; without one, the parser in the box is used."),
    ] = None,
    sentence: Annotated[
        list[str] | None, typer.Argument(help="Sentences; if none are given, lines of stdin or --file.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Parse the lines of this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line, with all details.")] = False,
    n_best: Annotated[
        int, typer.Option("--n-best", min=1, max=100, help="Print the N best outputs, each after confidence and tab.")
    ] = 1,
    show: Annotated[bool, typer.Option("--show", help="Draw the multiset of every word and the jumps.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw one sentence as a picture into this file.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Draw all sentences on a page in this file.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With --file: parse it in shards, resumable, into this file.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="With --output: cores to use; 1, or all of a cluster.")
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Parse sentences from the arguments, from a file or from stdin, line by line, as they arrive.

    A line that cannot be parsed yields an empty line (with --json: an object with "error") and a message on
    stderr; the exit code is then 2.

    [bold]Examples[/]

      permparse parse "Zeno said that Ines gave a bell to Dora ." --show

      permparse parse "Ines gave a bell to Dora ." --svg bell.svg

      permparse parse runs/cogs --file sentences.txt > outputs.txt

      permparse parse runs/cogs --file sentences.txt --output outputs.txt --cluster auto

      permparse parse runs/cogs "Emma ate the cake ." --n-best 3 --json | jq .alternatives
    """
    from permparse.bulk.answers import Format, answers
    from permparse.parsers import Parse, Parser

    name, sentence = _model_and_sentences(model, sentence)
    if sentence and file is not None:
        raise UserError("give sentences or --file, not both")
    if output is not None or cluster is not None or jobs is not None:
        if file is None or output is None or show or svg is not None or html is not None:
            raise UserError("--output, --cluster and --jobs parse a whole file: give --file and --output, draw nothing")
        _parse_file(name, file, output, cluster, jobs, Format(json, n_best))
        return
    parser, form = Parser.load(name), Format(json, n_best)
    drawn: list[Parse] = []
    if not sentence and file is None and sys.stdin is not None and sys.stdin.isatty():
        note("[dim]one sentence per line; Ctrl-D ends[/]")
    failed = number = 0
    for batch in _batches(sentence, file):
        for answer in answers(parser, batch, n_best):
            number += 1
            if isinstance(answer, UserError):
                failed += 1
                where = f"{'sentence' if sentence else 'line'} {number}"
                note("[bold red]error:[/] {where}: {error}", where=where, error=" ".join(str(answer).split()))
            elif svg is not None or html is not None:
                drawn.append(answer)
            if show and isinstance(answer, Parse) and not json:
                show_parse(answer)
            else:
                sys.stdout.write(form.text(answer))
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


def _parse_file(model: str, file: Path, output: Path, cluster: str | None, jobs: int | None, form: Format) -> None:
    """Parse a whole file in shards; the bar counts them."""
    from rich.progress import Progress

    from permparse.bulk import parse_file

    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("shards")

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        try:
            failed = parse_file(
                model, file, output, cluster, jobs, json=form.json, n_best=form.n_best, progress=progress
            )
        except KeyboardInterrupt:
            note("stopped; the same command continues from here")
            raise typer.Exit(130) from None
    note("[dim]wrote {path}[/]", path=output)
    if failed:
        note("[bold red]error:[/] {count} lines cannot be parsed; {path}.errors says why", count=failed, path=output)
        raise typer.Exit(2)


def _batches(sentences: list[str] | None, file: Path | None) -> Iterator[list[Line]]:
    from permparse.bulk.lines import CHUNK, batches

    if sentences:
        yield list(sentences)
        return
    try:
        if file is not None:
            with open(file, "rb") as lines:
                yield from batches(_chunks(lines, CHUNK))
        elif sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed")
        else:
            yield from batches(_chunks(_blocking(cast(BufferedIOBase, sys.stdin.buffer)), CHUNK))
    except OSError as error:
        raise UserError(f"{file or 'stdin'}: cannot be read ({error.strerror})") from error


def _blocking(file: BufferedIOBase) -> BufferedIOBase:
    """A stream that waits for input: another program may have left the terminal in a mode that does not."""
    with suppress(UnsupportedOperation):  # a stream in memory has no descriptor
        os.set_blocking(file.fileno(), True)
    return file


def _chunks(file: BufferedIOBase, size: int) -> Iterator[bytes]:
    """What there is to read, without waiting for more."""
    while chunk := file.read1(size):
        yield chunk
