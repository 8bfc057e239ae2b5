"""A decision tree from states to actions, grown by description length and pruned on held-out states.

A split groups the values of a feature into branches by the actions they lead to; unseen values take the largest branch.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Value: TypeAlias = str | int
PURITIES = (0.9, 0.97)
"""A value whose main action has this share of its states goes with other values of that action. Both are tried."""
LEAST_GAIN = 8.0
"""Bits that a split must save beyond its own description."""
DEEPEST = 24


class Features(Protocol):
    """A state: its features, by index."""

    def __getitem__(self, feature: int, /) -> Value: ...


@final
@dataclass
class Node:
    """A leaf with an action, or a question with a branch for each group of values. `counts`: actions seen here."""

    action: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    feature: int = -1
    branches: "list[Node]" = field(default_factory=list)
    branch_of: dict[Value, int] = field(default_factory=dict)
    otherwise: int = 0

    def leaf(self, features: "Features") -> "Node":
        """The leaf that a state belongs to."""
        node = self
        while node.branches:
            node = node.branches[node.branch_of.get(features[node.feature], node.otherwise)]
        return node


@final
class Table:
    """States as integers: one column for each feature, with the values behind them; actions; how often each is seen.

    The feature ``asked_first`` is asked before all others if that pays, whatever they would save; each of its values
    has a branch.
    """

    def __init__(
        self,
        states: Sequence[Sequence[Value]],
        actions: Sequence[str],
        weights: Sequence[int],
        trust: Sequence[float],
        asked_first: int | None = None,
    ) -> None:
        self.values: list[list[Value]] = []
        columns = []
        for column in zip(*states, strict=True):
            code = {value: i for i, value in enumerate(dict.fromkeys(column))}
            self.values.append(list(code))
            columns.append(np.fromiter((code[value] for value in column), np.int64, len(column)))
        self.columns: list[Ints] = columns
        self.action_names = list(dict.fromkeys(actions))
        self.number = {name: i for i, name in enumerate(self.action_names)}
        self.actions: Ints = np.fromiter((self.number[action] for action in actions), np.int64, len(actions))
        self.trust, self.asked_first = trust, asked_first
        self.weights = np.array(weights, np.float64)

    def counts(self, rows: Ints) -> Floats:
        return bincount(self.actions[rows], self.weights[rows], len(self.action_names))


def bincount(values: Ints, weights: Floats, length: int) -> Floats:
    """The sum of weights for each value below `length`."""
    return np.bincount(values, weights, length).astype(np.float64)


def grow(table: Table, grown: Ints, held_out: Ints, choose: Callable[[dict[str, int]], str]) -> Node:
    """Grow on some rows, prune where held-out rows are not predicted better; the leaves count both."""
    trees = [_grow(table, grown, held_out, choose, purity, 0) for purity in PURITIES]
    return min(trees, key=lambda tree: tree[1])[0]


def _grow(
    table: Table,
    grown: Ints,
    held_out: Ints,
    choose: Callable[[dict[str, int]], str],
    purity: float,
    depth: int,
) -> tuple[Node, int]:
    """The subtree, and how many held-out rows it gets wrong."""
    counts, held = table.counts(grown), table.counts(held_out)
    both = counts + held
    named = {table.action_names[i]: int(both[i]) for i in np.flatnonzero(both)}
    leaf = Node(choose(named), named)
    wrong_as_leaf = int(held.sum() - (held[table.number[leaf.action]] if leaf.action in table.number else 0))
    split = None
    if depth < DEEPEST and np.count_nonzero(counts) > 1:
        if depth == 0 and table.asked_first is not None:
            split = _best_split(table, grown, counts, [table.asked_first], lambda values: [np.arange(len(values))])
        split = split or _best_split(table, grown, counts, range(len(table.columns)), lambda v: _groupings(v, purity))
    if split is None:
        return leaf, wrong_as_leaf
    feature, group, otherwise = split
    node = Node(leaf.action, named, feature, otherwise=otherwise)
    wrong = 0
    inside, outside = group[table.columns[feature][grown]], group[table.columns[feature][held_out]]
    outside = np.where(outside < 0, otherwise, outside)
    for number in range(int(group.max()) + 1):
        rows, held_rows = grown[inside == number], held_out[outside == number]
        branch, errors = _grow(table, rows, held_rows, choose, purity, depth + 1)
        node.branches.append(branch)
        wrong += errors
    node.branch_of = {table.values[feature][v]: int(group[v]) for v in np.flatnonzero(group >= 0)}
    if wrong > wrong_as_leaf or (wrong == wrong_as_leaf and _is_small(leaf)):
        return leaf, wrong_as_leaf
    return node, wrong


def _is_small(leaf: Node) -> bool:
    """Whether the leaf alone is nearly right, so that a subtree that held-out states do not ask for can go."""
    total = sum(leaf.counts.values())
    return total - leaf.counts.get(leaf.action, 0) <= max(2, 0.002 * total)


def _best_split(
    table: Table,
    rows: Ints,
    counts: Floats,
    features: Iterable[int],
    groupings: Callable[[Floats], list[Ints]],
) -> tuple[int, Ints, int] | None:
    """Feature, the branch of each value (-1: unseen here), the branch of unseen ones; None if nothing pays."""
    before = float(_bits(counts[None, :])[0])
    best, found = LEAST_GAIN, None
    actions = len(table.action_names)
    here, weights = table.actions[rows], table.weights[rows]
    for feature in features:
        column, number = table.columns[feature], len(table.values[feature])
        if number < 2:
            continue
        contingency = bincount(column[rows] * actions + here, weights, number * actions)
        contingency = contingency.reshape(number, actions)
        present = np.flatnonzero(contingency.any(axis=1))
        if len(present) < 2:
            continue
        for group in groupings(contingency[present]):
            tables = np.zeros((int(group.max()) + 1, actions))
            np.add.at(tables, group, contingency[present])
            sizes = np.bincount(group)
            listed = len(present) - int(sizes.max())
            cost = np.log2(len(table.columns)) + listed * (np.log2(len(present) + 1) + 1)
            gain = table.trust[feature] * (before - float(_bits(tables).sum()) - cost)
            if gain > best:
                branch = np.full(number, -1, np.int64)
                branch[present] = group
                best, found = gain, (feature, branch, int(sizes.argmax()))
    return found


def _groupings(contingency: Floats, purity: float) -> list[Ints]:
    """Ways to sort values into branches: by their main action and whether it is the only one; one against the rest."""
    totals = contingency.sum(axis=1)
    main = contingency.argmax(axis=1)
    pure = contingency.max(axis=1) >= purity * totals
    groupings = []
    keys = main * 2 + pure
    if len(set(keys.tolist())) > 1:
        groupings.append(np.unique(keys, return_inverse=True)[1].astype(np.int64))
    rest = contingency.sum(axis=0)[None, :] - contingency
    one = int((_bits(contingency) + _bits(rest)).argmin())
    groupings.append((np.arange(len(totals)) == one).astype(np.int64))
    return groupings


def _bits(counts: Floats) -> Floats:
    """The length of the actions of each row in bits, with a code that knows their frequencies."""
    totals = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log2(np.maximum(totals, 1) / np.maximum(counts, 1)), 0.0)
    result: Floats = terms.sum(axis=1)
    return result
