"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from permparse.base.settings import read_pair


def _usable(cluster: str | None) -> str | None:
    """Refuse --cluster before the command says or writes anything."""
    if cluster is not None:
        from permparse.executors.connection import require_usable

        require_usable(cluster)
    return cluster


DataFolder = Annotated[Path | None, typer.Option("--data", help="Folder of the task's files, instead of a download.")]
TaskOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="Option of the task (`permparse tasks NAME` lists them); may be repeated.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="auto|local|HOST:PORT",
        help="Use Ray: the one running here, one started here for this command, or one elsewhere.",
        callback=_usable,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, help="Parallel runs, on one core each if > 1; if not given 1, or all cores of a cluster."
    ),
]
Model = Annotated[Path, typer.Argument(help="Folder of a run or of a saved parser.")]


def read_options(pairs: list[str] | None) -> dict[str, Any]:
    """What --option says."""
    return dict(read_pair(pair, "train=mine.tsv", "--option") for pair in pairs or [])


def as_overrides(pairs: list[str] | None, data: Path | None) -> list[str]:
    """--option and --data as changes of a recipe."""
    overrides = [f"data.options.{pair}" for pair in pairs or [] if read_options([pair])]
    return overrides if data is None else [*overrides, f"data.folder={str(data.absolute())!r}"]


def is_own_file(name: str) -> bool:
    """Whether a user names a file of examples and not a recipe."""
    from permparse.parsers.recipe import recipe_names

    path = Path(name)
    if name in recipe_names():
        return False
    return path.suffix.lower() in (".tsv", ".txt", ".tab") or (path.is_file() and path.suffix.lower() != ".toml")
