"""Values that outputs spell otherwise than inputs: found from training pairs, cut into the words that inputs have."""

from hypothesis import given, settings
from hypothesis import strategies as st

from permparse.text.notation.pieces import Pieces, learn_pieces
from permparse.text.notation.spellings import Frame, Spellings, find_spellings, readings

CITIES = ["boston", "salt lake city", "new york", "dallas", "rio grande", "utah", "san jose"]


def to(city: str, near: bool = False) -> tuple[list[str], str]:
    words = ["border" if near else "bound", "for", *city.split()]
    return words, f"( to:t $0 {city.replace(' ', '_')}:c ) ( {'next_to' if near else 'bound_for'}:t $0 )"


PAIRS = [to(city, near) for city in CITIES for near in (False, True)]
PIECES = learn_pieces(PAIRS)


def test_values_are_cut_into_the_words_of_the_input() -> None:
    assert PIECES.spellings.frames == {Frame("", ":c"): "_"}
    assert PIECES.cut("( to:t $0 salt_lake_city:c )") == [
        "(",
        "to:t",
        "$0",
        "salt",
        "_",
        "lake",
        "_",
        "city",
        ":c",
        ")",
    ]


def test_values_that_training_lacks_are_cut_as_well() -> None:
    assert PIECES.cut("des_moines:c") == ["des", "_", "moines", ":c"]
    assert PIECES.join(["des", "_", "moines", ":c"]) == "des_moines:c"


def test_names_that_no_input_says_stay_whole() -> None:
    assert PIECES.cut("bound_for:t next_to:t $0 dtw:x") == ["bound_for:t", "next_to:t", "$0", "dtw:x"]


def test_a_name_that_looks_like_a_value_stays_whole() -> None:
    """`rivers_of` is spelled as cities are, but the input says it otherwise."""
    pairs = [(city.split(), f"to {city.replace(' ', '_')}") for city in ("a b", "c d", "e f g", "h i", "j k")]
    spellings = find_spellings([(["where"], ["rivers_of"])] + [(source, output.split()) for source, output in pairs])
    assert spellings.frames == {Frame("", ""): "_"}
    assert spellings.cut("rivers_of") == ["rivers_of"]
    assert spellings.cut("a_b") == ["a", "_", "b"]


def test_too_few_values_make_no_rule() -> None:
    assert find_spellings([(["a", "b"], ["a_b"]), (["c", "d"], ["c_d"])]) == Spellings()
    assert learn_pieces([]) == Pieces()


def test_quotation_marks_are_cut_off_apostrophes_are_not() -> None:
    quoted = [(city.split(), f"name '{city}' of o'neill's") for city in CITIES]
    cut = learn_pieces(quoted).cut("name 'new york' of o'neill's")
    assert cut == ["name", "'", "new", "york", "'", "of", "o'neill's"]
    assert not learn_pieces([(["a"], "it is o'neill's"), (["b"], "the boys' dog")]).at_signs


@given(st.text(alphabet="ab_:c'(). ⁀‿é", max_size=20))
@settings(max_examples=500)
def test_every_string_is_joined_as_it_was_cut(text: str) -> None:
    for pieces in (PIECES, Pieces.from_json(PIECES.to_json()), learn_pieces([*PAIRS, (["x"], "f('a')")] * 2)):
        assert pieces.join(pieces.cut(text)) == text


@given(st.text(alphabet="ab_:c'é", max_size=12))
def test_parts_make_up_the_token(token: str) -> None:
    assert all("".join(reading.parts) == token and len(reading.parts) > 1 for reading in readings(token))
