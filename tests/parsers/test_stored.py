"""Damaged files of saved parsers."""

from __future__ import annotations

import json

import pytest

from permparse.base.errors import UserError
from permparse.cli import run
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.stored import check_codec
from permparse.parsers.recipe import load_recipe
from permparse.tasks import get_task


@pytest.mark.parametrize(
    "kinds",
    [None, [], {"known": ["cake"]}, {"known": {"cake": 1}}, {"usual": {"<word>": None}}, {"known": {"a\x1b": "b"}}],
)
def test_kinds_of_tokens_that_are_none_are_refused(kinds):
    with pytest.raises(UserError, match=r"codec\.json: damaged"):
        check_codec(json.dumps({"kinds": kinds}).encode(), "codec.json")


@pytest.mark.parametrize(
    "rules",
    [
        {"rules": {"cases": [{"values": [1], "otherwise": False, "then": {"insert": -1}}]}},
        {"arities": {",": {",": "x"}}},
        {"arities": {",": [[1]]}},
        {"kinds": {"cher": [[1]]}},
    ],
)
def test_edited_rules_of_a_notation_are_refused_in_words(tmp_path, rules):
    songs, file = tmp_path / "songs.tsv", tmp_path / "rules.json"
    songs.write_text("".join(f"{verb} {who}\tdo_{verb}(song, {who})\n" for verb in ("play", "stop") for who in "xyz"))
    assert run(["notation", str(songs), "-o", str(file)]) == 0
    task = get_task("tsv", train=str(songs))
    recipe = load_recipe("tsv", [f"data.notation={str(file)!r}"])
    assert Codec.build(task, task.load("train"), recipe.data).writing is not None
    written = json.loads(file.read_text())
    file.write_text(json.dumps({**written, "notation": {**written["notation"], **rules}}))
    with pytest.raises(UserError, match=r"rules\.json: damaged: 'notation\."):
        Codec.build(task, task.load("train"), recipe.data)


@pytest.mark.parametrize("kinds", [{}, {"kinds": {}}, {"kinds": {"known": {"cake": "<word>"}, "usual": {}}}])
def test_parsers_with_kinds_and_older_ones_are_accepted(kinds):
    check_codec(json.dumps(kinds).encode(), "codec.json")
