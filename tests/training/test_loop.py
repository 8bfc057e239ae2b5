"""The training loop: same seed, same weights, whatever happens in between."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from permparse.base.errors import UserError
from permparse.parsers.recipe import Training
from permparse.parsers.stage import ParameterGroup, Scores, Stage, StageReport, StepResult
from permparse.training import loop
from permparse.training.log import RunLog
from permparse.training.loop import Trainer
from permparse.training.progress import Progress, Speed

SETTINGS = Training(epochs=4, batch=8, lr=1e-2, averaging=0.9)


@pytest.fixture(autouse=True)
def _save_after_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)


class Crash(Exception):
    pass


class Regression(Stage):
    """A network with dropout on fixed data; crashes on demand, as a killed process would."""

    name = "toy"

    def __init__(self, crash_at: int | None = None, poison: bool = False, training: Training = SETTINGS) -> None:
        self.training, self.report = training, StageReport()
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 1))
        self.x, self.y = torch.randn(40, 4), torch.randn(40, 1)
        self.steps, self.crash_at, self.poison = 0, crash_at, poison

    def batches(self, epoch: int) -> list[np.ndarray]:
        return np.array_split(np.random.default_rng(epoch).permutation(40), 5)

    def step(self, batch: np.ndarray, epoch: int) -> StepResult:
        self.steps += 1
        if self.steps == self.crash_at:
            raise Crash
        loss = (self.model(self.x[batch]) - self.y[batch]).square().mean()
        return StepResult(loss * torch.nan if self.poison else loss, len(batch))

    def evaluate(self) -> Scores:
        with torch.no_grad():
            score = -float((self.model(self.x) - self.y).square().mean())
        return Scores(score, {"score": score})


def _fit(folder: Path | None, crash_at: int | None = None, seed: int = 3, **changes) -> dict[str, torch.Tensor]:
    stage = Regression(crash_at, training=SETTINGS.model_copy(update=changes))
    Trainer(stage, seed, folder, RunLog(None)).fit(Progress(quiet=True))
    return stage.model.state_dict()


def _same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("crash_at", [1, 2, 5, 6, 13, 20])
@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_a_crashed_run_resumes_to_the_same_weights(tmp_path: Path, crash_at: int, averaging: float) -> None:
    whole = _fit(None, averaging=averaging)
    with pytest.raises(Crash):
        _fit(tmp_path, crash_at, averaging=averaging)
    assert _same(_fit(tmp_path, averaging=averaging), whole)


def test_a_run_that_crashes_again_and_again_ends_in_the_same_weights(tmp_path: Path) -> None:
    for _ in range(9):
        with pytest.raises(Crash):
            _fit(tmp_path, crash_at=3)
    assert _same(_fit(tmp_path), _fit(None))


def test_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    first = _fit(tmp_path)
    assert _same(_fit(tmp_path, crash_at=1), first)


def test_the_same_seed_gives_the_same_weights() -> None:
    assert _same(_fit(None), _fit(None))


def test_another_seed_drops_other_units_of_the_same_network() -> None:
    assert not _same(_fit(None, seed=3), _fit(None, seed=4))


def test_the_best_epoch_is_kept_and_ties_go_to_the_later() -> None:
    stage = Regression()
    scores = iter([0.1, 0.9, 0.9, 0.2])
    stage.evaluate = lambda: Scores(next(scores), {})  # type: ignore[method-assign]
    position = Trainer(stage, 0, None, RunLog(None)).fit(Progress(quiet=True))
    assert (position.best_epoch, position.best_score) == (2, 0.9)


def test_patience_stops_early() -> None:
    stage = Regression(training=SETTINGS.model_copy(update={"patience": 2}))
    scores = iter([0.9, 0.5, 0.5, 0.5])
    stage.evaluate = lambda: Scores(next(scores), {})  # type: ignore[method-assign]
    position = Trainer(stage, 0, None, RunLog(None)).fit(Progress(quiet=True))
    assert (position.epoch, position.best_epoch, position.done) == (3, 0, True)


def test_an_infinite_loss_is_said_in_words() -> None:
    with pytest.raises(UserError, match="the loss became nan in epoch 1; try a lower learning rate"):
        Trainer(Regression(poison=True), 0, None, RunLog(None)).fit(Progress(quiet=True))


def test_the_log_has_one_json_object_per_line(tmp_path: Path) -> None:
    stage = Regression()
    Trainer(stage, 0, None, RunLog(tmp_path)).fit(Progress(quiet=True))
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [r["epoch"] for r in records] == [1, 2, 3, 4]
    assert all("score" in r["scores"] for r in records)


def test_the_speed_shown_is_that_of_the_present_epoch() -> None:
    """160 examples per second, whatever the evaluation between two epochs took."""
    speed = Speed()
    for epoch, pause in ((0, 0.0), (1, 30.0)):
        for batch in range(1, 6):
            shown = speed.update(epoch, 32 * batch, pause + 10 * epoch + 0.2 * batch)
    assert shown == pytest.approx(160)


def test_parameter_groups_train_at_rates_of_their_own() -> None:
    class TwoRates(Regression):
        def parameter_groups(self) -> list[ParameterGroup]:
            first, last = (dict(self.model[i].named_parameters(prefix=str(i))) for i in (0, 2))
            return [ParameterGroup(first, 1e-9), ParameterGroup(last, 1e-2)]

    stage = TwoRates()
    before = {name: p.detach().clone() for name, p in stage.model.named_parameters()}
    Trainer(stage, 0, None, RunLog(None)).fit(Progress(quiet=True))
    moved = {name: float((p.detach() - before[name]).abs().max()) for name, p in stage.model.named_parameters()}
    assert moved["0.weight"] < 1e-6 < 1e-3 < moved["2.weight"]


def test_a_likelihood_is_never_shown_as_a_share(capsys: pytest.CaptureFixture[str]) -> None:
    Progress().epoch("tag", 1, 2, 0.5, None, Scores(1.0, {"Freq": 1.0, "log P": 0.0}), 3.0)
    assert "Freq 100.0%  log P 0.00" in capsys.readouterr().err
