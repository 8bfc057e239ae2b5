"""Alignment hints for tagging: which word probably contributes a token (the paper's IBM-1 initialisation, or anchors).

Without a hint, a token may settle on any word that makes the totals right, such as the full stop, and ordering suffers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from permparse.base.errors import UserError
from permparse.parsers.multiset_permutation.codec import Codec, EncodedSentence
from permparse.parsers.multiset_permutation.recipe import Hints
from permparse.text import VAR, Copies, align, is_variable
from permparse.text.counting import count_speakers


def alignment_hints(
    codec: Codec,
    sentences: Sequence[EncodedSentence],
    targets: Sequence[Sequence[str]],
    heads: Sequence[Sequence[int | None]],
    settings: Hints,
) -> list[list[Copies]]:
    """Hints for the tokens that any word could produce; lexicon and variables leave nothing to guess. ``heads`` are
    those of keys, as in `Codec.heads`."""
    kind = settings.kind
    if kind == "none" or not settings.weight or not settings.epochs:
        return [[] for _ in sentences]
    if kind == "ibm1":
        return _aligned(codec, sentences, targets, settings.threshold)
    if kind == "task":
        return _attributed(codec, sentences, targets, lambda s, t: codec.producers(s).attributed(t, _homes(codec, t)))
    adjacent = kind in ("value", "auto")
    anchored = _attributed(codec, sentences, targets, lambda s, t: codec.producers(s).anchored(t, adjacent))
    if kind == "anchor":
        return anchored
    hints = _completed(anchored, _aligned(codec, sentences, targets, settings.threshold, at_end=True))
    if kind == "value":
        return hints
    hints = _completed(_counted(codec, sentences, targets), hints)
    # A key goes with its verb, whose arguments it names: at the argument it would depend on what stands around it.
    keyed = [
        codec.producers(sentence).attributed(target, of, _single(known, target)) if of else []
        for sentence, target, of, known in zip(sentences, targets, heads, hints, strict=True)
    ]
    return _completed(keyed, hints)


def _single(hints: Sequence[Copies], target: Sequence[str]) -> dict[str, int]:
    """The positions of the tokens that a target has once and hints have at one position."""
    found = Counter(hint.symbol for hint in hints)
    number = Counter(target)
    return {h.symbol: h.positions[0] for h in hints if len(h.positions) == found[h.symbol] == number[h.symbol] == 1}


def _completed(hints: Sequence[list[Copies]], others: Sequence[list[Copies]]) -> list[list[Copies]]:
    """The hints of each example, and others for the tokens that have none."""
    return [
        [*first, *(hint for hint in second if hint.symbol not in {h.symbol for h in first})]
        for first, second in zip(hints, others, strict=True)
    ]


def _counted(
    codec: Codec, sentences: Sequence[EncodedSentence], targets: Sequence[Sequence[str]]
) -> list[list[Copies]]:
    """Tokens at the words that there are as many of, where one output token comes from each."""
    words = _words(codec, sentences)
    speakers = count_speakers(words, targets)
    hints = []
    for sentence, target, free in zip(words, targets, _free(codec, sentences, targets), strict=True):
        numbers = Counter(target)
        where = {t: [i for i, word in enumerate(sentence) if word in speakers[t]] for t in free & speakers.keys()}
        found = [(i, token) for token, places in where.items() if len(places) == numbers[token] for i in places]
        hints.append([Copies(token, 1, (i,)) for i, token in sorted(found)])
    return hints


def _words(codec: Codec, sentences: Sequence[EncodedSentence]) -> list[list[str]]:
    """The words of each sentence as the vocabulary knows them."""
    return [[codec.words.token(i) for i in sentence.ids[: len(sentence.words)].tolist()] for sentence in sentences]


def _attributed(
    codec: Codec,
    sentences: Sequence[EncodedSentence],
    targets: Sequence[Sequence[str]],
    attribute: Callable[[EncodedSentence, Sequence[str]], list[Copies]],
) -> list[list[Copies]]:
    """What a rule says about each example, by position and symbol."""
    return [
        sorted(attribute(sentence, target), key=lambda hint: (hint.positions, codec.symbols.id(hint.symbol)))
        for sentence, target in zip(sentences, targets, strict=True)
    ]


def _homes(codec: Codec, target: Sequence[str]) -> list[int | None]:
    """For every token the one whose word it belongs to, as the task says."""
    homes = codec.task.homes(target)
    if homes is None:
        name = codec.task.name
        raise UserError(f'the task {name} does not say where its tokens belong; try tagger.hints.kind = "ibm1"')
    return homes


def _aligned(
    codec: Codec,
    sentences: Sequence[EncodedSentence],
    targets: Sequence[Sequence[str]],
    threshold: float,
    at_end: bool = False,
) -> list[list[Copies]]:
    """The links of an IBM-1 aligner, to which the end token is the empty word (appendix C.3 of the paper).

    With ``at_end``, the end token also gets what every output contains, where other hints find words for the rest.
    """
    # All tokens are aligned, also those that leave nothing to guess: they keep their words from claiming others.
    tokens = [[t for t in target if not (codec.variables and is_variable(t))] for target in targets]
    links = align(_words(codec, sentences), tokens, threshold=threshold, null_links=codec.task.end_token)
    everywhere = _in_every(tokens) if at_end and codec.task.end_token else {}
    return [
        [link for link in of if link.symbol not in everywhere and link.symbol in free]
        + [Copies(token, count, (len(sentence.words),)) for token, count in everywhere.items() if token in free]
        for of, sentence, free in zip(links, sentences, _free(codec, sentences, targets), strict=True)
    ]


def _free(codec: Codec, sentences: Sequence[EncodedSentence], targets: Sequence[Sequence[str]]) -> list[frozenset[str]]:
    """The tokens of each target that any word could produce."""
    return [
        frozenset(c.symbol for c in codec.producers(sentence).target(target).copies if not c.copying) - {VAR}
        for sentence, target in zip(sentences, targets, strict=True)
    ]


def _in_every(targets: Sequence[Sequence[str]]) -> dict[str, int]:
    """The tokens of all outputs, with the copies that each has at least: no word in particular produces them, so they
    belong to the end token."""
    counted = [Counter(target) for target in targets]
    common = set.intersection(*(set(c) for c in counted)) if counted else set()
    return {token: min(c[token] for c in counted) for token in sorted(common)}
