"""Fit rules for a given set of dropped types, and count on held-out outputs how often they are right."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from permparse.text.notation.actions import EMIT, UsualRoles, action_for
from permparse.text.notation.mentions import ROLE
from permparse.text.notation.symbols import VARIABLE, Symbols
from permparse.text.notation.tree import Node, Table, grow
from permparse.text.notation.walk import PLACE, PLAIN, Language, State, Walk, look_ahead

FALSE = 3
"""A token inserted where there was none costs a mark, which is worse than a kept token."""
RARE = 0.01
"""Types in a smaller share of outputs, and types copied from inputs, stand for words that training does not have."""
HIDDEN = 3
"""One out of so many of them is unknown in held-out outputs."""

Output = tuple[str, ...]


@final
@dataclass(frozen=True)
class Material:
    """Outputs to learn from, which of them are held out, the types hidden in those as if they were unseen, and all
    that might be: they are hidden in every other output, so that rules do not lean on them."""

    outputs: Sequence[Output]
    held_out: frozenset[int]
    hidden: frozenset[str]
    rare: frozenset[str]


@final
@dataclass(frozen=True)
class Fit:
    """Rules, what exceptions override, and how many held-out tokens of a type there are, come back, come uncalled."""

    rules: Node
    overrides: frozenset[tuple[str, str]]
    total: Counter[str]
    right: Counter[str]
    false: Counter[str]
    exceptions: float

    def restored(self, tokens: Iterable[str]) -> float:
        """Share of held-out tokens of these types restored, less what wrong insertions cost; 0 if there are none."""
        types = frozenset(tokens)
        right = sum(self.right[token] - FALSE * self.false[token] for token in types)
        return right / max(1, sum(self.total[token] for token in types))

    def losses(self, tokens: Iterable[str]) -> int:
        """What is not restored of these types, and what their wrong insertions cost."""
        return sum(self.total[token] - self.right[token] + FALSE * self.false[token] for token in tokens)


def prepare(outputs: Sequence[Output], size: int, copied: frozenset[str]) -> Material:
    """A sample of about `size` tokens; half of its longest third is held out, some rare or copied types unknown."""
    unique = list(dict.fromkeys(outputs))
    chance = random.Random(0)
    chance.shuffle(unique)
    taken: list[Output] = []
    tokens = 0
    for output in unique:
        if tokens > size:
            break
        taken.append(output)
        tokens += len(output)
    by_length = sorted(range(len(taken)), key=lambda number: len(taken[number]))
    seen = Counter(token for output in taken for token in set(output))
    rare = sorted(token for token, count in seen.items() if count <= RARE * len(taken) or token in copied)
    hidden = frozenset(chance.sample(rare, len(rare) // HIDDEN))
    return Material(taken, frozenset(by_length[2 * len(taken) // 3 :: 2]), hidden, frozenset(rare))


def fit(language: Language, material: Material, usual: UsualRoles) -> Fit:
    """Rules from the states along all outputs, judged by those along the held-out ones; variables are described by
    their usual roles."""
    index: dict[tuple[State, str, bool], int] = {}
    weights: list[int] = []
    where: list[list[int]] = []
    some_unknown = replace(language, symbols=language.symbols.without(material.hidden))
    all_unknown = replace(language, symbols=language.symbols.without(material.rare))
    for number, tokens in enumerate(material.outputs):
        held = number in material.held_out
        line = []
        known = some_unknown if held else all_unknown if number % 2 else language
        for state, action in states(known, tokens, usual):
            row = index.setdefault((state, action, held), len(weights))
            if row == len(weights):
                weights.append(0)
            weights[row] += 1
            line.append(row)
        where.append(line)
    found, actions = [state for state, _, _ in index], [action for _, action, _ in index]
    table = Table(found, actions, weights, language.trust, PLAIN.index(PLACE))
    is_held = np.array([held for _, _, held in index], bool)
    rules = grow(table, np.flatnonzero(~is_held), np.flatnonzero(is_held), choose)
    guesses = [rules.leaf(state).action for state in found]
    lines = [[(actions[row], guesses[row]) for row in line] for line in where]
    return _judged(rules, material, lines, language.symbols)


def states(language: Language, tokens: Output, usual: UsualRoles) -> Iterator[tuple[State, str]]:
    """The states along an output, each with the action that is right there."""
    walk = Walk(language)
    for token, ahead in zip((*tokens, ""), look_ahead(tokens, language.dropped), strict=True):
        yield walk.features(ahead), action_for(walk, token, usual) if token in language.dropped else EMIT
        if token:
            walk.push(token)


def choose(counts: dict[str, int]) -> str:
    """The action of a leaf: the one that leaves the least to be kept, a false insertion counting more."""
    total, emit = sum(counts.values()), counts.get(EMIT, 0)
    best, least = EMIT, total - emit
    for action, count in counts.items():
        cost = FALSE * emit + total - emit - count
        if action != EMIT and cost < least:
            best, least = action, cost
    return best


def _judged(rules: Node, material: Material, lines: Sequence[Sequence[tuple[str, str]]], symbols: Symbols) -> Fit:
    """Count on held-out outputs, given the right action and the guess at each of their positions."""
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    false: Counter[str] = Counter()
    exceptions = 0
    for number in sorted(material.held_out):
        tokens, line = material.outputs[number], lines[number]
        exceptions += any(action != guess for action, guess in line)
        for token, (action, guess) in zip((*tokens, ""), line, strict=True):
            if action != EMIT:
                total[token] += 1
                right[token] += action == guess
            elif guess != EMIT:
                false[guess] += 1
    return Fit(rules, _overrides(lines, symbols), total, right, false, exceptions / max(1, len(material.held_out)))


def _overrides(lines: Sequence[Sequence[tuple[str, str]]], symbols: Symbols) -> frozenset[tuple[str, str]]:
    """Pairs of an insertion and the token that was right: more often confused than in this order before it. Variables
    are alike."""
    votes: Counter[tuple[str, str]] = Counter()
    for line in lines:
        gap: set[str] = set()
        for right, guessed in line:
            action, guess = (VARIABLE if a.startswith(ROLE) else symbols.alike(a) for a in (right, guessed))
            if action != EMIT and right != guessed:
                votes.update((inserted, action) for inserted in ({guess} - {EMIT}))
                votes.subtract((inserted, action) for inserted in gap)
            gap = gap | {action} if action != EMIT else set()
    return frozenset(pair for pair, vote in votes.items() if vote > 0)
