"""The embedded task: a fragment of English with logical forms, generated here at any depth of recursion.

Trained on shallow sentences; tested on deeper ones and on words in uses that training does not show.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from permparse.base.errors import UserError
from permparse.tasks import fragment_grammar as grammar
from permparse.tasks.base import Metric, Task, exact_match
from permparse.tasks.fragment_grammar import Clause, Noun, Sampler
from permparse.text import Example, is_variable

ROLES = frozenset(grammar.ROLES)
IN_DISTRIBUTION = "in_distribution"
DEEPEST = 200
ATTEMPTS = 50
"""Sentences drawn per sentence kept before we conclude that there are no new ones."""


@final
@dataclass(frozen=True)
class Fragment(Task):
    """the baker in the tower slept . ↦ the baker(1, in=4); the tower(4); sleep(5, agent=1)."""

    summary = "a fragment of English to logical forms; deeper sentences than in training (generated)"
    splits = ("train", "dev", "test", "gen")
    variables = True
    function_tokens = frozenset(("agent", "theme", "recipient", "content"))
    samples = (
        "Ines gave a bell to Dora .",
        "the nurse under a market counted the ladder .",
        "Linus claimed that Edgar believed that Jonas stole a mirror .",
        "a basket was offered to Anton by the painter .",
    )
    deep_samples = (
        "Hugo said that Yara claimed that Linus noticed that Ines knew that a singer slept .",
        "Greta watched a hat in a harbour under a garden near the kitchen behind a bridge .",
        "the clerk in the market under the library near the tower behind the cellar stole a hat .",
    )

    size: int = field(default=3000, metadata={"help": "number of training examples"})
    depth: int = field(default=2, metadata={"help": "how deep places and that-clauses nest in training, at most 2"})
    deepest: int = field(default=6, metadata={"help": "how deep they nest in gen"})
    per_group: int = field(default=100, metadata={"help": "number of gen examples of each construction and depth"})
    seed: int = field(default=0, metadata={"help": "seed of the generator"})

    def __post_init__(self) -> None:
        if self.size < 1 or self.per_group < 1:
            raise UserError(f"fragment: size and per_group must be at least 1, got {self.size}, {self.per_group}")
        if not 0 <= self.depth <= 2 or not self.depth < self.deepest <= DEEPEST:
            raise UserError(
                f"fragment: expected depth from 0 to 2 and deepest above it, at most {DEEPEST}; "
                f"got {self.depth} and {self.deepest}"
            )

    @property
    def name(self) -> str:
        return "fragment"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return {"exact": exact_match, "order_free": order_free_match}

    def load(self, split: str, folder: Path | None = None) -> list[Example]:
        """A split, or "pp-N", "cp-N": sentences with N nested places, that-clauses. `folder` is not used."""
        deep = re.fullmatch(r"(pp|cp)-([1-9][0-9]{0,2})", split)
        if deep and int(deep[2]) <= DEEPEST:
            return list(self._group(f"{deep[1]}_recursion", int(deep[2]), self._deep(deep[1], int(deep[2]))))
        self.check_split(split)
        if split == "gen":
            return list(self._generalisation())
        held_out = max(self.size // 8, 1)
        sampler = self._sampler("train")
        examples = list(self._distinct(sampler.sentence, self.size + 2 * held_out, self._shallow))
        start = {"train": 0, "dev": self.size, "test": self.size + held_out}[split]
        return examples[start : start + (self.size if split == "train" else held_out)]

    def tokenize(self, sentence: str) -> list[str]:
        """Words and punctuation; "The baker slept" is taken as "the baker slept ."."""
        tokens = re.findall(r"\w+|[^\w\s]", sentence)
        if tokens and tokens[0] in ("The", "A"):
            tokens[0] = tokens[0].lower()
        return tokens if not tokens or tokens[-1] == "." else [*tokens, "."]

    def shorten(self, output: str) -> list[str]:
        return re.sub(r"[(),;=]", " ", output).split()

    def restore(self, target: Sequence[str]) -> str:
        return restore(target)

    def groups(self, example: Example) -> dict[str, str]:
        construction, _, depth = (example.category or "").partition("/")
        return {"construction": construction, "depth": depth} if depth else {}

    def _sampler(self, key: str) -> Sampler:
        return Sampler(random.Random(f"fragment {self.seed} {key}"), self.depth)

    def _generalisation(self) -> Iterator[Example]:
        for kind in ("pp", "cp"):
            for depth in range(self.depth + 1, self.deepest + 1):
                yield from self._group(f"{kind}_recursion", depth, self._deep(kind, depth))
        for construction, draw in self._new_uses().items():
            yield from self._group(construction, 0, draw)

    def _group(self, construction: str, depth: int, draw: Callable[[], Clause]) -> Iterator[Example]:
        return self._distinct(draw, self.per_group, lambda _: f"{construction}/{depth}")

    def _distinct(
        self, draw: Callable[[], Clause], number: int, category: Callable[[Clause], str]
    ) -> Iterator[Example]:
        seen: set[str] = set()
        for _ in range(ATTEMPTS * number):
            if len(seen) == number:
                return
            clause = draw()
            words, form = grammar.write(clause)
            sentence = " ".join(words)
            if sentence not in seen:
                seen.add(sentence)
                yield self.example(sentence, form, category(clause))
        if len(seen) < number:
            raise UserError(f"fragment: found only {len(seen)} different sentences of {number}; ask for fewer")

    def _shallow(self, clause: Clause) -> str:
        return f"{IN_DISTRIBUTION}/{max(_reports(clause), _places(clause))}"

    def _deep(self, kind: str, depth: int) -> Callable[[], Clause]:
        sampler = self._sampler(f"{kind}-{depth}")
        if kind == "cp":
            return lambda: sampler.reported(depth, sampler.clause(places=False), places=False)

        def nested() -> Clause:
            verb = sampler.source.choice(grammar.TRANSITIVE)
            if sampler.source.random() < 0.5:
                return Clause(verb, agent=sampler.person(depth), theme=sampler.thing(0))
            return Clause(verb, agent=sampler.person(0), theme=sampler.thing(depth))

        return nested

    def _new_uses(self) -> dict[str, Callable[[], Clause]]:
        """Constructions in which words appear in uses that training does not show."""
        sampler = self._sampler("new uses")
        pick = sampler.source.choice

        def with_new_subject() -> Clause:
            return Clause(pick(grammar.ACTING), agent=sampler.common(grammar.OBJECT_PERSONS, sampler.places()))

        def with_new_object() -> Clause:
            return Clause(pick(grammar.TRANSITIVE), sampler.person(0), Noun(pick(grammar.SUBJECT_NAMES)))

        def with_new_name() -> Clause:
            new, other = Noun(pick(grammar.NEW_NAMES)), sampler.person(0)
            agent, theme = (new, other) if sampler.source.random() < 0.5 else (other, new)
            return Clause(pick(grammar.TRANSITIVE), agent, theme)

        return {
            "object_to_subject": with_new_subject,
            "subject_to_object": with_new_object,
            "active_to_passive": lambda: sampler.transitive(pick(grammar.ACTIVE_VERBS), passive=True),
            "passive_to_active": lambda: sampler.transitive(pick(grammar.PASSIVE_VERBS), passive=False),
            "double_object_to_pp": lambda: sampler.ditransitive(pick(grammar.DOUBLE_OBJECT_VERBS), False, True),
            "pp_to_double_object": lambda: sampler.ditransitive(pick(grammar.TO_VERBS), False, False),
            "new_name": with_new_name,
        }


def _reports(clause: Clause) -> int:
    return 0 if clause.content is None else 1 + _reports(clause.content)


def _places(clause: Clause) -> int:
    nouns = [noun for noun in (clause.agent, clause.theme, clause.recipient) if noun is not None]
    inner = 0 if clause.content is None else _places(clause.content)
    return max([inner, *map(_chain, nouns)])


def _chain(noun: Noun) -> int:
    return 0 if noun.place is None else 1 + _chain(noun.place)


def restore(target: Sequence[str]) -> str:
    """The logical form: an item is words, a number and role-argument pairs; exact if well formed."""
    items: list[str] = []
    position = 0
    while position < len(target):
        head = position
        while position < len(target) and not is_variable(target[position]):
            position += 1
        words = " ".join(target[head:position])
        if position == len(target):
            items.append(words)
            break
        inside = [target[position]]
        position += 1
        while position + 1 < len(target) and target[position] in ROLES:
            inside.append(f"{target[position]}={target[position + 1]}")
            position += 2
        items.append(f"{words}({', '.join(inside)})")
    return "; ".join(items)


def order_free_match(predicted: str, gold: str) -> bool:
    """The same items, and the same roles in each, in any order."""
    return _items(predicted) == _items(gold)


def _items(form: str) -> list[tuple[str, list[str]]]:
    split = [item.split(",") for item in " ".join(form.split()).replace(")", "").split(";")]
    return sorted((head.strip(), sorted(role.strip() for role in roles)) for head, *roles in split)
