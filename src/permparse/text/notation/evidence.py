"""Which output tokens does a word express? Counted in training pairs: these are kept, the rest may be implied.

A word expresses a token if it makes the token far more probable and no other token fits the word about as well.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import final

Pair = tuple[Sequence[str], Sequence[str]]
"""Input tokens and output tokens."""

RISE = 0.3
"""P(token | word) - P(token | no such word) from which on a word may say a token."""
RIVAL = 0.9
"""A token that fits the word at least this well, compared with the best one, is its rival."""
COMMON = 0.9
"""Words in more inputs than this say nothing, because hardly an input is without them."""
WORDS = re.compile(r"\w+(?:'\w+)?|[^\w\s]")


class Said(IntEnum):
    """How far a token depends on a word."""

    BY_NO_WORD = 0
    """No word raises its probability much."""
    WITH_OTHERS = 1
    """A word does, but other tokens fit that word better and imply this one."""
    WITH_RIVALS = 2
    """A word does, and fits it best, but others nearly as well, and they imply this one."""
    BY_A_WORD = 3
    """A word says this token and no other, or it is copied from the input."""


@final
@dataclass(frozen=True)
class Evidence:
    """What the training pairs say about a token type: in how many outputs it is, how often copied, who says it."""

    outputs: int
    occurrences: int
    copied: float
    said: Said

    @property
    def wordless(self) -> bool:
        return self.said is Said.BY_NO_WORD


def words(sentence: str) -> list[str]:
    """The words and signs of an input; a sentence whose signs stand alone is split the same way at its blanks."""
    return WORDS.findall(sentence)


def evidence(pairs: Sequence[Pair]) -> dict[str, Evidence]:
    """For each type of output token, whether some word says it. O(pairs · input length · output length)."""
    with_word: Counter[str] = Counter()
    with_token: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    copied: Counter[str] = Counter()
    together: dict[str, Counter[str]] = defaultdict(Counter)
    sentences = [{word.lower() for word in source} for source, _ in pairs]
    everywhere = {word for word, n in Counter(w for s in sentences for w in s).items() if n > COMMON * len(pairs)}
    for sentence, (_, target) in zip(sentences, pairs, strict=True):
        occurrences.update(target)
        types = set(target)
        with_token.update(types)
        with_word.update(sentence)
        copied.update(token for token in types if token.lower() in sentence - everywhere)
        for word in sentence:
            together[word].update(types)
    speakers = _speakers(len(pairs), with_word, with_token, together)
    by_any, by_best, by_alone = (_covered(sentences, pairs, level) for level in speakers)
    implied = _implied(pairs, with_token)
    result = {}
    for token, outputs in with_token.items():
        said = Said.BY_NO_WORD
        if 2 * by_any[token] >= outputs:
            said = Said.WITH_RIVALS if 5 * by_best[token] >= outputs else Said.WITH_OTHERS
            said = said if implied[token] >= RIVAL * outputs else Said.BY_A_WORD
        if 5 * by_alone[token] >= outputs or 2 * copied[token] >= outputs:
            said = Said.BY_A_WORD
        result[token] = Evidence(outputs, occurrences[token], copied[token] / outputs, said)
    return result


def wordless_tokens(target: Iterable[str], known: dict[str, Evidence]) -> int:
    """How many of the tokens no word says; a type that training does not have is taken for a value."""
    return sum(token in known and known[token].wordless for token in target)


def _implied(pairs: Sequence[Pair], with_token: Counter[str]) -> Counter[str]:
    """In how many outputs with a token there is another one in whose presence it is nearly always there."""
    together: dict[str, Counter[str]] = defaultdict(Counter)
    for _, target in pairs:
        types = set(target)
        for token in types:
            together[token].update(types)
    implying: dict[str, set[str]] = defaultdict(set)
    for other, counts in together.items():
        for token, count in counts.items():
            if token != other and count >= 3 and count >= RIVAL * with_token[other]:
                implying[token].add(other)
    implied: Counter[str] = Counter()
    for _, target in pairs:
        types = set(target)
        implied.update(token for token in types if not implying[token].isdisjoint(types))
    return implied


def _speakers(
    pairs: int, with_word: Counter[str], with_token: Counter[str], together: dict[str, Counter[str]]
) -> tuple[dict[str, set[str]], dict[str, set[str]], dict[str, set[str]]]:
    """For each token all words that say it, those that say it best, and those that say nothing else about as well."""
    spoken: dict[str, set[str]] = defaultdict(set)
    best: dict[str, set[str]] = defaultdict(set)
    alone: dict[str, set[str]] = defaultdict(set)
    for word, number in with_word.items():
        if number < 3 or number > COMMON * pairs:
            continue
        fit = {t: 2 * count / (number + with_token[t]) for t, count in together[word].items() if count >= 3}
        highest = max(fit.values(), default=0.0)
        rivals = sum(value >= RIVAL * highest for value in fit.values())
        for token, value in fit.items():
            count = together[word][token]
            if count / number - (with_token[token] - count) / (pairs - number) >= RISE:
                spoken[token].add(word)
                if value == highest:
                    best[token].add(word)
                    if rivals == 1:
                        alone[token].add(word)
    return spoken, best, alone


def _covered(sentences: Sequence[set[str]], pairs: Sequence[Pair], speakers: dict[str, set[str]]) -> Counter[str]:
    """In how many outputs with a token one of its speakers is in the input."""
    covered: Counter[str] = Counter()
    for sentence, (_, target) in zip(sentences, pairs, strict=True):
        covered.update(token for token in set(target) if not speakers.get(token, _NOBODY).isdisjoint(sentence))
    return covered


_NOBODY: frozenset[str] = frozenset()
