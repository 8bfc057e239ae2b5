"""Tuning: what is drawn, who wins, and that an interruption changes neither. Nothing is trained here."""

import json
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from inline import InlineExecutor
from permparse.base.errors import UserError
from permparse.cli import run
from permparse.executors import Work
from permparse.experiments.plan import Run
from permparse.experiments.records import Record, write_record
from permparse.experiments.runner import Failure, Running
from permparse.experiments.samplers import OptunaSampler, RandomSampler, Tried
from permparse.experiments.space import Choices, Span, as_overrides, read_space, space_names
from permparse.experiments.tuning import Finalist, Trial, Trials, Tuning
from permparse.experiments.worker import Job
from permparse.parsers import load_recipe

SPACE = """
[tagger.training]
lr = { low = 1e-4, high = 1e-2, log = true }
[scorer]
ff_size = [16, 32, 64]
[scorer.training]
epochs = { low = 1, high = 9 }
"""


class Quiet:
    """An observer that keeps to itself."""

    def started(self, running: Running) -> None: ...
    def finished(self, running: Running) -> None: ...
    def failed(self, failure: Failure) -> None: ...
    def pruned(self, running: Running) -> None: ...
    def tick(self, running: object, waiting: object) -> None: ...


@pytest.fixture
def tuning(tmp_path: Path) -> Tuning:
    (tmp_path / "space.toml").write_text(SPACE)
    return Tuning("doubling", ("scorer.normalise=false",), read_space(str(tmp_path / "space.toml")), "dev", 0)


@pytest.fixture
def scored(record: Callable[..., Record]) -> Callable[[Work], str | None]:
    """Instead of training, write a record: the score is a function of the settings and, a little, of the seed."""

    def do(work: Work) -> str | None:
        job = Job.from_json(work.argument)
        recipe = Run(job.row, job.seed).recipe.model_dump()
        if recipe["scorer"]["training"]["epochs"] == 9:
            return "the loss became nan"
        score = 0.9 - abs(recipe["tagger"]["training"]["lr"] - 1e-3) * 10 + job.seed * 1e-4
        write_record(job.results, record(job.row, job.seed, score))
        return None

    return do


def _tune(tuning: Tuning, folder: Path, executor: InlineExecutor, count: int = 8) -> list[Finalist]:
    trials = Trials(tuning, RandomSampler(tuning.space, tuning.seed), "random", folder)
    return trials.final(trials.search(count, executor, Quiet()), executor, Quiet())


def test_the_spaces_that_come_along_fit_their_recipes() -> None:
    assert space_names() == ["doubling", "paper", "paper-pretrained"]
    Tuning("doubling", (), read_space("doubling"), "dev", 0)
    for task in ("atis-iid", "atis-length", "okapi-calendar", "okapi-document", "okapi-email", "cogs"):
        Tuning(f"{task}-paper", (), read_space("paper"), "dev", 0)
    pretrained = ("tagger.encoder.kind=pretrained", "tagger.encoder.model=roberta-base")
    Tuning("okapi-calendar-paper", pretrained, read_space("paper-pretrained"), "dev", 0)
    paper = read_space("paper").dimensions
    assert paper["tagger.hints.threshold"] == Span(low=0.51, high=0.85)
    assert {paper["tagger.ff_size"].at(k / 4) for k in range(4)} == {256, 512, 768, 1024}


def test_a_draw_is_a_function_of_seed_and_number(tuning: Tuning) -> None:
    space = tuning.space
    drawn = [space.sample(0, k) for k in range(300)]
    assert drawn == [space.sample(0, k) for k in range(300)]
    assert drawn[0] != space.sample(1, 0)
    assert {one["scorer.ff_size"] for one in drawn} == {16, 32, 64}
    assert {one["scorer.training.epochs"] for one in drawn} == set(range(1, 10))
    rates = sorted(float(one["tagger.training.lr"]) for one in drawn)
    assert 1e-4 <= rates[0] < rates[-1] <= 1e-2
    assert 5e-4 < rates[150] < 2e-3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scorer.ff_size = 3", "expected a list of values or"),
        ("scorer.ff_size = { low = 5 }", "'high' is missing"),
        ("scorer.ff_size = { low = 5, high = 4 }", "expected low < high"),
        ("scorer.ff_size = { low = 0, high = 4, log = true }", "expected low > 0"),
        ("scorer.ff_size = { low = 1, high = 4, steps = 1 }", "did you mean 'step'?"),
        ("", "names no setting"),
    ],
)
def test_a_mistake_in_a_space_is_said_in_words(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "space.toml").write_text(text)
    with pytest.raises(UserError, match="space") as error:
        read_space(str(tmp_path / "space.toml"))
    assert said in str(error.value)


def test_a_space_of_unknown_settings_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("scorer.ff_sise = [1, 2]")
    with pytest.raises(UserError, match="did you mean 'ff_size'"):
        Tuning("doubling", (), read_space(str(tmp_path / "space.toml")), "dev", 0)
    with pytest.raises(UserError, match="did you mean 'paper'"):
        read_space("papers")


def test_the_two_best_are_tried_again_and_the_better_one_becomes_a_recipe(
    tuning: Tuning, tmp_path: Path, scored: Callable[[Work], str | None]
) -> None:
    executor = InlineExecutor(scored)
    trials = Trials(tuning, RandomSampler(tuning.space, 0), "random", tmp_path / "out")
    best = trials.search(8, executor, Quiet())
    assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)
    failed = sum(tuning.space.sample(0, k)["scorer.training.epochs"] == 9 for k in range(8))
    assert len(best) == 8 - failed
    finalists = trials.final(best, executor, Quiet())
    assert {one.trial.number for one in finalists} == {one.trial.number for one in best[:2]}
    assert len(executor.done) == 8 + 2
    trials.write(tmp_path / "best.toml", finalists, 8)
    winner = finalists[0].trial
    recipe = load_recipe(str(tmp_path / "best.toml"))
    assert recipe == load_recipe("doubling", [*tuning.overrides, *as_overrides(winner.settings)])
    assert (tmp_path / "best.toml").read_text().startswith(f"# Trial {winner.number} of 8 by permparse tune: ")


def test_killed_twice_it_finds_the_same_winner_and_trains_nothing_twice(
    tuning: Tuning, tmp_path: Path, scored: Callable[[Work], str | None]
) -> None:
    whole = _tune(tuning, tmp_path / "whole", InlineExecutor(scored))
    names: list[str] = []
    for most in (3, 5, None):
        executor = InlineExecutor(scored, most)
        if most is None:
            assert _tune(tuning, tmp_path / "cut", executor) == whole
        else:
            with pytest.raises(KeyboardInterrupt):
                _tune(tuning, tmp_path / "cut", executor)
            # A line that the kill has cut short is forgotten.
            with open(tmp_path / "cut" / "journal.jsonl", "a") as journal:
                journal.write('{"trial": 99, "sett')
        names += [work.log.stem for work in executor.done if scored(work) is None]
    assert len(names) == len(set(names))


def test_more_trials_may_follow(tuning: Tuning, tmp_path: Path, scored: Callable[[Work], str | None]) -> None:
    _tune(tuning, tmp_path, InlineExecutor(scored), 4)
    more = InlineExecutor(scored)
    _tune(tuning, tmp_path, more, 6)
    assert {"trial-004-seed0", "trial-005-seed0"} <= {work.log.stem for work in more.done}
    assert "trial-000-seed0" not in {work.log.stem for work in more.done if scored(work) is None}


def test_a_folder_of_another_tuning_is_refused(tuning: Tuning, tmp_path: Path) -> None:
    Trials(tuning, RandomSampler(tuning.space, 0), "random", tmp_path)
    with pytest.raises(UserError, match="holds the tuning of something else"):
        Trials(tuning, RandomSampler(tuning.space, 0), "tpe", tmp_path)


def test_if_all_trials_fail_it_says_why(tuning: Tuning, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no trial could be trained; the first: out of memory"):
        _tune(tuning, tmp_path, InlineExecutor(lambda _: "out of memory"), 2)


def test_seeds_that_report_are_not_for_choosing(tuning: Tuning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("permparse.experiments.tuning.FIRST_SEED", 100)
    with pytest.raises(UserError, match="expected 0 to 98"):
        Tuning("doubling", (), tuning.space, "dev", 99)


def test_the_command_names_its_mistakes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["tune", "doubling", "--space", "doubling", "--split", "dv"]) == 2
    assert "has no split 'dv' to decide by" in capsys.readouterr().err
    assert run(["tune", "doubling", "--space", "doubling", "--prune"]) == 2
    assert "--prune goes with --sampler tpe" in capsys.readouterr().err


def test_without_optuna_the_extra_is_named(tuning: Tuning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UserError, match=r"pip install 'permparse\[cluster\]'"):
        OptunaSampler(tuning.space, 0, prune=False)


def test_optuna_draws_the_same_after_an_interruption_and_prunes_what_falls_behind(tuning: Tuning) -> None:
    pytest.importorskip("optuna", reason="needs the extra cluster")
    tried: list[Tried] = []
    for number in range(6):
        settings = OptunaSampler(tuning.space, 0, prune=True).draw(number, tried)
        assert settings == OptunaSampler(tuning.space, 0, prune=True).draw(number, tried)
        tried.append(Tried(Trial(number, settings), 0.5, {1: 0.4 + number / 100, 2: 0.5}))
    sampler, trial = OptunaSampler(tuning.space, 0, prune=True), Trial(6, tried[0].trial.settings)
    assert sampler.hopeless(trial, {1: 0.1}, tried)
    assert not sampler.hopeless(trial, {1: 0.9}, tried)
    assert not OptunaSampler(tuning.space, 0, prune=False).hopeless(trial, {1: 0.1}, tried)
    load_recipe("doubling", as_overrides(tried[-1].trial.settings))


def test_a_pruned_trial_is_remembered(tuning: Tuning, tmp_path: Path, scored: Callable[[Work], str | None]) -> None:
    class Impatient(RandomSampler):
        """Gives up the second trial after its first epoch."""

        def hopeless(self, trial: Trial, curve: object, tried: object) -> bool:
            return trial.number == 1 and bool(curve)

    class Slow(InlineExecutor):
        """Does not end the second trial by itself."""

        def submit(self, work: Work) -> Future[str | None]:
            if work.log.stem != "trial-001-seed0":
                return super().submit(work)
            work.log.parent.mkdir(parents=True)
            event = {"event": "epoch", "stage": "tag", "epoch": 1, "scores": {"Freq": 0.25}}
            (work.log.parent / "log.jsonl").write_text(json.dumps(event) + "\n")
            self.done.append(work)
            return Future()

    trials = Trials(tuning, Impatient(tuning.space, 0), "random", tmp_path)
    best = trials.search(3, Slow(scored), Quiet())
    assert 1 not in {one.trial.number for one in best}
    assert [(one.trial.pruned, one.score) for one in trials.tried() if one.trial.number == 1] == [(True, 0.25)]
    again = Trials(tuning, Impatient(tuning.space, 0), "random", tmp_path)
    assert again.search(3, InlineExecutor(lambda _: "nothing is left to do"), Quiet()) == best


def test_choices_are_even() -> None:
    assert [Choices(("a", "b")).at(share) for share in (0.0, 0.49, 0.5, 0.99)] == ["a", "a", "b", "b"]
