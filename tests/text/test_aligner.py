"""IBM Model 1 against the textbook algorithm, and on data whose alignment is plain to see."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.text import Copies, align

NULL = None


def textbook_posteriors(sources, targets, iterations):
    """{(example, position, token): P(position | token)} by the double loop over words and tokens."""
    table = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in zip(sources, targets, strict=True):
            for y in target:
                norm = sum(table[x, y] for x in [NULL, *source])
                for x in [NULL, *source]:
                    counts[x, y] += table[x, y] / norm
                    totals[x] += table[x, y] / norm
        table = defaultdict(float, {(x, y): count / totals[x] for (x, y), count in counts.items()})
    return {
        (n, i, y): table[x, y] / sum(table[w, y] for w in [NULL, *source])
        for n, (source, target) in enumerate(zip(sources, targets, strict=True))
        for i, x in enumerate(source)
        for y in target
    }


sentences = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)
outputs = st.lists(st.sampled_from("uvw"), max_size=4)


@given(st.lists(st.tuples(sentences, outputs), min_size=1, max_size=5), st.floats(0.05, 0.95))
def test_links_match_the_textbook(data, threshold):
    sources, targets = [x for x, _ in data], [y for _, y in data]
    links = align(sources, targets, threshold=threshold, iterations=4)
    for (n, i, y), posterior in textbook_posteriors(sources, targets, 4).items():
        if abs(posterior - threshold) > 1e-9:
            assert (Copies(y, targets[n].count(y), (i,)) in links[n]) == (posterior > threshold)


def test_words_find_their_tokens():
    sources = [["the", "cat"], ["the", "dog"], ["a", "cat"], ["a", "dog"]]
    targets = [["cat", "*"], ["*", "dog"], ["cat"], ["dog"]]
    links = align(sources, targets, threshold=0.5, iterations=20)
    assert links[0] == [Copies("*", 1, (0,)), Copies("cat", 1, (1,))]
    assert links[3] == [Copies("dog", 1, (1,))]


def test_what_no_word_produces_can_be_linked_to_the_place_behind_the_last():
    sources, targets = [["cat"], ["dog"], ["cat", "dog"]], [["cat", "GET"], ["dog", "GET"], ["cat", "dog", "GET"]]
    assert align(sources, targets, threshold=0.9)[2] == [Copies("cat", 1, (0,)), Copies("dog", 1, (1,))]
    linked = align(sources, targets, threshold=0.9, null_links=True)
    assert linked[2] == [Copies("cat", 1, (0,)), Copies("dog", 1, (1,)), Copies("GET", 1, (2,))]


def test_copies_are_counted():
    assert align([["a"], ["b"]], [["x", "x"], []], threshold=0.4) == [[Copies("x", 2, (0,))], []]


def test_a_repeated_word_shares_its_posterior():
    assert align([["a", "a"]], [["x"]], threshold=0.5) == [[]]
    assert len(align([["a", "a"]], [["x"]], threshold=0.3)[0]) == 2


def test_no_examples():
    assert align([], [], threshold=0.5) == []


def test_as_many_targets_as_sources():
    with pytest.raises(ValueError, match="as many targets as sources"):
        align([["a"]], [], threshold=0.5)
