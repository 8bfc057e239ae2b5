"""FunQL without what is implied: answer _flight ( intersection _from_2 city_name boston … ) ↦ _flight _from_2 boston …

Left out are `answer`, the type of a constant where its relation says it, the brackets and `intersection` of
conjuncts that end the query, and the brackets around `or` and `intersection` of two. None has a word in the question.
Which type a relation implies is learned from training queries.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from permparse.tasks.funql import UNARY, VARIADIC, arity

ANSWER = "answer"
TYPES = UNARY - {ANSWER, "count", "not"}
Implied = Mapping[str, str]
"""By relation, the type that a constant directly behind it has."""


def implied_types(queries: Iterable[Sequence[str]]) -> dict[str, str]:
    """The type that mostly follows each relation in some queries, where a type or a constant mostly follows at all."""
    found: dict[str, Counter[str]] = {}
    for tokens in queries:
        for relation, following in pairwise(tokens):
            if relation.startswith("_"):
                found.setdefault(relation, Counter())[following if following in TYPES else ""] += 1
    best = {relation: of.most_common(1)[0] for relation, of in found.items()}
    return {
        relation: kind
        for relation, (kind, count) in sorted(best.items())
        if kind and 2 * count > found[relation].total()
    }


def leave_out(tokens: Sequence[str], implied: Implied) -> list[str] | None:
    """The tokens of a query without what `put_back` knows; None if they would not come back as they were."""
    if tokens[:1] != [ANSWER]:
        return None
    body = list(tokens[1:])
    candidates = [
        _without_types(shape(body), implied)
        for shape in (_without_both, _without_intersection, _without_brackets, list)
    ]
    return next((short for short in [*candidates, body] if put_back(short, implied) == list(tokens)), None)


def put_back(short: Sequence[str], implied: Implied) -> list[str]:
    """The whole query; on an ill-formed one whatever comes of it."""
    body: list[str] = []
    for token, following in zip(short, [*short, ""][1:], strict=True):
        body.append(token)
        kind = implied.get(token)
        if kind is not None and following and following not in ("(", ")") and not is_function(following):
            body.append(kind)
    body = _with_brackets(body)
    opening = _conjuncts_begin(body)
    if _number_of_trees(body[opening:]) > 1:
        body = [*body[:opening], "(", "intersection", *body[opening:], ")"]
    return [ANSWER, *body]


def is_function(token: str) -> bool:
    return token in VARIADIC or arity(token) > 0


def _without_types(body: Sequence[str], implied: Implied) -> list[str]:
    before = ["", *body]
    return [t for previous, t in zip(before, body, strict=False) if t not in TYPES or implied.get(previous) != t]


def _without_both(body: Sequence[str]) -> list[str]:
    return _without_brackets(_without_intersection(body))


def _without_intersection(body: Sequence[str]) -> list[str]:
    opening = _conjuncts_begin(body)
    if list(body[opening : opening + 2]) == ["(", "intersection"] and body[-1] == ")":
        return [*body[:opening], *body[opening + 2 : -1]]
    return list(body)


def _without_brackets(body: Sequence[str]) -> list[str]:
    """Brackets of `or` and `intersection` with two arguments left out."""
    kept, closing = [], set()
    for position, token in enumerate(body):
        if token == "(":
            end = _end_of_tree(body, position)
            if end is not None and _number_of_trees(body[position + 2 : end - 1]) == 2:
                closing.add(end - 1)
                continue
        if position not in closing:
            kept.append(token)
    return kept


def _with_brackets(body: Sequence[str]) -> list[str]:
    """Brackets put around `or` and `intersection` that have none: they take two arguments."""
    complete: list[str] = []
    closing: dict[int, int] = {}
    for position, token in enumerate(body):
        bare = token in VARIADIC and (position == 0 or body[position - 1] != "(")
        complete += ["(", token] if bare else [token]
        if bare:
            end = _end_of_tree(body, position) or len(body)
            closing[end] = closing.get(end, 0) + 1
        complete += [")"] * closing.pop(position + 1, 0)
    return complete


def _conjuncts_begin(body: Sequence[str]) -> int:
    """Where the conjuncts may begin: behind the functions of sets, such as `argmin_fare _flight _nonstop`."""
    position = 0
    while position < len(body) and _takes_a_set(body[position]):
        position += 1
    return position


def _takes_a_set(token: str) -> bool:
    return arity(token) == 1 and token not in TYPES and not token.endswith("_2")


def _end_of_tree(body: Sequence[str], start: int) -> int | None:
    """Behind the tree that begins at `start`; None if it is not complete."""
    missing, depth = 1, 0
    for position in range(start, len(body)):
        token = body[position]
        depth += (token == "(") - (token == ")")
        if depth < 0:
            return None
        if depth == 0:
            missing += (0 if token == ")" else 2 if token in VARIADIC else arity(token)) - 1
            if missing == 0:
                return position + 1
    return None


def _number_of_trees(tokens: Sequence[str]) -> int:
    """How many trees stand side by side; 0 if something is left over."""
    trees, position = 0, 0
    while position < len(tokens):
        end = _end_of_tree(tokens, position)
        if end is None:
            return 0
        trees, position = trees + 1, end
    return trees
