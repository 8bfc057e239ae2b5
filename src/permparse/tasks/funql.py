"""FunQL, the query language of ATIS: tokens to trees, and equality of trees up to the order of conjuncts.

Functions precede their arguments; brackets stand only around `intersection` and `or`, which take any number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

VARIADIC = frozenset(("intersection", "or"))
BINARY = frozenset(("_equals", "_miles_distant", "_services"))
UNARY = frozenset(
    (
        *("answer", "count", "not"),
        *(
            "aircraft_code",
            "airline_code",
            "airline_name",
            "airport_code",
            "airport_name",
            "basis_type",
            "city_name",
        ),
        *("class_description", "day", "day_number", "day_period", "days_code", "dollar", "fare_basis_code"),
        *("flight_number", "hour", "integer", "manufacturer", "meal_code", "meal_description", "month"),
        *("state_name", "time", "year"),
    )
)
UNARY_PREFIXES = ("_", "argmin_", "argmax_", "sum_")


@dataclass(frozen=True, eq=False)
class Tree:
    """A function applied to its arguments; a constant has none."""

    label: str
    children: tuple["Tree", ...] = ()


def arity(token: str) -> int:
    """Number of arguments of a token that is not variadic."""
    if token in BINARY:
        return 2
    return 1 if token in UNARY or token.startswith(UNARY_PREFIXES) else 0


class _Open:
    """A function that still waits for arguments; `missing` is None for one that ends at its bracket."""

    def __init__(self, label: str, missing: int | None) -> None:
        self.label, self.missing = label, missing
        self.children: list[Tree] = []


def parse(tokens: Sequence[str]) -> Tree | None:
    """The tree, or None if the tokens are not exactly one well-formed query. Iterative: depth is no limit."""
    root = _Open("", 1)
    stack = [root]
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if not root.missing:
            return None  # something follows a complete query
        if token == "(":
            if position >= len(tokens) or tokens[position] not in VARIADIC:
                return None
            stack.append(_Open(tokens[position], None))
            position += 1
        elif token == ")":
            if stack[-1].missing is not None or not stack[-1].children:
                return None
            _close(stack)
        elif token in VARIADIC:
            return None
        else:
            stack.append(_Open(token, arity(token)))
            if not stack[-1].missing:
                _close(stack)
    return root.children[0] if len(stack) == 1 and root.children else None


def _close(stack: list[_Open]) -> None:
    """Finish the top function, and each below it whose last argument this was."""
    while True:
        done = stack.pop()
        below = stack[-1]
        below.children.append(Tree(done.label, tuple(done.children)))
        if below.missing is not None:
            below.missing -= 1
        if below.missing != 0 or len(stack) == 1:
            return


def same_tree(first: Tree, second: Tree) -> bool:
    """Equality up to the order of the children of `intersection` and `or`, at any depth."""
    numbers: dict[tuple[str, tuple[int, ...]], int] = {}
    return _number(first, numbers) == _number(second, numbers)


def _number(tree: Tree, numbers: dict[tuple[str, tuple[int, ...]], int]) -> int:
    """A number that two trees share exactly if they are the same; `numbers` is what was seen so far.

    Bottom-up without recursion: a node is known by its label and the numbers of its children, which are
    sorted where their order means nothing.
    """
    stack = [(tree, False)]
    done: list[int] = []
    while stack:
        node, expanded = stack.pop()
        if not expanded:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
            continue
        size = len(node.children)
        children = tuple(done[len(done) - size :])
        del done[len(done) - size :]
        if node.label in VARIADIC:
            children = tuple(sorted(children))
        done.append(numbers.setdefault((node.label, children), len(numbers)))
    return done[0]


def tokens(tree: Tree) -> Iterable[str]:
    """The tree as tokens again, with brackets where needed."""
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
            continue
        bracketed = node.label in VARIADIC
        if bracketed:
            yield "("
            stack.append(")")
        yield node.label
        stack.extend(reversed(node.children))


def widest(tree: Tree) -> int:
    """The largest number of children of one `intersection` or `or`; 0 if there is none."""
    most, stack = 0, [tree]
    while stack:
        node = stack.pop()
        stack.extend(node.children)
        if node.label in VARIADIC:
            most = max(most, len(node.children))
    return most


def tree_match(predicted: str, gold: str) -> bool:
    """Both well formed and the same query."""
    first, second = parse(predicted.split()), parse(gold.split())
    return first is not None and second is not None and same_tree(first, second)
