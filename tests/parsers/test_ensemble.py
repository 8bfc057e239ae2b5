"""Ensembles: members that agree are believed; where they do not, the probabilities of whole multisets decide."""

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from conftest import TINY
from permparse import Parser, UserError, load_recipe, train
from permparse.base.storage import load_folder, save_folder
from permparse.cli import run
from permparse.evaluation.scores import evaluate
from permparse.nn import sentence_batch
from permparse.parsers.base import KIND
from permparse.parsers.ensemble.parser import EnsembleParser, JointParse
from permparse.parsers.ensemble.vote import HOPELESS, Judgement, Member, Proposal, chosen, judged, pooled
from permparse.parsers.parse import Parse

SENTENCES = ["a b c d e", "k j i h g f", "a a b", "c", "z y x w v u t s r q", "new words", "b c d", "h"]
WORDS = [sentence.split() for sentence in SENTENCES]


@pytest.fixture(scope="module")
def second_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of another seed, in a notation of its own."""
    folder = tmp_path_factory.mktemp("runs") / "second"
    train(load_recipe("doubling", [*TINY, "seed=1", "data.notation=raw"]), folder, quiet=True)
    return folder


@pytest.fixture(scope="module")
def ensemble(tiny_run: Path, second_run: Path) -> EnsembleParser:
    runs = {str(path): Parser.load(path, candidates=6) for path in (tiny_run, second_run)}
    return EnsembleParser.of(runs)


@pytest.fixture(scope="module")
def folder(ensemble: EnsembleParser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ensembles") / "both"
    ensemble.save(path)
    return path


def pools_of(members: list[Member]):
    candidates = [member.candidate_parses(WORDS, SENTENCES) for member in members]
    best = [member.parse_words(WORDS, SENTENCES) for member in members]
    return [
        pooled([first[i], *others[i]] for first, others in zip(best, candidates, strict=True))
        for i in range(len(WORDS))
    ]


def test_an_ensemble_of_one_is_its_member(tiny_run: Path) -> None:
    member = Parser.load(tiny_run, candidates=6)
    alone = EnsembleParser.of({"one": member})
    for joint, own in zip(alone.parse(SENTENCES), member.parse(SENTENCES), strict=True):
        assert isinstance(joint, JointParse)
        assert joint == JointParse(**vars(own), member=0)


def test_members_that_agree_would_be_confirmed_by_the_vote(ensemble: EnsembleParser) -> None:
    weight = ensemble.recipe.surprise_weight
    full = [chosen(of, weight).output for of in judged(ensemble.members, WORDS, pools_of(ensemble.members))]
    assert [parse.output for parse in ensemble.parse(SENTENCES)] == full
    best = [{parse.output for parse in of} for of in zip(*(m.parse(SENTENCES) for m in ensemble.members), strict=True)]
    assert {len(outputs) for outputs in best} == {1, 2}


def test_only_sentences_in_dispute_cost_more(ensemble: EnsembleParser, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    propose = Member.candidate_parses
    monkeypatch.setattr(Member, "candidate_parses", lambda *a: asked.extend(a[2]) or propose(*a))
    ensemble.parse(SENTENCES)
    parses = zip(*(member.parse(SENTENCES) for member in ensemble.members), strict=True)
    assert set(asked) == {of[0].sentence for of in parses if len({parse.output for parse in of}) > 1}


def brute_force(member: Member, words: list[str], target: list[str]) -> float:
    """log P(multiset | x) by adding up all counts of the cells that can produce each token."""
    sentence = member.codec.encode(words)
    with torch.no_grad():
        log_probs = member.tagger.log_probs(sentence_batch([sentence]))[0].double()  # [m, V, K+1]
    total, used = 0.0, torch.zeros(log_probs.shape[:2], dtype=torch.bool)
    for token, number in Counter(target).items():
        copies = member.codec.producers(sentence).of(token)
        if copies is None:
            return -math.inf
        cells = [(i, member.codec.symbols.id(copies.symbol_at(i))) for i in copies.positions]
        ways = itertools.product(range(log_probs.shape[2]), repeat=len(cells))
        probability = sum(
            math.exp(sum(float(log_probs[i, v, k]) for (i, v), k in zip(cells, counts, strict=True)))
            for counts in ways
            if sum(counts) == number
        )
        total += math.log(probability) if probability else -math.inf
        for i, v in cells:
            used[i, v] = True
    return total + float(log_probs[:, :, 0][~used].sum())


def test_the_score_is_the_sum_of_what_enumeration_gives(ensemble: EnsembleParser) -> None:
    words = ["a", "b", "b"]
    pool = pooled(member.candidate_parses([words], ["a b b"])[0] for member in ensemble.members)
    [proposals] = judged(ensemble.members, [words], [pool])
    assert len(proposals) > 3
    for proposal in proposals:
        expected = 0.0
        for number, (member, judgement) in enumerate(zip(ensemble.members, proposal.judgements, strict=True)):
            own = proposal.proposers.get(number)
            target = (
                member.compared(own.tokens)
                if own
                else member.codec.target(member.task.example("a b b", proposal.output))
            )
            log_prob = max(brute_force(member, words, target), HOPELESS)
            assert judgement.log_prob == pytest.approx(log_prob, abs=1e-3)
            pattern = member.codec.pattern(target, member.codec.encode(words))
            expected += log_prob - 0.7 * member.codec.trigrams.surprise(pattern) / len(ensemble.members)
        assert proposal.score(0.7) == pytest.approx(expected, abs=1e-2)


def proposal(output: str, log_prob: float, members: int, order_log_prob: float) -> Proposal:
    parse = Parse("", output, (), (), 0.0, 0.5, order_log_prob=order_log_prob)
    judgement = Judgement(tuple(sorted(output)), log_prob, 0.0, 0.0)
    return Proposal(output, dict.fromkeys(range(members), parse), (judgement,))


def test_of_one_multiset_the_order_with_most_support_is_taken() -> None:
    orders = [proposal("abc", -1.0, 1, -0.1), proposal("acb", -1.0, 2, -3.0), proposal("cab", -1.0, 2, -2.0)]
    assert chosen(orders, 0.5).output == "cab"
    assert chosen([*orders, proposal("abb", -0.5, 1, -9.0)], 0.5).output == "abb"


def test_what_a_member_cannot_produce_is_no_likelier_than_what_it_can(ensemble: EnsembleParser) -> None:
    words = ["a", "b"]
    parse = ensemble.members[0].parse_words([words])[0]
    pool = {output: {5: replace(parse, output=output)} for output in (parse.output, "no such token", "a " * 40)}
    [proposals] = judged(ensemble.members, [words], [pool])
    for of in zip(*(p.judgements for p in proposals), strict=True):
        assert of[0].log_prob > of[1].log_prob
        assert of[1].log_prob <= HOPELESS


def test_the_n_best_begin_with_the_output_and_fall(ensemble: EnsembleParser) -> None:
    for one, several in zip(ensemble.parse(SENTENCES), ensemble.parse(SENTENCES, n_best=3), strict=True):
        assert several.output == one.output == several.alternatives[0].output
        assert several.confidence == pytest.approx(several.alternatives[0].confidence)
        assert 1 < len({other.output for other in several.alternatives}) == len(several.alternatives) <= 3
        scores = [other.log_score for other in several.alternatives[1:]]
        assert scores == sorted(scores, reverse=True)
        assert 0 <= one.confidence <= 1


def test_a_parse_is_explained_and_judged_by_the_member_it_comes_from(ensemble: EnsembleParser) -> None:
    examples = ensemble.task.load("dev")[:20]
    evaluation, outcomes = evaluate(ensemble, examples, "dev")
    assert evaluation.total.examples == 20
    for outcome in outcomes:
        assert ensemble.error_kind(outcome.example, outcome.parse) in ensemble.error_kinds
        assert outcome.freq or not outcome.seq
        assert ensemble.explain(outcome.parse) is not None


def test_a_saved_ensemble_needs_nothing_but_its_folder(ensemble: EnsembleParser, folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in folder.iterdir():
        (moved / path.name).write_bytes(path.read_bytes())
    loaded = Parser.load(moved)
    assert repr(loaded) == repr(ensemble)
    assert loaded.parse(SENTENCES) == ensemble.parse(SENTENCES)
    loaded.save(tmp_path / "again")
    assert load_folder(tmp_path / "again", KIND) == load_folder(folder, KIND)
    files = {path.name for path in moved.iterdir()}
    Parser.load(moved, candidates=2).save(moved)
    assert len({path.name for path in moved.iterdir()} - {".lock"}) == len(files - {".lock"})


def test_settings_of_the_vote_can_be_changed_when_loading(folder: Path) -> None:
    loaded = Parser.load(folder, candidates=2, surprise_weight=1.5)
    assert isinstance(loaded, EnsembleParser)
    assert {(m.recipe.candidates, m.reranker.surprise_weight) for m in loaded.members} == {(2, 1.5)}
    with pytest.raises(UserError, match="decoder cannot be changed"):
        Parser.load(folder, decoder="beam")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda files: files.pop("member2_recipe.toml"), "member2_recipe.toml is missing"),
        (lambda files: files.pop("member1_recipe.toml"), "member1_recipe.toml is missing"),
        (lambda files: files.update({"member2_recipe.toml": files["recipe.toml"]}), "member 2: expected a multiset"),
        (lambda files: files.update({"member2_codec.json": b"{"}), "member 2: codec.json"),
    ],
)
def test_a_folder_that_no_ensemble_was_saved_in_is_refused(folder: Path, tmp_path: Path, change, words) -> None:
    files = load_folder(folder, KIND)
    change(files)
    save_folder(tmp_path / "bad", KIND, files)
    with pytest.raises(UserError, match=words):
        Parser.load(tmp_path / "bad")


def test_members_that_do_not_go_together_are_refused(tiny_run: Path, ensemble: EnsembleParser) -> None:
    tiny = Parser.load(tiny_run)
    with pytest.raises(UserError, match="box: expected a parser of the task doubling, as tiny is, got fragment"):
        EnsembleParser.of({"tiny": tiny, "box": Parser.load("fragment")})
    with pytest.raises(UserError, match="both: expected a multiset-permutation parser, got 'ensemble'"):
        EnsembleParser.of({"tiny": tiny, "both": ensemble})


def test_an_ensemble_is_not_trained(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="train its members"):
        train(load_recipe("doubling", ["parser=ensemble"]), tmp_path / "run", quiet=True)


def test_the_command_line_makes_evaluates_and_packages_one(
    tiny_run: Path,
    second_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["ensemble", str(tiny_run), str(second_run), "--output", "both"]) == 0
    assert run(["evaluate", "both", "--split", "dev", "--limit", "10", "--errors", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["total"]["examples"] == 10
    assert run(["package", "both"]) == 0
    assert Parser.load("both.permparse").parse("a b c") == Parser.load("both").parse("a b c")
    assert str(tmp_path) not in Path("both.permparse").read_bytes().decode("latin-1")
    assert run(["ensemble", str(tiny_run), str(tiny_run), "--output", "twice"]) == 2
    assert "two or more different runs" in capsys.readouterr().err
    assert run(["ensemble", str(tiny_run), str(second_run), "--output", "both"]) == 2
    assert "choose another folder" in capsys.readouterr().err
