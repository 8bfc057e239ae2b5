"""The command line: `permparse train | evaluate | parse | compare | tune | data | notation | tasks | reproduce | …`.

Exit codes: 0 success, 1 a fault of permparse, 2 a mistake in the input (reported in one line), 130 interrupted.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from typing import Annotated, TextIO

import typer

from permparse import __version__
from permparse.base.console import note
from permparse.base.errors import UserError
from permparse.cli import (
    bench,
    compare,
    data,
    demo,
    ensemble,
    evaluate,
    export,
    notation,
    package,
    parse,
    reproduce,
    serve,
    train,
    tune,
    warmup,
)

USAGE_ERROR: type[typer.BadParameter] = typer.BadParameter.__mro__[1]
"""What an unknown command or option raises; typer exports only the more special class."""

INTERRUPTED = 130
COLLECT_AFTER = (50_000, 20, 20)
"""When Python looks for garbage. By default it does so a thousand times while modules are loaded, which keep all they
make: a fifth of the time until the first parse."""
NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What it means that standard output takes no more: a full disk, a quota, a limit, a broken device."""

app = typer.Typer(
    name="permparse",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success · 1 a fault of permparse · 2 a mistake in the input · 130 interrupted.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"permparse {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Turn sentences into structured output without trees: tag every word with a multiset of tokens, then order
    them by jumps.

    [bold]First steps[/]

      permparse demo                             see it work, in about three minutes, without any download

      permparse train my.tsv                     train on your own file: input<TAB>output

      permparse train doubling                   train on a task

      permparse evaluate runs/doubling           accuracy by length

      permparse parse runs/doubling "a b c d e"  parse a sentence

      permparse serve                            watch a parser work, in the browser
    """


app.command("train")(train.command)
app.command("evaluate")(evaluate.command)
app.command("parse")(parse.command)
app.command("compare")(compare.command)
app.command("tune")(tune.command)
app.command("data")(data.command)
app.command("notation")(notation.command)
app.command("tasks")(data.tasks_command)
app.command("reproduce")(reproduce.command)
app.command("bench")(bench.command)
app.command("demo")(demo.command)
app.command("warmup")(warmup.command)
app.command("serve")(serve.command)
app.command("package")(package.command)
app.command("export")(export.command)
app.command("ensemble")(ensemble.command)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; mistakes of the user become one line on stderr."""
    # Sentences may hold any character, whatever the locale of the terminal.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = app(args=list(arguments) or ["--help"], prog_name="permparse", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except SystemExit as leave:
        # Whoever read our output has seen enough, as in `permparse parse ... | head -1`; typer would exit with 1.
        if isinstance(leave.__context__, BrokenPipeError):
            return 0
        return leave.code if isinstance(leave.code, int) else 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except UserError as error:
        return _mistake(str(error))
    except USAGE_ERROR as error:
        command = error.ctx.command_path if error.ctx else "permparse"
        return _mistake(f"{error.format_message().rstrip('.')}; {command} --help says what there is")
    except BrokenPipeError:
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_PLACE:
            return _mistake(f"the output cannot be written ({error.strerror}); free some space, or send it elsewhere")
        if os.environ.get("PERMPARSE_DEBUG"):
            raise
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        note("[bold red]internal error:[/] {what} (a fault of permparse; PERMPARSE_DEBUG=1 shows where)", what=what)
        return 1


def _mistake(message: str) -> int:
    note("[bold red]error:[/] {mistake}", mistake=" ".join(message.split()))
    return 2


def main() -> None:
    """The entry point of the `permparse` command."""
    # Idle worker threads that spin steal the cores from the solver's own threads.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    gc.set_threshold(*COLLECT_AFTER)
    with open(os.devnull, "w") as nowhere:
        # A stream that was closed on purpose is None; what is written to it is meant to be lost.
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
        code = run(sys.argv[1:])
        _forget_unwritten(nowhere)
        gc.freeze()  # what is left goes with the process
        sys.exit(code)


def _forget_unwritten(nowhere: TextIO) -> None:
    """Let go of output that could not be written: Python would try again, and exit with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere.fileno(), stream.fileno())
