"""Where a parser errs: the kind of every error, counted by group, and what is wrong in an output.

An error is an output that the task's main metric refuses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from permparse.multiset import CanonicalMultiset
from permparse.parser import Parser
from permparse.permutation.decoding import decode
from permparse.training.codec import Codec, EncodedSource
from permparse.training.evaluation import ErrorCounts, ErrorKind, ErrorKinds, Evaluation, Outcome, natural
from permparse.training.ordering import allowed_from_types, multiset_batch, ordering_data
from permparse.training.tagging import same_multiset

START = "<start>"


@dataclass(frozen=True)
class WrongJump:
    """The first jump that differs from gold: after ``previous``, gold goes on with one token, the output with
    another."""

    previous: str
    gold: str
    found: str


@dataclass(frozen=True)
class Difference:
    """What is wrong in an output, in tokens as they are compared: in lower case where case does not matter.

    ``jump`` is None unless the multiset is right.
    """

    missing: tuple[str, ...]
    surplus: tuple[str, ...]
    jump: WrongJump | None


def difference(codec: Codec, outcome: Outcome) -> Difference:
    """Compare the tokens of an output with gold, then their order."""
    gold, found = codec.canonical(outcome.example.target), codec.canonical(outcome.parse.tokens)
    missing, surplus = Counter(gold) - Counter(found), Counter(found) - Counter(gold)
    jump = None if missing or surplus else _first_wrong_jump(gold, _as_output(codec, outcome, found))
    return Difference(tuple(missing.elements()), tuple(surplus.elements()), jump)


def _as_output(codec: Codec, outcome: Outcome, found: list[str]) -> list[str]:
    """The tokens in the order of the output: a task may sort what it restores, and then that order is judged."""
    restored = codec.canonical(codec.task.shorten(outcome.parse.output))
    return restored if same_multiset(restored, found) else found


def _first_wrong_jump(gold: Sequence[str], found: Sequence[str]) -> WrongJump | None:
    for previous, right, wrong in zip([START, *gold], gold, found, strict=False):
        if right != wrong:
            return WrongJump(previous, right, wrong)
    return None


@torch.no_grad()
def error_kind(parser: Parser, outcome: Outcome) -> ErrorKind:
    """Why an output is wrong: the multiset (tagging), a gold order scored higher than the one found
    (search), or the scores."""
    codec = parser.codec
    if not outcome.freq:
        return "tagging"
    source = codec.encode(outcome.example.source)
    tagged = parser.chooser.choose([source])[0].tagged
    gold = codec.canonical(outcome.example.target)
    if not len(tagged.multiset) or not same_multiset(tagged.tokens, gold):
        return "tagging"
    problem = parser.scorer(multiset_batch([source], [tagged.multiset], [0]))
    best_gold = decode(problem.with_allowed(_allowed(codec, source, gold, tagged.multiset)))[0].score
    return "search" if best_gold > outcome.parse.score + 1e-6 else "model"


def _allowed(codec: Codec, source: EncodedSource, gold: Sequence[str], multiset: CanonicalMultiset) -> torch.Tensor:
    data = ordering_data(codec, [source], [gold], [multiset])
    return allowed_from_types(data.token_types, data.target_types)


def count_kinds(evaluation: Evaluation, groups: Sequence[dict[str, str]], kinds: Sequence[ErrorKind]) -> ErrorKinds:
    """The errors of each kind, in total and in every group of the evaluation, also those without any.

    ``groups[e]`` are the groups that the e-th wrong example belongs to, ``kinds[e]`` is its kind.
    """
    counted: dict[tuple[str, str], Counter[ErrorKind]] = defaultdict(Counter)
    for of, kind in zip(groups, kinds, strict=True):
        for group in of.items():
            counted[group][kind] += 1
    return ErrorKinds(
        total=_counts(Counter(kinds)),
        groups={
            name: {value: _counts(counted[name, value]) for value in values}
            for name, values in evaluation.groups.items()
        },
    )


def _counts(counter: Counter[ErrorKind]) -> ErrorCounts:
    return ErrorCounts(tagging=counter["tagging"], search=counter["search"], model=counter["model"])


def spread_over_groups(groups: Sequence[dict[str, str]], number: int) -> list[int]:
    """At most ``number`` of the wrong examples, one of every group in turn, those with most errors first.

    ``groups[e]`` are the groups that the e-th wrong example belongs to. The examples returned are sorted by group.
    """
    members: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for e, of in enumerate(groups):
        members[tuple(of.values())].append(e)
    largest_first = sorted(members.values(), key=lambda of: -len(of))
    turns = sorted((turn, place, e) for place, of in enumerate(largest_first) for turn, e in enumerate(of))
    chosen = [e for _, _, e in turns[:number]]
    return sorted(chosen, key=lambda e: ([natural(value) for value in groups[e].values()], e))
