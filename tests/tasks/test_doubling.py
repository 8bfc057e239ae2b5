"""Doubling examples are right, all different, of the asked lengths, and the same for the same seed."""

from collections import Counter

import pytest

from permparse.base.errors import UserError
from permparse.tasks import get_task

TASK = get_task("doubling")


@pytest.mark.parametrize("split", TASK.splits)
def test_outputs_are_the_word_twice(split):
    for example in TASK.load(split):
        assert example.target == tuple(f"_{symbol}" for symbol in example.source * 2)
        assert TASK.restore(example.target) == example.output
        assert TASK.groups(example) == {"length": str(len(example.source))}


def test_lengths_and_sizes_are_those_of_the_paper():
    lengths = {split: Counter(len(e.source) for e in TASK.load(split)) for split in TASK.splits}
    assert set(lengths["train"]) == set(lengths["dev_iid"]) == set(range(5, 11))
    assert lengths["dev"] == {11: 200}
    assert lengths["test"] == dict.fromkeys(range(11, 21), 100)
    assert (lengths["train"].total(), lengths["dev_iid"].total()) == (4000, 500)
    assert {symbol for e in TASK.load("train") for symbol in e.source} == set("abcdefghijk")


def test_no_word_recurs():
    words = [example.sentence for split in ("train", "dev_iid") for example in TASK.load(split)]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("length", [1, 40, 100, 1000])
def test_any_length_can_be_had(length):
    task = get_task("doubling", symbols=26, seed=3)
    if length == 1:
        with pytest.raises(UserError, match="only 26 words of length 1"):
            task.load("length-1")
    else:
        assert {len(example.source) for example in task.load(f"length-{length}")} == {length}


def test_the_seed_decides():
    assert get_task("doubling", seed=1).load("test") == get_task("doubling", seed=1).load("test")
    assert get_task("doubling", seed=1).load("test") != get_task("doubling", seed=2).load("test")


def test_a_small_alphabet_gives_all_its_words():
    task = get_task("doubling", symbols=2, shortest=1, longest=3, longest_test=12, size=13)
    words = {example.sentence for split in ("train", "dev_iid") for example in task.load(split)}
    assert len(words) == 14 == 2 + 4 + 8


@pytest.mark.parametrize(
    "options",
    [{"symbols": 0}, {"symbols": 27}, {"shortest": 0}, {"shortest": 11}, {"longest": 20}, {"size": 0}],
)
def test_impossible_options_are_refused(options):
    with pytest.raises(UserError, match="doubling: "):
        get_task("doubling", **options)


@pytest.mark.parametrize("split", ["length-", "length-0", "length--3", "length-x", "length-٣"])
def test_a_bad_length_is_refused(split):
    with pytest.raises(UserError, match="expected a split such as length-40"):
        TASK.load(split)


def test_files_are_read_from_a_folder(tmp_path):
    (tmp_path / "doubling").mkdir()
    (tmp_path / "doubling" / "test.tsv").write_text("a b\t_a _b _a _b\n")
    (example,) = TASK.load("test", tmp_path)
    assert example.line == 1
    assert example.target == ("_a", "_b", "_a", "_b")
