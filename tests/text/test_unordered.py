"""Arguments whose order means nothing get one fixed order; all other text stays as it is."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.text.unordered import with_sorted_arguments

TEXTS = st.text(alphabet='ab(),;[]{}" \tAND', max_size=40)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("f(and(c, a(z, y), b))", ["and"], "f(and(a(z, y), b, c))"),
        ("and( c ,b)", ["and"], "and( b ,c)"),
        (
            "( _lambda $0 e ( _and ( _to $0 b ) ( _from $0 a ) ) )",
            ["_and"],
            "( _lambda $0 e ( _and ( _from $0 a ) ( _to $0 b ) ) )",
        ),
        ("( and c a b )", ["and"], "( and a b c )"),
        ("boy ( x _ 4 ) AND a ( x _ 1 )", ["AND"], "a ( x _ 1 ) AND boy ( x _ 4 )"),
        ("c AND b AND a", ["AND"], "a AND b AND c"),
        ('or("b, c", "a")', ["or"], 'or("a", "b, c")'),
        ("and(or(d, c), or(b, a))", ["and", "or"], "and(or(a, b), or(c, d))"),
        ("f(b, a)", ["and"], "f(b, a)"),
        ("and", ["and"], "and"),
    ],
)
def test_arguments_are_sorted(text: str, names: list[str], expected: str) -> None:
    assert with_sorted_arguments(text, names) == expected


@given(TEXTS, st.sampled_from([["AND"], ["a"], ["a", "AND", "b"]]))
def test_any_text_keeps_its_characters_and_is_sorted_once(text: str, names: list[str]) -> None:
    sorted_once = with_sorted_arguments(text, names)
    assert Counter(sorted_once) == Counter(text)
    assert with_sorted_arguments(text, []) == text
