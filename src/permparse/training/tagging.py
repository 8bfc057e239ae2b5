"""Stage 1: train the multiset tagger on the exact likelihood of the gold totals, then annotate the training
set with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from permparse.data import Example
from permparse.multiset import (
    FIRST_TYPE,
    CanonicalMultiset,
    canonical_multiset,
    n_best_counts,
    target_groups,
    unreachable,
)
from permparse.nn import MultisetTagger, TaggerExample, source_batch, tagger_batch
from permparse.training.batching import bucketed, sorted_batches
from permparse.training.codec import Codec, EncodedSource
from permparse.training.hints import alignment_hints
from permparse.training.loop import Scores, Stage, StepResult
from permparse.training.recipe import Tagging
from permparse.training.threads import one_thread

EVALUATION_BATCH = 128


@dataclass(frozen=True)
class TaggingData:
    """Training examples of stage 1, encoded once. ``left_out``: line and reason of examples no counts could
    produce."""

    sources: list[EncodedSource]
    targets: list[list[str]]
    examples: list[TaggerExample]
    left_out: list[tuple[int, str]]


def encode_training_data(codec: Codec, examples: Sequence[Example], settings: Tagging, max_count: int) -> TaggingData:
    """Encode sources, gold groups and alignment hints of the training examples."""
    symbols = {codec.symbols.token(i): i for i in range(FIRST_TYPE, len(codec.symbols))}
    sources, targets, grouped, left_out = [], [], [], []
    for example in examples:
        source, target = codec.encode(example.source), codec.canonical(example.target)
        gold = target_groups(target, source.lexical, symbols, codec.task.variables)
        too_many = unreachable(gold.groups, max_count)
        if gold.unproducible or too_many:
            what = next(iter(gold.unproducible), None) or codec.symbols.token(too_many[0].symbol)
            left_out.append((example.line, f"{what!r} occurs more often than max_count = {max_count} allows"))
            continue
        sources.append(source)
        targets.append(target)
        grouped.append(gold.groups)
    hints = alignment_hints(codec, sources, targets, grouped, symbols, settings)
    encoded = [
        TaggerExample.build(s.ids.tolist(), g, h, s.features) for s, g, h in zip(sources, grouped, hints, strict=True)
    ]
    return TaggingData(sources, targets, encoded, left_out)


@dataclass(frozen=True)
class Tagged:
    """The multiset predicted for a sentence: ``tokens`` are the canonical tokens in canonical order."""

    multiset: CanonicalMultiset
    tokens: list[str]
    log_prob: float


@torch.no_grad()
def tag(codec: Codec, tagger: MultisetTagger, sources: Sequence[EncodedSource]) -> list[Tagged]:
    """The most likely multiset of every sentence, in batches of similar length."""
    tagger.eval()
    results: list[Tagged | None] = [None] * len(sources)
    for batch in sorted_batches([len(s) for s in sources], EVALUATION_BATCH):
        chosen = [sources[i] for i in batch]
        with one_thread():
            prediction = tagger.predict(source_batch([s.ids for s in chosen], [s.features for s in chosen]))
        counts, log_prob = prediction.counts.numpy(), prediction.log_prob.tolist()
        for row, i in enumerate(batch):
            source = sources[i]
            multiset = codec.multiset(counts[row, : len(source)], source)
            results[i] = Tagged(multiset, codec.tokens(multiset, source), log_prob[row])
    return [result for result in results if result is not None]


@torch.no_grad()
def tag_n_best(
    codec: Codec, tagger: MultisetTagger, sources: Sequence[EncodedSource], number: int
) -> list[list[Tagged]]:
    """The most likely multisets of every sentence, best first, in batches of similar length."""
    tagger.eval()
    results: list[list[Tagged]] = [[] for _ in sources]
    for batch in sorted_batches([len(s) for s in sources], EVALUATION_BATCH):
        chosen = [sources[i] for i in batch]
        with one_thread():
            log_probs = tagger.log_probs(source_batch([s.ids for s in chosen], [s.features for s in chosen])).numpy()
        for row, i in enumerate(batch):
            source = sources[i]
            for counts, log_prob in n_best_counts(log_probs[row, : len(source)], number):
                multiset = codec.multiset(counts, source)
                results[i].append(Tagged(multiset, codec.tokens(multiset, source), log_prob))
    return results


@torch.no_grad()
def annotate(tagger: MultisetTagger, data: TaggingData) -> list[CanonicalMultiset]:
    """The most likely counts of every training example subject to their union being the gold multiset."""
    tagger.eval()
    multisets: list[CanonicalMultiset | None] = [None] * len(data.sources)
    for batch in sorted_batches([len(s) for s in data.sources], EVALUATION_BATCH):
        counts = tagger.constrained_counts(tagger_batch([data.examples[i] for i in batch])).numpy()
        for row, i in enumerate(batch):
            multisets[i] = canonical_multiset(counts[row, : len(data.sources[i])])
    return [multiset for multiset in multisets if multiset is not None]


def same_multiset(tokens: Sequence[str], target: Sequence[str]) -> bool:
    """Whether two sequences hold the same tokens equally often."""
    return len(tokens) == len(target) and Counter(tokens) == Counter(target)


class TaggingStage(Stage):
    """Stage 1 as the training loop sees it; selected by Freq, the share of sentences whose whole multiset
    is right."""

    name = "tagger"

    def __init__(
        self,
        codec: Codec,
        tagger: MultisetTagger,
        data: TaggingData,
        judged: Sequence[Example],
        settings: Tagging,
        seed: int,
    ) -> None:
        self.model = tagger
        self._tagger, self._codec, self._data, self._settings, self._seed = (
            tagger,
            codec,
            data,
            settings,
            seed,
        )
        self._lengths = [len(source) for source in data.sources]
        self._judged = [codec.encode(example.source) for example in judged]
        self._gold = [codec.canonical(example.target) for example in judged]

    def batches(self, epoch: int) -> list[np.ndarray]:
        return bucketed(self._lengths, self._settings.batch, self._seed, epoch)

    def step(self, batch: np.ndarray, epoch: int) -> StepResult:
        hint = self._settings.hint_weight if epoch < self._settings.hint_epochs else 0.0
        examples = tagger_batch([self._data.examples[i] for i in batch])
        return StepResult(self._tagger.loss(examples, hint).mean(), len(batch))

    def evaluate(self) -> Scores:
        tagged = tag(self._codec, self._tagger, self._judged)
        right = [same_multiset(t.tokens, gold) for t, gold in zip(tagged, self._gold, strict=True)]
        freq = sum(right) / max(1, len(right))
        return Scores(freq, {"Freq": freq})
