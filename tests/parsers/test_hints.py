"""Where the tagger is told that tokens come from."""

from __future__ import annotations

from pathlib import Path

from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.stages import tag_data
from permparse.parsers.recipe import load_recipe
from permparse.tasks import get_task


def hinted(folder: Path, lines: list[str], kind: str = "ibm1", *settings: str) -> list[set[tuple[str, str]]]:
    """The (word, token) pairs of the hints of each line of a training file."""
    path = folder / "train.tsv"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    recipe = load_recipe(
        "tsv", [f"data.options.train={path}", f"tagger.hints.kind={kind}", "data.lexicon=copy", *settings]
    )
    task = get_task("tsv", train=str(path), dev=str(path))
    examples = task.load("train")
    codec = Codec.build(task, examples, recipe.data)
    data = tag_data(codec, examples, recipe.tagger)
    return [
        {(sentence.positions[at], codec.symbols.token(symbol)) for at, symbol, _ in example.hints.tolist()}
        for example, sentence in zip(data.examples, data.encoded.sentences, strict=True)
    ]


def test_the_papers_hints_are_links_of_the_aligner_and_copied_tokens_need_none(tmp_path):
    lines = ["find ann\tGET ann", "find bob\tGET bob", "count ann\tGET COUNT ann", "count bob\tGET COUNT bob"]
    hints = hinted(tmp_path, lines)
    assert hints[:2] == [set(), set()]  # "find" and the end token share GET
    assert all(("count", "COUNT") in of for of in hints[2:])
    assert not any(token in ("ann", "bob") for of in hints for _, token in of)


def test_operators_go_to_the_value_behind_them_and_the_rest_is_aligned(tmp_path):
    lines = [
        "mails from ann\tGET FROM ann",
        "mails by bob\tGET FROM bob",
        "count from bob\tGET FROM bob COUNT",
        "count by ann\tGET FROM ann COUNT",
    ]
    hints = hinted(tmp_path, lines, "value")
    assert [of & {("ann", "FROM"), ("bob", "FROM")} for of in hints] == [
        {("ann", "FROM")},
        {("bob", "FROM")},
        {("bob", "FROM")},
        {("ann", "FROM")},
    ]
    assert all(("count", "COUNT") in of for of in hints[2:])
    assert all(("<end>", "GET") in of for of in hints)


def test_keys_go_to_the_word_of_their_head(tmp_path):
    people, things, verbs = ["ann", "bob", "eve", "dan"], ["tea", "rye", "jam"], ["eat", "buy", "sell"]
    lines = [f"{p} {v} {t}\t{v} ( agent = {p} , theme = {t} )" for v in verbs for p in people for t in things]
    lines += [
        f"{p} {say} {q} eat\t{say} ( agent = {p} , ccomp = eat ( agent = {q} ) )"
        for say in ("say", "hope", "claim")
        for p in people
        for q in people
    ]
    hints = hinted(tmp_path, lines, "auto", "data.notation=full")
    assert hints[0] == {("eat", "agent"), ("eat", "theme")}
    assert hints[-1] == {("claim", "agent"), ("claim", "ccomp"), ("eat", "agent")}


def test_keys_go_to_the_word_of_their_head_if_the_lexicon_does_not_know_it(tmp_path):
    people, things = ["ann", "bob", "eve", "dan"], ["tea", "rye", "jam", "ink"]
    lines = [
        f"{p} {did} the {t}\t{do} ( agent = {p} , theme = {t} )"
        for did, do in (("ate", "eat"), ("bought", "buy"), ("sold", "sell"))
        for p in people
        for t in things
    ]
    lines += [
        f"the {t} was {done}\t{do} ( theme = {t} )" for done, do in (("eaten", "eat"), ("sold", "sell")) for t in things
    ]
    hints = hinted(tmp_path, lines, "auto", "data.notation=full")
    assert hints[0] == {("ate", "eat"), ("ate", "agent"), ("ate", "theme")}
    assert hints[-1] == {("sold", "sell"), ("sold", "theme")}
