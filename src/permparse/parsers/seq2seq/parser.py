"""Sequence-to-sequence parsers: what all share, the LSTM with attention, the Transformer with relative positions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar, Protocol, Self

import numpy as np
import torch
from torch import nn

from permparse.base.errors import UserError
from permparse.base.settings import Table
from permparse.base.storage import load_weights, pack, unpack
from permparse.nn import InputSizes
from permparse.nn.decoders import EncoderDecoder, Seq2Seq
from permparse.parsers.base import Parser, Splits, device_of
from permparse.parsers.multiset_permutation import confidence
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.confidence import Calibration, Evidence
from permparse.parsers.multiset_permutation.networks import count_words
from permparse.parsers.multiset_permutation.stored import read_calibration
from permparse.parsers.multiset_permutation.vectors import embedding_size, give_vectors, restore_vectors, vector_files
from permparse.parsers.parse import Alternative, Parse
from permparse.parsers.recipe import Recipe, Round
from permparse.parsers.seq2seq import proposals
from permparse.parsers.seq2seq.beam import Hypothesis
from permparse.parsers.seq2seq.codec import Seq2SeqCodec
from permparse.parsers.seq2seq.recipe import (
    TRANSLATE,
    EncoderDecoderRecipe,
    LSTMRecipe,
    Seq2SeqRecipe,
    TransformerRecipe,
)
from permparse.parsers.seq2seq.sources import Pairs, Source, search
from permparse.parsers.seq2seq.stage import TranslateStage
from permparse.parsers.stage import Stage
from permparse.tasks import Task
from permparse.text import UNKNOWN, Example

CODEC_FILE, CALIBRATION_FILE, NETWORK_FILE = "codec.json", "calibration.json", "network.safetensors"


class PairCodec(Protocol):
    """Between sentences, gold tokens and ids; ``words`` is the codec of our own parser."""

    @property
    def words(self) -> Codec: ...
    def encode(self, source: Sequence[str]) -> Source: ...
    def target(self, tokens: Sequence[str], source: Source) -> np.ndarray: ...
    def output_tokens(self, ids: Sequence[int], source: Source) -> list[str]: ...
    def to_json(self) -> str: ...


class Seq2SeqParser(Parser):
    """Reads a sentence, writes an output from left to right: all that does not depend on the network."""

    recipe: Seq2SeqRecipe
    codec: PairCodec
    network: Seq2Seq
    chunk = 200
    steps: ClassVar[int]
    """Steps of training that suit data of any size, where a recipe leaves it open."""
    open_settings: ClassVar[Table]
    """Settings of training that go with them."""

    def __init__(
        self, recipe: Seq2SeqRecipe, codec: PairCodec, network: Seq2Seq, calibration: Calibration | None = None
    ) -> None:
        super().__init__(recipe, codec.words.task)
        self.codec, self.network = codec, network.eval()
        self.calibration = calibration or Calibration()

    @classmethod
    def proposals(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Sequence[Round]:
        assert isinstance(recipe, Seq2SeqRecipe)
        return proposals.rounds(recipe, task, examples, cls.steps, cls.open_settings)

    @property
    def networks(self) -> dict[str, nn.Module]:
        return {TRANSLATE: self.network}

    def stages(self, splits: Splits) -> Iterator[Stage]:
        data, validation = self._pairs(splits.train), self._pairs(splits.validation)
        yield TranslateStage(TRANSLATE, self.network, data, validation, self.recipe.training, self.recipe.seed)

    def sources(self, sentences: Sequence[Sequence[str]]) -> list[Source]:
        """What the network is given of these sentences."""
        return [self.codec.encode(words) for words in sentences]

    def _pairs(self, examples: Sequence[Example]) -> Pairs:
        sources = self.sources([example.source for example in examples])
        targets = [self.codec.target(self.gold_tokens(e), s) for e, s in zip(examples, sources, strict=True)]
        return Pairs(sources, targets)

    def parse_chunk(self, sources: Sequence[Sequence[str]], sentences: Sequence[str], n_best: int) -> list[Parse]:
        encoded = self.sources(sources)
        found = search(self.network, encoded, self.recipe.beam, n_best)
        everything = zip(sentences, encoded, found, strict=True)
        return [self._parse(text, source, best, n_best) for text, source, best in everything]

    def calibrate(self, examples: Sequence[Example]) -> None:
        """Fit the confidence on held-out examples, by the task's main metric, and on corrupted sentences."""
        is_right = next(iter(self.task.metrics.values()))
        sources = [example.source for example in examples]
        parses = self.parse_words(sources)
        right = [is_right(parse.output, example.output) for parse, example in zip(parses, examples, strict=True)]
        held_out = [self._evidence(parse.log_prob, parse.words) for parse in parses]
        nonsense = self.parse_words(confidence.corrupted(sources, self.recipe.seed))
        wrong = confidence.doubtful([self._evidence(parse.log_prob, parse.words) for parse in nonsense], held_out)
        fitted = confidence.fit([*held_out, *wrong], [*right, *[False] * len(wrong)])
        self.calibration = confidence.recentred(fitted, held_out, right)

    def _evidence(self, log_prob: float, words: Sequence[str]) -> Evidence:
        ids = self.codec.words.encode(words).ids
        unknown = float((ids == self.codec.words.words.id(UNKNOWN)).mean()) if len(ids) else 0.0
        return Evidence(log_prob, 0.0, 0.0, 0.0, unknown, 0.0)

    def compared(self, tokens: Sequence[str]) -> list[str]:
        return self.codec.words.canonical(tokens)

    def gold_tokens(self, example: Example) -> list[str]:
        return self.codec.words.target(example)

    def _parse(self, text: str, source: Source, found: Sequence[Hypothesis], n_best: int) -> Parse:
        words = source.sentence.words
        every = [self._alternative(hypothesis, source) for hypothesis in found]
        best = every[0]
        return Parse(
            sentence=text,
            output=best.output,
            words=words,
            tokens=best.tokens,
            log_prob=best.log_score,
            confidence=best.confidence,
            alternatives=tuple({one.output: one for one in reversed(every)}.values())[::-1] if n_best > 1 else (),
        )

    def _alternative(self, hypothesis: Hypothesis, source: Source) -> Alternative:
        tokens = self.codec.output_tokens(hypothesis.ids, source)
        evidence = self._evidence(hypothesis.log_prob, source.sentence.words)
        return Alternative(
            self.codec.words.output(tokens),
            tuple(tokens),
            hypothesis.log_prob,
            self.calibration.confidence(evidence),
        )

    def files(self) -> dict[str, bytes]:
        codec = self.codec.to_json().encode()
        return {
            CODEC_FILE: codec,
            CALIBRATION_FILE: json.dumps(asdict(self.calibration)).encode(),
            NETWORK_FILE: pack(self.network.state_dict(), belongs_to=codec),
        }


def calibration_of(files: Mapping[str, bytes], where: str) -> Calibration:
    """The calibration of a saved parser."""
    return Calibration(**read_calibration(files[CALIBRATION_FILE], f"{where}: {CALIBRATION_FILE}"))


class EncoderDecoderParser(Seq2SeqParser):
    """An encoder and a decoder of ours; `lstm` and `transformer` differ in their recipes."""

    recipe: EncoderDecoderRecipe
    codec: Seq2SeqCodec
    network: EncoderDecoder

    @classmethod
    def build(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Self:
        assert isinstance(recipe, EncoderDecoderRecipe)
        if size := embedding_size(recipe.encoder):
            encoder = recipe.encoder.model_copy(update={"embedding_size": size})
            recipe = recipe.model_copy(update={"encoder": encoder})
        codec = Seq2SeqCodec.build(task, examples, recipe.data)
        network = build_network(recipe, codec, codec.words.sizes, codec.copying)
        count_words(network.encoder, codec.words, examples)
        return cls(recipe, codec, network)

    def facts(self) -> list[str]:
        known = [f"{len(self.codec.words.words):,} words", f"{len(self.codec.tokens):,} output tokens"]
        return [*known, *super().facts()]

    def initialise(self, new_stages: Collection[str]) -> list[str]:
        return give_vectors({TRANSLATE: self.network.encoder}, self.codec.words, new_stages)

    def starting_files(self, new_stages: Collection[str]) -> list[Path]:
        return [*super().starting_files(new_stages), *self.network.encoder.starting_files()]

    def files(self) -> dict[str, bytes]:
        return super().files() | vector_files({TRANSLATE: self.network.encoder})

    @classmethod
    def from_files(cls, recipe: Recipe, task: Task, files: Mapping[str, bytes], where: str) -> Self:
        assert isinstance(recipe, EncoderDecoderRecipe)
        codec = Seq2SeqCodec.from_json(files[CODEC_FILE].decode(), task)
        network = build_network(recipe, codec, codec.words.sizes, codec.copying)
        load_weights(network, unpack(files[NETWORK_FILE], f"{where}: {NETWORK_FILE}", files[CODEC_FILE]), where)
        restore_vectors({TRANSLATE: network.encoder}, codec.words, files, where)
        return cls(recipe, codec, network, calibration_of(files, where))


class LSTMParser(EncoderDecoderParser):
    """A bidirectional LSTM reads, an LSTM with attention writes."""

    recipe_class = LSTMRecipe
    steps = 3000
    open_settings: ClassVar[Table] = {"lr": 2e-3}


class TransformerParser(EncoderDecoderParser):
    """A Transformer with relative positions, in the style of Csordás et al. (2021)."""

    recipe_class = TransformerRecipe
    steps = 3000
    open_settings: ClassVar[Table] = {"lr": 5e-4}


def build_network(
    recipe: EncoderDecoderRecipe, codec: Seq2SeqCodec, sizes: InputSizes, copying: bool
) -> EncoderDecoder:
    """An untrained network of the right size, on the recipe's device; its weights follow from the seed."""
    device = device_of(recipe)
    torch.manual_seed(recipe.seed)
    try:
        network = EncoderDecoder(recipe.encoder, recipe.decoder, sizes, len(codec.tokens), copying)
    except ValueError as error:
        raise UserError(f"the network of this recipe cannot be built: {error}") from error
    return network.to(device)
