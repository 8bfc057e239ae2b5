"""What a rule does: let the next kept token come, or insert one; a bound variable is inserted by its role."""

from permparse.text.notation.walk import Walk

EMIT = ""
"""The action that inserts nothing."""
ROLE = "<variable "
NEW, SCOPE, OUTER, LAST = f"{ROLE}new>", f"{ROLE}bound inside>", f"{ROLE}bound outside>", f"{ROLE}last>"


def action_for(walk: Walk, token: str) -> str:
    """The action that inserts the token in this state."""
    number = walk.symbols.number(token)
    if number is None:
        return token
    return next((role for role in (NEW, SCOPE, OUTER, LAST) if _variable(walk, role) == number), token)


def token_for(walk: Walk, action: str) -> str:
    """The token that the action inserts in this state; empty if there is none."""
    if not action.startswith(ROLE):
        return action
    number = _variable(walk, action)
    return EMIT if number is None else walk.symbols.variable(number)


def _variable(walk: Walk, role: str) -> int | None:
    if role == NEW:
        return walk.variables
    if role == LAST:
        return walk.last_variable if walk.variables else None
    scopes = walk.scopes()
    wanted = 0 if role == SCOPE else 1
    return scopes[wanted] if len(scopes) > wanted else None
