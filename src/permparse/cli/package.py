"""`permparse package`: write a trained parser as one file or a wheel, with a model card filled in from its run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from permparse.base.console import note, out


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run or of a saved parser.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File, or folder of the wheel.")] = None,
    wheel: Annotated[bool, typer.Option("--wheel", help="Make a wheel for pip.")] = False,
    name: Annotated[str | None, typer.Option("--name", help="Name of the parser; default: the folder's name.")] = None,
    version: Annotated[str, typer.Option("--version", help="Version of the wheel.")] = "1.0",
    licence: Annotated[str, typer.Option("--licence", help="Licence stated in the card, such as mit.")] = "",
    evaluation: Annotated[
        list[Path] | None,
        typer.Option("--evaluation", help="File that permparse evaluate saved, for the card; may be repeated."),
    ] = None,
) -> None:
    """Package a trained parser with its model card: one file, or a wheel, that Parser.load takes.

    [bold]Examples[/]

      permparse package runs/cogs --evaluation results/cogs-gen.json

      permparse package runs/cogs --wheel --name cogs --licence mit
    """
    from permparse.parsers import Parser
    from permparse.parsers.sharing.archive import SUFFIX, write_file, write_wheel
    from permparse.parsers.sharing.card import model_card

    parser = Parser.load(run)
    parser.recipe = parser.recipe.for_results()  # Where the data lay is nobody else's business.
    called = name or run.resolve().name
    card = model_card(parser, called, run, evaluation or [], licence)
    if wheel:
        path = write_wheel(parser, card, called, version, output or Path("dist"))
    else:
        path = output or Path(f"{called}{SUFFIX}")
        write_file(parser, card, path)
    size = path.stat().st_size / 2**20
    note("[dim]{size} MB; {how}[/]", size=f"{size:.1f}", how=_how(path, called, wheel))
    out.print(str(path), markup=False)


def _how(path: Path, name: str, wheel: bool) -> str:
    if wheel:
        return f"pip install {path}, then Parser.load({name!r})"
    return f'permparse parse {path} "…", or Parser.load({str(path)!r})'
