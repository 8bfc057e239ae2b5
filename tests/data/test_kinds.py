"""Kinds of values, learned from outputs."""

from permparse.data import value_kinds

CITIES = ["boston", "denver", "dallas", "atlanta"]


def test_values_behind_the_same_token_are_of_one_kind() -> None:
    outputs = [["answer", "from", "city_name", city] for city in CITIES]
    outputs += [["answer", "on", "airline_code", code] for code in ("ua", "dl", "aa")]
    kinds = value_kinds(outputs, [*CITIES, "ua", "dl", "aa"])
    assert kinds == dict.fromkeys(CITIES, "city_name") | dict.fromkeys(["ua", "dl", "aa"], "airline_code")


def test_two_values_make_no_kind() -> None:
    assert value_kinds([["name", "boston"], ["name", "denver"]], CITIES) == {}


def test_a_token_that_mostly_introduces_other_things_makes_no_kind() -> None:
    outputs = [["answer", city] for city in CITIES] + [["answer", "count"]] * 5
    assert value_kinds(outputs, CITIES) == {}


def test_a_value_that_stands_behind_many_tokens_is_of_no_kind() -> None:
    outputs = [["city_name", city] for city in CITIES] * 3 + [[f"_{i}", "denver"] for i in range(3)]
    assert value_kinds(outputs, CITIES) == dict.fromkeys(["boston", "dallas", "atlanta"], "city_name")


def test_a_value_introduces_nothing() -> None:
    outputs = [["boston", city] for city in CITIES]
    assert value_kinds(outputs, CITIES) == {}


def test_nothing_to_learn_from() -> None:
    assert value_kinds([], CITIES) == {}
    assert value_kinds([[], ["boston"]], []) == {}
