"""Tasks are found by name; mistyped names and options are answered with the nearest valid one."""

import pytest

from permparse.base.errors import UserError
from permparse.tasks import Task, build_lexicon, get_task, task_names, task_options
from permparse.tasks.base import VERBATIM


@pytest.mark.parametrize("name", task_names())
def test_every_task_is_complete(name):
    task = get_task(name)
    assert isinstance(task, Task)
    assert task.name == name
    assert task.summary
    assert task.metrics
    assert task.dev_split in task.splits
    assert task == get_task(name)
    assert all(option.help for option in task_options(name))


def test_summaries_tell_tasks_apart():
    assert len({get_task(name).summary for name in task_names()}) == len(task_names())


@pytest.mark.parametrize("name", task_names())
def test_every_task_restores_and_judges_nonsense(name):
    task = get_task(name)
    for target in (
        [],
        ["("],
        ["*"],
        [".agent", "3", "LAMBDA"],
        ["GET", "GET", "-"],
        ["💥", "intersection", ")"],
    ):
        text = task.restore(target)
        assert isinstance(text, str)
        assert all(metric(text, "gold") is False for metric in task.metrics.values())
        assert isinstance(task.shorten(text), list)


def test_an_unknown_task_names_the_nearest():
    with pytest.raises(UserError, match="no task is called 'coggs'; did you mean 'cogs'"):
        get_task("coggs")


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(UserError, match="the task fragment has no option 'sized'; did you mean 'size'"):
        get_task("fragment", sized=3)
    with pytest.raises(UserError, match="the task cogs has no option 'size'"):
        get_task("cogs", size=3)
    with pytest.raises(UserError, match="has no option 'kind'"):
        get_task("atis-iid", kind="length")


@pytest.mark.parametrize("value", ["12", 1.5, True, None])
def test_an_option_of_the_wrong_type_is_refused(value):
    with pytest.raises(UserError, match="the option size of the task fragment must be int"):
        get_task("fragment", size=value)


def test_options_are_used():
    assert len(get_task("doubling", size=20).load("train")) == 20
    assert get_task("tsv", non_copyable=["a"]).non_copyable == {"a"}


@pytest.mark.parametrize("name", task_names())
def test_an_unknown_split_names_the_nearest(name):
    with pytest.raises(UserError, match=r"has no split 'trian'; did you mean 'train'"):
        get_task(name).load("trian")


@pytest.mark.parametrize(("mode", "expected"), [("induced", "sleep"), ("copy", "slept"), ("none", None)])
def test_lexicon_modes(mode, expected):
    task = get_task("fragment", size=200)
    assert build_lexicon(mode, task, task.load("train")).lookup("slept") == expected


def test_an_unknown_lexicon_mode_names_the_nearest():
    with pytest.raises(UserError, match="did you mean 'induced'"):
        build_lexicon("inducd", get_task("cogs"), [])


@pytest.mark.parametrize("name", ["cogs", "atis-iid"])
def test_an_output_kept_verbatim_is_restored_from_an_example_too(name):
    task = get_task(name)
    example = task.example("a b", "b ( x _ 4 ) AND a ( x _ 1 )" if name == "cogs" else "boston denver")
    assert example.target[0] == VERBATIM
    assert task.restore(example.target) == example.output
