"""Warnings about the data, before minutes of training are spent on it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from permparse.parsers.base import Splits
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.stages import EncodedExamples, gold_copies
from permparse.text import SPECIAL_SYMBOLS, Example

MANY_RARE = 0.5
"""Share of the symbols seen in one training output only, from which on it is worth a word."""
CONTRADICTED = 0.01
LONGER = 1.2
"""How much longer validation outputs may be than any training output without a word."""
SHOWN = 3


def warnings_about(codec: Codec, max_count: int, splits: Splits) -> list[str]:
    """One line for each thing that limits what can be learned."""
    train = EncodedExamples.of(codec, splits.train)
    validation = EncodedExamples.of(codec, splits.validation)
    return [
        *_rare_symbols(codec, train),
        *_contradictions(splits.train),
        *_out_of_reach(codec, max_count, validation),
        *_lengths(train, validation),
    ]


def _rare_symbols(codec: Codec, train: EncodedExamples) -> Iterator[str]:
    outputs = Counter(token for target in train.targets for token in set(target))
    symbols = codec.symbols.tokens[len(SPECIAL_SYMBOLS) :]
    once = [symbol for symbol in symbols if outputs[symbol] <= 1]
    if len(once) > MANY_RARE * len(symbols) and len(once) > SHOWN:
        yield (
            f"{len(once):,} of {len(symbols):,} output symbols occur in one training output only, such as "
            f"{_listed(once)}; names and values are learned better if the input spells them as the output does"
        )


def _contradictions(examples: Sequence[Example]) -> Iterator[str]:
    outputs: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for example in examples:
        outputs[example.source].add(example.output)
    several = [" ".join(source) for source, found in outputs.items() if len(found) > 1]
    if len(several) > CONTRADICTED * len(outputs):
        yield f"{len(several):,} inputs have several outputs in training, such as {_listed(several[:1])}"


def _out_of_reach(codec: Codec, max_count: int, validation: EncodedExamples) -> Iterator[str]:
    missing: Counter[str] = Counter()
    for sentence, target in zip(validation.sentences, validation.targets, strict=True):
        found = gold_copies(codec, sentence, target, max_count)
        if isinstance(found, str):
            missing[found] += 1
    if missing:
        count, of = missing.total(), len(validation.targets)
        yield (
            f"{count:,} of {of:,} validation outputs cannot be produced: neither training nor their input has "
            f"{_listed([token for token, _ in missing.most_common()])}"
        )


def _lengths(train: EncodedExamples, validation: EncodedExamples) -> Iterator[str]:
    longest = max((len(target) for target in train.targets), default=0)
    longer = sum(len(target) > LONGER * longest for target in validation.targets)
    if longer:
        yield f"{longer:,} validation outputs are longer than any of training ({longest} tokens)"


def _listed(tokens: Sequence[str]) -> str:
    return ", ".join(repr(token) for token in tokens[:SHOWN]) + (" …" if len(tokens) > SHOWN else "")
