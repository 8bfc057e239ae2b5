"""What a rule does: emit the next kept token, or insert a token; a bound variable is inserted by its role."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from permparse.text.notation.mentions import BEFORE, FITTING, LAST, NEW, ROLE, ROLES, SCOPE, TOPIC, Slot
from permparse.text.notation.walk import Language, Walk

EMIT = ""
"""The action that inserts nothing."""


UsualRoles: TypeAlias = Mapping[Slot, Sequence[str]]


def usual_roles(language: Language, outputs: Iterable[Sequence[str]]) -> UsualRoles:
    """For each slot the roles of the variables that stand there, the most usual first."""
    found: dict[Slot, Counter[str]] = defaultdict(Counter)
    for output in outputs:
        walk = Walk(language)
        for token in output:
            number = walk.symbols.number(token)
            if number is not None:
                found[walk.slot()].update(role for role in ROLES if _variable(walk, role) == number)
            walk.push(token)
    return {slot: sorted(ROLES, key=lambda role: -counts[role]) for slot, counts in found.items()}


def action_for(walk: Walk, token: str, usual: UsualRoles) -> str:
    """The action that inserts the token in this state; a variable by the most usual of its roles."""
    number = walk.symbols.number(token)
    if number is None:
        return token
    return next((role for role in usual.get(walk.slot(), ROLES) if _variable(walk, role) == number), token)


def token_for(walk: Walk, action: str) -> str:
    """The token that the action inserts in this state; empty if there is none."""
    if not action.startswith(ROLE):
        return action
    number = _variable(walk, action)
    return EMIT if number is None else walk.symbols.variable(number)


def _variable(walk: Walk, role: str) -> int | None:
    if role == NEW:
        return walk.variables
    if role == FITTING:
        return walk.mentions.fitting(walk.slot())
    if role == TOPIC:
        return walk.topic()
    if role in (LAST, BEFORE):
        return walk.mentions.recent(0 if role == LAST else 1)
    scopes = walk.scopes()
    wanted = 0 if role == SCOPE else 1
    return scopes[wanted] if len(scopes) > wanted else None
