"""Learn a notation from training pairs: choose the types to drop, then fit the rules that restore them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from permparse.text.notation.actions import usual_roles
from permparse.text.notation.brackets import find_brackets
from permparse.text.notation.choice import Level, candidates, choose_types
from permparse.text.notation.company import named_like_words
from permparse.text.notation.ends import Calls, Ends, find_calls
from permparse.text.notation.evidence import Evidence, Pair, evidence
from permparse.text.notation.fit import Fit, Material, Output, fit, prepare
from permparse.text.notation.notation import Notation
from permparse.text.notation.series import find_series
from permparse.text.notation.symbols import Symbols, find_kinds, is_sign
from permparse.text.notation.walk import Language, with_brackets_seen

ENOUGH_PAIRS = 5_000
"""Pairs from which on more of them do not change what is said by words."""
SMALL, LARGE = 20_000, 80_000
"""Output tokens to choose types on, and to fit the final rules on."""
NAMED = 5
"""Outputs that must have a type for rules to name it."""
MOST_COUNTED = 4
"""Signs whose number inside a bracket rules may ask for."""
MOST_VARIABLES = 10
"""Where bound variables are dropped, those up to this number are, seen or not."""
REMEMBERED = 6
"""Notations that are not learned again from the same pairs: trials and training ask for the same ones."""
COPIED = 0.5
"""Share of its outputs whose input has a type as a word, from which on it is a value of an open class."""


def learn(
    pairs: Sequence[Pair], level: Level = Level.FULL, name_ends: bool = False, tags: frozenset[str] = frozenset()
) -> Notation:
    """The notation for these pairs; nothing is dropped if nothing is implied.

    With ``name_ends`` the ends of arguments have names wherever the number of arguments varies. ``tags`` are cut off
    values, and dropped like signs.
    """
    return _learn(tuple((tuple(source), tuple(target)) for source, target in pairs), level, name_ends, tags)


@lru_cache(maxsize=REMEMBERED)
def _learn(pairs: tuple[tuple[Output, Output], ...], level: Level, name_ends: bool, tags: frozenset[str]) -> Notation:
    sample = [target for _, target in pairs[:ENOUGH_PAIRS]]
    calls = find_calls(find_brackets(sample), sample)
    ends = calls.ends() if name_ends else Ends(calls.brackets)
    outputs = [tuple(ends.named(target)) for _, target in pairs]
    known = evidence([(source, output) for (source, _), output in zip(pairs[:ENOUGH_PAIRS], outputs, strict=False)])
    copied = frozenset(token for token, e in known.items() if e.copied >= COPIED)
    values = copied - calls.closed_class(copied) - named_like_words(outputs[:ENOUGH_PAIRS], copied, calls.brackets)
    material = prepare(outputs, SMALL, values)
    symbols = find_symbols(known, values, outputs[:ENOUGH_PAIRS], ends)

    plain = _language(calls, ends, symbols, frozenset(), known, material)
    usual = usual_roles(plain, material.outputs)

    def fitting(dropped: frozenset[str]) -> Fit:
        return fit(_language(calls, ends, symbols, dropped, known, material), material, usual)

    groups = candidates(known, outputs[:ENOUGH_PAIRS], symbols, ends, plain.company.keys, tags, level)
    dropped = choose_types(groups, fitting)
    if not dropped:
        return Notation()
    if any(symbols.number(token) is not None for token in dropped):
        dropped |= {symbols.variable(number) for number in range(MOST_VARIABLES)}
    material = prepare(outputs, LARGE, values)
    language = _language(calls, ends, symbols, dropped, known, material)
    found = fit(language, material, usual)
    return Notation(language, found.rules, found.overrides)


def find_symbols(
    known: Mapping[str, Evidence], values: frozenset[str], outputs: Sequence[Sequence[str]], ends: Ends
) -> Symbols:
    """Types frequent enough to be named; values are of an open class, ends of the kind of what they stand for."""
    named = frozenset(token for token, e in known.items() if e.outputs >= NAMED)
    variables = find_series(outputs)
    return Symbols(named, find_kinds(outputs, named, named & values, variables) | ends.names, variables)


def _language(
    calls: Calls,
    ends: Ends,
    symbols: Symbols,
    dropped: frozenset[str],
    known: Mapping[str, Evidence],
    material: Material,
) -> Language:
    signs = Counter({t: known[t].occurrences for t in dropped - ends.brackets.tokens if is_sign(t)})
    counted = tuple(sorted(signs, key=lambda t: (-signs[t], t))[:MOST_COUNTED])
    language = Language(ends.brackets, symbols, dropped, counted, ends=ends)
    return with_brackets_seen(language, material.outputs, calls.separators.keys())
