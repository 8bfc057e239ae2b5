"""Where variables were mentioned in an output, from which rules tell which one is meant next: in `next_to(A,B)`, A is
the variable of `state`, because in training `next_to` often continues with the variable of a preceding `state`."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias, final

ROLE = "<variable "
NEW, SCOPE, OUTER = f"{ROLE}new>", f"{ROLE}bound inside>", f"{ROLE}bound outside>"
FITTING, TOPIC = f"{ROLE}of this kind>", f"{ROLE}mentioned first>"
LAST, BEFORE = f"{ROLE}last>", f"{ROLE}before last>"
ROLES = (NEW, SCOPE, OUTER, FITTING, TOPIC, LAST, BEFORE)
"""Ways to say which variable is meant, where brackets bind them and where clauses that share them stand in a row."""

Slot: TypeAlias = tuple[str, int]
"""What names a bracket, and how many items are in it already."""
SEEN, SHARE = 2, 0.02
"""Mentions in a slot, and their share of all there, whose variable must have stood in another one right before."""


@final
@dataclass(frozen=True)
class Roles:
    """For each slot those in which its variables have stood right before."""

    before: Mapping[Slot, frozenset[Slot]] = field(default_factory=dict)

    @classmethod
    def of(cls, outputs: "Iterable[Mentions]") -> "Roles":
        """What the outputs have in common."""
        found: dict[Slot, Counter[Slot]] = defaultdict(Counter)
        for mentions in outputs:
            for before, slot in mentions.again:
                found[slot][before] += 1
        return cls(
            {
                slot: frozenset(s for s, number in slots.items() if number >= max(SEEN, SHARE * slots.total()))
                for slot, slots in sorted(found.items())
            }
        )


@final
class Mentions:
    """The variables of an output so far, most recently mentioned last, with the slot in which each stood last."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._slots: dict[int, Slot] = {}
        self.again: list[tuple[Slot, Slot]] = []

    def mention(self, number: int, slot: Slot) -> None:
        """The variable stands in a slot."""
        before = self._slots.pop(number, None)
        if before is not None:
            self.again.append((before, slot))
        self._slots[number] = slot

    def recent(self, rank: int) -> int | None:
        """The variable mentioned last (rank 0), or the one before it (1)."""
        return next(islice(reversed(self._slots), rank, None), None)

    def fitting(self, slot: Slot) -> int | None:
        """The variable mentioned last of those that come from where the variables of this slot do."""
        before = self._roles.before.get(slot, frozenset())
        return next((number for number, last in reversed(self._slots.items()) if last in before), None)
