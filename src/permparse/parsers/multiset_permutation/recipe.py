"""The recipe of this parser: a tagger and a scorer, how each is trained, and how both are used for parsing."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field

from permparse.base.settings import Section
from permparse.nn import ScorerSettings, TaggerSettings
from permparse.parsers.recipe import Recipe, Training

Decoder = Literal["search", "hungarian", "beam"]
TAG, ORDER = "tag", "order"
"""The two stages."""
TAG_AGAIN, ORDER_AGAIN = "tag-again", "order-again"
"""The two once more, with recombined examples."""
EFFORT = 0.7
"""Steps of training with recombined examples, for each step before."""


class Hints(Section):
    """Where tokens probably come from, told to the tagger while it trains."""

    kind: Literal["ibm1", "anchor", "value", "auto", "task", "none"] = "ibm1"
    """ibm1: links of an IBM-1 aligner (the paper). anchor: the word behind the next token that only one word can
    produce, for outputs in which operators name their arguments. value: the first word of the value that directly
    follows an operator; all else by IBM-1. auto: a key at the word of its head, `agent` of `see(agent = …)` at *saw*;
    other tokens at the words that an input has as many of as the output has of the token; all else by value. task: the
    word that the task's own notation names (COGS)."""
    threshold: float = Field(default=0.6, ge=0, le=1)
    """Posterior χ from which a link of the IBM-1 aligner counts as a hint."""
    weight: float = Field(default=1.0, ge=0, le=1e6)
    """Weight λ of the hints; 0 switches them off."""
    epochs: int = Field(default=8, ge=0, le=10**6)
    """The hints are used for the first g epochs."""


class Tagger(TaggerSettings):
    """The tagger and how it is trained."""

    hints: Hints = Hints()
    """Where tokens probably come from."""
    training: Training = Training()
    """How the tagger is trained."""


class OrderTraining(Training):
    """How the scorer is trained."""

    temperature_power: float = Field(default=1.0, ge=0, le=10)
    """p of the entropy weight τ = (log n)^-p: 1 in the paper, 2 in its reference implementation."""
    annotation: Literal["constrained", "drop"] = "constrained"
    """Multisets of the training examples: the most likely one whose union is gold, which loses no example, or the most
    likely one, dropping the examples where it is not gold (the paper)."""


class Scorer(ScorerSettings):
    """The jump scorer and how it is trained."""

    training: OrderTraining = OrderTraining()
    """How the scorer is trained."""


class MultisetPermutationRecipe(Recipe):
    """Everything that decides what a run of this parser computes."""

    parse_settings: ClassVar[tuple[str, ...]] = (
        *Recipe.parse_settings,
        "decoder",
        "sharpening",
        "candidates",
        "surprise_weight",
        "max_tokens",
        "search_steps",
    )

    decoder: Decoder = "search"
    """How the trained parser orders tokens: by searching for the best path score, by rounding the relaxed permutation
    with the Hungarian algorithm (the paper), or by a beam search over jumps. Training does not depend on it."""
    sharpening: float = Field(default=1.0, gt=0, le=1e6)
    """With the Hungarian decoder: how many times lower the temperature is than in training (10 in the reference
    implementation of the paper). Training does not depend on it."""
    candidates: int = Field(default=1, ge=1, le=1000)
    """How many of the likeliest multisets the trained parser compares; 1 takes the likeliest (the paper). Training does
    not depend on it."""
    surprise_weight: float = Field(default=0.5, ge=0, le=1e6)
    """With several candidates: weight of how badly an output reads, against the log probability of its multiset. It
    reads badly where a token is rarer after the two before it, in the training outputs, than on the whole."""
    max_tokens: int = Field(default=4000, ge=1)
    """A sentence whose output would have more tokens is refused when parsing."""
    search_steps: int = Field(default=300_000_000, ge=1)
    """Elementary steps that the search for the best order of one multiset may take, about a second; after that it gives
    the best order so far."""
    tagger: Tagger = Tagger()
    """Tagging: which tokens every word contributes."""
    scorer: Scorer = Scorer()
    """Ordering: which token follows which."""
    recombined: float = Field(default=0.0, ge=0, le=100)
    """New examples for each training example, with which both stages go on training once the tagger has learned the
    validation examples: spans that have stood in the same surroundings take each other's place. 0 makes none, and
    trains no further."""

    @property
    def stages(self) -> tuple[str, ...]:
        return (TAG, ORDER, TAG_AGAIN, ORDER_AGAIN) if self.recombined else (TAG, ORDER)

    def for_stage(self, stage: str) -> tuple[object, ...]:
        if stage == TAG:
            return self.task, self.seed, self.for_results().data, self.tagger
        return super().for_stage(stage)

    def stage_training(self, stage: str) -> Training:
        recipe = self if stage in (TAG, ORDER) else self.training_again()
        return recipe.tagger.training if stage in (TAG, TAG_AGAIN) else recipe.scorer.training

    def training_again(self) -> Self:
        """The recipe with the epochs of the stages that train with recombined examples."""

        def again(training: Training) -> Training:
            epochs = max(1, round(EFFORT * training.epochs / (1 + self.recombined)))
            every = max(1, round(training.evaluate_every * epochs / max(1, training.epochs)))
            return training.model_copy(update={"epochs": epochs, "evaluate_every": every})

        tagger = self.tagger.model_copy(update={"training": again(self.tagger.training)})
        scorer = self.scorer.model_copy(update={"training": again(self.scorer.training)})
        return self.model_copy(update={"tagger": tagger, "scorer": scorer})
