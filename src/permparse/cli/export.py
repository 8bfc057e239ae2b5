"""`permparse export`: write the tagger of a trained parser as a torch.export or ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from permparse.base.console import note, out


def command(
    run: Annotated[str, typer.Argument(help="Folder of a run or of a saved parser, or the name of a parser.")],
    file: Annotated[Path, typer.Argument(help="File to write: .pt2 for torch.export, .onnx for ONNX.")],
) -> None:
    """Export the tagger of a trained parser for programs without permparse: torch.export or ONNX.

    The file takes batches of any size and sentences of any length. It holds the tagger, the first of two stages.

    [bold]Examples[/]

      permparse export runs/cogs cogs.pt2

      permparse export fragment fragment.onnx
    """
    from permparse.parsers import Parser
    from permparse.parsers.sharing.export import export_tagger

    export_tagger(Parser.load(run), file)
    note("[dim]{size} MB; ids, features, lengths → log_probs[/]", size=f"{file.stat().st_size / 2**20:.1f}")
    out.print(str(file), markup=False)
