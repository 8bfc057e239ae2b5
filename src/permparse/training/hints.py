"""Alignment hints for stage 1: which word probably contributes a token (the paper's IBM-1 initialisation,
or anchors).

Without a hint a token settles on whatever word makes the totals come out, a full stop for instance, and
stage 2 suffers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from permparse.data import Link, align, is_variable
from permparse.errors import UserError
from permparse.multiset import FIRST_TYPE, Group, anchors, attributed
from permparse.nn import Hint
from permparse.training.codec import Codec, EncodedSource
from permparse.training.recipe import Tagging


def alignment_hints(
    codec: Codec,
    sources: Sequence[EncodedSource],
    targets: Sequence[Sequence[str]],
    grouped: Sequence[Sequence[Group]],
    symbols: Mapping[str, int],
    settings: Tagging,
) -> list[list[Hint]]:
    """Hints for the tokens that any word could produce; lexicon and variables leave nothing to guess."""
    if settings.hint == "none" or not settings.hint_weight or not settings.hint_epochs:
        return [[] for _ in sources]
    if settings.hint == "ibm1":
        return _aligned(codec, sources, targets, grouped, symbols, settings.hint_threshold)
    anchored = [
        [Hint(group.positions[0], group.symbol, group.total) for group in groups]
        for groups in (
            _homes(codec, target, source.lexical, symbols)
            if settings.hint == "task"
            else anchors(target, source.lexical, symbols, codec.task.variables, adjacent=settings.hint == "value")
            for source, target in zip(sources, targets, strict=True)
        )
    ]
    if settings.hint != "value":
        return anchored
    aligned = _aligned(codec, sources, targets, grouped, symbols, settings.hint_threshold)
    return [
        [*first, *(hint for hint in second if hint.symbol not in {h.symbol for h in first})]
        for first, second in zip(anchored, aligned, strict=True)
    ]


def _homes(
    codec: Codec, target: Sequence[str], lexical: Sequence[str | None], symbols: Mapping[str, int]
) -> list[Group]:
    """The ordinary tokens at the words that the task says they belong to."""
    homes = codec.task.homes(target)
    if homes is None:
        raise UserError(f'the task {codec.task.name} does not know where its tokens belong; try stage1.hint = "ibm1"')
    return attributed(target, homes, lexical, symbols, codec.task.variables)


def _aligned(
    codec: Codec,
    sources: Sequence[EncodedSource],
    targets: Sequence[Sequence[str]],
    grouped: Sequence[Sequence[Group]],
    symbols: Mapping[str, int],
    threshold: float,
) -> list[list[Hint]]:
    """The links of an IBM-1 aligner, and what every output contains at the end token."""
    # All tokens are aligned, also those that leave nothing to guess: they keep their words from claiming others.
    tokens = [[t for t in target if not (codec.task.variables and is_variable(t))] for target in targets]
    words = [[codec.words.token(i) for i in source.ids[: len(source.words)].tolist()] for source in sources]
    links = align(words, tokens, threshold=threshold, null_links=codec.task.end_token)
    everywhere = _in_every(tokens) if codec.task.end_token else {}
    links = [
        [link for link in of if link.token not in everywhere]
        + [Link(len(source), token, copies) for token, copies in everywhere.items()]
        for of, source in zip(links, words, strict=True)
    ]
    free = [{codec.symbols.token(g.symbol) for g in groups if g.symbol >= FIRST_TYPE} for groups in grouped]
    return [
        [Hint(link.position, symbols[link.token], link.copies) for link in of if link.token in possible]
        for of, possible in zip(links, free, strict=True)
    ]


def _in_every(targets: Sequence[Sequence[str]]) -> dict[str, int]:
    """The tokens of all outputs, with the copies that each has at least: no word in particular produces them, so they
    belong to the end token."""
    counted = [Counter(target) for target in targets]
    common = set.intersection(*(set(c) for c in counted)) if counted else set()
    return {token: min(c[token] for c in counted) for token in sorted(common)}
