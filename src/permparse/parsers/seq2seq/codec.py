"""Between words and numbers: the words and target tokens of our own parser, as sources and outputs of a network.

The same tokenizer, notation and lexicon as everywhere, so that parsers differ in nothing else.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from permparse.nn.decoders import END_ID, OUTPUT_SPECIALS, UNKNOWN_ID
from permparse.parsers.multiset_permutation.codec import Codec, EncodedSentence
from permparse.parsers.recipe import Data
from permparse.parsers.seq2seq.sources import Source
from permparse.tasks import Task
from permparse.text import Example, Vocabulary

LONGER = 1.5
"""An output may be so many times longer than training suggests, and MORE tokens more."""
MORE = 10


@dataclass(frozen=True)
class Lengths:
    """The longest output of training, and the most tokens that an output has for each word of its input."""

    longest: int
    ratio: float

    def limit(self, words: int) -> int:
        """How long an output may become at most."""
        return MORE + math.ceil(LONGER * max(self.longest, self.ratio * words))


@dataclass(frozen=True)
class Seq2SeqCodec:
    """The vocabulary of output tokens, and the codec of our own parser for all else."""

    words: Codec
    tokens: Vocabulary
    lengths: Lengths

    @classmethod
    def build(cls, task: Task, examples: Sequence[Example], data: Data) -> Seq2SeqCodec:
        """Learn notation, vocabularies and what can be copied from training examples.

        Tokens seen less than ``min_count`` times that could always be copied have to be copied.
        """
        codec = Codec.build(task, examples, data)
        targets = [codec.target(example) for example in examples]
        counts = Counter(token for target in targets for token in target)
        needed = {
            token
            for example, target in zip(examples, targets, strict=True)
            for token in set(target) - set(codec.encode(example.source).lexical)
        }
        rare = {token for token, count in counts.items() if count < data.min_count} - needed
        tokens = Vocabulary.build(([t for t in target if t not in rare] for target in targets), OUTPUT_SPECIALS)
        longest = max((len(target) for target in targets), default=1)
        ratio = max((len(t) / max(1, len(e.source)) for e, t in zip(examples, targets, strict=True)), default=1.0)
        return cls(codec, tokens, Lengths(longest, ratio))

    @property
    def copying(self) -> bool:
        """Whether words can be copied."""
        return self.words.lexicon.mode != "none"

    def encode(self, source: Sequence[str]) -> Source:
        """Words to ids, and to the output ids that copying gives."""
        sentence = self.words.encode(source)
        copies, extras = self.copies(sentence.lexical)
        return Source(sentence, copies, extras, self.lengths.limit(len(sentence)))

    def copies(self, tokens: Sequence[str | None]) -> tuple[np.ndarray, tuple[str, ...]]:
        """The output ids of tokens that a source offers, -1 for none, and those outside the vocabulary."""
        extras: dict[str, int] = {}
        ids = []
        for token in tokens:
            if token is None:
                ids.append(-1)
            elif token in self.tokens and token not in OUTPUT_SPECIALS:
                ids.append(self.tokens.id(token))
            else:
                ids.append(extras.setdefault(token, len(self.tokens) + len(extras)))
        return np.array(ids, dtype=np.int64), tuple(extras)

    def target(self, tokens: Sequence[str], source: Source) -> np.ndarray:
        """The ids of gold tokens, and the end; what can neither be generated nor copied is unknown."""
        extras = {token: len(self.tokens) + k for k, token in enumerate(source.extras)}
        ids = [self._id(token, extras) for token in tokens]
        return np.array([*ids, END_ID], dtype=np.int64)

    def _id(self, token: str, extras: Mapping[str, int]) -> int:
        if token in self.tokens and token not in OUTPUT_SPECIALS:
            return self.tokens.id(token)
        return extras.get(token, UNKNOWN_ID)

    def output_tokens(self, ids: Sequence[int], source: Source) -> list[str]:
        """Output ids as tokens, as they are printed: one that a word offers may keep the word's spelling."""
        sentence = source.sentence
        assert isinstance(sentence, EncodedSentence)
        names = [*self.tokens.tokens, *source.extras]
        words = dict(zip(reversed(sentence.lexical), reversed(sentence.positions), strict=True))
        return [self.words.lexicon.surface(names[i], words.get(names[i])) for i in ids]

    def to_json(self) -> str:
        state = {
            "words": json.loads(self.words.to_json()),
            "tokens": self.tokens.to_list(),
            "longest": self.lengths.longest,
            "ratio": self.lengths.ratio,
        }
        return json.dumps(state, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, task: Task) -> Seq2SeqCodec:
        state: dict[str, Any] = json.loads(text)
        return cls(
            Codec.from_json(json.dumps(state["words"], ensure_ascii=False), task),
            Vocabulary.from_list(state["tokens"], specials=OUTPUT_SPECIALS),
            Lengths(int(state["longest"]), float(state["ratio"])),
        )
