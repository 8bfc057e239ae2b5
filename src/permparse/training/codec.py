"""Between words and numbers: vocabularies and lexicon built from the training data, used alike in training
and parsing.

The one place where source words become ids, target tokens become symbols, and multisets become tokens again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from permparse.data import Example, Lexicon, Trigrams, Vocabulary
from permparse.multiset import VAR, CanonicalMultiset, canonical_multiset, producible, surface_tokens
from permparse.tasks import Task, build_lexicon, get_task
from permparse.training.recipe import Data

WORD_SPECIALS = ("<pad>", "<unk>", "<end>")
SYMBOL_SPECIALS = ("<lex>", "<var>")
SHAPES = ("none", "word", "name", "number", "sign")
NAME = "<name>"
"""The word that stands for all names where they share an entry."""


@dataclass(frozen=True)
class EncodedSource:
    """A sentence as the networks see it: word ids and shapes of every position, and what the lexicon makes
    of each.

    Shapes: ``ids`` [m], ``features`` [m, 1]; with an end token where the task wants one.
    """

    words: tuple[str, ...]
    ids: np.ndarray
    features: np.ndarray
    lexical: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Codec:
    """The vocabularies, the lexicon and the task they belong to."""

    task: Task
    words: Vocabulary
    symbols: Vocabulary
    lexicon: Lexicon
    lowercase: bool
    seen_in_lower_case: frozenset[str]
    trigrams: Trigrams
    """What the training outputs look like, as patterns."""
    share_names: bool = False

    @classmethod
    def build(cls, task: Task, examples: Sequence[Example], data: Data) -> Codec:
        """Learn vocabularies and lexicon from training examples."""
        lexicon = build_lexicon(data.lexicon, task, examples)
        lower = frozenset(word for example in examples for word in example.source if word == word.lower())
        looked_up = {word: lexicon.lookup(word) for example in examples for word in example.source}
        words = Vocabulary.build(
            ([_entry(word, data.lowercase, data.share_names, lower) for word in e.source] for e in examples),
            WORD_SPECIALS,
            data.min_count,
        )
        patterns = [
            _pattern(map(lexicon.canonical, e.target), [looked_up[word] for word in e.source], task.variables)
            for e in examples
        ]
        # What neither the lexicon nor a variable can produce needs a symbol of its own.
        symbols, trigrams = Vocabulary.build(patterns, SYMBOL_SPECIALS), Trigrams.count(patterns)
        return cls(task, words, symbols, lexicon, data.lowercase, lower, trigrams, data.share_names)

    def encode(self, source: Sequence[str]) -> EncodedSource:
        """Words to ids; any word is fine, unknown ones share an id and keep their shape."""
        entries = [_entry(word, self.lowercase, self.share_names, self.seen_in_lower_case) for word in source]
        ids, shapes = self.words.ids(entries), [_shape(word, self.seen_in_lower_case) for word in source]
        lexical = [self.lexicon.lookup(word) for word in source]
        if self.task.end_token:
            ids, shapes, lexical = [*ids, self.words.id("<end>")], [*shapes, 0], [*lexical, None]
        return EncodedSource(
            tuple(source),
            np.array(ids, dtype=np.int64),
            np.array(shapes, dtype=np.int64).reshape(-1, 1),
            tuple(lexical),
        )

    def canonical(self, target: Iterable[str]) -> list[str]:
        """Target tokens as the model sees them."""
        return [self.lexicon.canonical(token) for token in target]

    def pattern(self, tokens: Iterable[str], source: EncodedSource) -> list[str]:
        """Canonical tokens of an output of the sentence, with all that words and variables stand for made alike: its
        structure."""
        return _pattern(tokens, source.lexical[: len(source.words)], self.task.variables)

    def multiset(self, counts: np.ndarray, source: EncodedSource) -> CanonicalMultiset:
        """The tokens of predicted counts [m, V], without those that nothing stands behind: L of a word it
        does not know, or a variable in a task that has none."""
        kept = producible(counts, source.lexical)
        if not self.task.variables:
            kept[:, VAR] = 0
        return canonical_multiset(kept)

    def tokens(self, multiset: CanonicalMultiset, source: EncodedSource) -> list[str]:
        """The canonical tokens of a multiset, in canonical order."""
        return surface_tokens(multiset, self.symbols.tokens, source.lexical)

    def surface(self, tokens: Sequence[str], source_index: Sequence[int], source: EncodedSource) -> list[str]:
        """Canonical tokens as they are printed; a token copied from a word keeps that word's spelling if it
        is new."""
        words = [source.words[i] if i < len(source.words) else None for i in source_index]
        return [self.lexicon.surface(token, word) for token, word in zip(tokens, words, strict=True)]

    def to_json(self) -> str:
        state = {
            "task": self.task.name,
            "words": self.words.to_list(),
            "symbols": self.symbols.to_list(),
            "lexicon": self.lexicon.to_json(),
            "lowercase": self.lowercase,
            "seen_in_lower_case": sorted(self.seen_in_lower_case),
            "trigrams": self.trigrams.to_json(),
            "share_names": self.share_names,
        }
        return json.dumps(state, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, data: Data) -> Codec:
        state = json.loads(text)
        return cls(
            get_task(state["task"], **data.options),
            Vocabulary.from_list(state["words"], specials=WORD_SPECIALS),
            Vocabulary.from_list(state["symbols"], specials=SYMBOL_SPECIALS),
            Lexicon.from_json(state["lexicon"]),
            bool(state["lowercase"]),
            frozenset(state["seen_in_lower_case"]),
            Trigrams.from_json(state["trigrams"]),
            bool(state["share_names"]),
        )


def _shape(word: str, seen_in_lower_case: frozenset[str]) -> int:
    """A class that unknown words share with known ones: a capital counts only if the word is never written
    small."""
    if any(c.isdigit() for c in word):
        return SHAPES.index("number")
    if not any(c.isalpha() for c in word):
        return SHAPES.index("sign")
    if word[0].isupper() and word.lower() not in seen_in_lower_case:
        return SHAPES.index("name")
    return SHAPES.index("word")


def _entry(word: str, lowercase: bool, share_names: bool, seen_in_lower_case: frozenset[str]) -> str:
    """What a word is looked up by in the vocabulary."""
    if share_names and SHAPES[_shape(word, seen_in_lower_case)] == "name":
        return NAME
    return word.lower() if lowercase else word


def _pattern(tokens: Iterable[str], lexical: Sequence[str | None], variables: bool) -> list[str]:
    """Canonical tokens, but <var> for variables and <lex> for what the lexicon makes of a word of the sentence."""
    lex, var = SYMBOL_SPECIALS
    known = set(lexical)
    return [var if variables and t.isdecimal() and int(t) < len(lexical) else lex if t in known else t for t in tokens]
