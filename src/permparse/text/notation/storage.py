"""A notation as readable JSON, and as rows of a table: what is dropped, in which states, how often, and why.

The file may be edited: rules that insert a type no longer in `dropped` do nothing, and outputs are still restored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from permparse.text.notation.actions import EMIT
from permparse.text.notation.brackets import Brackets
from permparse.text.notation.company import Company
from permparse.text.notation.ends import Ends
from permparse.text.notation.mentions import Roles
from permparse.text.notation.notation import Notation
from permparse.text.notation.series import Series
from permparse.text.notation.symbols import Symbols
from permparse.text.notation.tree import Node, Value
from permparse.text.notation.walk import Language

Json: TypeAlias = dict[str, Any]
VERSION = 1
SHOWN = 6
"""Values of a feature that a row of the table shows."""


@final
@dataclass(frozen=True)
class Row:
    """A rule: in this context the token is dropped; `right` of `seen` states in training have it there."""

    token: str
    context: str
    right: int
    seen: int


def to_json(notation: Notation) -> Json:
    """Everything that `from_json` needs, in words."""
    language = notation.language
    return {
        "version": VERSION,
        "dropped": sorted(language.dropped),
        "brackets": language.brackets.closing,
        "variables": language.symbols.variables.stem,
        "first_variable": language.symbols.variables.first,
        "counted": list(language.counted),
        "arities": {counted: dict(heads) for counted, heads in language.arities.items()},
        "ends": {opening: sorted(heads) for opening, heads in language.ends.heads.items()},
        "separators": dict(language.ends.separators),
        "keys": sorted(language.company.keys),
        "together": _listed_sets(language.company.together),
        "assigned": sorted(language.company.assigned),
        "behind": _listed_sets(language.company.behind),
        "begin": _listed_sets(language.company.begin),
        "contents": _listed_sets(language.contents),
        "roles": [[*slot, [list(other) for other in sorted(of)]] for slot, of in language.roles.before.items()],
        "overrides": sorted(notation.overrides),
        "rules": _rule_to_json(notation.rules, language.features),
        "named": sorted(language.symbols.named),
        "kinds": dict(sorted(language.symbols.kinds.items())),
    }


def from_json(data: Json) -> Notation:
    """The notation that `to_json` wrote."""
    if data.get("version") != VERSION:
        raise ValueError(f"a notation of version {VERSION} is expected, this one is of version {data.get('version')}")
    symbols = Symbols(
        frozenset(data["named"]), data["kinds"], Series(data["variables"], data.get("first_variable", ""))
    )
    brackets = Brackets(data["brackets"])
    heads = {opening: frozenset(found) for opening, found in data.get("ends", {}).items()}
    ends = Ends(brackets, heads, data.get("separators", {}))
    dropped, counted = frozenset(data["dropped"]), tuple(data["counted"])
    together, behind, begin = (
        {name: frozenset(found) for name, found in data.get(part, {}).items()}
        for part in ("together", "behind", "begin")
    )
    keys = frozenset(data.get("keys", ()))
    company = Company(keys, together, behind, begin, frozenset(data.get("assigned", keys)))
    roles = Roles({(name, at): frozenset((n, a) for n, a in of) for name, at, of in data.get("roles", ())})
    contents = {first: frozenset(of) for first, of in data.get("contents", {}).items()}
    language = Language(brackets, symbols, dropped, counted, data["arities"], ends, company, roles, contents)
    overrides = frozenset((inserted, exception) for inserted, exception in data["overrides"])
    return Notation(language, _rule_from_json(data["rules"], language.features), overrides)


def explain(notation: Notation) -> list[Row]:
    """The rules that insert a token, most used first."""
    rows = _rows(notation.rules, notation.language.features, [])
    return sorted(rows, key=lambda row: (-row.seen, row.token, row.context))


def _listed_sets(sets: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    return {name: sorted(found) for name, found in sorted(sets.items())}


def _rule_to_json(node: Node, features: tuple[str, ...]) -> Json:
    if not node.branches:
        return {"insert": node.action, "seen": node.counts}
    cases = [
        {
            "values": [value for value, number in node.branch_of.items() if number == branch],
            "otherwise": branch == node.otherwise,
            "then": _rule_to_json(child, features),
        }
        for branch, child in enumerate(node.branches)
    ]
    return {"ask": features[node.feature], "cases": cases}


def _rule_from_json(data: Json, features: tuple[str, ...]) -> Node:
    if "ask" not in data:
        return Node(data["insert"], dict(data["seen"]))
    node = Node(feature=features.index(data["ask"]))
    for branch, case in enumerate(data["cases"]):
        node.branches.append(_rule_from_json(case["then"], features))
        node.branch_of |= dict.fromkeys(case["values"], branch)
        if case["otherwise"]:
            node.otherwise = branch
    return node


def _rows(node: Node, features: tuple[str, ...], context: list[str]) -> Iterator[Row]:
    if not node.branches:
        if node.action != EMIT:
            seen = sum(node.counts.values())
            yield Row(node.action, "; ".join(context) or "anywhere", node.counts.get(node.action, 0), seen)
        return
    for branch, child in enumerate(node.branches):
        if branch == node.otherwise:
            others = [value for value, number in node.branch_of.items() if number != branch]
            condition = f"{features[node.feature]} is not {_listed(others)}"
        else:
            values = [value for value, number in node.branch_of.items() if number == branch]
            condition = f"{features[node.feature]} is {_listed(values)}"
        yield from _rows(child, features, [*context, condition])


def _listed(values: list[Value]) -> str:
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return " ".join(str(value) for value in values[:SHOWN]) + more
