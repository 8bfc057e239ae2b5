"""Learn a notation from training pairs: choose the types to drop, then fit the rules that restore them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from permparse.text.notation.brackets import Brackets, find_brackets
from permparse.text.notation.choice import Level, candidates, choose_types
from permparse.text.notation.evidence import Evidence, Pair, evidence
from permparse.text.notation.fit import Fit, Material, fit, prepare
from permparse.text.notation.notation import Notation
from permparse.text.notation.symbols import Symbols, find_kinds, find_variables, is_sign
from permparse.text.notation.walk import Language, find_arities

ENOUGH_PAIRS = 5_000
"""Pairs from which on more of them do not change what is said by words."""
SMALL, LARGE = 20_000, 60_000
"""Output tokens to choose types on, and to fit the final rules on."""
NAMED = 5
"""Outputs that must have a type for rules to name it."""
MOST_COUNTED = 4
"""Signs whose number inside a bracket rules may ask for."""
MOST_VARIABLES = 10
"""Where bound variables are dropped, those up to this number are, seen or not."""
COPIED = 0.5
"""Share of its outputs whose input has a type as a word, from which on it is a value of an open class."""


def learn(pairs: Sequence[Pair], level: Level = Level.FULL) -> Notation:
    """The notation for these pairs; nothing is dropped if nothing is implied."""
    known = evidence(pairs[:ENOUGH_PAIRS])
    copied = frozenset(token for token, e in known.items() if e.copied >= COPIED)
    outputs = [tuple(target) for _, target in pairs]
    material = prepare(outputs, SMALL, copied)
    brackets = find_brackets(material.outputs)
    symbols = find_symbols(known, outputs[:ENOUGH_PAIRS])

    def fitting(dropped: frozenset[str]) -> Fit:
        return fit(_language(brackets, symbols, dropped, known, material), material)

    dropped = choose_types(candidates(known, outputs[:ENOUGH_PAIRS], symbols, level), fitting)
    if not dropped:
        return Notation()
    if any(symbols.number(token) is not None for token in dropped):
        dropped |= {symbols.variable(number) for number in range(MOST_VARIABLES)}
    material = prepare(outputs, LARGE, copied)
    language = _language(brackets, symbols, dropped, known, material)
    found = fit(language, material)
    return Notation(language, found.rules, found.overrides)


def find_symbols(known: Mapping[str, Evidence], outputs: Sequence[Sequence[str]]) -> Symbols:
    """Types frequent enough to be named; those mostly copied from the input are values of an open class."""
    named = frozenset(token for token, e in known.items() if e.outputs >= NAMED)
    copied = frozenset(token for token in named if known[token].copied >= COPIED)
    variables = find_variables(outputs)
    return Symbols(named, find_kinds(outputs, named, copied, variables), variables)


def _language(
    brackets: Brackets, symbols: Symbols, dropped: frozenset[str], known: Mapping[str, Evidence], material: Material
) -> Language:
    signs = Counter({t: known[t].occurrences for t in dropped - brackets.tokens if is_sign(t)})
    counted = tuple(sorted(signs, key=lambda t: (-signs[t], t))[:MOST_COUNTED])
    language = Language(brackets, symbols, dropped, counted)
    return replace(language, arities=find_arities(language, material.outputs))
