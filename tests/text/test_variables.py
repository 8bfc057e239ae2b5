"""Variables bound inside outputs: how they are named, and who is meant where nothing but their kind says it."""

import pytest

from notations import NAMES, NEW_NAMES, SHALLOW, clauses, questions
from permparse.text.notation.learn import learn
from permparse.text.notation.mentions import Mentions, Roles
from permparse.text.notation.pieces import learn_pieces
from permparse.text.notation.series import Series, find_series
from permparse.text.notation.storage import from_json, to_json
from permparse.text.tokenizers import word_tokens


@pytest.mark.parametrize(
    ("series", "token", "number"),
    [
        (Series("$"), "$0", 0),
        (Series("$"), "$12", 12),
        (Series("$"), "$01", None),
        (Series("$"), "$x", None),
        (Series("", "A"), "B", 1),
        (Series("", "X"), "Z", 2),
        (Series("", "X"), "A", None),
        (Series("?", "x"), "?y", 1),
        (Series("", "A"), "AB", None),
        (Series(), "$0", None),
        (Series(), "A", None),
    ],
)
def test_numbers_of_variables(series: Series, token: str, number: int | None) -> None:
    assert series.number(token) == number
    assert number is None or series.variable(number) == token


def test_names_go_on_behind_the_last_letter() -> None:
    names = [Series("", "A").variable(number) for number in range(60)]
    assert names[24:28] == ["Y", "Z", "A1", "B1"]
    assert len(set(names)) == 60


def test_series_are_found_where_variables_recur_in_order() -> None:
    prolog = [["f", "(", "A", ",", "B", ")", "g", "(", "B", ")"], ["f", "(", "A", ")", "g", "(", "A", ")"]] * 5
    assert find_series(prolog) == Series("", "A")
    assert find_series([["λ", "$0", "f", "$0"]] * 5) == Series("$")
    assert find_series([["f", "(", "B", ")", "A", "A"]] * 5 + prolog[:2]) != Series("", "A")
    assert find_series([["a", "plan", "b"]] * 9) == Series()
    assert find_series([]) == Series()


def test_who_is_meant_is_whoever_was_just_spoken_of_in_such_words() -> None:
    seen = Mentions(Roles())
    for number, slot in [(0, ("state", 0)), (0, ("next_to", 0)), (1, ("next_to", 1)), (1, ("city", 0))] * 2:
        seen.mention(number, slot)
    roles = Roles.of([seen, seen])
    now = Mentions(roles)
    now.mention(0, ("state", 0))
    now.mention(1, ("river", 0))
    assert now.fitting(("next_to", 0)) == 0
    assert now.fitting(("city", 0)) is None
    assert (now.recent(0), now.recent(1), now.recent(2)) == (1, 0, None)


def test_clauses_that_share_variables_need_none_of_them_however_deep() -> None:
    """answer(A,(state(A),next_to(A,B),const(B,stateid(new_york)))) ↦ state next_to stateid new york"""
    asked = {q: clauses(thing) for q, thing in questions(1, 600, SHALLOW, NAMES).items()}
    pairs = [(tuple(word_tokens(question)), form) for question, form in asked.items()]
    pieces = learn_pieces(pairs)
    notation = learn([(source, tuple(pieces.cut(form))) for source, form in pairs])
    notation = from_json(to_json(notation))
    new = {kind: [*names, *NEW_NAMES[kind]] for kind, names in NAMES.items()}
    deeper = [clauses(thing) for thing in questions(3, 100, (3, 4), new).values()]
    for form in deeper:
        assert pieces.join(notation.restore(notation.shorten(pieces.cut(form)))) == form
    kept = [notation.shorten(pieces.cut(form)) for form in deeper]
    assert not any(notation.has_exception(tokens) for tokens in kept)
    assert sum(map(len, kept)) < sum(len(pieces.cut(form)) for form in deeper) / 5
