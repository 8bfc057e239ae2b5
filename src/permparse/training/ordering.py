"""Stage 2: train the jump scores on annotated multisets with the Fenchel–Young loss, and put predicted
multisets in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from permparse.data import Example
from permparse.multiset import CanonicalMultiset
from permparse.nn import JumpScorer, ScorerBatch, scorer_batch
from permparse.permutation import BregmanSolver, JumpProblem, Temperature, permutation_loss
from permparse.permutation.decoding import Decoded, decode
from permparse.training.batching import bucketed, sorted_batches
from permparse.training.codec import Codec, EncodedSource
from permparse.training.loop import Scores, Stage, StepResult
from permparse.training.recipe import Ordering, Recipe
from permparse.training.tagging import Tagged, same_multiset
from permparse.training.threads import one_thread

EVALUATION_BATCH = 64
SEARCH_EFFORT = 300
LARGE = 300
"""Up to this many tokens the search for the best order takes full effort, then less as their square grows."""
ROUNDING_SWEEPS = 3000
ROUNDING_TOLERANCE = 1e-6
"""How exactly the paper solves the relaxed problem before it rounds the solution."""

OrderDecoder = Callable[[JumpProblem], list[Decoded]]
"""How scores become an order, for each example of a batch."""


@dataclass(frozen=True)
class OrderingData:
    """Training examples of stage 2: sources, annotated multisets, and per example the types of tokens and
    targets.

    ``token_types[b][i] == target_types[b][j]`` says that token i may stand at j.
    """

    sources: list[EncodedSource]
    multisets: list[CanonicalMultiset]
    token_types: list[np.ndarray]
    target_types: list[np.ndarray]


def ordering_data(
    codec: Codec,
    sources: Sequence[EncodedSource],
    targets: Sequence[Sequence[str]],
    multisets: Sequence[CanonicalMultiset],
) -> OrderingData:
    """Number the types of each example once, so that `allowed` is one comparison of arrays in training."""
    token_types, target_types = [], []
    for source, target, multiset in zip(sources, targets, multisets, strict=True):
        number = {token: k for k, token in enumerate(dict.fromkeys(target))}
        tokens = codec.tokens(multiset, source)
        token_types.append(np.array([number[t] for t in tokens], dtype=np.int64))
        target_types.append(np.array([number[t] for t in target], dtype=np.int64))
    return OrderingData(list(sources), list(multisets), token_types, target_types)


def allowed_from_types(token_types: Sequence[np.ndarray], target_types: Sequence[np.ndarray]) -> Tensor:
    """Token i may stand at position j iff their types agree. *Shape:* [B, N, N], False beyond each length."""
    size = max(len(types) for types in token_types)
    tokens = np.full((len(token_types), size), -1, dtype=np.int64)
    targets = np.full((len(token_types), size), -2, dtype=np.int64)
    for b, (token, target) in enumerate(zip(token_types, target_types, strict=True)):
        tokens[b, : len(token)], targets[b, : len(target)] = token, target
    return torch.from_numpy(tokens[:, :, None] == targets[:, None, :])


@torch.no_grad()
def jump_accuracy(problem: JumpProblem, allowed: Tensor) -> tuple[float, float]:
    """How many tokens have a best jump that occurs in some permitted order, and of how many (the last ones
    aside)."""
    if problem.size == 0:
        return 0.0, 0.0
    before, after = allowed[:, :, :-1].float(), allowed[:, :, 1:].float()
    gold = torch.bmm(before, after.transpose(1, 2)) > 0
    inside = problem.token_mask[:, None, :] & ~torch.eye(problem.size, dtype=torch.bool)
    best = problem.jump.masked_fill(~inside, -torch.inf).argmax(2)
    has_jump = (gold & inside).any(2)
    right = gold.gather(2, best[:, :, None])[:, :, 0] & has_jump
    return float(right.sum()), float(has_jump.sum())


@dataclass(frozen=True)
class Ordered:
    """The best order found for a multiset, its score, and how sure the jumps are of it (log probabilities;
    0 is certain).

    ``order[j]`` is the token at output position j. ``path`` sums the log probability of each jump among its
    alternatives, ``weakest`` is the least of them.
    """

    order: list[int]
    score: float
    proven_optimal: bool
    path: float
    weakest: float


def search_orders(problem: JumpProblem) -> list[Decoded]:
    """The order of the best path score that a search finds."""
    effort = min(SEARCH_EFFORT, SEARCH_EFFORT * LARGE**2 // max(1, problem.size) ** 2)
    return decode(problem, nodes=effort, kicks=effort)


def order_decoder(recipe: Recipe) -> OrderDecoder:
    """The decoder that the recipe names; "hungarian" rounds U* of the very problem that the loss is made of."""
    if recipe.decoder == "search":
        return search_orders
    solver = replace(make_solver(recipe.stage2), tolerance=ROUNDING_TOLERANCE, max_sweeps=ROUNDING_SWEEPS)

    def round_orders(problem: JumpProblem) -> list[Decoded]:
        relaxed = bounded(problem, recipe.stage2.score_limit, smooth=recipe.scorer.normalise)
        return decode(problem, "hungarian", log_u=solver.solve(relaxed).log_u)

    return round_orders


def with_sureness(problem: JumpProblem, example: int, decoded: Decoded) -> Ordered:
    """A decoded order of an example, and how sure the jumps are of it."""
    path, weakest = path_sureness(problem, example, decoded.order)
    return Ordered(list(decoded.order), float(decoded.score), bool(decoded.proven_optimal), path, weakest)


def path_sureness(problem: JumpProblem, example: int, order: Sequence[int]) -> tuple[float, float]:
    """Sum and minimum of log softmax of the start, jumps and end along an order, each among its
    alternatives."""
    n = len(order)
    if n == 0:
        return 0.0, 0.0
    at = torch.as_tensor(list(order))
    jump = problem.jump[example, :n, :n].detach().double().clone()
    jump.fill_diagonal_(-torch.inf)
    parts = [problem.start[example, :n].double().log_softmax(0)[at[:1]]]
    if n > 1:
        parts.append(jump.log_softmax(1)[at[:-1], at[1:]])
    parts.append(problem.end[example, :n].double().log_softmax(0)[at[-1:]])
    steps = torch.cat(parts)
    return float(steps.sum()), float(steps.min())


@torch.no_grad()
def order(
    scorer: JumpScorer,
    sources: Sequence[EncodedSource],
    tagged: Sequence[Tagged],
    decoder: OrderDecoder = search_orders,
) -> list[Ordered]:
    """The order that the decoder gives every predicted multiset, in batches of similar size; an empty multiset
    gets the empty order."""
    scorer.eval()
    results = [Ordered([], 0.0, True, 0.0, 0.0)] * len(sources)
    filled = [i for i, t in enumerate(tagged) if len(t.multiset)]
    for batch in sorted_batches([len(tagged[i].multiset) for i in filled], EVALUATION_BATCH):
        chosen = [filled[i] for i in batch]
        with one_thread():
            problem = scorer(multiset_batch(sources, [t.multiset for t in tagged], chosen))
        found = decoder(problem)
        with one_thread():
            for b, (i, decoded) in enumerate(zip(chosen, found, strict=True)):
                results[i] = with_sureness(problem, b, decoded)
    return results


def multiset_batch(
    sources: Sequence[EncodedSource], multisets: Sequence[CanonicalMultiset], chosen: Sequence[int]
) -> ScorerBatch:
    """The chosen examples as one padded batch."""
    return scorer_batch(
        [sources[i].ids for i in chosen],
        [multisets[i] for i in chosen],
        [sources[i].features for i in chosen],
    )


def bounded(problem: JumpProblem, limit: float, smooth: bool) -> JumpProblem:
    """The problem with its scores x replaced by limit·tanh(x/limit), the same where it matters and within
    ±limit, or, if not ``smooth``, clipped to ±limit."""
    scores = problem.start, problem.jump, problem.end
    start, jump, end = (limit * torch.tanh(x / limit) if smooth else x.clamp(-limit, limit) for x in scores)
    return replace(problem, start=start, jump=jump, end=end)


def make_solver(settings: Ordering) -> BregmanSolver:
    """The solver of the training loss."""
    return BregmanSolver(
        temperature=Temperature(settings.temperature, settings.temperature_power),
        tolerance=settings.tolerance,
        max_sweeps=settings.max_sweeps,
    )


class OrderingStage(Stage):
    """Stage 2 as the training loop sees it; selected by Seq, the share of sentences whose whole output is
    right (by path search, so that the weights do not depend on the parser's decoder)."""

    name = "scorer"

    def __init__(
        self,
        codec: Codec,
        scorer: JumpScorer,
        data: OrderingData,
        judged: Sequence[Example],
        tagged: Sequence[Tagged],
        settings: Ordering,
        seed: int,
    ) -> None:
        self.model = scorer
        self._scorer, self._data, self._settings, self._seed = scorer, data, settings, seed
        self._solver = make_solver(settings)
        self._lengths = [len(multiset) for multiset in data.multisets]
        self._judged = [codec.encode(example.source) for example in judged]
        self._gold = [codec.canonical(example.target) for example in judged]
        self._tagged = list(tagged)

    def batches(self, epoch: int) -> list[np.ndarray]:
        return bucketed(self._lengths, self._settings.batch, self._seed, epoch)

    def step(self, batch: np.ndarray, epoch: int) -> StepResult:
        data = self._data
        problem = self._scorer(multiset_batch(data.sources, data.multisets, batch.tolist()))
        problem = bounded(problem, self._settings.score_limit, smooth=self._scorer.config.normalise)
        allowed = allowed_from_types([data.token_types[i] for i in batch], [data.target_types[i] for i in batch])
        losses = permutation_loss(problem, allowed, self._solver)
        # Per token: long examples weigh more, as every one of their jumps counts. A batch may be all empty outputs.
        loss = losses.sum() / max(1, sum(self._lengths[i] for i in batch))
        right, decisions = jump_accuracy(problem, allowed)
        return StepResult(loss, len(batch), right, decisions)

    def evaluate(self) -> Scores:
        ordered = order(self._scorer, self._judged, self._tagged)
        right = [
            [t.tokens[i] for i in o.order] == gold for t, o, gold in zip(self._tagged, ordered, self._gold, strict=True)
        ]
        freq = [same_multiset(t.tokens, gold) for t, gold in zip(self._tagged, self._gold, strict=True)]
        seq = sum(right) / max(1, len(right))
        return Scores(seq, {"Seq": seq, "Seq/Freq": sum(right) / max(1, sum(freq))})
