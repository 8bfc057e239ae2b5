"""Fine-tuning of a pretrained encoder–decoder (BART, T5), by its name on the Hugging Face hub or from a folder.

It reads the words and writes the target tokens of our own parser as text, cut into pieces of its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from permparse.base.files import model_files
from permparse.base.settings import Table
from permparse.base.storage import load_weights, unpack
from permparse.parsers.base import RECIPE_FILE, Parser, device_of
from permparse.parsers.multiset_permutation.codec import Codec, EncodedSentence
from permparse.parsers.recipe import Recipe, Training
from permparse.parsers.seq2seq.codec import Lengths
from permparse.parsers.seq2seq.parser import CALIBRATION_FILE, CODEC_FILE, NETWORK_FILE, Seq2SeqParser, calibration_of
from permparse.parsers.seq2seq.pretrained_network import PretrainedSeq2Seq, from_files, from_hub, to_files
from permparse.parsers.seq2seq.recipe import Seq2SeqRecipe
from permparse.parsers.seq2seq.sources import Source
from permparse.tasks import Task
from permparse.text import Example

OWN_FILES = (RECIPE_FILE, CODEC_FILE, CALIBRATION_FILE, NETWORK_FILE)


class FineTuning(Training):
    """How pretrained weights are trained further."""

    epochs: int = Field(default=50, ge=0)
    """Passes over the training data."""
    batch: int = Field(default=16, ge=1)
    """Examples in a batch; batches hold examples of similar length."""
    lr: float = Field(default=3e-5, gt=0)
    """Highest learning rate (AdamW)."""
    schedule: Literal["cosine", "linear", "constant"] = "linear"
    """How the learning rate falls after the warm-up."""


class PretrainedRecipe(Seq2SeqRecipe):
    """A pretrained encoder–decoder."""

    model: str = "facebook/bart-base"
    """Name of an encoder–decoder on the Hugging Face hub, or a folder that `save_pretrained` wrote."""
    training: FineTuning = FineTuning()
    """How the network is trained: as the paper's BART-base, but for label smoothing."""


@dataclass(frozen=True)
class PieceCodec:
    """Words and target tokens as the pieces of a pretrained tokenizer."""

    words: Codec
    tokenizer: Any
    lengths: Lengths

    @classmethod
    def build(cls, codec: Codec, tokenizer: Any, examples: Sequence[Example]) -> PieceCodec:
        """With the lengths that training examples have in pieces."""
        plain = cls(codec, tokenizer, Lengths(1, 1.0))
        counts = [(len(plain.encode(e.source)), len(plain.target(codec.target(e)))) for e in examples]
        ratio = max((target / max(1, source) for source, target in counts), default=1.0)
        return cls(codec, tokenizer, Lengths(max((target for _, target in counts), default=1), ratio))

    def encode(self, source: Sequence[str]) -> Source:
        """The words as pieces; nothing is copied but by the network's own means."""
        ids = np.array(self.tokenizer(" ".join(source))["input_ids"], dtype=np.int64)
        lexical = self.words.encode(source).lexical
        sentence = EncodedSentence(tuple(source), ids, None, lexical)
        return Source(sentence, np.full(len(ids), -1, dtype=np.int64), (), self.lengths.limit(len(ids)))

    def target(self, tokens: Sequence[str], source: Source | None = None) -> np.ndarray:
        """Target tokens as pieces, and the end."""
        ids = [i for i in self.tokenizer(text_target=" ".join(tokens))["input_ids"] if i != self.tokenizer.eos_token_id]
        return np.array([*ids, self.tokenizer.eos_token_id], dtype=np.int64)

    def output_tokens(self, ids: Sequence[int], source: Source) -> list[str]:
        """Pieces as target tokens, as they are printed."""
        text = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        sentence = source.sentence
        assert isinstance(sentence, EncodedSentence)
        words = dict(zip(reversed(sentence.lexical), reversed(sentence.words), strict=False))
        return [self.words.lexicon.surface(token, words.get(token)) for token in text.split()]

    def to_json(self) -> str:
        state = {
            "words": json.loads(self.words.to_json()),
            "longest": self.lengths.longest,
            "ratio": self.lengths.ratio,
        }
        return json.dumps(state, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, task: Task, tokenizer: Any) -> PieceCodec:
        state = json.loads(text)
        codec = Codec.from_json(json.dumps(state["words"], ensure_ascii=False), task)
        return cls(codec, tokenizer, Lengths(int(state["longest"]), float(state["ratio"])))


class PretrainedParser(Seq2SeqParser):
    """A pretrained network, fine-tuned."""

    recipe_class = PretrainedRecipe
    recipe: PretrainedRecipe
    codec: PieceCodec
    network: PretrainedSeq2Seq
    steps: ClassVar[int] = 3000
    open_settings: ClassVar[Table] = {"batch": 16}

    @classmethod
    def build(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Self:
        assert isinstance(recipe, PretrainedRecipe)
        tokenizer, network = from_hub(recipe.model)
        codec = PieceCodec.build(Codec.build(task, examples, recipe.data), tokenizer, examples)
        return cls(recipe, codec, network.to(device_of(recipe)))

    def facts(self) -> list[str]:
        return [f"{len(self.codec.tokenizer):,} pieces", *Parser.facts(self)]

    def initialise(self, new_stages: Collection[str]) -> list[str]:
        return [f"weights of {self.recipe.model}"] if new_stages else []

    def starting_files(self, new_stages: Collection[str]) -> list[Path]:
        return [*super().starting_files(new_stages), *model_files(self.recipe.model)]

    def files(self) -> dict[str, bytes]:
        return super().files() | to_files(self.codec.tokenizer, self.network)

    @classmethod
    def from_files(cls, recipe: Recipe, task: Task, files: Mapping[str, bytes], where: str) -> Self:
        assert isinstance(recipe, PretrainedRecipe)
        described = {
            name: content for name, content in files.items() if name not in OWN_FILES and name != "recipe.toml"
        }
        tokenizer, network = from_files(described, where)
        load_weights(network, unpack(files[NETWORK_FILE], f"{where}: {NETWORK_FILE}", files[CODEC_FILE]), where)
        codec = PieceCodec.from_json(files[CODEC_FILE].decode(), task, tokenizer)
        return cls(recipe, codec, network.to(device_of(recipe)), calibration_of(files, where))
