"""The two stages of training: *tag*, by the exact likelihood of gold totals, then *order*, by the Fenchel–Young loss.

Between the stages, the tagger distributes the gold tokens of every training example over its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from permparse.base.batching import bucketed, sorted_batches
from permparse.base.errors import UserError
from permparse.base.threads import one_thread
from permparse.multiset import CanonicalMultiset
from permparse.nn import JumpScorer, MultisetTagger, TaggerExample, tagger_batch
from permparse.parsers.multiset_permutation.codec import Codec, EncodedSentence
from permparse.parsers.multiset_permutation.hints import alignment_hints
from permparse.parsers.multiset_permutation.order import jump_problem, limited, order, search_orders, training_solver
from permparse.parsers.multiset_permutation.recipe import OrderTraining, Tagger
from permparse.parsers.multiset_permutation.tag import BATCH, Tagged, annotate, same_multiset, tag
from permparse.parsers.stage import Scores, Stage, StageReport, StepResult
from permparse.permutation import JumpProblem, checked_permutation_loss
from permparse.text import Copies, Example, unreachable

HOPELESS = -30.0
"""The least log probability of a gold multiset that counts: what nothing can produce has this one."""
TIE = 1e-6
"""Weight of the likelihood in the score that selects an epoch."""


@dataclass(frozen=True)
class EncodedExamples:
    """Sentences and their gold tokens as the model sees them."""

    sentences: list[EncodedSentence]
    targets: list[list[str]]

    @classmethod
    def of(cls, codec: Codec, examples: Sequence[Example]) -> EncodedExamples:
        return cls([codec.encode(e.source) for e in examples], [codec.target(e) for e in examples])

    def at(self, chosen: Sequence[int]) -> EncodedExamples:
        """Some of them."""
        return EncodedExamples([self.sentences[i] for i in chosen], [self.targets[i] for i in chosen])


@dataclass(frozen=True)
class TagData:
    """Training examples of the tagger. ``left_out``: line and reason of examples that no counts could produce;
    ``recombined``: how many are made of others."""

    encoded: EncodedExamples
    examples: list[TaggerExample]
    left_out: list[tuple[int, str]]
    recombined: int = 0


def gold_copies(codec: Codec, sentence: EncodedSentence, target: Sequence[str], max_count: int) -> list[Copies] | str:
    """The copies that make up a gold output, or the token that there are too many of, or that nothing can produce."""
    found = codec.producers(sentence).target(target)
    too_many = unreachable(found.copies, max_count)
    if found.unproducible or too_many:
        return next(iter(found.unproducible), None) or too_many[0].symbol
    return list(found.copies)


def tag_data(codec: Codec, examples: Sequence[Example], settings: Tagger) -> TagData:
    """Encode sentences, gold copies and alignment hints of the training examples."""
    everything = EncodedExamples.of(codec, examples)
    kept, copies, left_out = [], [], []
    for i, example in enumerate(examples):
        found = gold_copies(codec, everything.sentences[i], everything.targets[i], settings.max_count)
        if isinstance(found, str):
            reason = f"{found!r} occurs more often than max_count = {settings.max_count} allows"
            left_out.append((example.line, reason))
        else:
            kept.append(i)
            copies.append(codec.numbered(found))
    encoded = everything.at(kept)
    heads = [codec.heads(examples[i]) for i in kept]
    hints = alignment_hints(codec, encoded.sentences, encoded.targets, heads, settings.hints)
    tagged = [
        TaggerExample.build(sentence, gold, codec.numbered(hint))
        for sentence, gold, hint in zip(encoded.sentences, copies, hints, strict=True)
    ]
    if not tagged:
        raise UserError(f"{codec.task.name}: no training example is left; raise tagger.max_count")
    return TagData(encoded, tagged, left_out)


@torch.no_grad()
def multiset_log_probs(codec: Codec, tagger: MultisetTagger, encoded: EncodedExamples) -> np.ndarray:
    """log P(multiset of the target | x) of every example, by the count recursion; -inf if no counts produce it."""
    found: dict[int, TaggerExample] = {}
    for i, (sentence, target) in enumerate(zip(encoded.sentences, encoded.targets, strict=True)):
        copies = gold_copies(codec, sentence, target, tagger.settings.max_count)
        if not isinstance(copies, str):
            found[i] = TaggerExample.build(sentence, codec.numbered(copies))
    log_probs = np.full(len(encoded.sentences), -np.inf)
    order = list(found)
    for batch in sorted_batches([len(found[i].sentence) for i in order], BATCH):
        chosen = [order[k] for k in batch]
        with one_thread():
            losses = tagger.loss(tagger_batch([found[i] for i in chosen]).to(tagger.device))
        log_probs[chosen] = -losses.cpu().numpy()
    return log_probs


def gold_log_probs(codec: Codec, tagger: MultisetTagger, encoded: EncodedExamples) -> np.ndarray:
    """log P(gold multiset | x) of every example, at least HOPELESS."""
    return np.maximum(HOPELESS, multiset_log_probs(codec, tagger, encoded))


class TagStage(Stage):
    """Trains the tagger; selected by Freq, the share of sentences whose whole multiset is right, and by their
    likelihood where that cannot tell."""

    def __init__(
        self,
        name: str,
        codec: Codec,
        tagger: MultisetTagger,
        data: TagData,
        validation: EncodedExamples,
        settings: Tagger,
        seed: int,
    ) -> None:
        self.name, self.model, self.training = name, tagger, settings.training
        self._tagger, self._codec, self._data, self._hints = tagger, codec, data, settings.hints
        self._seed, self._validation = seed, validation
        self._lengths = [len(example.sentence) for example in data.examples]
        lines = [f"left out training line {line}: {reason}" for line, reason in data.left_out[:3]]
        figures = {"examples": len(data.examples), "left_out": len(data.left_out)}
        if data.recombined:
            lines.append(f"recombined training examples into {data.recombined:,} new ones")
            figures["recombined"] = data.recombined
        self.report = StageReport(lines, figures)

    def batches(self, epoch: int) -> list[np.ndarray]:
        return bucketed(self._lengths, self.training.batch, self._seed, epoch)

    def step(self, batch: np.ndarray, epoch: int) -> StepResult:
        hint = self._hints.weight if epoch < self._hints.epochs else 0.0
        examples = tagger_batch([self._data.examples[i] for i in batch]).to(self._tagger.device)
        return StepResult(self._tagger.loss(examples, hint).mean(), len(batch))

    def evaluate(self) -> Scores:
        freq = share_tagged_right(self._codec, self._tagger, self._validation)
        log_probs = gold_log_probs(self._codec, self._tagger, self._validation)
        log_prob = float(log_probs.mean()) if len(log_probs) else 0.0
        # Where Freq cannot tell, because nothing or everything is right, the likelihood of the gold multisets does.
        # Alternatives are told apart by the share that is expected to be right: what no notation or encoder can solve
        # must not outweigh what one of them solves.
        expected = float(np.logaddexp.reduce(log_probs)) - log(len(log_probs)) if len(log_probs) else 0.0
        return Scores(freq + TIE * log_prob, {"Freq": freq, "log P": log_prob}, smooth=expected)


def share_tagged_right(codec: Codec, tagger: MultisetTagger, examples: EncodedExamples) -> float:
    """Freq: the share of sentences whose likeliest multiset is the gold one."""
    taggings = tag(codec, tagger, examples.sentences)
    right = [same_multiset(t.best.tokens, gold) for t, gold in zip(taggings, examples.targets, strict=True)]
    return sum(right) / max(1, len(right))


@dataclass(frozen=True)
class OrderData:
    """Training examples of the scorer: annotated multisets, and per example the types of tokens and targets.

    ``token_types[b][i] == target_types[b][j]`` says that token i may stand at j.
    """

    sentences: list[EncodedSentence]
    multisets: list[CanonicalMultiset]
    token_types: list[np.ndarray]
    target_types: list[np.ndarray]

    @classmethod
    def of(cls, codec: Codec, encoded: EncodedExamples, multisets: Sequence[CanonicalMultiset]) -> OrderData:
        """Number the types of each example once, so that `allowed` is one comparison of arrays in training."""
        token_types, target_types = [], []
        for sentence, target, multiset in zip(encoded.sentences, encoded.targets, multisets, strict=True):
            number = {token: k for k, token in enumerate(dict.fromkeys(target))}
            tokens = codec.tokens(multiset, sentence)
            token_types.append(np.array([number[t] for t in tokens], dtype=np.int64))
            target_types.append(np.array([number[t] for t in target], dtype=np.int64))
        return cls(encoded.sentences, list(multisets), token_types, target_types)

    def problem(
        self, scorer: JumpScorer, chosen: Sequence[int] | np.ndarray
    ) -> tuple[JumpProblem, Bool[Tensor, "B N N"]]:
        """The scored jumps of some examples, and the cells that yield their gold outputs."""
        problem = jump_problem(scorer, [self.sentences[i] for i in chosen], [self.multisets[i] for i in chosen])
        allowed = allowed_cells([self.token_types[i] for i in chosen], [self.target_types[i] for i in chosen])
        return problem, allowed.to(scorer.device)


def annotated(
    codec: Codec, tagger: MultisetTagger, data: TagData, settings: OrderTraining
) -> tuple[OrderData, StageReport]:
    """Gold tokens spread over the words by the trained tagger, and how many examples the paper's way loses."""
    free = [tagging.best for tagging in tag(codec, tagger, data.encoded.sentences)]
    right = [i for i, t in enumerate(free) if same_multiset(t.tokens, data.encoded.targets[i])]
    lost = len(free) - len(right)
    if settings.annotation == "drop":
        if not right:
            raise UserError(
                f"{codec.task.name}: no training example is left to learn the order from: the tagger gives none of "
                f'{len(free):,} its gold multiset; train it longer, or set scorer.training.annotation = "constrained"'
            )
        order_data = OrderData.of(codec, data.encoded.at(right), [free[i].multiset for i in right])
        line = f"annotated {len(right):,} examples (dropped {lost:,} with a wrong multiset, as the paper does)"
    else:
        order_data = OrderData.of(codec, data.encoded, annotate(tagger, data.examples))
        line = f"annotated {len(free):,} examples (the paper would drop {lost:,} of them)"
    return order_data, StageReport([line], {"annotated": len(order_data.multisets), "paper_would_drop": lost})


class OrderStage(Stage):
    """Trains the scorer; selected by Seq, the share of sentences whose whole output is right (by path search, so that
    the weights do not depend on the parser's decoder)."""

    def __init__(
        self,
        name: str,
        scorer: JumpScorer,
        data: OrderData,
        validation: EncodedExamples,
        tagged: Sequence[Tagged],
        training: OrderTraining,
        seed: int,
        report: StageReport,
    ) -> None:
        self.name, self.model, self.training, self.report = name, scorer, training, report
        self._scorer, self._data, self._seed = scorer, data, seed
        self._validation, self._tagged = validation, list(tagged)
        self._solver = training_solver(training)
        self._lengths = [len(multiset) for multiset in data.multisets]

    def batches(self, epoch: int) -> list[np.ndarray]:
        return bucketed(self._lengths, self.training.batch, self._seed, epoch)

    def step(self, batch: np.ndarray, epoch: int) -> StepResult:
        problem, allowed = self._data.problem(self._scorer, batch)
        problem = limited(problem, smooth=self._scorer.settings.normalise)
        # A loss that has not quite converged is within its tolerance good enough to descend.
        losses = checked_permutation_loss(problem, allowed, self._solver).value
        # Per token: long examples weigh more, as every one of their jumps counts. A batch may be all empty outputs.
        tokens = sum(self._lengths[i] for i in batch)
        right, decisions = jump_accuracy(problem, allowed)
        return StepResult(losses.sum() / max(1, tokens), len(batch), right, decisions, weight=tokens)

    def evaluate(self) -> Scores:
        ordered = order(self._scorer, self._validation.sentences, self._tagged, search_orders, lambda *_: None)
        gold = self._validation.targets
        right = [[t.tokens[i] for i in o.order] == y for t, o, y in zip(self._tagged, ordered, gold, strict=True)]
        freq = [same_multiset(t.tokens, y) for t, y in zip(self._tagged, gold, strict=True)]
        seq = sum(right) / max(1, len(right))
        return Scores(seq, {"Seq": seq, "Seq/Freq": sum(right) / max(1, sum(freq))})


def allowed_cells(token_types: Sequence[np.ndarray], target_types: Sequence[np.ndarray]) -> Bool[Tensor, "B N N"]:
    """Token i may stand at position j iff their types agree; False beyond each length."""
    size = max(len(types) for types in token_types)
    tokens = np.full((len(token_types), size), -1, dtype=np.int64)
    targets = np.full((len(token_types), size), -2, dtype=np.int64)
    for b, (token, target) in enumerate(zip(token_types, target_types, strict=True)):
        tokens[b, : len(token)], targets[b, : len(target)] = token, target
    return torch.from_numpy(tokens[:, :, None] == targets[:, None, :])


@torch.no_grad()
def jump_accuracy(problem: JumpProblem, allowed: Bool[Tensor, "B N N"]) -> tuple[float, float]:
    """How many tokens have a best jump that occurs in some permitted order, and of how many (the last ones aside); with
    position scores, how many have a best position that is permitted."""
    if problem.size == 0:
        return 0.0, 0.0
    if problem.position is not None:
        best = problem.position.masked_fill(~problem.pair_mask, -torch.inf).argmax(2)
        right = allowed.gather(2, best[:, :, None])[:, :, 0] & problem.token_mask
        return float(right.sum()), float(problem.token_mask.sum())
    before, after = allowed[:, :, :-1].float(), allowed[:, :, 1:].float()
    gold = torch.bmm(before, after.transpose(1, 2)) > 0
    diagonal = torch.eye(problem.size, dtype=torch.bool, device=allowed.device)
    inside = problem.token_mask[:, None, :] & ~diagonal
    best = problem.jump.masked_fill(~inside, -torch.inf).argmax(2)
    has_jump = (gold & inside).any(2)
    right = gold.gather(2, best[:, :, None])[:, :, 0] & has_jump
    return float(right.sum()), float(has_jump.sum())
