"""Draw parses, scores and errors in the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from permparse.base.console import out

if TYPE_CHECKING:
    from permparse.evaluation.differences import Difference
    from permparse.evaluation.scores import ErrorKinds, Evaluation, GroupScore, Outcome
    from permparse.parsers import Parse

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
    """How a parse came about, as far as the parser says, its output, and alternatives."""
    if parse.multisets:
        _show_multisets(parse)
        _show_jumps(parse)
    out.print(Text("output ", style="dim") + Text(parse.output or "(empty)", style="bold"))
    facts = [f"confidence {parse.confidence:.1%}"]
    if parse.multisets:
        proof = "proven best order" if parse.proven_optimal else "not proven to be the best order"
        facts.append(f"path score {parse.score:.2f} ({proof})")
    out.print(Text(" · ".join(facts), style="dim"))
    for other in parse.alternatives[1:]:
        out.print(Text("or     ", style="dim") + Text(other.output) + Text(f"  {other.confidence:.1%}", style="dim"))


def _show_multisets(parse: Parse) -> None:
    """The multiset of every word, with the place of each token in the output as its index."""
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


def _show_jumps(parse: Parse) -> None:
    """The tokens in order, with the jumps between words."""
    jumps = Text("jumps  ", style="dim")
    for j, (token, i) in enumerate(zip(parse.tokens, parse.source_index, strict=True)):
        jumps.append(_arrow(parse.source_index[j - 1], i) if j else "", style="dim").append(token, style=_colour(i))
    out.print(jumps)


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
        table.add_column(escape(title))
        for name in ("examples", *names, "Freq", "Seq/Freq"):
            table.add_column(name, justify="right")
        for value, score in rows.items():
            table.add_row(escape(value), *_cells(score, names))
        out.print(table)
    count = f"{evaluation.total.examples:,} sentence{'s' if evaluation.total.examples != 1 else ''}"
    out.print(
        f"[dim]{count} in {evaluation.seconds:.1f} s "
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


@dataclass(frozen=True)
class ShownError:
    """A wrong example, its kind, the groups it belongs to, and what is wrong."""

    outcome: Outcome
    kind: str
    groups: dict[str, str]
    difference: Difference


def show_error(error: ShownError) -> None:
    """A wrong example with its multisets and jumps, what was expected, and where the two part."""
    example, where = error.outcome.example, dict.fromkeys(error.groups.values())
    line = [f"line {example.line}"] if example.line else []
    out.rule(f"[bold]{error.kind}[/] [dim]{escape(' · '.join([*where, *line]))}[/]", align="left")
    out.print(Text(example.sentence, style="bold"))
    show_parse(error.outcome.parse)
    out.print(Text("gold   ", style="dim") + Text(example.output, style="green"))
    found = error.difference
    if found.missing or found.surplus:
        tokens = [f"-{t}" for t in found.missing] + [f"+{t}" for t in found.surplus]
        out.print(Text("tokens ", style="dim") + Text(" ".join(tokens), style="red"))
    if found.jump:
        text = Text("jump   ", style="dim") + Text(f"{found.jump.previous} → ")
        out.print(text.append(f"-{found.jump.gold} +{found.jump.found}", style="red"))


def show_error_kinds(evaluation: Evaluation, kinds: ErrorKinds) -> None:
    """Tables of how many errors there are of each kind, in every group and in total."""
    scores = evaluation.groups | {"": {"total": evaluation.total}}
    out.rule("[bold]kinds of errors[/]", align="left")
    for title, rows in (kinds.groups | {"": {"total": kinds.total}}).items():
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(escape(title))
        for name in ("examples", "wrong", *kinds.total):
            table.add_column(name, justify="right")
        for value, counts in rows.items():
            numbers = (scores[title][value].examples, sum(counts.values()), *counts.values())
            table.add_row(escape(value), *(f"{number:,}" if number else "[dim]–[/]" for number in numbers))
        out.print(table)
