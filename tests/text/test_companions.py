from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from permparse.text import Companions
from permparse.text.trigrams import END, START

TIMES = [("one", "hour"), ("two", "hours"), ("six", "hours")] * 5
OUTPUTS = [["date", number, unit, "ago"] for number, unit in TIMES] + [["by", "Ann"]] * 9 + [["by", "Ann", "size"]]
INPUTS = [["changed", number, unit, "ago"] for number, unit in TIMES] + [["changed", "by", "ann"]] * 10
COMPANIONS = Companions.learn(OUTPUTS, INPUTS)


def test_only_words_that_were_always_followed_by_words_are_bound() -> None:
    assert COMPANIONS.after == {
        "one": {"hour"},
        "two": {"hours"},
        "six": {"hours"},
        "hour": {"ago"},
        "hours": {"ago"},
        "by": {"Ann"},
    }
    # "ago" ends an output, and "Ann" may, so that neither is bound to what comes next; nothing binds a token to START.
    assert COMPANIONS.before == {
        "hour": {"one"},
        "hours": {"two", "six"},
        "ago": {"hour", "hours"},
        "Ann": {"by"},
    }


def test_what_must_not_be_parted() -> None:
    found = COMPANIONS.apart(["ago", "hour", "size", "one"])
    assert found is not None
    one, size, end = 3, 2, 4
    assert found[one].tolist() == [True, False, True, True, True]  # only "hour" follows "one"
    assert found[end].tolist() == [True, True, False, False, False]  # neither "ago" nor "hour" comes first
    assert not found[size, one]
    assert not found[size, end]


def test_without_bound_tokens_there_is_nothing_to_part() -> None:
    assert COMPANIONS.apart(["size", "size"]) is None
    assert COMPANIONS.apart([]) is None
    assert Companions().apart(["one", "size"]) is None


def test_a_token_seen_rarely_is_free() -> None:
    assert Companions.learn([["one", "hour"]] * 4, [["one", "hour"]]).after == {}


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=30))
def test_no_output_that_was_learned_from_is_parted(outputs: list[list[str]]) -> None:
    companions = Companions.learn(outputs, [["a", "b"]])
    assert Companions.from_json(companions.to_json()) == companions
    for output in outputs:
        found = companions.apart(output)
        path = [len(output), *range(len(output)), len(output)]
        assert found is None or not any(found[i, k] for i, k in pairwise(path) if output)
    assert START not in companions.before
    assert END not in companions.after
