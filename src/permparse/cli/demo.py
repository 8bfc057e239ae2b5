"""`permparse demo`: train on the embedded fragment of English, look at deeper sentences than it was trained
on, parse one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from permparse.base.console import note, out
from permparse.base.errors import UserError
from permparse.cli.show import show_evaluation, show_parse

if TYPE_CHECKING:
    from permparse.evaluation.scores import GroupScore


def command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the run and the plot.")] = Path("runs/demo"),
    again: Annotated[bool, typer.Option("--again", help="Train again, even if the folder holds a run.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe.")
    ] = None,
) -> None:
    """See the whole thing work, without any download, in about two minutes.

    Trains a parser on a small English fragment, measures it on sentences that are deeper than any it was
    trained on, saves a plot of accuracy against depth, and draws how it parses one sentence. Run twice, it
    trains only once.
    """
    from permparse.evaluation.scores import evaluate
    from permparse.parsers.base import RECIPE_FILE
    from permparse.parsers.recipe import load_recipe
    from permparse.tasks import get_task
    from permparse.training.run import train

    if again and (output / RECIPE_FILE).is_file():
        shutil.rmtree(output)
    resume = (output / RECIPE_FILE).is_file()
    if resume and set_:
        raise UserError(f"{output} holds a run already; --again trains it again with the changed settings")
    task = get_task("fragment")
    sample = task.load("train")[:2]
    out.print("[bold]1  The task[/]: a sentence in, a logical form out")
    for example in sample:
        out.print(f"   {escape(example.sentence)}\n   [dim]{escape(example.output)}[/]")
    out.print("\n[bold]2  Training[/] on shallow sentences")
    try:
        parser = train(load_recipe("fragment", set_ or []), output, resume=resume)
    except KeyboardInterrupt:
        note("stopped; permparse demo continues from here")
        raise typer.Exit(130) from None
    out.print("\n[bold]3  Sentences deeper than any seen in training[/]")
    shallow, _ = evaluate(parser, task.load("test"), "test")
    evaluation, outcomes = evaluate(parser, task.load("gen"), "gen")
    show_evaluation(evaluation)
    trained = shallow.groups["depth"]
    deeper = {d: score for d, score in evaluation.groups["depth"].items() if d not in trained}
    _plot(trained | deeper, evaluation.main_metric, max(map(int, trained)), output / "depth.png")
    drawn = [o.parse for o in outcomes if o.seq and 7 <= len(o.parse.words) <= 14]
    out.print("\n[bold]4  One sentence[/]: the multiset of every word, and the jumps that put the tokens in order")
    show_parse(max(drawn or [o.parse for o in outcomes], key=lambda parse: len(parse.tokens)))
    hint = f'permparse parse {output} "{sample[0].sentence}" --show'
    out.print(f"\nParse your own: [bold]{escape(hint)}[/]")


def _plot(depths: dict[str, GroupScore], metric: str, trained: int, path: Path) -> None:
    """Accuracy against depth as a picture, where matplotlib is installed."""
    try:
        import matplotlib
    except ImportError:
        note("[dim]no plot: {remedy}[/]", remedy="pip install 'permparse[plot]'")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    x = [int(d) for d in depths]
    figure, axes = pyplot.subplots(figsize=(6, 3.4), layout="constrained")
    axes.plot(x, [100 * s.metrics[metric] for s in depths.values()], "o-", color="#0b6e99", label="output right")
    axes.plot(x, [100 * s.freq for s in depths.values()], "s--", color="#b8860b", label="multiset right")
    axes.axvspan(min(x) - 0.5, trained + 0.5, color="#e4e4e4", zorder=0)
    axes.text((min(x) + trained) / 2, 50, "depths seen\nin training", ha="center", va="center", color="#666666")
    axes.set(xlabel="depth of the sentence", ylabel="% of sentences", ylim=(0, 105))
    axes.set(xlim=(min(x) - 0.5, max(x) + 0.5), xticks=x, title="Sentences deeper than trained on")
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    note("[dim]saved {path}[/]", path=path)
