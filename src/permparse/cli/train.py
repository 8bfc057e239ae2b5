"""`permparse train`: train all stages of a recipe; can be resumed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from permparse.base.console import note, out
from permparse.base.errors import UserError
from permparse.cli.options import DataFolder, TaskOptions, as_overrides, is_own_file

if TYPE_CHECKING:
    from permparse.parsers.recipe import Recipe


def command(
    recipe: Annotated[
        str | None,
        typer.Argument(
            help="Your .tsv file, the name of a recipe (see `permparse tasks`), or the path of a .toml file."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the run; runs/NAME of the recipe or file if not given."),
    ] = None,
    data: DataFolder = None,
    option: TaskOptions = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Short for --set seed=N.")] = None,
    device: Annotated[str | None, typer.Option("--device", help="Short for --set device=NAME, such as cuda.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting (see --settings); may be repeated."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run, with exactly the same weights.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing while training.")] = False,
    settings: Annotated[
        bool, typer.Option("--settings", help="List every setting of the recipe and what it does.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary of the run as JSON when it is done.")] = False,
) -> None:
    """Train a parser: [bold]tag[/] (which tokens every word contributes), then [bold]order[/] (which follows which).

    [bold]Examples[/]

      permparse train my.tsv                     your own file: input<TAB>output, one example per line

      permparse train doubling

      permparse train cogs --data DATA --seed 1 --output runs/cogs-1

      permparse train train.tsv --option dev=dev.tsv

      permparse train cogs --set scorer.training.lr=5e-4 --set tagger.encoder.kind=bilstm

      permparse train cogs --resume              after Ctrl-C, kill -9 or a power cut

      torchrun --nproc_per_node 2 -m permparse train cogs     on two processes
    """
    if settings:
        _print_settings(recipe, set_ or [])
        return
    if recipe is None and output is None:
        raise UserError("which recipe? For example: permparse train doubling (permparse tasks lists them)")
    folder = output or Path("runs") / Path(recipe or "").stem
    from permparse.parsers.base import RECIPE_FILE
    from permparse.training.parallel import ALONE, joined
    from permparse.training.run import RUN_FILE, train

    overrides = [*(set_ or []), *as_overrides(option, data)]
    overrides += [f"{key}={value}" for key, value in (("seed", seed), ("device", device)) if value is not None]
    processes = ALONE
    try:
        with joined() as processes:
            chosen = _chosen(recipe, folder, overrides, resume)
            train(chosen, folder, resume=resume, quiet=quiet, processes=processes)
    except KeyboardInterrupt:
        again = f"continue with: {processes.command} train --resume --output {shlex.quote(str(folder))}"
        note("stopped; {what}", what=again if (folder / RECIPE_FILE).is_file() else "nothing was trained yet")
        raise typer.Exit(130) from None
    if json and processes.first:
        out.print((folder / RUN_FILE).read_text(encoding="utf-8").strip(), markup=False)


def _chosen(recipe: str | None, folder: Path, overrides: list[str], resume: bool) -> Recipe:
    """The recipe to train, or to go on with."""
    from permparse.parsers.recipe import load_recipe
    from permparse.training.run import saved_recipe

    if resume:
        if overrides:
            raise UserError("--resume continues with the recipe of the run; leave out every option that changes it")
        return saved_recipe(folder)
    if recipe is None:
        raise UserError("which recipe? For example: permparse train doubling (permparse tasks lists them)")
    if is_own_file(recipe):
        return load_recipe("tsv", [f"data.options.train={str(Path(recipe).absolute())!r}", *overrides])
    return load_recipe(recipe, overrides)


def _print_settings(recipe: str | None, overrides: list[str]) -> None:
    from permparse.base.settings import documentation
    from permparse.parsers.recipe import load_recipe

    kind = type(load_recipe("tsv" if recipe is None or is_own_file(recipe) else recipe, overrides))
    table = Table("setting", "default", "what it does", box=None, pad_edge=False, header_style="bold")
    for key, default, text in documentation(kind):
        table.add_row(key, escape(default), escape(text))
    out.print(table)
