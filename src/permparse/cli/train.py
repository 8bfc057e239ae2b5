"""`permparse train`: both stages of a recipe, resumable."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from permparse.console import note, out
from permparse.errors import UserError


def command(
    recipe: Annotated[
        str | None, typer.Argument(help="Name of a recipe (see `permparse tasks`) or path of a .toml file.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the run; runs/RECIPE if not given.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the paper's data instead of a download.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Short for --set seed=N.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting (see --settings); may be repeated."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run to the very same weights.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing while training.")] = False,
    settings: Annotated[
        bool, typer.Option("--settings", help="List every setting of a recipe and what it does.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary of the run as JSON when it is done.")] = False,
) -> None:
    """Train a parser: stage 1 (multiset tagger), annotation, stage 2 (jump permutation).

    [bold]Examples[/]

      permparse train doubling

      permparse train cogs --data DATA --seed 1 --output runs/cogs-1

      permparse train tsv --set data.options.train=train.tsv --set data.options.dev=dev.tsv

      permparse train cogs --set stage2.lr=5e-4 --set tagger.encoder.kind=bilstm

      permparse train cogs --resume              after Ctrl-C, kill -9 or a power cut
    """
    if settings:
        _print_settings()
        return
    if recipe is None and output is None:
        raise UserError("which recipe? For example: permparse train doubling (permparse tasks lists them)")
    folder = output or Path("runs") / Path(recipe or "").stem
    from permparse.training.recipe import load_recipe
    from permparse.training.run import RECIPE_FILE, RUN_FILE, saved_recipe, train

    overrides = list(set_ or [])
    if data is not None:
        overrides.append(f"data.folder={str(data.absolute())!r}")
    if seed is not None:
        overrides.append(f"seed={seed}")
    if resume:
        if overrides:
            raise UserError("--resume goes on with the recipe of the run; leave out --set, --seed and --data")
        chosen = saved_recipe(folder)
    elif recipe is None:
        raise UserError("which recipe? For example: permparse train doubling (permparse tasks lists them)")
    else:
        chosen = load_recipe(recipe, overrides)
    try:
        train(chosen, folder, resume=resume, quiet=quiet)
    except KeyboardInterrupt:
        begun = (folder / RECIPE_FILE).is_file()
        again = f"go on with: permparse train --resume --output {shlex.quote(str(folder))}"
        note(f"stopped; {escape(again) if begun else 'nothing was trained yet'}")
        raise typer.Exit(130) from None
    if json:
        out.print((folder / RUN_FILE).read_text(encoding="utf-8").strip(), markup=False)


def _print_settings() -> None:
    from permparse.training.recipe import documentation

    table = Table("setting", "default", "what it does", box=None, pad_edge=False, header_style="bold")
    for key, default, text in documentation():
        table.add_row(key, escape(default), escape(text))
    out.print(table)
