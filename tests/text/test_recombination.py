"""Recombination: spans by definition, what takes whose place, and examples that stay aligned."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.text import Aligned, Recombiner
from permparse.text.recombination import BOUND, EXCHANGED, MOST_DEEPENED, MOST_STRAYS, Span

SAW = Aligned(("Emma", "saw", "the", "cake"), ("see", "agent", "Emma", "theme", "*", "cake"), (1, 1, 0, 1, 2, 3))
SAW_PP = Aligned(
    ("Emma", "saw", "the", "cake", "on", "a", "table"),
    ("see", "agent", "Emma", "theme", "*", "cake", "on", "table"),
    (1, 1, 0, 1, 2, 3, 4, 6),
)
ROLLED = Aligned(("the", "cake", "rolled"), ("roll", "theme", "*", "cake"), (2, 2, 0, 1))


@st.composite
def aligned(draw: st.DrawFn) -> Aligned:
    words = draw(st.lists(st.sampled_from("abc"), max_size=7))
    positions = draw(st.lists(st.integers(0, len(words)), max_size=8))  # one position is beyond the words
    tokens = [(words[i] if i < len(words) else "end") + draw(st.sampled_from("xy")) for i in positions]
    return Aligned(tuple(words), tuple(tokens), tuple(positions))


@given(aligned())
def test_spans_are_what_they_are_defined_to_be(example: Aligned) -> None:
    expected = set()
    size = len(example.words)
    for first in range(size):
        for last in range(first + 1, size + 1):
            inside = [j for j, i in enumerate(example.positions) if first <= i < last]
            if not {first, last - 1} <= set(example.positions) or last - first == size:
                continue
            runs = [(b, e) for b in inside for e in range(b + 1, inside[-1] + 2) if set(range(b, e)) <= set(inside)]
            begin, end = max(runs, key=lambda run: (run[1] - run[0], -run[0]))
            strays = tuple(j for j in inside if not begin <= j < end)
            ends = {first, last - 1} <= set(example.positions[begin:end])
            if ends and len(strays) <= MOST_STRAYS and len({example.positions[j] for j in strays}) <= 1:
                expected.add(Span(first, last, begin, end, strays))
    assert sorted(example.spans) == sorted(expected)


def test_a_phrase_takes_the_place_of_a_shorter_one_where_training_never_has_it() -> None:
    made = Recombiner([SAW, SAW_PP, ROLLED], seed=0).recombined(20)
    wanted = Aligned(
        ("the", "cake", "on", "a", "table", "rolled"),
        ("roll", "theme", "*", "cake", "on", "table"),
        (5, 5, 0, 1, 2, 4),
    )
    assert wanted in made


def test_spans_give_way_to_longer_ones_again_and_again() -> None:
    """*rivers near Ohio* takes the place of *Ohio* behind *near*: two *near* in training, up to five in new ones."""
    size = Aligned(("size", "of", "Erie"), ("size(", "Erie", ")"), (0, 2, 0), kinds=("size(", "<Name>", BOUND))
    near = Aligned(
        ("list", "states", "near", "Ohio"),
        ("state(", "near(", "Ohio", ")", ")"),
        (1, 2, 3, 2, 1),
        kinds=("state(", "near(", "<Name>", BOUND, BOUND),
    )
    twice = Aligned(
        ("list", "states", "near", "rivers", "near", "Ohio"),
        ("state(", "near(", "river(", "near(", "Ohio", ")", ")", ")", ")"),
        (1, 2, 3, 4, 5, 4, 3, 2, 1),
        kinds=("state(", "near(", "river(", "near(", "<Name>", *[BOUND] * 4),
    )
    made = Recombiner([size, near, twice], seed=0).recombined(50)
    for example in made:
        # What opens at a word is closed from it, and all stay aligned.
        open_at: list[int] = []
        for token, i in zip(example.tokens, example.positions, strict=True):
            if token != ")":
                assert example.words[i].removesuffix("s") == token.removesuffix("(")
                open_at += [i] if token.endswith("(") else []
            else:
                assert open_at.pop() == i
        assert not open_at
    assert max(example.words.count("near") for example in made) == 2 + MOST_DEEPENED


def test_no_sentence_is_made_twice_nor_known_before() -> None:
    examples = [SAW, SAW_PP, ROLLED]
    made = [example.words for example in Recombiner(examples, seed=3).recombined(20)]
    assert made
    assert len({*made, *(example.words for example in examples)}) == len(made) + len(examples)


def test_the_same_seed_makes_the_same_examples() -> None:
    examples = [SAW, SAW_PP, ROLLED]
    assert Recombiner(examples, 5).recombined(10) == Recombiner(examples, 5).recombined(10)


@pytest.mark.parametrize("examples", [[], [SAW], [Aligned((), (), ())], [Aligned(("a",), ("x",), (0,))] * 3])
def test_what_cannot_be_recombined_gives_nothing(examples: list[Aligned]) -> None:
    assert Recombiner(examples, 0).recombined(10) == []


@given(st.lists(aligned(), min_size=2, max_size=12), st.integers(0, 99))
def test_recombined_examples_stay_aligned(examples: list[Aligned], seed: int) -> None:
    for made in Recombiner(examples, seed).recombined(10):
        assert len(made.tokens) == len(made.positions)
        # Every token still names the word that it comes from.
        for token, i in zip(made.tokens, made.positions, strict=True):
            assert token[:-1] == (made.words[i] if i < len(made.words) else "end")


@given(aligned(), aligned(), st.randoms())
def test_a_replaced_span_holds_what_took_its_place_and_leaves_the_rest(
    example: Aligned, other: Aligned, choice: random.Random
) -> None:
    if not example.spans or not other.spans:
        return
    span = choice.choice(example.spans)
    others = [by for by in other.spans if len(by.strays) == len(span.strays)]
    if not others:
        return
    by = choice.choice(others)
    made = example.replaced(span, other, by)
    words, tokens, strays = other.content(by)
    assert made.words == example.words[: span.first] + words + example.words[span.last :]
    _, removed, own_strays = example.content(span)
    assert Counter(made.tokens) == Counter(example.tokens) - Counter(removed + own_strays) + Counter(tokens + strays)
    longer = len(tokens) - len(removed)
    where = tuple(i if i < span.begin else i + longer for i in span.strays)
    placed = Span(span.first, span.first + len(words), span.begin, span.begin + len(tokens), where)
    assert made.content(placed) == (words, tokens, strays)


def test_a_token_that_has_strayed_is_replaced_as_well() -> None:
    """a pie rolled: pie 1 roll 2 1; Emma gave a pie on a tray to Al: give 1 3 give Al pie 3 pie on 3 6 tray 6."""
    rolled = Aligned(("a", "pie", "rolled"), ("pie", "#", "roll", "#", "#"), (1, 1, 2, 2, 1))
    gave = Aligned(("Emma", "gave", "a", "pie", "to", "Al"), ("give", "#", "#", "Al", "pie", "#"), (1, 1, 3, 5, 3, 3))
    gave_pp = Aligned(
        ("Emma", "gave", "a", "pie", "on", "a", "tray", "to", "Al"),
        ("give", "#", "#", "Al", "pie", "#", "pie", "on", "#", "#", "tray", "#"),
        (1, 1, 3, 8, 3, 3, 3, 4, 3, 6, 6, 6),
    )
    wanted = Aligned(
        ("a", "pie", "on", "a", "tray", "rolled"),
        ("pie", "#", "pie", "on", "#", "#", "tray", "#", "roll", "#", "#"),
        (1, 1, 1, 2, 1, 4, 4, 4, 5, 5, 1),
    )
    assert wanted in Recombiner([rolled, gave, gave_pp], seed=0).recombined(20)


def test_what_stands_for_each_other_often_may_do_so_at_a_new_place() -> None:
    """*Emma* and *the pie* (`# * pie #`) behind many verbs, but only *the pie* between *gave* and *to*."""
    seen = [
        Aligned((f"saw{i}", "Emma"), (f"see{i}", "#", "Emma"), (0, 0, 1), kinds=("<word>", "#", "<Name>"))
        for i in range(EXCHANGED)
    ] + [
        Aligned(
            (f"saw{i}", "the", "pie"),
            (f"see{i}", "#", "#", "*", "pie", "#"),
            (0, 0, 2, 1, 2, 2),
            kinds=("<word>", "#", "#", "*", "<word>", "#"),
        )
        for i in range(EXCHANGED)
    ]
    gave = Aligned(
        ("gave", "the", "pie", "to", "Al"),
        ("give", "#", "#", "give", "#", "Al", "*", "pie", "#"),
        (0, 0, 2, 0, 0, 4, 1, 2, 2),
        kinds=("<word>", "#", "#", "<word>", "#", "<Name>", "*", "<word>", "#"),
    )
    wanted = Aligned(("gave", "Emma", "to", "Al"), ("give", "#", "Emma", "give", "#", "Al"), (0, 0, 1, 0, 0, 3))
    assert wanted in Recombiner([*seen, gave], seed=0).recombined(500)
    assert wanted not in Recombiner([*seen[1:], gave], seed=0).recombined(500)  # too few verbs


@given(aligned(), aligned(), st.randoms())
def test_an_exchanged_span_leaves_the_rest_as_it_was(example: Aligned, other: Aligned, choice: random.Random) -> None:
    whole = [span for span in other.spans if not span.strays]
    if not example.spans or not whole:
        return
    span, by = choice.choice(example.spans), choice.choice(whole)
    made = example.exchanged(span, other, by)
    words, tokens, _ = other.content(by)
    _, removed, strays = example.content(span)
    assert made.words == example.words[: span.first] + words + example.words[span.last :]
    assert Counter(made.tokens) == Counter(example.tokens) - Counter(removed + strays) + Counter(tokens)
    for token, i in zip(made.tokens, made.positions, strict=True):
        assert token[:-1] == (made.words[i] if i < len(made.words) else "end")
    if not span.strays:
        assert made == example.replaced(span, other, by)
