"""Forms say who did what to whom; splits are disjoint, deep where asked, and the same for the same seed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.base.errors import UserError
from permparse.tasks import fragment_grammar as grammar
from permparse.tasks import get_task
from permparse.tasks.fragment import order_free_match
from permparse.tasks.fragment_grammar import Clause, Noun, Verb, write
from permparse.text import is_variable

TASK = get_task("fragment")
GIVE = Verb("give", "gave", "given")
DORA, MAP = Noun("Dora"), Noun("map", "a")


@pytest.mark.parametrize(
    ("clause", "sentence", "form"),
    [
        (
            Clause(GIVE, DORA, MAP, Noun("cook", "the")),
            "Dora gave a map to the cook .",
            "give(1, agent=Dora, theme=3, recipient=6); a map(3); the cook(6)",
        ),
        (
            Clause(GIVE, DORA, MAP, Noun("Hugo"), with_to=False),
            "Dora gave Hugo a map .",
            "give(1, agent=Dora, theme=4, recipient=Hugo); a map(4)",
        ),
        (
            Clause(GIVE, DORA, MAP, Noun("Hugo"), passive="theme"),
            "a map was given to Hugo by Dora .",
            "a map(1); give(3, agent=Dora, theme=1, recipient=Hugo)",
        ),
        (
            Clause(GIVE, None, MAP, Noun("Hugo"), passive="recipient"),
            "Hugo was given a map .",
            "give(2, theme=4, recipient=Hugo); a map(4)",
        ),
        (
            Clause(
                Verb("say", "said", "said"),
                DORA,
                content=Clause(Verb("fall", "fell", ""), theme=Noun("bell", "the", "in", Noun("tower", "a"))),
            ),
            "Dora said that the bell in a tower fell .",
            "say(1, agent=Dora, content=8); the bell(4, in=7); a tower(7); fall(8, theme=4)",
        ),
    ],
)
def test_sentences_and_forms(clause, sentence, form):
    assert write(clause) == (sentence.split(), form)


@pytest.mark.parametrize("split", [*TASK.splits, "pp-9", "cp-12"])
def test_forms_are_restored_exactly_and_numbers_name_words(split):
    for example in TASK.load(split):
        assert TASK.restore(example.target) == example.output
        assert list(example.source) == example.sentence.split()
        assert all(int(token) < len(example.source) for token in example.target if is_variable(token))
        assert order_free_match(example.output, example.output)
        assert set(TASK.groups(example)) == {"construction", "depth"}


def test_nouns_and_verbs_are_numbered_by_their_own_word():
    lemmas = {v.past: v.lemma for verbs in (grammar.TRANSITIVE, grammar.REPORTING) for v in verbs}
    for example in TASK.load("gen"):
        for item in example.output.split("; "):
            head, _, rest = item.partition("(")
            word = example.source[int(rest.rstrip(")").split(",")[0])]
            assert head.split()[-1] == lemmas.get(word, head.split()[-1])
            assert " " not in head or head.split()[1] == word


def test_no_sentence_recurs():
    sentences = [example.sentence for split in TASK.splits for example in TASK.load(split)]
    assert len(set(sentences)) == len(sentences)


def test_sizes_and_depths():
    depths = {split: Counter(TASK.groups(e)["depth"] for e in TASK.load(split)) for split in TASK.splits}
    assert depths["train"].total() == 3000
    assert set(depths["train"]) == set(depths["dev"]) == {"0", "1", "2"}
    assert min(depths["train"].values()) > 500
    constructions = Counter(tuple(TASK.groups(e).values()) for e in TASK.load("gen"))
    assert set(constructions.values()) == {100}
    assert {depth for kind, depth in constructions if kind == "pp_recursion"} == {"3", "4", "5", "6"}


def test_deep_splits_are_as_deep_as_asked():
    assert all(sum(w in grammar.PREPOSITIONS for w in e.source) == 9 for e in TASK.load("pp-9"))
    assert all(e.source.count("that") == 12 for e in TASK.load("cp-12"))
    assert len(TASK.load("cp-200")) == 100


def test_training_never_shows_the_uses_that_gen_tests():
    train = TASK.load("train")
    roles = {word: set() for word in ("Yara", "Zeno")}
    for example in train:
        for role, argument in zip(example.target, example.target[1:], strict=False):
            if argument in roles:
                roles[argument].add(role)
        assert not set(grammar.NEW_NAMES) & set(example.source)
        pairs = set(zip(example.source, example.source[1:], strict=False))
        assert not {("was", v.participle) for v in grammar.ACTIVE_VERBS} & pairs
        assert all(("was", v.past) in pairs for v in grammar.PASSIVE_VERBS if v.past in example.source)
    assert set().union(*roles.values()) == {"agent"}


def test_every_word_of_gen_but_new_names_is_in_training():
    known = {word for example in TASK.load("train") for word in example.source}
    assert {word for e in TASK.load("gen") for word in e.source} - known == set(grammar.NEW_NAMES)


def test_the_seed_decides():
    assert get_task("fragment", seed=1).load("gen") == get_task("fragment", seed=1).load("gen")
    assert get_task("fragment", seed=1).load("train") != TASK.load("train")


def test_a_user_may_write_as_people_do():
    assert TASK.tokenize("The baker slept.") == TASK.tokenize("the baker slept") == ["the", "baker", "slept", "."]


def test_order_free_match_ignores_order_only():
    gold = "give(1, agent=Dora, theme=3); a map(3)"
    assert order_free_match("a map(3); give(1, theme=3, agent=Dora)", gold)
    assert not order_free_match("a map(3); give(1, theme=Dora, agent=3)", gold)
    assert not order_free_match("a map(3); give(1, agent=Dora, theme=3); a map(3)", gold)


@given(st.lists(st.sampled_from(["the", "map", "3", "agent", "give", "in", "Dora"]), max_size=10))
def test_restoring_keeps_every_token_of_any_sequence(target):
    assert TASK.shorten(TASK.restore(target)) == target


@given(st.text(max_size=30), st.text(max_size=30))
def test_metrics_never_fail(predicted, gold):
    assert all(metric(predicted, gold) in (True, False) for metric in TASK.metrics.values())


@pytest.mark.parametrize("options", [{"size": 0}, {"depth": 3}, {"deepest": 2}, {"deepest": 201}, {"per_group": 0}])
def test_impossible_options_are_refused(options):
    with pytest.raises(UserError, match="fragment: "):
        get_task("fragment", **options)


def test_too_many_sentences_are_refused_in_words():
    with pytest.raises(UserError, match=r"found only \d+ different sentences of 1000; ask for fewer"):
        get_task("fragment", per_group=1000).load("gen")
