"""`permparse ensemble`: combine trained parsers of the same task into one parser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from permparse.base.console import note, out
from permparse.base.errors import UserError


def command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs or of saved parsers, two or more.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the ensemble.")],
) -> None:
    """Combine several parsers, trained on the same task with different seeds, settings or notations, into one.

    If their best outputs agree, that is the output. If not, each proposes likely outputs, and the one that is most
    probable under all of them together wins. The folder holds copies of the members; all commands take it
    like any other parser. It parses more slowly than its members together.

    [bold]Examples[/]

      permparse train my.tsv --seed 1 --output runs/my-1

      permparse train my.tsv --seed 2 --output runs/my-2

      permparse ensemble runs/my-1 runs/my-2 --output runs/my-both

      permparse evaluate runs/my-both --file new.tsv
    """
    from permparse.parsers import Parser
    from permparse.parsers.ensemble.parser import EnsembleParser

    if len({run.resolve() for run in runs}) < max(2, len(runs)):
        raise UserError(f"expected two or more different runs, got {', '.join(map(str, runs))}")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"{output}: holds something already; choose another folder with --output")
    ensemble = EnsembleParser.of({str(run): Parser.load(run) for run in runs})
    ensemble.save(output)
    note("[dim]{facts}; permparse evaluate {path}[/]", facts=", ".join(ensemble.facts()), path=output)
    out.print(str(output), markup=False)
