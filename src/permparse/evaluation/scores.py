"""How good a parser is on a split: the task's metrics, Freq, Seq and Seq/Freq, in total and by group."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from permparse.base.provenance import Provenance, peak_memory_mb
from permparse.parsers import Parse, Parser
from permparse.tasks import Task
from permparse.text import Example


@dataclass(frozen=True)
class Outcome:
    """One evaluated sentence: ``correct`` by metric (the first is the main one), ``freq``: the whole multiset is right.
    ``gold`` and ``found`` are the tokens of gold and parse in one notation, as they are compared."""

    example: Example
    parse: Parse
    gold: tuple[str, ...]
    found: tuple[str, ...]
    correct: dict[str, bool]

    @property
    def freq(self) -> bool:
        return Counter(self.gold) == Counter(self.found)

    @property
    def seq(self) -> bool:
        return next(iter(self.correct.values()))


@dataclass(frozen=True)
class GroupScore:
    """Shares of right sentences in a group; ``seq_given_freq`` is Seq/Freq, None if no multiset is right."""

    examples: int
    metrics: dict[str, float]
    freq: float
    seq_given_freq: float | None


ErrorCounts = dict[str, int]
"""Wrong outputs by kind, in the order of `Parser.error_kinds`."""


@dataclass(frozen=True)
class ErrorKinds:
    """The errors of an evaluation, with the groups that its scores have."""

    total: ErrorCounts
    groups: dict[str, dict[str, ErrorCounts]]


@dataclass(frozen=True)
class Evaluation(Provenance):
    """The scores of a parser on a split, as saved in `results/`; ``error_kinds`` only if asked for."""

    task: str
    split: str
    seed: int
    main_metric: str
    total: GroupScore
    groups: dict[str, dict[str, GroupScore]]
    seconds: float
    sentences_per_second: float
    peak_memory_mb: float
    recipe: str = ""
    error_kinds: ErrorKinds | None = None


def outcomes_of(
    parser: Parser, task: Task, examples: Sequence[Example], progress: Callable[[int], None] | None = None
) -> list[Outcome]:
    """Parse every example and compare with gold, by the metrics of the task."""
    parses = parser.parse_words(
        [example.source for example in examples],
        sentences=[example.sentence for example in examples],
        progress=progress,
    )
    outcomes = []
    for example, parse in zip(examples, parses, strict=True):
        correct = {name: metric(parse.output, example.output) for name, metric in task.metrics.items()}
        gold, found = parser.gold_and_found(example, parse)
        outcomes.append(Outcome(example, parse, tuple(gold), tuple(found), correct))
    return outcomes


def evaluate(
    parser: Parser,
    examples: Sequence[Example],
    split: str,
    progress: Callable[[int], None] | None = None,
    task: Task | None = None,
) -> tuple[Evaluation, list[Outcome]]:
    """Evaluate a split and sum up, timing the parsing. The metrics and groups are those of the parser's task, or of
    another one."""
    task = task or parser.task
    started = time.perf_counter()
    outcomes = outcomes_of(parser, task, examples, progress)
    seconds = time.perf_counter() - started
    grouped: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        for name, value in task.groups(outcome.example).items():
            grouped[name][value].append(outcome)
    evaluation = Evaluation(
        task=task.name,
        split=split,
        seed=parser.recipe.seed,
        main_metric=next(iter(task.metrics)),
        total=summarise(outcomes),
        groups={
            name: {value: summarise(values[value]) for value in sorted(values, key=natural)}
            for name, values in grouped.items()
        },
        seconds=round(seconds, 2),
        sentences_per_second=round(len(examples) / max(1e-9, seconds), 1),
        peak_memory_mb=peak_memory_mb(),
        recipe=parser.recipe.for_results().to_toml(),
    )
    return evaluation, outcomes


def summarise(outcomes: Sequence[Outcome]) -> GroupScore:
    """The scores of some outcomes (at least one)."""
    count = len(outcomes)
    names = list(outcomes[0].correct)
    freq = sum(o.freq for o in outcomes)
    both = sum(o.freq and o.seq for o in outcomes)
    return GroupScore(
        examples=count,
        metrics={name: sum(o.correct[name] for o in outcomes) / count for name in names},
        freq=freq / count,
        seq_given_freq=both / freq if freq else None,
    )


def as_json(evaluation: Evaluation) -> dict[str, object]:
    """The evaluation as plain JSON values."""
    return asdict(evaluation)


def natural(value: str) -> tuple[int, float, str]:
    """Numbers by size, before words by alphabet."""
    try:
        return 0, float(value), value
    except ValueError:
        return 1, 0.0, value
