"""The lexicon L of the paper: a deterministic map from an input word to the output token it stands for.

Induced from training pairs by the "simple" rule of Akyürek & Andreas (2021), else copying, L(x) = x.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from permparse.text.counting import SEEN, count_speakers
from permparse.text.example import Example
from permparse.text.producers import is_variable

if TYPE_CHECKING:  # only training needs it, and it takes a while to load
    from scipy.sparse import csr_matrix

Mode = Literal["induced", "copy", "none"]
FREQUENT = 5
"""Words in fewer training sentences than this are copyable: they are names and values, like those never seen."""
COPIED = 0.5
"""Share of its sentences whose outputs hold a word's token as often as the sentence holds the word, from which on the
word is copyable."""
FOLDED, FOLDED_SHARE = 10, 0.1
"""Types copied in another case, at least so many and of so many copied ones, from which on case is ignored."""
TOGETHER = 0.05
"""Share of the sentences with one of several words, from which on another of them is there too often for forms of one
word."""
UBIQUITOUS = 0.8
"""A token in more than this share of the outputs is structure, not the meaning of a word."""


@dataclass(frozen=True)
class Lexicon:
    """L, and the spelling of what it produces.

    Models work on *canonical* tokens: the tokens themselves where case matters; in a case-insensitive
    task lower-cased, except for the non-copyable ones, so that the keyword TOP and the word Top stay apart.
    """

    mode: Mode
    entries: Mapping[str, str] = field(default_factory=dict)
    """Induced entries: canonical word → canonical token."""
    spellings: Mapping[str, str] = field(default_factory=dict)
    """Case-insensitive only: canonical token → its most frequent spelling in training."""
    non_copyable: frozenset[str] = frozenset()
    never_copied: frozenset[str] = frozenset()
    """Canonical words that training shows to stand for something else than themselves: a full stop is not the operator
    "." of an output."""
    case_insensitive: bool = False
    variables: bool = False
    """Decimal numbers name input positions, so a number in the sentence must not be copied."""

    @classmethod
    def induce(
        cls,
        examples: Sequence[Example],
        *,
        non_copyable: Iterable[str] = (),
        function_tokens: Iterable[str] = (),
        case_insensitive: bool = False,
        variables: bool = False,
        by_number: bool = False,
    ) -> "Lexicon":
        """Entries that hold throughout the training data, copying for every other word.

        With ``by_number``, a token of which there are always as many as of some words is left to these words; it has no
        entry if several of them stand in one sentence, such as the commas and the "and" of a list.
        """
        plain = cls.copying(examples, non_copyable=non_copyable, case_insensitive=case_insensitive, variables=variables)
        sources = [[plain._word(x) for x in example.source] for example in examples]
        targets = [[plain.canonical(y) for y in example.target] for example in examples]
        excluded = set(function_tokens) | set(non_copyable)
        if variables:
            excluded.update(y for target in targets for y in target if is_variable(y))
        speakers = count_speakers(sources, targets) if by_number else {}
        excluded |= {token for token, words in speakers.items() if _stand_together(words, sources)}
        entries = induce_entries(sources, targets, excluded, speakers)
        return replace(plain, mode="induced", entries=entries, never_copied=plain.never_copied - entries.keys())

    @classmethod
    def copying(
        cls,
        examples: Sequence[Example] = (),
        *,
        non_copyable: Iterable[str] = (),
        case_insensitive: bool = False,
        variables: bool = False,
    ) -> "Lexicon":
        """L(x) = x, but for words that the examples show not to be copied. They also tell how tokens are spelled when
        case does not matter."""
        bare = cls("copy", non_copyable=frozenset(non_copyable), case_insensitive=case_insensitive, variables=variables)
        spellings = _frequent_spellings(bare, examples) if case_insensitive else {}
        return replace(bare, spellings=spellings, never_copied=_never_copied(bare, examples))

    @classmethod
    def empty(
        cls,
        examples: Sequence[Example] = (),
        *,
        non_copyable: Iterable[str] = (),
        case_insensitive: bool = False,
        variables: bool = False,
    ) -> "Lexicon":
        """No word stands for a token; canonical tokens and spellings are as in `copying`."""
        plain = cls.copying(examples, non_copyable=non_copyable, case_insensitive=case_insensitive, variables=variables)
        return replace(plain, mode="none", never_copied=frozenset())

    def canonical(self, token: str) -> str:
        """The target token as the model sees it."""
        return canonical(token, self.case_insensitive, self.non_copyable)

    def lookup(self, word: str) -> str | None:
        """L(word) as a canonical token; None where the lexicon has nothing to say."""
        if self.mode == "none":
            return None
        word = self._word(word)
        if word in self.entries:
            return self.entries[word]
        if word in self.non_copyable or word in self.never_copied or (self.variables and is_variable(word)):
            return None
        return word

    def surface(self, token: str, word: str | None = None) -> str:
        """How to print a canonical token: as training mostly spells it, else as the word copied."""
        if not self.case_insensitive or token in self.non_copyable:
            return token
        copied = word if word is not None and word.lower() == token else token
        return self.spellings.get(token, copied)

    def to_json(self) -> dict[str, object]:
        """Plain JSON for a checkpoint."""
        return {
            "mode": self.mode,
            "entries": dict(self.entries),
            "spellings": dict(self.spellings),
            "non_copyable": sorted(self.non_copyable),
            "never_copied": sorted(self.never_copied),
            "case_insensitive": self.case_insensitive,
            "variables": self.variables,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> "Lexicon":
        """The inverse of `to_json`; KeyError, TypeError or ValueError if it is not such data."""
        mode, entries, spellings, words = (data[key] for key in ("mode", "entries", "spellings", "non_copyable"))
        if mode not in ("induced", "copy", "none"):
            raise ValueError(f"expected a lexicon mode induced, copy or none, got {mode!r}")
        if not isinstance(entries, Mapping) or not isinstance(spellings, Mapping) or not isinstance(words, list):
            raise TypeError("expected entries and spellings as objects and non_copyable as a list")
        never_copied = data.get("never_copied", [])
        if not isinstance(never_copied, list):
            raise TypeError("expected never_copied as a list")
        return cls(
            mode,
            dict(entries),
            dict(spellings),
            frozenset(words),
            frozenset(never_copied),
            bool(data["case_insensitive"]),
            bool(data["variables"]),
        )

    def _word(self, word: str) -> str:
        return word.lower() if self.case_insensitive else word


def canonical(token: str, case_insensitive: bool, non_copyable: Collection[str]) -> str:
    """A token as it is compared: in lower case where case does not matter, but for the words never copied."""
    return token.lower() if case_insensitive and token not in non_copyable else token


def copies_ignore_case(examples: Sequence[Example]) -> bool:
    """Whether many different tokens of outputs are words of their sentence in another case only, as names are that a
    user does not care to capitalise."""
    exact: set[str] = set()
    folded: set[str] = set()
    for example in examples:
        words = set(example.source)
        lower = {word.lower() for word in words}
        for token in set(example.target):
            if token in words:
                exact.add(token.lower())
            elif token.lower() in lower:
                folded.add(token.lower())
    return len(folded) >= max(FOLDED, FOLDED_SHARE * len(exact | folded))


def _never_copied(lexicon: Lexicon, examples: Sequence[Example]) -> frozenset[str]:
    """Frequent words whose own token is mostly not in the output as often as the word is in the sentence.

    Only tokens that some output has are at stake: a word that is never in an output may still be copied, as a part of a
    new value.
    """
    sentences: Counter[str] = Counter()
    copied: Counter[str] = Counter()
    outputs = {lexicon.canonical(token) for example in examples for token in example.target}
    for example in examples:
        words = Counter(lexicon._word(word) for word in example.source)
        tokens = Counter(map(lexicon.canonical, example.target))
        for word, count in words.items():
            sentences[word] += 1
            copied[word] += tokens[word] == count
    frequent = {word: count for word, count in sentences.items() if count >= FREQUENT and word in outputs}
    return frozenset(word for word, count in frequent.items() if copied[word] < COPIED * count)


def _frequent_spellings(lexicon: Lexicon, examples: Sequence[Example]) -> dict[str, str]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for example in examples:
        for token in example.target:
            counts[lexicon.canonical(token)][token] += 1
    return {key: min(found, key=lambda form: (-found[form], form)) for key, found in counts.items()}


def induce_entries(
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    excluded: Iterable[str] = (),
    speakers: Mapping[str, Collection[str]] | None = None,
) -> dict[str, str]:
    """word → token (the word being rare, or one of its ``speakers``, where a token has any) such that, over all pairs,

    1. the token stands in every output whose sentence has the word, but not in nearly every output there is;
    2. every output with the token has a word in its sentence that maps to it (group necessity);
    3. each word has one token: itself if possible, else the rarest that qualifies, ties going to the one that
       shares the longest beginning with the word, then alphabetically;
    4. a token that comes and goes with the word that so chooses it belongs to that word;
    5. no word maps to a token that is explained without it.

    When a token fails 2 its words look for another one, the worst failure first, until all entries hold.
    """
    words = sorted({x for source in sources for x in source})
    tokens = sorted({y for target in targets for y in target})
    if not words or not tokens:
        return {}
    has_word, has_token = _incidence(sources, words), _incidence(targets, tokens)
    n_word = np.asarray(has_word.sum(0)).ravel()
    n_token = np.asarray(has_token.sum(0)).ravel()
    together = (has_word.T @ has_token).tocoo()
    banned = set(excluded)
    if len(sources) > 1:
        banned.update(tokens[y] for y in np.flatnonzero(n_token > UBIQUITOUS * len(sources)))
    candidates: list[list[int]] = [[] for _ in words]
    for x, y, count in zip(together.row, together.col, together.data, strict=True):
        possible = words if speakers is None else speakers.get(tokens[y], words)
        may = possible is words or words[x] in possible or n_word[x] < SEEN
        if count == n_word[x] and tokens[y] not in banned and may:
            candidates[x].append(int(y))
    for x, word in enumerate(words):
        candidates[x].sort(key=lambda y: _preference(word, tokens[y], int(n_token[y])))
    owned = {found[0] for x, found in enumerate(candidates) if found and n_word[x] == n_token[found[0]]}
    candidates = [[y for y in found if y not in owned or n_token[y] == n_word[x]] for x, found in enumerate(candidates)]
    choice = _cover(candidates, has_word, has_token)
    needed = _needed(choice, words, tokens, n_word, has_word, has_token)
    return {words[x]: tokens[choice[x]] for x in sorted(needed)}


def _stand_together(words: Collection[str], sources: Sequence[Sequence[str]]) -> bool:
    """Whether different ones of these words often stand in the same sentence."""
    found = [len(set(words).intersection(source)) for source in sources] if len(words) > 1 else []
    return sum(number > 1 for number in found) > TOGETHER * sum(number > 0 for number in found)


def _preference(word: str, token: str, frequency: int) -> tuple[bool, int, int, str]:
    pairs = zip(word.lower(), token.lower(), strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return (token != word, frequency, -shared, token)


def _incidence(sequences: Sequence[Sequence[str]], names: list[str]) -> csr_matrix:
    """1 where the example has the token at all. *Shape:* [examples, names]"""
    from scipy.sparse import csr_matrix

    numbers = {name: index for index, name in enumerate(names)}
    rows: list[int] = []
    columns: list[int] = []
    for row, sequence in enumerate(sequences):
        distinct = {numbers[token] for token in sequence}
        rows += [row] * len(distinct)
        columns += distinct
    return csr_matrix((np.ones(len(rows), np.int64), (rows, columns)), shape=(len(sequences), len(names)))


def _cover(candidates: list[list[int]], has_word: csr_matrix, has_token: csr_matrix) -> dict[int, int]:
    """Each word its best candidate, dropping the token with most unexplained outputs until there is none."""
    from scipy.sparse import csr_matrix

    dropped: set[int] = set()
    while True:
        choice = {x: next((y for y in found if y not in dropped), -1) for x, found in enumerate(candidates)}
        choice = {x: y for x, y in choice.items() if y >= 0}
        if not choice:
            return {}
        assigned = csr_matrix(
            (np.ones(len(choice), np.int64), (list(choice), list(choice.values()))),
            shape=(has_word.shape[1], has_token.shape[1]),
        )
        explained = has_token.multiply((has_word @ assigned) > 0)
        missing = np.asarray(has_token.sum(0) - explained.sum(0)).ravel()
        worst = max(choice.values(), key=lambda y: (missing[y], y))
        if missing[worst] == 0:
            return choice
        dropped.add(worst)


def _needed(
    choice: dict[int, int],
    words: list[str],
    tokens: list[str],
    n_word: NDArray[np.int64],
    has_word: csr_matrix,
    has_token: csr_matrix,
) -> set[int]:
    """The words without which some output would be unexplained: identical words first, then frequent ones."""
    by_word, by_token = has_word.tocsc(), has_token.tocsc()
    left = {y: set(by_token[:, y].indices.tolist()) for y in set(choice.values())}
    needed = set()
    for x in sorted(choice, key=lambda x: (words[x] != tokens[choice[x]], -n_word[x], words[x])):
        explains = set(by_word[:, x].indices.tolist())
        if left[choice[x]] & explains:
            left[choice[x]] -= explains
            needed.add(x)
    return needed
