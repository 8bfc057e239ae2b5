"""Recombined training examples: the trained tagger and scorer say which word every token of an output comes from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import torch

from permparse.base.batching import sorted_batches, spread
from permparse.nn import JumpScorer, MultisetTagger
from permparse.parsers.multiset_permutation.codec import Codec, EncodedSentence
from permparse.parsers.multiset_permutation.stages import EncodedExamples, OrderData, TagData, multiset_log_probs
from permparse.parsers.multiset_permutation.tag import BATCH, annotate, same_multiset, tag
from permparse.permutation.decoding import decode
from permparse.text import LEX, VAR, Aligned, Example, Recombiner, is_variable
from permparse.text.recombination import BOUND

DOUBT = 6.0
"""A recombined example is left out if the tagger holds another multiset to be more likely by so much (natural log)."""
SURPLUS = 3
"""Examples that are made for each one that is wanted, to choose new structures from."""
MOST_EXAMPLES = 20_000
"""Examples that spans are taken from, evenly spread."""


def recombined_examples(
    codec: Codec, tagger: MultisetTagger, scorer: JumpScorer, data: TagData, number: int, seed: int
) -> list[Example]:
    """So many new examples made of the training examples, or as many as can be made and are not doubted; rather those
    of a structure that training lacks."""
    known = aligned(codec, tagger, scorer, data)
    made = Recombiner(known, seed).recombined(SURPLUS * number)
    structures = {_structure(codec, of) for of in known}
    # Sorting is stable: all new structures come first, each kind in the order in which they were drawn.
    made.sort(key=lambda of: _structure(codec, of) in structures)
    examples = list(islice((example for of in made if (example := _example(codec, of)) is not None), number))
    encoded = EncodedExamples.of(codec, examples)
    likeliest = [tagging.best.log_prob for tagging in tag(codec, tagger, encoded.sentences)]
    log_probs = multiset_log_probs(codec, tagger, encoded)
    return [example for example, best, own in zip(examples, likeliest, log_probs, strict=True) if best - own < DOUBT]


@torch.no_grad()
def aligned(codec: Codec, tagger: MultisetTagger, scorer: JumpScorer, data: TagData) -> list[Aligned]:
    """Training examples with the word of each token: by the most likely counts that make up the output, and among equal
    tokens by the best order that gives it."""
    chosen = [int(i) for i in spread(len(data.examples), MOST_EXAMPLES)]
    encoded = data.encoded.at(chosen)
    multisets = annotate(tagger, [data.examples[i] for i in chosen])
    order_data = OrderData.of(codec, encoded, multisets)
    positions: dict[int, list[int]] = {}
    for batch in sorted_batches([len(multiset) for multiset in multisets], BATCH):
        problem, allowed = order_data.problem(scorer, batch)
        for i, found in zip(batch, decode(problem.with_allowed(allowed)), strict=True):
            positions[i] = multisets[i].source_index[list(found.order)].tolist()
    return [
        Aligned(
            sentence.words,
            tuple(_without_numbers(codec, target)),
            tuple(positions[i]),
            tuple(_kinds(codec, target, sentence)),
        )
        for i, (sentence, target) in enumerate(zip(encoded.sentences, encoded.targets, strict=True))
    ]


def _kinds(codec: Codec, target: Sequence[str], sentence: EncodedSentence) -> list[str]:
    """The tokens with variables made alike, and closing brackets, and what is copied by its kind: names are not like
    other words."""
    return [
        BOUND if codec.kinds.of(token) in codec.closing else codec.kinds.of(token) if kind == LEX else kind
        for token, kind in zip(target, codec.pattern(target, sentence), strict=True)
    ]


def _structure(codec: Codec, of: Aligned) -> tuple[tuple[str, ...], ...]:
    """What each word contributes, with all that is copied made alike."""
    sentence = codec.encode(of.words)
    at_words: list[list[str]] = [[] for _ in range(len(sentence))]
    for kind, position in zip(codec.pattern(of.tokens, sentence), of.positions, strict=True):
        at_words[position].append(kind)
    return tuple(tuple(sorted(kinds)) for kinds in at_words)


def _without_numbers(codec: Codec, target: Sequence[str]) -> list[str]:
    """The tokens with variables unnamed, which are numbered by the place of their word."""
    return [VAR if codec.variables and is_variable(token) else token for token in target]


def _example(codec: Codec, made: Aligned) -> Example | None:
    """The example of tokens at their words; None if its output is written in other tokens than these. Their order may
    be another: that of statements says nothing."""
    tokens = [str(i) if token == VAR else token for token, i in zip(made.tokens, made.positions, strict=True)]
    words = [made.words[i] if i < len(made.words) else None for i in made.positions]
    surface = [codec.lexicon.surface(token, word) for token, word in zip(tokens, words, strict=True)]
    example = Example(made.words, tuple(surface), codec.output(surface), " ".join(made.words))
    return example if same_multiset(codec.target(example), tokens) else None
