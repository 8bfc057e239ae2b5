"""`permparse tune`: choose settings by trials and write them as a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from permparse.base.console import note, out
from permparse.base.errors import UserError
from permparse.cli.options import Cluster, DataFolder, Jobs, TaskOptions, as_overrides, is_own_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from permparse.experiments.samplers import Sampler, Tried
    from permparse.experiments.tuning import Finalist, Tuning

BEST = "best.toml"
SHOWN = 5


def command(
    recipe: Annotated[str, typer.Argument(help="Your .tsv file, the name of a recipe, or the path of a .toml file.")],
    space: Annotated[str, typer.Option("--space", help="What to tune: paper, paper-pretrained, or a .toml file.")],
    trials: Annotated[int, typer.Option("--trials", min=1, help="Number of settings to try.")] = 20,
    sampler: Annotated[
        Literal["random", "tpe"], typer.Option("--sampler", help="random: as in the paper; tpe: with Optuna.")
    ] = "random",
    prune: Annotated[bool, typer.Option("--prune", help="With tpe: stop trials that fall behind.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="The seed of all trials; finalists also use the next one.")] = 0,
    split: Annotated[str | None, typer.Option("--split", help="The split to score trials on; default: dev.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of trials and the recipe; runs/tune-NAME.")
    ] = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    data: DataFolder = None,
    option: TaskOptions = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of all trials; may be repeated."),
    ] = None,
) -> None:
    """Try settings at random, retrain the two best with another seed, and write the better one as a recipe.

    The score is the main metric of the task on the dev split. Report results of the recipe on fresh seeds, from 100 on.
    After Ctrl-C, kill -9 or a power cut, the same command continues where it stopped, with the same result.

    [bold]Examples[/]

      permparse tune doubling --space doubling --trials 4

      permparse tune okapi-calendar-paper --space paper --trials 20 --jobs 2 --data DATA

      permparse tune my.tsv --option dev=dev.tsv --space mine.toml --sampler tpe --prune --cluster auto
    """
    from permparse.executors import executor_for
    from permparse.experiments.display import Display
    from permparse.experiments.plan import Known
    from permparse.experiments.tuning import FINALISTS, Trials

    output = output or Path("runs") / f"tune-{Path(recipe).stem}"
    tuning = _tuning(recipe, [*(set_ or []), *as_overrides(option, data)], space, split, seed)
    chosen = _sampler(sampler, prune, tuning)
    found = Trials(tuning, chosen, f"{sampler} --prune" if prune else sampler, output)
    try:
        left = trials - len(found.tried()) + FINALISTS
        with executor_for(cluster, jobs, [output]) as executor, Display(left, executor, Known(output)) as display:
            best = found.search(trials, executor, display)
            finalists = found.final(best, executor, display)
    except KeyboardInterrupt:
        note("stopped; the same command continues from here")
        raise typer.Exit(130) from None
    found.write(output / BEST, finalists, trials)
    _show(best, finalists, tuning)
    out.print(f"wrote [bold]{escape(str(output / BEST))}[/]")
    note("[dim]report it with fresh seeds: permparse train {path} --seed 100[/]", path=output / BEST)


def _tuning(recipe: str, overrides: list[str], space: str, split: str | None, seed: int) -> Tuning:
    from permparse.experiments.space import read_space
    from permparse.experiments.tuning import Tuning
    from permparse.parsers.recipe import load_recipe, recipe_names
    from permparse.tasks import get_task

    if is_own_file(recipe):
        recipe, overrides = "tsv", [f"data.options.train={str(Path(recipe).absolute())!r}", *overrides]
    elif recipe not in recipe_names() and Path(recipe).is_file():
        recipe = str(Path(recipe).absolute())
    resolved = load_recipe(recipe, overrides)
    task = get_task(resolved.task, **resolved.data.options)
    split = split or task.dev_split
    if split not in (there := task.available_splits(resolved.data.folder)):
        raise UserError(
            f"{recipe} has no split {split!r} to decide by; name one with --split ({', '.join(there)}), "
            "or for a file of your own with --option dev=FILE"
        )
    return Tuning(recipe, tuple(overrides), read_space(space), split, seed)


def _sampler(name: str, prune: bool, tuning: Tuning) -> Sampler:
    from permparse.experiments.samplers import OptunaSampler, RandomSampler

    if name == "tpe":
        return OptunaSampler(tuning.space, tuning.seed, prune)
    if prune:
        raise UserError("--prune goes with --sampler tpe; random search trains every trial to its end")
    return RandomSampler(tuning.space, tuning.seed)


def _show(best: Sequence[Tried], finalists: Sequence[Finalist], tuning: Tuning) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("trial")
    for name in (f"seed {tuning.seed}", f"seed {tuning.seed + 1}", *tuning.space.dimensions):
        table.add_column(escape(name), justify="right")
    again = {finalist.trial.number: finalist for finalist in finalists}
    for one in best[:SHOWN]:
        second = f"{100 * again[one.trial.number].scores[1]:.1f}" if one.trial.number in again else ""
        values = (escape(str(one.trial.settings[key])) for key in tuning.space.dimensions)
        first = one.trial.number == finalists[0].trial.number
        table.add_row(str(one.trial.number), f"{100 * one.score:.1f}", second, *values, style="bold" if first else "")
    out.print(table)
