"""Ordering: the best path through the tokens of a multiset, by search on the exact score or by the paper's rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from permparse.base.batching import sorted_batches
from permparse.base.errors import UserError
from permparse.base.threads import one_thread
from permparse.multiset import CanonicalMultiset
from permparse.nn import JumpScorer, Sentence, saturated, scorer_batch
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe, OrderTraining
from permparse.parsers.multiset_permutation.tag import Tagged
from permparse.permutation import BregmanSolver, JumpProblem, Temperature
from permparse.permutation.decoding import Decoded, beam_orders, decode, k_best

BATCH = 64
SEARCH_EFFORT = 300
LARGE = 300
"""Up to this many tokens the search for the best order takes full effort, then less as their square grows."""
TRAINING_TOLERANCE, TRAINING_SWEEPS = 1e-3, 150
"""How exactly the relaxed problem is solved in training: more costs time and changes little."""
ROUNDING_TOLERANCE, ROUNDING_SWEEPS = 1e-6, 3000
"""How exactly the paper solves it before it rounds the solution."""
APART = 30.0
"""What a jump costs that training rules out."""
SCORE_LIMIT = 50.0
"""Scores beyond make the solver leave its fast arithmetic."""

OrderDecoder = Callable[[JumpProblem], list[Decoded]]
"""How scores become an order, for each example of a batch."""
RuledOut = Callable[[Sequence[str], CanonicalMultiset], np.ndarray | None]
"""Whether token i of a multiset must not come directly before token k, as `Codec.ruled_out` says."""


@dataclass(frozen=True)
class Ordered:
    """The best order found for a multiset: ``order[j]`` is the token at output position j.

    ``log_prob`` sums the log probability of each jump among its alternatives (0 is certain), ``weakest`` is the least
    of them.
    """

    order: list[int]
    score: float
    proven_optimal: bool
    log_prob: float
    weakest: float


EMPTY = Ordered([], 0.0, True, 0.0, 0.0)
"""The order of no tokens."""


@torch.no_grad()
def order(
    scorer: JumpScorer,
    sentences: Sequence[Sentence],
    tagged: Sequence[Tagged],
    decoder: OrderDecoder,
    ruled_out: RuledOut,
) -> list[Ordered]:
    """The order that the decoder gives every multiset, in batches of similar size."""
    if scorer.training:
        scorer.eval()
    results: dict[int, Ordered] = {}
    filled = [i for i, t in enumerate(tagged) if len(t.multiset)]
    words = [len(sentences[i]) for i in filled]
    for batch in sorted_batches([len(tagged[i].multiset) for i in filled], BATCH, others=words):
        chosen = [filled[i] for i in batch]
        with one_thread():
            problem = jump_problem(scorer, [sentences[i] for i in chosen], [tagged[i].multiset for i in chosen])
            problem = within_rules(problem, [(tagged[i].tokens, tagged[i].multiset) for i in chosen], ruled_out)
        found = decoder(problem)
        with one_thread():
            results.update(zip(chosen, with_log_probs(problem, found), strict=True))
    return [results.get(i, EMPTY) for i in range(len(sentences))]


@torch.no_grad()
def n_best_orders(
    scorer: JumpScorer, sentence: Sentence, tagged: Tagged, decoder: OrderDecoder, ruled_out: RuledOut, n: int
) -> list[Ordered]:
    """The order that the decoder gives, then the next best."""
    if not len(tagged.multiset):
        return [EMPTY]
    with one_thread():
        problem = jump_problem(scorer, [sentence], [tagged.multiset])
        problem = within_rules(problem, [(tagged.tokens, tagged.multiset)], ruled_out)
    steps = decoder.steps if isinstance(decoder, PathSearch) else search_orders.steps
    orders = k_best(problem, n, steps=steps)[0]
    if not isinstance(decoder, PathSearch):
        first = decoder(problem)[0]
        orders = [first, *(d for d in orders if list(d.order) != list(first.order))][:n]
    return [with_log_probs(problem, [d])[0] for d in orders]


def jump_problem(
    scorer: JumpScorer, sentences: Sequence[Sentence], multisets: Sequence[CanonicalMultiset]
) -> JumpProblem:
    """The scores of all jumps between the tokens of each multiset; UserError if the weights give no finite ones."""
    batch = scorer_batch(sentences, multisets).to(scorer.device)
    try:
        problem: JumpProblem = scorer(batch)
    except ValueError as error:
        raise UserError(
            f"the weights of this parser give scores that are not finite ({error}); train it again"
        ) from error
    return problem


def within_rules(
    problem: JumpProblem, examples: Sequence[tuple[Sequence[str], CanonicalMultiset]], ruled_out: RuledOut
) -> JumpProblem:
    """The problem, of some examples, with every jump that is ruled out made APART worse."""
    parted = [ruled_out(tokens, multiset) for tokens, multiset in examples]
    if all(of is None for of in parted):
        return problem
    batch, size = len(parted), problem.size
    start, jump, end = (np.zeros((batch, *shape), bool) for shape in ((size,), (size, size), (size,)))
    for b, of in enumerate(parted):
        if of is not None:
            n = len(of) - 1
            start[b, :n], jump[b, :n, :n], end[b, :n] = of[n, :n], of[:n, :n], of[:n, n]

    def less(scores: torch.Tensor, ruled: np.ndarray) -> torch.Tensor:
        return scores - APART * torch.from_numpy(ruled).to(scores)

    return replace(problem, start=less(problem.start, start), jump=less(problem.jump, jump), end=less(problem.end, end))


@dataclass(frozen=True)
class PathSearch:
    """The order of the best path score that a search finds within so many elementary steps."""

    steps: int = MultisetPermutationRecipe.model_fields["search_steps"].default

    def __call__(self, problem: JumpProblem) -> list[Decoded]:
        effort = min(SEARCH_EFFORT, SEARCH_EFFORT * LARGE**2 // max(1, problem.size) ** 2)
        return decode(problem, nodes=effort, kicks=effort, steps=self.steps)


search_orders = PathSearch()
"""The search as it is by default."""


def order_decoder(recipe: MultisetPermutationRecipe) -> OrderDecoder:
    """The decoder that the recipe names; "hungarian" rounds U* of the problem that the loss is made of, sharpened."""
    if recipe.decoder == "search":
        return PathSearch(recipe.search_steps)
    if recipe.decoder == "beam":
        return beam_orders
    temperature = Temperature(1.0 / recipe.sharpening, recipe.scorer.training.temperature_power)
    exact = BregmanSolver(temperature, ROUNDING_TOLERANCE, ROUNDING_SWEEPS)

    def round_orders(problem: JumpProblem) -> list[Decoded]:
        relaxed = limited(problem, smooth=recipe.scorer.normalise)
        return decode(problem, "hungarian", log_u=exact.solve(relaxed).log_u)

    return round_orders


def training_solver(settings: OrderTraining) -> BregmanSolver:
    """The solver of the training loss."""
    return BregmanSolver(Temperature(1.0, settings.temperature_power), TRAINING_TOLERANCE, TRAINING_SWEEPS)


def limited(problem: JumpProblem, smooth: bool) -> JumpProblem:
    """The problem with its scores within ±SCORE_LIMIT: saturating, the same where it matters, or else clipped."""

    def limit(scores: torch.Tensor) -> torch.Tensor:
        return saturated(scores, SCORE_LIMIT) if smooth else scores.clamp(-SCORE_LIMIT, SCORE_LIMIT)

    position = None if problem.position is None else limit(problem.position)
    return replace(
        problem, start=limit(problem.start), jump=limit(problem.jump), end=limit(problem.end), position=position
    )


def with_log_probs(problem: JumpProblem, found: Sequence[Decoded]) -> list[Ordered]:
    """The decoded order of each example, and how probable its jumps are."""
    ordered = []
    for decoded, steps in zip(found, jump_log_probs(problem, [d.order for d in found]), strict=True):
        total, weakest = (float(steps.sum()), float(steps.min())) if len(steps) else (0.0, 0.0)
        ordered.append(Ordered(list(decoded.order), float(decoded.score), bool(decoded.proven_optimal), total, weakest))
    return ordered


def jump_log_probs(problem: JumpProblem, orders: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """log softmax of the start, the jumps and the end along the order of each example, each among its alternatives;
    with position scores instead of jumps, of the position of each token, and a certain end.
    *Shape:* [n + 1], or [0] for no tokens."""
    excluded = ~problem.token_mask

    def log_softmax(scores: torch.Tensor, without: torch.Tensor) -> np.ndarray:
        return scores.detach().double().masked_fill(without, -torch.inf).log_softmax(-1).cpu().numpy()

    if problem.position is not None:
        places = log_softmax(problem.position, excluded[:, None, :])
        found = [places[b, list(order), range(len(order))] for b, order in enumerate(orders)]
        return [np.append(steps, 0.0) if len(steps) else steps for steps in found]

    start, end = log_softmax(problem.start, excluded), log_softmax(problem.end, excluded)
    diagonal = torch.eye(problem.size, dtype=torch.bool, device=excluded.device)
    jump = log_softmax(problem.jump, excluded[:, None, :] | diagonal)
    steps = []
    for b, order in enumerate(orders):
        path = np.array(order, dtype=np.int64)
        parts = [start[b, path[:1]], jump[b, path[:-1], path[1:]], end[b, path[-1:]]]
        steps.append(np.concatenate(parts))
    return steps
