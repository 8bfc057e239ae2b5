"""Several parsers on the same sentences: accuracy by length and by group, what each costs, and a plain verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from permparse.base.provenance import Provenance
from permparse.base.storage import write_atomically
from permparse.evaluation.scores import Evaluation, evaluate
from permparse.parsers import Parser
from permparse.tasks import Task

CHANCE = 0.05
"""Two parsers differ if chance alone would explain it less often than this."""
BINS = 6


@dataclass(frozen=True)
class Contestant:
    """A trained parser: what to call it, the folder of its run, and what its training cost."""

    name: str
    folder: Path
    minutes: float
    parameters: int


@dataclass(frozen=True)
class Score:
    """How many sentences there were, and the share of right outputs."""

    examples: int
    right: float


@dataclass(frozen=True)
class Result:
    """One parser: its evaluation, by length of the gold output as well, what it cost, and which sentences it got
    right."""

    parser: str
    evaluation: Evaluation
    within: Score | None
    beyond: Score | None
    by_length: dict[str, Score]
    minutes: float
    parameters: int
    right: tuple[bool, ...]


@dataclass(frozen=True)
class Comparison(Provenance):
    """All results; ``longest`` is the length of the longest training output, in words and signs."""

    data: str
    split: str
    seed: int
    longest: int
    results: tuple[Result, ...]

    @property
    def ranked(self) -> list[Result]:
        """The results, best first."""
        return sorted(self.results, key=lambda result: -_main(result.evaluation))


_ADAPTER = TypeAdapter(Comparison)


def compare(
    contestants: Sequence[Contestant],
    data: str,
    split: str,
    task: Task | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Evaluate parsers, all trained on the same data, on a split; by the metrics and groups of ``task`` if given."""
    results, longest, seed = [], 0, 0
    for contestant in contestants:
        parser = Parser.load(contestant.folder)
        folder, seed = parser.recipe.data.folder, parser.recipe.seed
        longest = max(length(example.output) for example in parser.task.load("train", folder))
        examples = parser.task.load(split, folder)
        tell(f"{contestant.name}: parsing {len(examples):,} sentences")
        evaluation, outcomes = evaluate(parser, examples, split, task=task)
        right = tuple(outcome.seq for outcome in outcomes)
        lengths = [length(example.output) for example in examples]
        results.append(
            Result(
                parser=contestant.name,
                evaluation=evaluation,
                within=_score(r for r, n in zip(right, lengths, strict=True) if n <= longest),
                beyond=_score(r for r, n in zip(right, lengths, strict=True) if n > longest),
                by_length=_by_length(right, lengths),
                minutes=contestant.minutes,
                parameters=contestant.parameters,
                right=right,
            )
        )
    return Comparison(data=data, split=split, seed=seed, longest=longest, results=tuple(results))


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Save a comparison as JSON."""
    write_atomically(path, _ADAPTER.dump_json(comparison, indent=2) + b"\n")


def read_comparison(path: Path) -> Comparison:
    """A comparison as it was saved."""
    return _ADAPTER.validate_json(path.read_bytes())


def length(output: str) -> int:
    """Words and signs of an output: the same for all parsers, whatever they make tokens of."""
    return len(re.findall(r"\w+|[^\w\s]", output))


def verdict(comparison: Comparison) -> str:
    """Which parser to use, and how sure that is: by a sign test on the sentences that only one of two gets right."""
    best, *others = comparison.ranked
    if not others:
        return f"{best.parser}: {100 * _main(best.evaluation):.1f} % right."
    equal = [other for other in others if _by_chance(best, other) >= CHANCE]
    said = f"Use {best.parser}: {100 * _main(best.evaluation):.1f} % right"
    if not equal:
        points = 100 * (_main(best.evaluation) - _main(others[0].evaluation))
        return f"{said}, {points:.1f} points more than {others[0].parser}, which chance does not explain."
    names = " and ".join(other.parser for other in equal)
    quickest = min((best, *equal), key=lambda result: result.minutes)
    return (
        f"{said}, but on these {len(best.right):,} sentences its lead over {names} may be chance; "
        f"of these, {quickest.parser} trains fastest."
    )


def _by_chance(one: Result, other: Result) -> float:
    """How often chance alone makes two equally good parsers differ at least this much."""
    from scipy.stats import binomtest  # takes a while to load

    only_one = sum(a and not b for a, b in zip(one.right, other.right, strict=True))
    only_other = sum(b and not a for a, b in zip(one.right, other.right, strict=True))
    return float(binomtest(only_one, only_one + only_other).pvalue) if only_one + only_other else 1.0


def _main(evaluation: Evaluation) -> float:
    return evaluation.total.metrics[evaluation.main_metric]


def _score(right: Iterable[bool]) -> Score | None:
    found = list(right)
    return Score(len(found), sum(found) / len(found)) if found else None


def _by_length(right: Sequence[bool], lengths: Sequence[int]) -> dict[str, Score]:
    """Scores of sentences of similar length, in a few parts of about the same size, by the mean length of each."""
    bounds = np.unique(np.quantile(lengths, np.linspace(0, 1, BINS + 1)[1:-1], method="lower"))
    part = np.searchsorted(bounds, lengths, side="left")
    means = {k: float(np.mean(np.array(lengths)[part == k])) for k in np.unique(part).tolist()}
    scores = {f"{mean:.1f}": _score(r for r, p in zip(right, part, strict=True) if p == k) for k, mean in means.items()}
    return {mean: score for mean, score in scores.items() if score is not None}
