"""COGS by words: all tokens about a word in one item, and the items in the order of the sentence.

    noun   [.nmod .in] [*] noun variable                       a frog in the house   frog 1 .nmod .in * house 4
    verb   [.ccomp | .xcomp] verb (role argument)* variable    was seen by Al        see .theme 1 .agent Al 6

Left out is what is implied: the predicate and variable that every conjunct repeats, the noun that a modifier belongs to
(the one before), the verb that a clause belongs to (the one before), and the agent of an infinitive (its verb's).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from permparse.text import is_variable

DEFINITE = "*"
MODIFIER, INFINITIVE = ".nmod", ".xcomp"
CLAUSES = frozenset((".ccomp", INFINITIVE))
AGENT = ".agent"
ROLES = frozenset((AGENT, ".theme", ".recipient"))

Edge = tuple[tuple[str, ...], str]
"""Relations and argument: ((".nmod", ".in"), "4")."""


@dataclass
class Item:
    """A noun or verb. ``relations`` tie it to the item before it; ``end`` is where it ends among the tokens."""

    word: str
    variable: str = ""
    definite: bool = False
    relations: tuple[str, ...] = ()
    edges: list[Edge] = field(default_factory=list)
    end: int = 0

    @property
    def is_verb(self) -> bool:
        tied = bool(self.relations) and self.relations[0] in CLAUSES
        return tied or any(relations[0] != MODIFIER for relations, _ in self.edges)

    @property
    def agent(self) -> str | None:
        return next((argument for relations, argument in self.edges if relations == (AGENT,)), None)


def fold(flat: Sequence[str]) -> list[str] | None:
    """The items of a form that was shortened conjunct by conjunct; None if `unfold` would not bring it back."""
    items = _from_conjuncts(flat)
    if items is None:
        return None
    tokens: list[str] = []
    for item in items:
        own = [edge for edge in item.edges if edge[0][0] in ROLES]
        above = next((i for i in items if (item.relations, item.variable) in i.edges), None)
        if above is not None and item.relations == (INFINITIVE,):
            own = [edge for edge in own if edge != ((AGENT,), above.agent)]
        tokens += [*item.relations, *[DEFINITE] * item.definite, item.word]
        tokens += [token for relations, argument in own for token in (*relations, argument)]
        tokens += [item.variable] if item.variable else []
    return tokens if unfold(tokens) == list(flat) else None


def unfold(tokens: Sequence[str]) -> list[str]:
    """The conjuncts of some items, definite descriptions first; of ill-formed items whatever can be made."""
    items = parse(tokens)
    for position, item in enumerate(items):
        if not item.relations:
            continue
        clause = item.relations[0] in CLAUSES
        above = next((i for i in reversed(items[:position]) if i.is_verb or not clause), None)
        if above is None:
            continue
        above.edges.append((item.relations, item.variable))
        if item.relations == (INFINITIVE,) and item.agent is None and above.agent is not None:
            item.edges.insert(0, ((AGENT,), above.agent))
    flat = [token for item in items if item.definite for token in (DEFINITE, item.word, item.variable)]
    for item in items:
        if not item.definite and not item.is_verb:
            flat += [item.word, item.variable]
        for relations, argument in item.edges:
            flat += [item.word, *relations, item.variable, argument]
    return [token for token in flat if token]


def parse(tokens: Sequence[str]) -> list[Item]:
    """The items that stand one after the other, without the edges between them."""
    items: list[Item] = []
    position = 0
    while position < len(tokens):
        item = Item("")
        while position < len(tokens) and (tokens[position] == DEFINITE or tokens[position].startswith(".")):
            if tokens[position] == DEFINITE:
                item.definite = True
            else:
                item.relations += (tokens[position],)
            position += 1
        if position < len(tokens):
            item.word = tokens[position]
            position += 1
        while position + 1 < len(tokens) and tokens[position] in ROLES:
            item.edges.append(((tokens[position],), tokens[position + 1]))
            position += 2
        if position < len(tokens) and is_variable(tokens[position]):
            item.variable = tokens[position]
            position += 1
        item.end = position
        items.append(item)
    return items


def homes(tokens: Sequence[str]) -> list[int | None]:
    """For each token the place of the variable of its item: the word that it belongs to."""
    found: list[int | None] = []
    for item in parse(tokens):
        found += [item.end - 1 if item.variable else None] * (item.end - len(found))
    return found


def _from_conjuncts(flat: Sequence[str]) -> list[Item] | None:
    """The items behind conjuncts, by their variables; None if some conjunct has none."""
    items: dict[str, Item] = {}
    position = 0
    while position < len(flat):
        definite = flat[position] == DEFINITE
        start = position + definite
        end = start + 1
        while end < len(flat) and flat[end].startswith("."):
            end += 1
        relations = tuple(flat[start + 1 : end])
        arguments = flat[end : end + (2 if relations else 1)]
        if len(arguments) < (2 if relations else 1) or not is_variable(arguments[0]):
            return [Item(flat[0])] if len(flat) == 1 else None
        item = items.setdefault(arguments[0], Item(flat[start], arguments[0]))
        item.definite |= definite
        if relations:
            item.edges.append((relations, arguments[1]))
        position = end + len(arguments)
    for item in items.values():
        for relations, argument in item.edges:
            if relations[0] not in ROLES and argument in items:
                items[argument].relations = relations
    return sorted(items.values(), key=lambda item: int(item.variable))
