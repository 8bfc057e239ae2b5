"""The parser of the paper: a tagger, a jump scorer, and the words and tokens they know."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import ClassVar, Self

import torch
from torch import nn

from permparse.base.errors import UserError
from permparse.base.files import located
from permparse.base.storage import load_weights, pack, unpack
from permparse.nn import Encoder, JumpScorer, MultisetTagger
from permparse.parsers.base import Parser, Splits
from permparse.parsers.explanation import Explanation
from permparse.parsers.legacy import modern_weight
from permparse.parsers.multiset_permutation import confidence, proposals
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.confidence import Calibration, Evidence
from permparse.parsers.multiset_permutation.copies import with_max_count
from permparse.parsers.multiset_permutation.explain import Explainer
from permparse.parsers.multiset_permutation.networks import (
    build_networks,
    count_words,
    encoder_files,
    require_weights_for,
)
from permparse.parsers.multiset_permutation.order import order_decoder, within_rules
from permparse.parsers.multiset_permutation.recipe import (
    ORDER,
    ORDER_AGAIN,
    TAG,
    TAG_AGAIN,
    MultisetPermutationRecipe,
)
from permparse.parsers.multiset_permutation.recombine import recombined_examples
from permparse.parsers.multiset_permutation.rerank import Candidate, Reranker
from permparse.parsers.multiset_permutation.stages import (
    EncodedExamples,
    OrderData,
    OrderStage,
    TagData,
    TagStage,
    annotated,
    share_tagged_right,
    tag_data,
)
from permparse.parsers.multiset_permutation.stored import check_codec, read_calibration
from permparse.parsers.multiset_permutation.tag import Tagging, same_multiset, tag
from permparse.parsers.multiset_permutation.vectors import (
    give_symbol_vectors,
    give_vectors,
    restore_vectors,
    vector_files,
    with_vector_sizes,
)
from permparse.parsers.multiset_permutation.warnings import warnings_about
from permparse.parsers.parse import Alternative, Parse
from permparse.parsers.recipe import Recipe, Round
from permparse.parsers.stage import Stage
from permparse.permutation.decoding import decode
from permparse.permutation.warmup import compile_kernels
from permparse.tasks import Task
from permparse.text import UNKNOWN, Example

CODEC_FILE, CALIBRATION_FILE = "codec.json", "calibration.json"
TAGGER_FILE, SCORER_FILE = "tagger.safetensors", "scorer.safetensors"
SOLVED = 0.95
"""Share of right validation multisets from which training goes on with recombined examples. Where known structures are
still tagged wrongly, new ones made of them teach more errors than structure."""


class MultisetPermutationParser(Parser):
    """Tags every word with a multiset of tokens, then orders all of them by jumps."""

    recipe_class = MultisetPermutationRecipe
    recipe: MultisetPermutationRecipe
    error_kinds: ClassVar[tuple[str, ...]] = ("tagging", "search", "model")
    """The multiset is wrong, the gold order scores higher than the one found, or the scores prefer a wrong order."""

    def __init__(
        self,
        recipe: MultisetPermutationRecipe,
        codec: Codec,
        tagger: MultisetTagger,
        scorer: JumpScorer,
        calibration: Calibration | None = None,
    ) -> None:
        super().__init__(recipe, codec.task)
        self.tagger, self.scorer = tagger.eval(), scorer.eval()
        self.calibration = calibration or Calibration()
        self._use(codec)

    def _use(self, codec: Codec) -> None:
        """Parse by this codec from now on; the paper's decoder rules nothing out."""
        recipe = self.recipe
        self.codec = codec.without_rules() if recipe.decoder == "hungarian" else codec
        decoder = order_decoder(recipe)
        self.reranker = Reranker(
            self.codec, self.tagger, self.scorer, decoder, recipe.candidates, recipe.surprise_weight
        )

    @classmethod
    def build(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Self:
        assert isinstance(recipe, MultisetPermutationRecipe)
        codec = Codec.build(task, examples, recipe.data)
        recipe = with_max_count(with_vector_sizes(recipe), codec, examples)
        tagger, scorer = build_networks(recipe, codec)
        for network in (tagger, scorer):
            count_words(network.encoder, codec, examples)
        return cls(recipe, codec, tagger, scorer)

    @classmethod
    def proposals(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Sequence[Round]:
        assert isinstance(recipe, MultisetPermutationRecipe)
        return proposals.rounds(recipe, task, examples)

    @classmethod
    def for_trial(cls, recipe: Recipe, examples: int) -> Recipe:
        assert isinstance(recipe, MultisetPermutationRecipe)
        return proposals.for_trial(recipe, examples)

    def warnings(self, splits: Splits) -> list[str]:
        return warnings_about(self.codec, self.recipe.tagger.max_count, splits)

    @property
    def networks(self) -> dict[str, nn.Module]:
        return {TAG: self.tagger, ORDER: self.scorer}

    @property
    def encoders(self) -> dict[str, Encoder]:
        """The encoder of every stage."""
        return {TAG: self.tagger.encoder, ORDER: self.scorer.encoder}

    def facts(self) -> list[str]:
        known = [f"{len(self.codec.words):,} words", f"{len(self.codec.symbols):,} symbols"]
        learned = [] if self.codec.writing is None else self.codec.writing.facts()
        return [*known, *super().facts(), *learned, *self.codec.relations.facts()]

    def starting_files(self, new_stages: Collection[str]) -> list[Path]:
        files = super().starting_files(new_stages)
        for encoder in self.encoders.values():
            files += encoder.starting_files()
        symbols = self.recipe.scorer.symbol_vectors
        return files if symbols is None or ORDER not in new_stages else [*files, located(symbols)]

    def initialise(self, new_stages: Collection[str]) -> list[str]:
        lines = [f"{stage}: {fact}" for stage, encoder in self.encoders.items() for fact in encoder.facts()]
        lines += give_vectors(self.encoders, self.codec, new_stages)
        return lines + (give_symbol_vectors(self.scorer, self.codec) if ORDER in new_stages else [])

    def stages(self, splits: Splits) -> Iterator[Stage]:
        recipe, codec = self.recipe, self.codec
        validation = EncodedExamples.of(codec, splits.validation)
        data = tag_data(codec, splits.train, recipe.tagger)
        yield from self._both_stages(TAG, ORDER, recipe, data, validation)
        if recipe.recombined and share_tagged_right(codec, self.tagger, validation) >= SOLVED:
            number = round(recipe.recombined * len(splits.train))
            more = recombined_examples(codec, self.tagger, self.scorer, data, number, recipe.seed)
            data = replace(tag_data(codec, [*splits.train, *more], recipe.tagger), recombined=len(more))
            self._use(codec.expecting([*splits.train, *more]))
            yield from self._both_stages(TAG_AGAIN, ORDER_AGAIN, recipe.training_again(), data, validation)

    def _both_stages(
        self, first: str, second: str, recipe: MultisetPermutationRecipe, data: TagData, validation: EncodedExamples
    ) -> Iterator[Stage]:
        """Tag, then order, under these names."""
        codec = self.codec
        yield TagStage(first, codec, self.tagger, data, validation, recipe.tagger, recipe.seed)
        training = recipe.scorer.training
        order_data, report = annotated(codec, self.tagger, data, training)
        tagged = [tagging.best for tagging in tag(codec, self.tagger, validation.sentences)]
        yield OrderStage(second, self.scorer, order_data, validation, tagged, training, recipe.seed, report)

    def parse_chunk(self, sources: Sequence[Sequence[str]], sentences: Sequence[str], n_best: int) -> list[Parse]:
        taggings = self.reranker.tag([self.codec.encode(of) for of in sources], n_best)
        self._require_few_tokens(taggings)
        parses: list[Parse] = []
        for text, tagging, best in zip(sentences, taggings, self.reranker.best(taggings), strict=True):
            others = self.reranker.n_best(tagging, n_best) if n_best > 1 else []
            parses.append(self._parse(text, best, self._alternatives(best, others, n_best)))
        return parses

    def candidate_parses(
        self, sources: Sequence[Sequence[str]], sentences: Sequence[str], n_best: int = 1
    ) -> list[list[Parse]]:
        """What the reranker chooses from: of every sentence its likeliest multisets, each in its best order, likeliest
        first; at least ``n_best`` of them, if there are so many."""
        n = max(self.reranker.candidates, n_best)
        taggings = self.reranker.tag([self.codec.encode(of) for of in sources], n)
        likely = [[(tagging.sentence, tagged) for tagged in tagging.n_best(n)] for tagging in taggings]
        ordered = iter(self.reranker.in_order(list(chain.from_iterable(likely))))
        return [[self._parse(text, next(ordered), ()) for _ in of] for text, of in zip(sentences, likely, strict=True)]

    def changed(self, **settings: object) -> Self:
        """The same networks with other settings of parsing."""
        recipe = self.recipe.model_copy(update=settings)
        return type(self)(recipe, self.codec, self.tagger, self.scorer, self.calibration)

    def _require_few_tokens(self, taggings: Sequence[Tagging]) -> None:
        for tagging in taggings:
            tokens = int(tagging.lattice.best.sum())
            if tokens > self.recipe.max_tokens:
                raise UserError(
                    f"expected an output of at most {self.recipe.max_tokens:,} tokens (setting max_tokens), "
                    f"got {tokens:,} for {len(tagging.sentence.words):,} words; split the text into sentences"
                )

    def prepare(self) -> None:
        compile_kernels()

    def explain(self, parse: Parse) -> Explanation | None:
        return Explainer(self.codec, self.tagger, self.scorer, self.reranker.decoder).explain(parse)

    def calibrate(self, examples: Sequence[Example]) -> None:
        """Fit the confidence on held-out examples, by the task's main metric, and on corrupted sentences."""
        is_right = next(iter(self.task.metrics.values()))
        found = self._best([example.source for example in examples])
        right = [
            is_right(self.codec.output(self._surface(candidate)), example.output)
            for candidate, example in zip(found, examples, strict=True)
        ]
        held_out = [self._evidence(candidate) for candidate in found]
        nonsense = self._best(confidence.corrupted([example.source for example in examples], self.recipe.seed))
        wrong = confidence.doubtful([self._evidence(candidate) for candidate in nonsense], held_out)
        fitted = confidence.fit([*held_out, *wrong], [*right, *[False] * len(wrong)])
        self.calibration = confidence.recentred(fitted, held_out, right)

    def _best(self, sources: Sequence[Sequence[str]]) -> list[Candidate]:
        return self.reranker.best(self.reranker.tag([self.codec.encode(source) for source in sources]))

    def compared(self, tokens: Sequence[str]) -> list[str]:
        return self.codec.canonical(tokens)

    def gold_tokens(self, example: Example) -> list[str]:
        return self.codec.target(example)

    @torch.no_grad()
    def error_kind(self, example: Example, parse: Parse) -> str:
        codec, gold = self.codec, self.codec.target(example)
        tokens = [token for multiset in parse.multisets for token in multiset]
        if not tokens or not same_multiset(tokens, gold):
            return "tagging"
        sentence = codec.encode(example.source)
        multiset = codec.multiset_of(parse.multisets, sentence)
        data = OrderData.of(codec, EncodedExamples([sentence], [gold]), [multiset])
        problem, allowed = data.problem(self.scorer, [0])
        problem = within_rules(problem, [(codec.tokens(multiset, sentence), multiset)], codec.ruled_out)
        best_gold = decode(problem.with_allowed(allowed))[0].score
        return "search" if best_gold > parse.score + 1e-6 else "model"

    def files(self) -> dict[str, bytes]:
        codec = self.codec.to_json().encode()
        return {
            CODEC_FILE: codec,
            CALIBRATION_FILE: json.dumps(asdict(self.calibration)).encode(),
            TAGGER_FILE: pack(self.tagger.state_dict(), belongs_to=codec),
            SCORER_FILE: pack(self.scorer.state_dict(), belongs_to=codec),
            **vector_files(self.encoders),
            **encoder_files(self.encoders),
        }

    @classmethod
    def from_files(cls, recipe: Recipe, task: Task, files: Mapping[str, bytes], where: str) -> Self:
        assert isinstance(recipe, MultisetPermutationRecipe)
        check_codec(files[CODEC_FILE], f"{where}: {CODEC_FILE}")
        codec = Codec.from_json(files[CODEC_FILE].decode(), task)
        calibration = Calibration(**read_calibration(files[CALIBRATION_FILE], f"{where}: {CALIBRATION_FILE}"))
        weights = [
            {modern_weight(name): t for name, t in unpack(files[file], f"{where}: {file}", files[CODEC_FILE]).items()}
            for file in (TAGGER_FILE, SCORER_FILE)
        ]
        require_weights_for(recipe, codec, weights, where)
        tagger, scorer = build_networks(recipe, codec, files, where)
        for network, found in zip((tagger, scorer), weights, strict=True):
            load_weights(network, found, where)
        restore_vectors({TAG: tagger.encoder, ORDER: scorer.encoder}, codec, files, where)
        return cls(recipe, codec, tagger, scorer, calibration)

    def _alternatives(self, best: Candidate, others: Sequence[Candidate], n: int) -> tuple[Alternative, ...]:
        """The n best distinct outputs, the chosen one first; none if no others are asked for."""
        if n == 1:
            return ()
        first = self._alternative(best)
        found: dict[str, Alternative] = {}
        for other in map(self._alternative, others):
            if other.output not in found or found[other.output].log_score < other.log_score:
                found[other.output] = other
        found.pop(first.output, None)
        return (first, *sorted(found.values(), key=lambda a: -a.log_score)[: n - 1])

    def _alternative(self, candidate: Candidate) -> Alternative:
        """Ranked by log P(multiset) and the log probability of the jumps, less the weighted surprise where candidates
        are compared."""
        tokens = self._surface(candidate)
        weight = self.recipe.surprise_weight if self.recipe.candidates > 1 else 0.0
        return Alternative(
            self.codec.output(tokens),
            tuple(tokens),
            candidate.score(weight) + candidate.ordered.log_prob,
            self.calibration.confidence(self._evidence(candidate)),
        )

    def _surface(self, candidate: Candidate) -> list[str]:
        """The output tokens as they are printed, in order."""
        where, tokens = candidate.tagged.multiset.source_index.tolist(), candidate.tagged.tokens
        order = candidate.ordered.order
        return self.codec.surface([tokens[i] for i in order], [where[i] for i in order], candidate.sentence)

    def _evidence(self, candidate: Candidate) -> Evidence:
        """What the confidence in an output depends on."""
        ids = candidate.sentence.ids.tolist()
        return Evidence(
            candidate.tagged.log_prob - candidate.cost,
            candidate.ordered.log_prob,
            candidate.ordered.weakest,
            candidate.surprise,
            ids.count(self.codec.words.id(UNKNOWN)) / max(1, len(ids)),
            float(not candidate.ordered.proven_optimal),
        )

    def _parse(self, text: str, candidate: Candidate, alternatives: tuple[Alternative, ...]) -> Parse:
        tagged, ordered = candidate.tagged, candidate.ordered
        where = tagged.multiset.source_index.tolist()
        tokens = self._surface(candidate)
        words = candidate.sentence.positions
        multisets: list[list[str]] = [[] for _ in words]
        for token, i in zip(tagged.tokens, where, strict=True):
            multisets[i].append(token)
        return Parse(
            sentence=text,
            output=self.codec.output(tokens),
            words=words,
            tokens=tuple(tokens),
            log_prob=tagged.log_prob,
            confidence=self.calibration.confidence(self._evidence(candidate)),
            multisets=tuple(tuple(m) for m in multisets),
            order=tuple(ordered.order),
            source_index=tuple(where[i] for i in ordered.order),
            score=ordered.score,
            proven_optimal=ordered.proven_optimal,
            order_log_prob=ordered.log_prob,
            weakest_jump=ordered.weakest,
            surprise=candidate.surprise,
            alternatives=alternatives,
        )
