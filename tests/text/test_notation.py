"""The learned notation restores every output exactly, seen or not, and never fails on a wrong prediction."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nested_calls import NEW_ARTISTS, commands
from permparse.text.notation.brackets import Brackets
from permparse.text.notation.choice import Level
from permparse.text.notation.company import always_followed
from permparse.text.notation.evidence import words
from permparse.text.notation.learn import learn
from permparse.text.notation.notation import MARK, Notation
from permparse.text.notation.pieces import ESCAPE, GLUE, Pieces, learn_pieces
from permparse.text.notation.positions import position_offset
from permparse.text.notation.storage import explain, from_json, to_json
from permparse.text.notation.tree import Node
from permparse.text.notation.walk import Language
from text.synthetic import LATER_NAMES, NAMES, calls, clauses, modified

TRAINING = calls(1, 2000, [0, 1, 2], 3, NAMES)
PIECES = learn_pieces([(source.split(), output) for source, output in TRAINING])
NOTATION = learn([(source.split(), PIECES.cut(output)) for source, output in TRAINING])
COMMANDS = commands(1, 1500, [0, 1, 2])
COMMAND_PIECES = learn_pieces([(words(source), output) for source, output in COMMANDS.items()])
ENDS = learn([(words(s), COMMAND_PIECES.cut(o)) for s, o in COMMANDS.items()], name_ends=True)
FREE = learn([(source.split(), output.split()) for source, output in clauses(1, 600, [0, 1, 2], 2)])
TOKENS = st.sampled_from(
    [
        *'(),"=.;*§⁀‿…',
        "all…)",
        "all…,",
        "all…)…",
        "tell",
        "buy",
        "play",
        "by",
        "all",
        "any",
        "song",
        "Adele",
        "give",
        "agent",
        "theme",
        MARK * 2,
        "é",
    ]
)


@given(st.text(alphabet="ab_ (),\"'=.$0é⁀‿\t§"))
@settings(max_examples=500)
def test_every_string_is_joined_as_it_was_cut(text: str) -> None:
    for pieces in (PIECES, Pieces()):
        tokens = pieces.cut(text)
        assert pieces.join(tokens) == text
        assert all(tokens)


def test_glued_signs_are_split_off_without_marks() -> None:
    text = 'play(by(song, "Iggy Pop"))'
    assert PIECES.cut(text) == ["play", "(", "by", "(", "song", ",", '"', "Iggy", "Pop", '"', ")", ")"]
    assert not any(token.startswith((GLUE, ESCAPE)) for _, output in TRAINING for token in PIECES.cut(output))


@given(st.lists(TOKENS, max_size=30))
@settings(max_examples=500)
def test_every_output_is_restored_as_it_was(tokens: list[str]) -> None:
    for notation in (NOTATION, ENDS, FREE, Notation()):
        assert notation.restore(notation.shorten(tokens)) == tokens


@given(st.lists(TOKENS, max_size=30))
@settings(max_examples=500)
def test_restoring_a_wrong_prediction_ends(short: list[str]) -> None:
    for notation in (NOTATION, ENDS, FREE):
        assert len(notation.restore(short)) <= 40 * (len(short) + 2) ** 2


@pytest.mark.parametrize("depth", [3, 6])
def test_rules_hold_in_deeper_outputs(depth: int) -> None:
    """Kept are brackets that close one of several arguments, and quotation marks between two new values in a row:
    nothing else says where they end."""
    for _, output in calls(depth, 100, [depth], 5, LATER_NAMES):
        tokens = PIECES.cut(output)
        short = NOTATION.shorten(tokens)
        assert PIECES.join(NOTATION.restore(short)) == output
        assert not any(token.startswith(MARK) for token in short)
        assert {token for token in short if token in NOTATION.language.dropped} <= {")", '"'}


def test_ends_have_names_where_the_number_of_arguments_varies() -> None:
    tokens = COMMAND_PIECES.cut('all(buy("tea", "salt"), tell("Ann", count(song)), light(room("hall")))')
    named = ENDS.language.ends.named(tokens)
    assert [token for token in named if "…" in token] == ["buy…,", "buy…)", "all…,", "all…,", "all…)"]
    assert ENDS.language.ends.plain(named) == tokens


def test_calls_nested_deeper_than_in_training_need_no_exception() -> None:
    """Calls with a fixed number of arguments need no bracket, others at most the name of their end."""
    assert {"(", ")", ",", '"'} <= ENDS.language.dropped
    for depth in (3, 6):
        for output in commands(depth, 100, [depth], most=5, artists=NEW_ARTISTS).values():
            short = ENDS.shorten(COMMAND_PIECES.cut(output))
            assert not any(token in ENDS.language.dropped or token.startswith(MARK) for token in short)


def test_deeper_clauses_need_no_exception() -> None:
    for _, output in clauses(7, 100, [7], 7):
        short = FREE.shorten(output.split())
        assert not any(token in FREE.language.dropped or token.startswith(MARK) for token in short)


def test_modifiers_at_new_places_need_no_exception() -> None:
    """In training only themes are modified, by phrases or by clauses; then agents and recipients are."""
    theme = [form for _, form in modified(1, 2000, "theme")]
    notation = learn([((), form.split()) for form in theme], Level.SIGNS)
    assert {"(", ")", ",", "="} <= notation.language.dropped
    for place in ("agent", "recipient"):
        for _, form in modified(2, 100, place):
            short = notation.shorten(form.split())
            assert not notation.has_exception(short), short


def test_keys_have_the_head_of_their_bracket() -> None:
    notation = learn([((), form.split()) for _, form in modified(1, 2000, "theme")], Level.SIGNS)
    form = "give ( agent = dog , theme = * cake ( nmod . on = table ) , recipient = * rose )"
    tokens = form.split()
    short, heads = notation.shorten(tokens), notation.heads(tokens, [at for at, _ in notation.kept(tokens)])
    assert not notation.has_exception(short)
    found = {(token, None if head is None else short[head]) for token, head in zip(short, heads, strict=True)}
    assert {("agent", "give"), ("theme", "give"), ("recipient", "give"), ("nmod", "cake"), ("give", None)} <= found


def test_only_keys_that_signs_always_follow_have_a_head() -> None:
    """`agent = dog` names what comes; `from` of `flight ( from boston , to dallas )` may be as rare in its bracket."""
    calls = [f"flight ( from c{i % 5} , to c{3 * i % 5} )" for i in range(40)] + [
        "flight ( to c1 , from ( near c2 ) )"
    ] * 9
    followed = always_followed([form.split() for form in calls], Brackets({"(": ")"}))
    assert not {"from", "to", "flight"} & followed.keys()
    notation = learn([((), tuple(form.split())) for form in calls], Level.SIGNS)
    assert not notation.language.company.assigned
    tokens = calls[0].split()
    assert not any(notation.heads(tokens, range(len(tokens))))


def test_signs_no_word_says_are_dropped() -> None:
    assert {"(", ")", ",", "play"} <= NOTATION.language.dropped
    assert not {"by", "song", "Adele"} & NOTATION.language.dropped


def test_levels_are_nested() -> None:
    pairs = [(source.split(), PIECES.cut(output)) for source, output in TRAINING]
    chosen = [learn(pairs, level).language.dropped for level in Level]
    assert chosen[0] == frozenset()
    assert chosen[1] <= chosen[2] <= chosen[3] <= chosen[4]


@given(st.lists(TOKENS, max_size=20))
def test_a_saved_notation_is_the_same(tokens: list[str]) -> None:
    for notation in (NOTATION, ENDS):
        assert from_json(json.loads(json.dumps(to_json(notation)))).shorten(tokens) == notation.shorten(tokens)


def test_an_edited_notation_still_restores() -> None:
    data = json.loads(json.dumps(to_json(NOTATION)))
    data["dropped"].remove(",")
    edited = from_json(data)
    for _, output in TRAINING[:50]:
        tokens = PIECES.cut(output)
        short = edited.shorten(tokens)
        assert edited.restore(short) == tokens
        assert [t.removeprefix(MARK) for t in short].count(",") == tokens.count(",")


def test_every_dropped_type_has_a_row() -> None:
    assert {row.token for row in explain(NOTATION)} == NOTATION.language.dropped


def test_nothing_is_dropped_where_every_token_has_a_word() -> None:
    pairs = [(list(word), [f"_{c}" for c in word * 2]) for word in ("abc", "bcd", "cab", "dda", "bad", "cad") * 20]
    assert learn(pairs) == Notation()


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_a_few_pairs_are_enough_to_learn_something(number: int) -> None:
    pairs = [(["go"], ["f", "(", "x", ")"])] * number
    notation = learn(pairs)
    assert notation.restore(notation.shorten(["f", "(", "x", ")"])) == ["f", "(", "x", ")"]


def test_an_empty_token_is_refused() -> None:
    with pytest.raises(ValueError, match="may not be empty"):
        NOTATION.shorten(["f", ""])


def test_numbers_that_name_positions_are_found() -> None:
    form = "visitor ( x _ 1 ) ; sleep . agent ( x _ 2 , x _ 1 )"
    named = [(["the", "visitor", "slept"], form.split())] * 20
    copied = [(["top", "3", "files"], ["TOP", "3"])] * 20
    assert position_offset(named) == 0
    assert position_offset([(source[1:], target) for source, target in named]) == 1
    assert position_offset(copied) is None


def test_bound_variables_are_restored_by_their_role() -> None:
    form = "( lambda $0 e ( and ( flight $0 ) ( to $0 {} ) ( exists $1 ( and ( from $1 {} ) ( day $1 {} ) ) ) ) )"
    cities, days = ["boston", "denver", "dallas", "austin"], ["monday", "friday", "sunday"]
    pairs = [
        (["flights", "to", one, "from", other, "on", day], form.format(one, other, day).split())
        for one in cities
        for other in cities
        for day in days
    ]
    notation = learn(pairs)
    assert {"$0", "$1", "(", ")"} <= notation.language.dropped
    assert not any(token.startswith("$") for token in notation.shorten(pairs[5][1]))
    assert notation.restore(notation.shorten(pairs[5][1])) == pairs[5][1]


def test_a_rule_that_keeps_opening_brackets_comes_to_an_end() -> None:
    language = Language(Brackets({"(": ")"}), dropped=frozenset("("))
    opening = Notation(language, Node("(", {"(": 1}))
    assert opening.restore(["a"])[-1] != ""
    assert opening.restore(opening.shorten(["a", "b"])) == ["a", "b"]


def test_no_bracket_is_closed_that_is_not_open() -> None:
    language = Language(Brackets({"(": ")", '"': '"'}), dropped=frozenset(')"'))
    assert Notation(language, Node(")", {")": 1})).restore(["f", "(", "a"]) == ["f", "(", ")", "a"]
    quoting = Notation(language, Node('"', {'"': 1}))
    assert quoting.restore(["a"])[0] == '"'
