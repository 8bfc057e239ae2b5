"""A user's own files need nothing but their paths."""

from pathlib import Path

import pytest

from permparse.base.errors import UserError
from permparse.tasks import get_task


@pytest.fixture
def folder(tmp_path):
    lines = [f"word{i} a\tout{i} b" for i in range(1, 21)]
    (tmp_path / "train.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "other.tsv").write_text("a  b\tx   y\tnew\n")
    return tmp_path


def test_files_by_option(folder):
    task = get_task("tsv", train=str(folder / "train.tsv"), dev=str(folder / "other.tsv"))
    assert len(task.load("train")) == 20
    (example,) = task.load("dev")
    assert (example.source, example.target, example.category) == (("a", "b"), ("x", "y"), "new")
    assert task.groups(example) == {"category": "new"}
    assert task.groups(task.load("train")[0]) == {}
    assert task.metrics["exact"](task.restore(example.target), example.output)


def test_paths_are_relative_to_the_data_folder(folder):
    assert len(get_task("tsv", test="other.tsv").load("test", folder)) == 1


def test_without_dev_every_tenth_is_held_out(folder):
    task = get_task("tsv", train="train.tsv")
    train, dev = task.load("train", folder), task.load("dev", folder)
    assert [example.line for example in dev] == [10, 20]
    assert sorted(example.line for example in train + dev) == list(range(1, 21))


def test_any_file_can_be_a_split(folder):
    assert get_task("tsv").load("other.tsv", folder)[0].category == "new"


def test_a_split_without_a_file_names_the_option():
    with pytest.raises(UserError, match="the task tsv needs the option test"):
        get_task("tsv").load("test")


def test_case_can_be_ignored():
    assert get_task("tsv", case_insensitive=True).metrics["exact"]("A b", "a  B")
    assert not get_task("tsv").metrics["exact"]("A b", "a b")


def test_options_reach_the_models():
    task = get_task("tsv", end_token=False, variables=True)
    assert (task.end_token, task.variables) == (False, True)


@pytest.mark.parametrize(("count", "train", "dev"), [(1, 1, 1), (2, 1, 1), (9, 8, 1), (10, 9, 1), (40, 36, 4)])
def test_a_file_of_any_size_can_be_split(tmp_path, count, train, dev):
    (tmp_path / "train.tsv").write_text("".join(f"a {i}\tA {i}\n" for i in range(count)))
    task = get_task("tsv", train=str(tmp_path / "train.tsv"))
    assert (len(task.load("train")), len(task.load("dev"))) == (train, dev)


def test_arguments_without_an_order_are_sorted_and_compared_so(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text("b and a\tand(b, a)\n" * 10, encoding="utf-8")
    task = get_task("tsv", train=str(path), dev=str(path), unordered="and")
    assert task.load("train")[0].output == "and(a, b)"
    is_right = task.metrics["exact"]
    assert is_right("and(b, a)", "and(a, b)")
    assert not is_right("or(b, a)", "or(a, b)")
