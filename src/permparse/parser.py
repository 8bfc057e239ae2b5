"""The parser a user touches: `Parser.load(path)`, `.parse(sentence)`, `.save(path)`.

>>> parser = Parser.load("runs/fragment")        # doctest: +SKIP
>>> parser.parse("a cat saw a dog").output       # doctest: +SKIP
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import overload

import torch

from permparse.data import clean_sentence
from permparse.errors import UserError
from permparse.nn import JumpScorer, MultisetTagger
from permparse.permutation.decoding import k_best
from permparse.training import calibration as calibrating
from permparse.training.calibration import Calibration
from permparse.training.choice import Chooser, Chosen
from permparse.training.codec import Codec, EncodedSource
from permparse.training.networks import build_networks
from permparse.training.ordering import Ordered, multiset_batch, order_decoder, with_sureness
from permparse.training.recipe import Decoder, Recipe
from permparse.training.storage import is_saved, load_folder, load_weights, pack, save_folder, unpack
from permparse.training.tagging import Tagged, tag_n_best

KIND = "parser"
FOLDER = "parser"
CHUNK = 2000


@dataclass(frozen=True)
class Alternative:
    """One of the n best outputs: ``log_score`` ranks them (log P(multiset) plus the log probability of the
    jumps, less the weighted surprise where the parser compares candidates)."""

    output: str
    tokens: tuple[str, ...]
    log_score: float
    confidence: float


@dataclass(frozen=True)
class Parse:
    """What the parser made of one sentence.

    ``multisets[i]`` are the tokens that word i contributes. ``order[j]`` is the number, in canonical order,
    of the token at output position j, and ``source_index[j]`` the word it came from. ``score`` is the path
    score of the order, ``confidence`` the calibrated probability that the output is right.
    """

    sentence: str
    output: str
    words: tuple[str, ...]
    multisets: tuple[tuple[str, ...], ...]
    tokens: tuple[str, ...]
    order: tuple[int, ...]
    source_index: tuple[int, ...]
    score: float
    proven_optimal: bool
    log_prob: float
    confidence: float
    alternatives: tuple[Alternative, ...] = field(default=())

    def to_json(self) -> str:
        """The parse as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


class Parser:
    """A trained parser: a tagger, a jump scorer, and the words and tokens they know."""

    def __init__(
        self,
        recipe: Recipe,
        codec: Codec,
        tagger: MultisetTagger,
        scorer: JumpScorer,
        calibration: Calibration | None = None,
    ) -> None:
        self.recipe, self.codec = recipe, codec
        self.tagger, self.scorer = tagger.eval(), scorer.eval()
        self.calibration = calibration or Calibration()
        self.chooser = Chooser(codec, tagger, scorer, order_decoder(recipe), recipe.candidates, recipe.surprise)

    @classmethod
    def load(
        cls,
        path: str | Path,
        decoder: Decoder | None = None,
        candidates: int | None = None,
        surprise: float | None = None,
    ) -> Parser:
        """Load a parser from the folder of a run or of a saved parser; a damaged or foreign one is refused
        in words. ``decoder``, ``candidates`` and ``surprise`` take the place of the recipe's."""
        folder = Path(path)
        if not is_saved(folder) and is_saved(folder / FOLDER):
            folder = folder / FOLDER
        elif (folder / "recipe.toml").is_file():
            raise UserError(f"{folder}: this training has not finished; permparse train --resume --output {folder}")
        files = load_folder(folder, KIND)
        try:
            wanted = {"decoder": decoder, "candidates": candidates, "surprise": surprise}
            changes = [f"{key}={value}" for key, value in wanted.items() if value is not None]
            recipe = Recipe.from_toml(files["recipe.toml"].decode(), f"{folder}: recipe", changes)
            codec = Codec.from_json(files["codec.json"].decode(), recipe.data)
            calibration = Calibration(**json.loads(files["calibration.json"]))
        except KeyError as error:
            raise UserError(f"{folder}: {error.args[0]} is missing from this parser") from error
        tagger, scorer = build_networks(recipe, codec)
        load_weights(tagger, unpack(files["tagger.safetensors"]), str(folder))
        load_weights(scorer, unpack(files["scorer.safetensors"]), str(folder))
        return cls(recipe, codec, tagger, scorer, calibration)

    def save(self, path: str | Path) -> None:
        """Save the parser as a folder of TOML, JSON and safetensors, replacing an earlier one all at once."""
        files = {
            "recipe.toml": self.recipe.to_toml().encode(),
            "codec.json": self.codec.to_json().encode(),
            "calibration.json": json.dumps(asdict(self.calibration)).encode(),
            "tagger.safetensors": pack(self.tagger.state_dict()),
            "scorer.safetensors": pack(self.scorer.state_dict()),
        }
        save_folder(Path(path), KIND, files)

    @overload
    def parse(self, sentence: str, n_best: int = 1) -> Parse: ...
    @overload
    def parse(self, sentence: list[str], n_best: int = 1) -> list[Parse]: ...
    def parse(self, sentence: str | list[str], n_best: int = 1) -> Parse | list[Parse]:
        """Parse one sentence, or a list of them in batches; ``n_best`` > 1 adds alternatives."""
        sentences = [sentence] if isinstance(sentence, str) else sentence
        cleaned = [clean_sentence(text) for text in sentences]
        sources = [self.codec.task.tokenize(text) for text in cleaned]
        parses = self.parse_words(sources, sentences=cleaned, n_best=n_best)
        return parses[0] if isinstance(sentence, str) else parses

    def parse_words(
        self,
        sources: Sequence[Sequence[str]],
        sentences: Sequence[str] | None = None,
        n_best: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> list[Parse]:
        """Parse sentences that are already split into words; ``progress`` is told how many are done."""
        parses: list[Parse] = []
        for first in range(0, len(sources), CHUNK):
            chunk = [self.codec.encode(words) for words in sources[first : first + CHUNK]]
            texts = (sentences or [" ".join(words) for words in sources])[first : first + CHUNK]
            for text, source, chosen in zip(texts, chunk, self.chooser.choose(chunk), strict=True):
                alternatives = self.n_best(source, chosen, n_best) if n_best > 1 else ()
                parses.append(self._parse(text, source, chosen, alternatives))
            if progress:
                progress(len(parses))
        return parses

    @torch.no_grad()
    def n_best(self, source: EncodedSource, chosen: Chosen, n: int) -> tuple[Alternative, ...]:
        """The n best distinct outputs, the chosen one first: likeliest multisets, and the best orders of each."""
        first = self._alternative(source, chosen)
        found: dict[str, Alternative] = {}
        for tagged in tag_n_best(self.codec, self.tagger, [source], n)[0]:
            for ordered in self._orders(source, tagged, n):
                surprise = self.chooser.surprise(source, tagged, ordered)
                other = self._alternative(source, Chosen(tagged, ordered, surprise))
                if other.output not in found or found[other.output].log_score < other.log_score:
                    found[other.output] = other
        found.pop(first.output, None)
        return (first, *sorted(found.values(), key=lambda a: -a.log_score)[: n - 1])

    def calibrate(self, sources: Sequence[Sequence[str]], right: Callable[[int, Parse], bool]) -> None:
        """Fit the confidence on held-out sentences; ``right(i, parse)`` says whether the i-th output is
        right."""
        encoded = [self.codec.encode(words) for words in sources]
        chosen = self.chooser.choose(encoded)
        parses = [self._parse("", source, c, ()) for source, c in zip(encoded, chosen, strict=True)]
        self.calibration = calibrating.fit([_signs(c) for c in chosen], [right(i, p) for i, p in enumerate(parses)])

    def _alternative(self, source: EncodedSource, chosen: Chosen) -> Alternative:
        tokens = self._surface(source, chosen)
        weight = self.recipe.surprise if self.recipe.candidates > 1 else 0.0
        return Alternative(
            self.codec.task.restore(tokens),
            tuple(tokens),
            chosen.score(weight) + chosen.ordered.path,
            self.calibration.confidence(*_signs(chosen)),
        )

    def _orders(self, source: EncodedSource, tagged: Tagged, n: int) -> list[Ordered]:
        """The order that the decoder gives, and the best ones beside it."""
        if not len(tagged.multiset):
            return [Ordered([], 0.0, True, 0.0, 0.0)]
        problem = self.scorer(multiset_batch([source], [tagged.multiset], [0]))
        orders = k_best(problem, n)[0]
        if self.recipe.decoder != "search":
            first = self.chooser.decoder(problem)[0]
            orders = [first, *(d for d in orders if list(d.order) != list(first.order))][:n]
        return [with_sureness(problem, 0, d) for d in orders]

    def _surface(self, source: EncodedSource, chosen: Chosen) -> list[str]:
        where, tokens = chosen.tagged.multiset.source_index.tolist(), chosen.tagged.tokens
        order = chosen.ordered.order
        return self.codec.surface([tokens[i] for i in order], [where[i] for i in order], source)

    def _parse(self, text: str, source: EncodedSource, chosen: Chosen, alternatives: tuple[Alternative, ...]) -> Parse:
        tagged, ordered = chosen.tagged, chosen.ordered
        where = tagged.multiset.source_index.tolist()
        tokens = self._surface(source, chosen)
        words = source.words + (("<end>",) if len(source) > len(source.words) else ())
        multisets: list[list[str]] = [[] for _ in words]
        for token, i in zip(tagged.tokens, where, strict=True):
            multisets[i].append(token)
        return Parse(
            sentence=text,
            output=self.codec.task.restore(tokens),
            words=words,
            multisets=tuple(tuple(m) for m in multisets),
            tokens=tuple(tokens),
            order=tuple(ordered.order),
            source_index=tuple(where[i] for i in ordered.order),
            score=ordered.score,
            proven_optimal=ordered.proven_optimal,
            log_prob=tagged.log_prob,
            confidence=self.calibration.confidence(*_signs(chosen)),
            alternatives=alternatives,
        )


def _signs(chosen: Chosen) -> tuple[float, float, float, float]:
    """What the confidence in an output depends on."""
    return chosen.tagged.log_prob, chosen.ordered.path, chosen.ordered.weakest, chosen.surprise
