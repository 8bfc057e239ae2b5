"""Alignment hints for stage 1: which word probably contributes a token (the paper's IBM-1 initialisation,
or anchors).

Without a hint a token settles on whatever word makes the totals come out, a full stop for instance, and
stage 2 suffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from permparse.data import align
from permparse.multiset import FIRST_TYPE, Group, anchors
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
    if settings.hint == "anchor":
        return [
            [
                Hint(group.positions[0], group.symbol, group.total)
                for group in anchors(target, source.lexical, symbols, codec.task.variables)
            ]
            for source, target in zip(sources, targets, strict=True)
        ]
    tokens = [
        [codec.symbols.token(g.symbol) for g in groups if g.symbol >= FIRST_TYPE for _ in range(g.total)]
        for groups in grouped
    ]
    words = [[codec.words.token(i) for i in source.ids[: len(source.words)].tolist()] for source in sources]
    links = align(words, tokens, threshold=settings.hint_threshold)
    return [[Hint(link.position, symbols[link.token], link.copies) for link in of] for of in links]
