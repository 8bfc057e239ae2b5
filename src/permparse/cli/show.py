"""Parses, scores and errors drawn in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from permparse.console import out

if TYPE_CHECKING:
    from permparse.parser import Parse
    from permparse.training.evaluation import ErrorKind, Evaluation, GroupScore, Outcome

COLOURS = (
    "cyan",
    "magenta",
    "green",
    "yellow",
    "blue",
    "red",
    "bright_cyan",
    "bright_magenta",
    "bright_green",
)
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def show_parse(parse: Parse) -> None:
    """The multiset of every word, with the place of each token in the output as its index, and the jumps
    between words."""
    place: dict[int, int] = {token: j for j, token in enumerate(parse.order)}
    table = Table(box=None, pad_edge=False, show_header=False)
    number = 0
    for i, (word, multiset) in enumerate(zip(parse.words, parse.multisets, strict=True)):
        cell = Text()
        for token in multiset:
            index = str(place[number] + 1).translate(SUBSCRIPTS)
            cell.append(token, style=_colour(i)).append(index + "  ", style="dim")
            number += 1
        table.add_row(Text(str(i), style="dim"), Text(word, style="bold"), cell if multiset else Text("∅", style="dim"))
    out.print(table)
    jumps = Text("jumps  ", style="dim")
    for j, (token, i) in enumerate(zip(parse.tokens, parse.source_index, strict=True)):
        jumps.append(_arrow(parse.source_index[j - 1], i) if j else "", style="dim").append(token, style=_colour(i))
    out.print(jumps)
    out.print(Text("output ", style="dim") + Text(parse.output or "(empty)", style="bold"))
    sure = "proven best order" if parse.proven_optimal else "not proven to be the best order"
    out.print(
        Text(f"confidence {parse.confidence:.1%} · path score {parse.score:.2f} ({sure})", style="dim"),
    )
    for other in parse.alternatives[1:]:
        out.print(Text("or     ", style="dim") + Text(other.output) + Text(f"  {other.confidence:.1%}", style="dim"))


def _colour(word: int) -> str:
    return COLOURS[word % len(COLOURS)]


def _arrow(previous: int, current: int) -> str:
    """A jump to the right, to the left, or inside the same word, with the number of words it spans."""
    distance = abs(current - previous)
    span = str(distance).translate(SUBSCRIPTS) if distance > 1 else ""
    return f" ·{span} " if not distance else f" →{span} " if current > previous else f" ←{span} "


def show_evaluation(evaluation: Evaluation) -> None:
    """Tables of the scores, in total and by group."""
    names = list(evaluation.total.metrics)
    for title, rows in [*evaluation.groups.items(), ("", {"total": evaluation.total})]:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(title)
        for name in ("examples", *names, "Freq", "Seq/Freq"):
            table.add_column(name, justify="right")
        for value, score in rows.items():
            table.add_row(escape(value), *_cells(score, names))
        out.print(table)
    out.print(
        f"[dim]{evaluation.total.examples:,} sentences in {evaluation.seconds:.1f} s "
        f"({evaluation.sentences_per_second:,.0f}/s), peak memory {evaluation.peak_memory_mb:,.0f} MB[/]"
    )


def _cells(score: GroupScore, names: list[str]) -> list[str]:
    given = "–" if score.seq_given_freq is None else f"{100 * score.seq_given_freq:.1f}"
    return [
        f"{score.examples:,}",
        *(f"{100 * score.metrics[name]:.1f}" for name in names),
        f"{100 * score.freq:.1f}",
        given,
    ]


def show_errors(outcomes: Sequence[Outcome], kinds: Sequence[ErrorKind], counts: Counter[ErrorKind]) -> None:
    """Wrong examples with what was expected, multisets and jumps, and how many errors there are of each
    kind."""
    for outcome, kind in zip(outcomes, kinds, strict=True):
        line = f"line {outcome.example.line}" if outcome.example.line else ""
        out.rule(f"[bold]{kind}[/] [dim]{line} {escape(outcome.example.category or '')}[/]", align="left")
        out.print(Text(outcome.example.sentence, style="bold"))
        show_parse(outcome.parse)
        out.print(Text("gold   ", style="dim") + Text(outcome.example.output, style="green"))
        missing = Counter(outcome.example.target) - Counter(outcome.parse.tokens)
        surplus = Counter(outcome.parse.tokens) - Counter(outcome.example.target)
        if missing or surplus:
            difference = [f"-{t}" for t in missing.elements()] + [f"+{t}" for t in surplus.elements()]
            out.print(Text("tokens ", style="dim") + Text(" ".join(difference), style="red"))
    total = sum(counts.values())
    parts = ", ".join(f"{counts[kind]} {kind}" for kind in ("tagging", "search", "model"))
    out.print(f"[bold]{total} wrong:[/] {parts}")
