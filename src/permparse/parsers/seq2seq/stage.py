"""The stage of a sequence-to-sequence network: *translate*, by the likelihood of the gold tokens."""

from __future__ import annotations

import numpy as np
import torch

from permparse.base.batching import bucketed, sorted_batches
from permparse.base.threads import one_thread
from permparse.nn.batches import padded
from permparse.nn.decoders import Seq2Seq
from permparse.parsers.recipe import Training
from permparse.parsers.seq2seq.sources import BATCH, Pairs, search, source_batch
from permparse.parsers.stage import Scores, Stage, StageReport, StepResult

HOPELESS = -30.0
"""The least log probability of a gold output that counts: what nothing can produce has this one."""
TIE = 1e-6
"""Weight of the likelihood in the score that selects an epoch."""
BEYOND = -1
"""The target id beyond the end of an output."""


class TranslateStage(Stage):
    """Trains the network; selected by Seq, the share of outputs that greedy search gets right, and by their likelihood
    where that cannot tell."""

    def __init__(
        self, name: str, network: Seq2Seq, data: Pairs, validation: Pairs, training: Training, seed: int
    ) -> None:
        self.name, self.model, self.training = name, network, training
        self._network, self._data, self._validation, self._seed = network, data, validation, seed
        self.report = StageReport(figures={"examples": len(data.sources)})

    def batches(self, epoch: int) -> list[np.ndarray]:
        return bucketed(self._data.lengths, self.training.batch, self._seed, epoch)

    def step(self, batch: np.ndarray, epoch: int) -> StepResult:
        log_probs, right, mask = target_log_probs(self._network, self._data, batch)
        # Per token, as every one of them is a decision.
        loss = -log_probs.sum() / mask.sum()
        tokens = float(mask.sum())
        return StepResult(loss, len(batch), float(right.sum()), tokens, weight=tokens)

    def evaluate(self) -> Scores:
        data = self._validation
        found = search(self._network, data.sources, beam=1)
        right = [list(best[0].ids) == y[:-1].tolist() for best, y in zip(found, data.targets, strict=True)]
        seq = sum(right) / max(1, len(right))
        log_prob = float(np.mean(gold_log_probs(self._network, data))) if data.sources else 0.0
        return Scores(seq + TIE * log_prob, {"Seq": seq, "log P": log_prob}, smooth=log_prob)


def target_log_probs(
    network: Seq2Seq, data: Pairs, batch: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """log P of every gold token of a batch, 0 beyond the end; whether it is the likeliest one; and where there is one.
    *Shape:* [B, T] each."""
    source = source_batch([data.sources[i] for i in batch]).to(network.device)
    target = padded([data.targets[i] for i in batch], BEYOND).to(network.device)
    mask, gold = target != BEYOND, target.clamp(min=0)
    log_probs = network.log_probs(network.encode(source), gold)
    chosen = log_probs.gather(2, gold[..., None])[..., 0]
    right = (log_probs.detach().argmax(2) == gold) & mask
    return torch.where(mask, chosen, 0.0), right, mask


@torch.no_grad()
def gold_log_probs(network: Seq2Seq, data: Pairs) -> np.ndarray:
    """log P(gold output | x) of every pair, at least HOPELESS."""
    found = np.zeros(len(data.sources))
    for batch in sorted_batches(data.lengths, BATCH):
        with one_thread():
            found[batch] = target_log_probs(network, data, batch)[0].sum(1).double().cpu().numpy()
    return np.maximum(HOPELESS, found)
