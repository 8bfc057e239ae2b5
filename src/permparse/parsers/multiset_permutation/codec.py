"""Between words and ids: vocabularies and lexicon, built from the training data and used in training and parsing.

The one place where words become ids, target tokens become symbols, and multisets become tokens again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from permparse.base.errors import UserError
from permparse.base.reading import text_in
from permparse.multiset import CanonicalMultiset, canonical_multiset
from permparse.nn import InputSizes, Sentence
from permparse.nn.batches import Copies as NumberedCopies
from permparse.parsers.legacy import old_knowledge
from permparse.parsers.multiset_permutation.stored import read_notation
from permparse.parsers.recipe import Data
from permparse.tasks import Task, build_lexicon
from permparse.text import (
    LEX,
    NOWHERE,
    SPECIAL_SYMBOLS,
    VAR,
    Companions,
    Copies,
    Example,
    Kinds,
    Lexicon,
    Origins,
    Producers,
    Relations,
    Succession,
    Trigrams,
    Vocabulary,
    Writing,
    copies_ignore_case,
)
from permparse.text.notation.symbols import Symbols
from permparse.text.writing import LEVELS

WORD_SPECIALS = ("<pad>", "<unk>", "<end>")
END = "<end>"
LEX_ID, VAR_ID = SPECIAL_SYMBOLS.index(LEX), SPECIAL_SYMBOLS.index(VAR)
REMEMBERED = 50_000
"""Words whose encoding is kept."""
NAME = "<name>"
"""The word that stands for all names where they share an entry."""
Shape = Literal["none", "word", "name", "number", "sign"]
SHAPES: tuple[Shape, ...] = ("none", "word", "name", "number", "sign")


@dataclass(frozen=True)
class EncodedSentence(Sentence):
    """A sentence as the networks see it, and what the lexicon makes of each position.

    Positions are the words and, where the task wants one, an end token.
    """

    lexical: tuple[str | None, ...] = ()

    @property
    def positions(self) -> tuple[str, ...]:
        """The word at every position."""
        return self.words + (END,) * (len(self) - len(self.words))


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
    writing: Writing | None = None
    """The learned notation of outputs; None: the task's own."""
    companions: Companions = field(default_factory=Companions)
    """Words that stay together in outputs."""
    kinds: Kinds = field(default_factory=Kinds)
    """What kind of token each is, where a notation is learned."""
    succession: Succession = field(default_factory=Succession)
    origins: Origins = field(default_factory=Origins)
    """What may follow what, by kind and by the words that two tokens come from."""
    relations: Relations = field(default_factory=Relations)
    """What the numbers of tokens have to do with each other."""

    @classmethod
    def build(cls, task: Task, examples: Sequence[Example], data: Data) -> Codec:
        """Learn notation, vocabularies and lexicon from training examples."""
        task = task.learned(examples)
        if task.knowledge:
            examples = [replace(example, target=tuple(task.shorten(example.output))) for example in examples]
        writing, variables = None, task.variables
        if data.notation != "task":
            writing = _writing(data.notation, task, examples)
            examples = [replace(example, target=tuple(writing.shorten(example.output))) for example in examples]
            variables = variables or writing.first_position is not None
        fold = task.case_insensitive or (task.raw_outputs and copies_ignore_case(examples))
        lexicon = build_lexicon(data.lexicon, task, examples, variables, fold, by_number=writing is not None)
        lower = frozenset(word for example in examples for word in example.source if word == word.lower())
        looked_up = {word: lexicon.lookup(word) for example in examples for word in example.source}
        words = Vocabulary.build(
            ([_entry(word, data.lowercase, data.share_names, lower) for word in e.source] for e in examples),
            WORD_SPECIALS,
            data.min_count,
        )
        sentences = [[looked_up[word] for word in e.source] for e in examples]
        targets = [list(map(lexicon.canonical, e.target)) for e in examples]
        patterns = [_pattern(target, of, variables) for target, of in zip(targets, sentences, strict=True)]
        # What neither the lexicon nor a variable can produce needs a symbol of its own.
        symbols, trigrams = Vocabulary.build(patterns, SPECIAL_SYMBOLS), Trigrams.count(patterns)
        kinds = None if writing is None else _kinds(writing, lexicon, examples)
        return cls(
            task,
            words,
            symbols,
            lexicon,
            data.lowercase,
            lower,
            trigrams,
            data.share_names,
            writing,
            Companions.learn(targets, (e.source for e in examples)),
            kinds or Kinds(),
            Succession() if kinds is None else Succession.learn(targets, kinds, _closing(writing)),
            Origins() if kinds is None else Origins.learn(_with_positions(targets, sentences, variables), kinds),
            Relations() if kinds is None else Relations.learn(zip((e.source for e in examples), targets, strict=True)),
        )

    @property
    def closing(self) -> frozenset[str]:
        """The closing brackets of a learned notation, which are kinds of their own."""
        return _closing(self.writing)

    @property
    def variables(self) -> bool:
        """Whether the target token p, a decimal number, names the variable of input position p."""
        return self.lexicon.variables

    @property
    def sizes(self) -> InputSizes:
        """What an encoder has to know of the words."""
        return InputSizes(len(self.words), (len(SHAPES),))

    def encode(self, source: Sequence[str]) -> EncodedSentence:
        """Words to ids; any word is fine, unknown ones share an id and keep their shape."""
        known = [self._encoded(word) for word in source]
        if self.task.end_token:
            known.append((self.words.id(END), SHAPES.index("none"), None))
        return EncodedSentence(
            tuple(source),
            np.array([word_id for word_id, _, _ in known], dtype=np.int64),
            np.array([shape for _, shape, _ in known], dtype=np.int64).reshape(-1, 1),
            tuple(lexical for _, _, lexical in known),
        )

    def _encoded(self, word: str) -> tuple[int, int, str | None]:
        """Id, shape and lexical token of a word, remembered: most words come again and again."""
        found = self._remembered.get(word)
        if found is None:
            entry = _entry(word, self.lowercase, self.share_names, self.seen_in_lower_case)
            shape = SHAPES.index(_shape(word, self.seen_in_lower_case))
            found = self.words.id(entry), shape, self.lexicon.lookup(word)
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[word] = found
        return found

    @cached_property
    def _remembered(self) -> dict[str, tuple[int, int, str | None]]:
        return {}

    @cached_property
    def ordinary_symbols(self) -> frozenset[str]:
        """The output tokens that have a symbol of their own."""
        return frozenset(self.symbols.tokens[len(SPECIAL_SYMBOLS) :])

    def producers(self, sentence: EncodedSentence) -> Producers:
        """Who can produce which token of an output of the sentence."""
        return Producers(sentence.lexical, self.ordinary_symbols, self.variables)

    def numbered(self, copies: Iterable[Copies]) -> list[NumberedCopies]:
        """Copies with the ids of their symbols."""
        return [(of.number, [(i, self.symbols.id(of.symbol_at(i))) for i in of.positions]) for of in copies]

    def target(self, example: Example) -> list[str]:
        """The gold tokens of an example as the model sees them."""
        if self.writing is not None:
            return self.canonical(self.writing.shorten(example.output))
        return self.canonical(self.task.shorten(example.output) if self.task.knowledge else example.target)

    def heads(self, example: Example) -> list[int | None]:
        """For each gold token that is an assigned key the index of the token whose bracket it is in; nothing without
        such keys."""
        if self.writing is None or not self.writing.notation.language.company.assigned:
            return []
        return self.writing.heads(example.output)

    def without_rules(self) -> Codec:
        """The same with nothing ruled out."""
        return replace(self, companions=Companions(), succession=Succession(), origins=Origins(), relations=Relations())

    def expecting(self, examples: Iterable[Example]) -> Codec:
        """The same, by which the outputs of these examples read well: the structures that were recombined, too."""
        patterns = (self.pattern(self.target(example), self.encode(example.source)) for example in examples)
        return replace(self, trigrams=Trigrams.count(patterns))

    def ruled_out(self, tokens: Sequence[str], multiset: CanonicalMultiset) -> np.ndarray | None:
        """Whether token i of a multiset must not come directly before token k, with a row for the start and a column
        for the end: it would part companions, or follow what its kind never follows, or not from that word; None if
        nothing is."""
        is_value = multiset.symbols < len(SPECIAL_SYMBOLS)
        rules = (
            self.companions.apart(tokens),
            self.succession.apart(tokens),
            self.origins.apart(tokens, np.where(is_value, multiset.source_index, NOWHERE)),
        )
        found = [of for of in rules if of is not None]
        return np.logical_or.reduce(found) if found else None

    def output(self, tokens: Sequence[str]) -> str:
        """The output that target tokens stand for."""
        return self.task.restore(tokens) if self.writing is None else self.writing.restore(tokens)

    def canonical(self, target: Iterable[str]) -> list[str]:
        """Target tokens as the model sees them."""
        return [self.lexicon.canonical(token) for token in target]

    def pattern(self, tokens: Iterable[str], sentence: EncodedSentence) -> list[str]:
        """Canonical tokens of an output of the sentence, with all that words and variables stand for made alike: its
        structure."""
        return _pattern(tokens, sentence.lexical[: len(sentence.words)], self.variables)

    def multiset(self, counts: np.ndarray, sentence: EncodedSentence) -> CanonicalMultiset:
        """The tokens of predicted counts [m, V], without those that nothing stands behind: L of a word it does not
        know, or a variable in a task that has none."""
        kept = np.array(counts)
        if None in sentence.lexical:
            kept[[token is None for token in sentence.lexical], LEX_ID] = 0
        if not self.variables:
            kept[:, VAR_ID] = 0
        return canonical_multiset(kept)

    def multiset_of(self, multisets: Sequence[Sequence[str]], sentence: EncodedSentence) -> CanonicalMultiset:
        """The multiset whose canonical tokens at every position are these: the inverse of `tokens`."""
        producers = self.producers(sentence)
        counts = np.zeros((len(sentence), len(self.symbols)), dtype=np.int64)
        for position, tokens in enumerate(multisets):
            for token in tokens:
                of = producers.of(token)
                assert of is not None, f"position {position}: nothing can produce {token!r}"
                counts[position, self.symbols.id(of.symbol_at(position))] += 1
        return canonical_multiset(counts)

    def tokens(self, multiset: CanonicalMultiset, sentence: EncodedSentence) -> list[str]:
        """The canonical tokens of a multiset, in canonical order: L(x_i) for LEX, the number i for VAR."""
        tokens, symbols = [], self.symbols.tokens
        for symbol, i in zip(multiset.symbols.tolist(), multiset.source_index.tolist(), strict=True):
            if symbol == LEX_ID:
                lexical = sentence.lexical[i]
                assert lexical is not None, f"position {i}: the lexicon has no token to copy"
                tokens.append(lexical)
            else:
                tokens.append(str(i) if symbol == VAR_ID else symbols[symbol])
        return tokens

    def surface(self, tokens: Sequence[str], source_index: Sequence[int], sentence: EncodedSentence) -> list[str]:
        """Canonical tokens as they are printed; a token copied from a word keeps that word's spelling if it is new."""
        if not self.lexicon.case_insensitive:
            return list(tokens)
        words = [sentence.words[i] if i < len(sentence.words) else None for i in source_index]
        return [self.lexicon.surface(token, word) for token, word in zip(tokens, words, strict=True)]

    def to_json(self) -> str:
        state = {
            "words": self.words.to_list(),
            "symbols": self.symbols.to_list(),
            "lexicon": self.lexicon.to_json(),
            "lowercase": self.lowercase,
            "seen_in_lower_case": sorted(self.seen_in_lower_case),
            "trigrams": self.trigrams.to_json(),
            "share_names": self.share_names,
            "knowledge": self.task.knowledge,
            "writing": None if self.writing is None else self.writing.to_json(),
            "companions": self.companions.to_json(),
            "kinds": self.kinds.to_json(),
            "never": sorted(self.succession.never),
            "within": sorted(self.origins.within),
            "between": sorted(self.origins.between),
            "relations": self.relations.to_json(),
        }
        return json.dumps(state, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, task: Task) -> Codec:
        state = json.loads(text)
        symbols = state["symbols"]
        task = task.with_knowledge(state["knowledge"] if "knowledge" in state else old_knowledge(task.name, symbols))
        writing = Writing.from_json(state["writing"], task) if state.get("writing") else None
        lexicon = Lexicon.from_json(state["lexicon"])
        kinds = Kinds(Symbols() if writing is None else writing.notation.language.symbols)
        if "kinds" in state:  # rules of older parsers go by the kinds of the notation
            kinds = Kinds.from_json(state["kinds"], _symbols(writing, lexicon))
        never, within, between = (
            frozenset((first, second) for first, second in state.get(rule, ()))
            for rule in ("never", "within", "between")
        )
        return cls(
            task,
            Vocabulary.from_list(state["words"], specials=WORD_SPECIALS),
            Vocabulary.from_list(symbols, specials=SPECIAL_SYMBOLS),
            lexicon,
            bool(state["lowercase"]),
            frozenset(state["seen_in_lower_case"]),
            Trigrams.from_json(state["trigrams"]),
            bool(state["share_names"]),
            writing,
            Companions.from_json(state["companions"]) if state.get("companions") else Companions(),
            kinds,
            Succession(kinds, never),
            Origins(kinds, within, between),
            Relations.from_json(state["relations"]) if state.get("relations") else Relations(),
        )


def _writing(notation: str, task: Task, examples: Sequence[Example]) -> Writing:
    """The notation of a level, learned, or that of a file."""
    if notation in LEVELS:
        pairs = [(example.source, example.output) for example in examples]
        return Writing.learn(notation, task, task.raw_outputs, pairs)
    try:
        return Writing.from_json(read_notation(text_in(Path(notation)).encode(), notation), task)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{notation}: not a notation that `permparse notation` wrote ({error})") from error


def _kinds(writing: Writing, lexicon: Lexicon, examples: Sequence[Example]) -> Kinds:
    """The kinds of canonical tokens, by all tokens of the training outputs."""
    outputs = (map(lexicon.canonical, writing.cut(example.output)) for example in examples)
    brackets = writing.notation.language.brackets.closing
    return Kinds.learn(map(list, outputs), _symbols(writing, lexicon), brackets)


def _closing(writing: Writing | None) -> frozenset[str]:
    """The closing brackets of a learned notation."""
    return frozenset() if writing is None else frozenset(writing.notation.language.brackets.closing.values())


def _symbols(writing: Writing | None, lexicon: Lexicon) -> Symbols:
    """What rules see of canonical tokens."""
    symbols = Symbols() if writing is None else writing.notation.language.symbols
    if not lexicon.case_insensitive:
        return symbols
    kinds = {lexicon.canonical(token): kind for token, kind in symbols.kinds.items()}
    return Symbols(frozenset(map(lexicon.canonical, symbols.named)), kinds, symbols.variables)


def _shape(word: str, seen_in_lower_case: frozenset[str]) -> Shape:
    """A class that unknown words share with known ones: a capital counts only if the word is never written small."""
    if any(c.isdigit() for c in word):
        return "number"
    if not any(c.isalpha() for c in word):
        return "sign"
    if word[0].isupper() and word.lower() not in seen_in_lower_case:
        return "name"
    return "word"


def _entry(word: str, lowercase: bool, share_names: bool, seen_in_lower_case: frozenset[str]) -> str:
    """What a word is looked up by in the vocabulary."""
    if share_names and _shape(word, seen_in_lower_case) == "name":
        return NAME
    return word.lower() if lowercase else word


def _with_positions(
    targets: Sequence[Sequence[str]], sentences: Sequence[Sequence[str | None]], variables: bool
) -> Iterator[tuple[Sequence[str], list[int]]]:
    """Targets, each token with the position of its word: that which a variable names, or the only one it is copied
    from; NOWHERE for all others."""
    for target, lexical in zip(targets, sentences, strict=True):
        producers = Producers(lexical, (), variables)
        possible = [producers.value_positions(token) for token in target]
        yield target, [positions[0] if len(positions) == 1 else NOWHERE for positions in possible]


def _pattern(tokens: Iterable[str], lexical: Sequence[str | None], variables: bool) -> list[str]:
    """Canonical tokens, but VAR for variables and LEX for what the lexicon makes of a word of the sentence."""
    return Producers(lexical, (), variables).kinds(tokens)
