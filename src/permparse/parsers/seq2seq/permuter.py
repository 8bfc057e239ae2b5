"""The paper's permutation baseline: our tagger, then a network that writes its tokens in order, each exactly once.

The network reads the sentence, a separator and z', the tokens in canonical order; its beam search is constrained to
the permutations of z'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import numpy as np
import torch
from torch import nn

from permparse.base.settings import Table, merged
from permparse.base.storage import load_weights, pack, unpack
from permparse.nn import InputSizes, MultisetTagger
from permparse.nn.decoders import EncoderDecoder
from permparse.parsers.base import Splits, device_of
from permparse.parsers.multiset_permutation.codec import EncodedSentence
from permparse.parsers.multiset_permutation.confidence import Calibration
from permparse.parsers.multiset_permutation.networks import count_words
from permparse.parsers.multiset_permutation.proposals import from_figures
from permparse.parsers.multiset_permutation.recipe import TAG, OrderTraining, Tagger
from permparse.parsers.multiset_permutation.stages import EncodedExamples, TagStage, annotated, tag_data
from permparse.parsers.multiset_permutation.tag import tag
from permparse.parsers.recipe import Recipe, Round, Training
from permparse.parsers.seq2seq import proposals
from permparse.parsers.seq2seq.codec import Seq2SeqCodec
from permparse.parsers.seq2seq.parser import (
    CODEC_FILE,
    NETWORK_FILE,
    EncoderDecoderParser,
    TransformerParser,
    build_network,
    calibration_of,
)
from permparse.parsers.seq2seq.recipe import TransformerRecipe
from permparse.parsers.seq2seq.sources import Pairs, Source
from permparse.parsers.seq2seq.stage import TranslateStage
from permparse.parsers.stage import Stage
from permparse.tasks import Task
from permparse.text import Example

PERMUTE = "permute"
TAGGER_FILE = "tagger.safetensors"


class PermuterRecipe(TransformerRecipe):
    """A tagger, and a Transformer that puts its tokens in order."""

    tagger: Tagger = Tagger()
    """Tagging: which tokens every word contributes."""

    @property
    def stages(self) -> tuple[str, ...]:
        return TAG, PERMUTE

    def for_stage(self, stage: str) -> tuple[object, ...]:
        if stage == TAG:
            return self.task, self.seed, self.for_results().data, self.tagger
        return super().for_stage(stage)

    def stage_training(self, stage: str) -> Training:
        return {TAG: self.tagger.training, PERMUTE: self.training}[stage]


class PermuterParser(EncoderDecoderParser):
    """Tags every word with a multiset of tokens, then writes all of them from left to right."""

    recipe_class = PermuterRecipe
    recipe: PermuterRecipe
    steps, open_settings = TransformerParser.steps, TransformerParser.open_settings

    def __init__(
        self,
        recipe: PermuterRecipe,
        codec: Seq2SeqCodec,
        network: EncoderDecoder,
        tagger: MultisetTagger,
        calibration: Calibration | None = None,
    ) -> None:
        super().__init__(recipe, codec, network, calibration)
        self.tagger = tagger.eval()

    @classmethod
    def build(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Self:
        assert isinstance(recipe, PermuterRecipe)
        codec = Seq2SeqCodec.build(task, examples, recipe.data)
        tagger, network = _networks(recipe, codec)
        count_words(tagger.encoder, codec.words, examples)
        return cls(recipe, codec, network, tagger)

    @classmethod
    def proposals(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Sequence[Round]:
        assert isinstance(recipe, PermuterRecipe)
        tagger: Table = {"tagger": from_figures(examples)["tagger"]}
        with_tagger = type(recipe).model_validate(merged(tagger, recipe.model_dump(exclude_unset=True)))
        return proposals.rounds(with_tagger, task, examples, cls.steps, cls.open_settings)

    @property
    def networks(self) -> dict[str, nn.Module]:
        return {TAG: self.tagger, PERMUTE: self.network}

    def stages(self, splits: Splits) -> Iterator[Stage]:
        recipe, codec = self.recipe, self.codec
        validation = EncodedExamples.of(codec.words, splits.validation)
        data = tag_data(codec.words, splits.train, recipe.tagger)
        yield TagStage(TAG, codec.words, self.tagger, data, validation, recipe.tagger, recipe.seed)
        ordered, report = annotated(codec.words, self.tagger, data, OrderTraining())
        tokens = [codec.words.tokens(m, s) for m, s in zip(ordered.multisets, ordered.sentences, strict=True)]
        train = self._permutations(ordered.sentences, tokens, data.encoded.targets)
        tagged = [tagging.best.tokens for tagging in tag(codec.words, self.tagger, validation.sentences)]
        held_out = self._permutations(validation.sentences, tagged, validation.targets)
        stage = TranslateStage(PERMUTE, self.network, train, held_out, recipe.training, recipe.seed)
        stage.report = report
        yield stage

    def sources(self, sentences: Sequence[Sequence[str]]) -> list[Source]:
        encoded = [self.codec.words.encode(words) for words in sentences]
        tagged = tag(self.codec.words, self.tagger, encoded)
        return [self._source(s, tagging.best.tokens) for s, tagging in zip(encoded, tagged, strict=True)]

    def _permutations(
        self,
        sentences: Sequence[EncodedSentence],
        tokens: Sequence[Sequence[str]],
        targets: Sequence[Sequence[str]],
    ) -> Pairs:
        sources = [self._source(sentence, of) for sentence, of in zip(sentences, tokens, strict=True)]
        return Pairs(sources, [self.codec.target(y, source) for y, source in zip(targets, sources, strict=True)])

    def _source(self, sentence: EncodedSentence, tokens: Sequence[str]) -> Source:
        """The sentence, the separator and the tokens of its multiset, which alone can be copied."""
        codec, extra = self.codec, len(tokens) + 1
        separator = len(codec.words.words)
        ids = [separator, *(separator + 1 + k for k in codec.tokens.ids(tokens))]
        given = sentence.features
        features = None if given is None else np.concatenate([given, np.zeros((extra, given.shape[1]), np.int64)])
        both = EncodedSentence(
            sentence.words,
            np.concatenate([sentence.ids, np.array(ids, dtype=np.int64)]),
            features,
            (*sentence.lexical, *[None] * extra),
        )
        copies, extras = codec.copies([*[None] * (len(sentence) + 1), *tokens])
        return Source(both, copies, extras, len(tokens), copies[len(sentence) + 1 :])

    def files(self) -> dict[str, bytes]:
        return super().files() | {TAGGER_FILE: pack(self.tagger.state_dict())}

    @classmethod
    def from_files(cls, recipe: Recipe, task: Task, files: Mapping[str, bytes], where: str) -> Self:
        assert isinstance(recipe, PermuterRecipe)
        codec = Seq2SeqCodec.from_json(files[CODEC_FILE].decode(), task)
        tagger, network = _networks(recipe, codec)
        for module, file in ((tagger, TAGGER_FILE), (network, NETWORK_FILE)):
            load_weights(module, unpack(files[file], f"{where}: {file}", files[CODEC_FILE]), where)
        return cls(recipe, codec, network, tagger, calibration_of(files, where))


def _networks(recipe: PermuterRecipe, codec: Seq2SeqCodec) -> tuple[MultisetTagger, EncoderDecoder]:
    """The untrained tagger and the network, whose input has the words, the separator and all output tokens."""
    sizes = codec.words.sizes
    torch.manual_seed(recipe.seed)
    tagger = MultisetTagger(recipe.tagger, sizes, len(codec.words.symbols)).to(device_of(recipe))
    everything = InputSizes(sizes.words + 1 + len(codec.tokens), sizes.features)
    return tagger, build_network(recipe, codec, everything, copying=True)
