"""`permparse demo`: train our parser and an LSTM on the embedded fragment of English, evaluate both on sentences deeper
than any in training, and parse one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from permparse.base.console import note, out
from permparse.base.errors import UserError
from permparse.cli.show import show_evaluation, show_parse

if TYPE_CHECKING:
    from collections.abc import Collection

    from permparse.evaluation.scores import Evaluation, GroupScore

LSTM = "an LSTM with attention"


def command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the run and the plot.")] = Path("runs/demo"),
    again: Annotated[bool, typer.Option("--again", help="Train again, even if the folder holds a run.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe.")
    ] = None,
) -> None:
    """See the parser work, without any download, in about three minutes.

    Trains our parser and a small LSTM with attention on a small English fragment, evaluates both on sentences that are
    deeper than any in training, saves a plot of accuracy against depth, and draws how our parser parses one sentence.
    A second run does not train again.
    """
    from permparse.evaluation.scores import evaluate
    from permparse.parsers.base import RECIPE_FILE, Parser
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
    out.print(f"\n[bold]2  Training[/] on shallow sentences; beside it {LSTM}, for about as long")
    beside = _train_beside("lstm-fragment", output / "lstm")
    try:
        parser = train(load_recipe("fragment", set_ or []), output, resume=resume)
        beside.wait()
    except KeyboardInterrupt:
        beside.wait()
        note("stopped; permparse demo continues from here")
        raise typer.Exit(130) from None
    lstm = Parser.load(output / "lstm")
    out.print("\n[bold]3  Sentences deeper than any seen in training[/]")
    shallow, deep = task.load("test"), task.load("gen")
    evaluation, outcomes = evaluate(parser, deep, "gen")
    show_evaluation(evaluation)
    seen = evaluate(parser, shallow, "test")[0].groups["depth"]
    by_depth = {
        "ours": seen | _deeper(evaluation, seen),
        f"{LSTM}, trained as long": evaluate(lstm, shallow, "test")[0].groups["depth"]
        | _deeper(evaluate(lstm, deep, "gen")[0], seen),
    }
    _plot(by_depth, evaluation.main_metric, max(map(int, seen)), output / "depth.png")
    drawn = [o.parse for o in outcomes if o.seq and 7 <= len(o.parse.words) <= 14]
    out.print("\n[bold]4  One sentence[/]: the multiset of every word, and the jumps that put the tokens in order")
    show_parse(max(drawn or [o.parse for o in outcomes], key=lambda parse: len(parse.tokens)))
    hint = f'permparse parse {output} "{sample[0].sentence}" --show'
    out.print(f"\nParse your own: [bold]{escape(hint)}[/]")


def _train_beside(recipe: str, folder: Path) -> subprocess.Popen[bytes]:
    """A training, or the rest of it, in a process of its own; Ctrl-C reaches it as well."""
    from permparse.parsers.base import RECIPE_FILE

    what = ["--resume"] if (folder / RECIPE_FILE).is_file() else [recipe]
    command = [sys.executable, "-m", "permparse", "train", *what, "--quiet", "--output", str(folder)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


def _deeper(evaluation: Evaluation, seen: Collection[str]) -> dict[str, GroupScore]:
    """The scores of the depths that training does not have."""
    return {depth: score for depth, score in evaluation.groups["depth"].items() if depth not in seen}


def _plot(by_depth: dict[str, dict[str, GroupScore]], metric: str, trained: int, path: Path) -> None:
    """Accuracy of every parser against depth as a picture, where matplotlib is installed."""
    try:
        import matplotlib
    except ImportError:
        note("[dim]no plot: {remedy}[/]", remedy="pip install 'permparse[plot]'")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.4), layout="constrained")
    for (name, scores), style in zip(by_depth.items(), ("o-", "s--"), strict=False):
        colour = "#0b6e99" if style == "o-" else "#b8860b"
        accuracy = [100 * score.metrics[metric] for score in scores.values()]
        axes.plot([int(depth) for depth in scores], accuracy, style, color=colour, label=name)
    x = sorted({int(depth) for scores in by_depth.values() for depth in scores})
    axes.axvspan(x[0] - 0.5, trained + 0.5, color="#e4e4e4", zorder=0)
    axes.text((x[0] + trained) / 2, 50, "depths seen\nin training", ha="center", va="center", color="#666666")
    axes.set(xlabel="depth of the sentence", ylabel="% of outputs right", ylim=(0, 105))
    axes.set(xlim=(x[0] - 0.5, x[-1] + 0.5), xticks=x, title="Sentences deeper than trained on")
    axes.legend(loc="center right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    note("[dim]saved {path}[/]", path=path)
