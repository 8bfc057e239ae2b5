"""The ensemble: trained parsers of one task that agree on outputs; a parser like any other, but not trained itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar, Never, Self

from torch import nn

from permparse.base.errors import UserError
from permparse.base.settings import as_toml
from permparse.parsers.base import RECIPE_FILE, Parser, Splits
from permparse.parsers.ensemble.recipe import EnsembleRecipe
from permparse.parsers.ensemble.vote import Member, Proposal, Proposers, chosen, judged, pooled
from permparse.parsers.explanation import Explanation
from permparse.parsers.multiset_permutation.parser import MultisetPermutationParser
from permparse.parsers.parse import Alternative, Parse
from permparse.parsers.recipe import Data, Recipe, read_recipe
from permparse.parsers.registry import DEFAULT_PARSER, parser_class
from permparse.parsers.stage import Stage
from permparse.tasks import Task
from permparse.text import Example

UNTRAINED = "an ensemble is not trained: train its members, then permparse ensemble RUN RUN --output FOLDER"


@dataclass(frozen=True)
class JointParse(Parse):
    """A parse of an ensemble: that of ``member``, by number from 0, the first one that proposed the output.

    ``confidence`` is the mean of the confidences that all members have in the output, 0 for one that does not propose
    it: the mean of those that do, times their share. It is not calibrated again.
    """

    member: int = 0


class EnsembleParser(Parser):
    """If the best outputs of all members agree, that is the output. If not, every member proposes its likeliest
    multisets in order, and the output is the one with the highest Σ log P(multiset | x) over the members, less the
    weighted surprise, each in its own notation."""

    recipe_class = EnsembleRecipe
    recipe: EnsembleRecipe
    error_kinds: ClassVar[tuple[str, ...]] = MultisetPermutationParser.error_kinds

    def __init__(self, recipe: EnsembleRecipe, members: Sequence[Member]) -> None:
        super().__init__(recipe, members[0].task)
        settings = {"candidates": recipe.candidates, "surprise_weight": recipe.surprise_weight}
        self.members = [member.changed(**settings) for member in members]

    @classmethod
    def of(cls, parsers: Mapping[str, Parser]) -> Self:
        """The ensemble of trained parsers, by the name of each in a message; UserError if they do not go together."""
        members: list[Member] = []
        for name, parser in parsers.items():
            if not isinstance(parser, MultisetPermutationParser):
                raise UserError(f"{name}: expected a {DEFAULT_PARSER} parser, got {parser.recipe.parser!r}")
            members.append(parser)
            if (found := _task(parser)) != (wanted := _task(members[0])):
                first = next(iter(parsers))
                raise UserError(f"{name}: expected a parser of the task {wanted}, as {first} is, got {found}")
        recipes = [member.recipe for member in members]
        data = recipes[0].data
        recipe = EnsembleRecipe(
            task=recipes[0].task,
            seed=recipes[0].seed,
            device=recipes[0].device,
            max_words=min(recipe.max_words for recipe in recipes),
            max_n_best=min(recipe.max_n_best for recipe in recipes),
            data=Data(folder=data.folder, options=data.options),
            candidates=max(recipe.candidates for recipe in recipes),
            surprise_weight=fmean(recipe.surprise_weight for recipe in recipes),
        )
        return cls(recipe, members)

    @classmethod
    def build(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Never:
        raise UserError(UNTRAINED)

    def stages(self, splits: Splits) -> Iterator[Stage]:
        raise UserError(UNTRAINED)

    @property
    def networks(self) -> dict[str, nn.Module]:
        return {
            f"{stage} of member {number}": network
            for number, member in enumerate(self.members, 1)
            for stage, network in member.networks.items()
        }

    def facts(self) -> list[str]:
        return [f"{len(self.members)} members", *super().facts()]

    def parse_chunk(self, sources: Sequence[Sequence[str]], sentences: Sequence[str], n_best: int) -> list[Parse]:
        """Only where the members disagree, or several outputs are asked for, do they propose more than their best."""
        best = [member.parse_words(sources, sentences) for member in self.members]
        answers = [pooled([parse] for parse in of) for of in zip(*best, strict=True)]
        asked = [i for i, pool in enumerate(answers) if len(pool) > 1 or n_best > 1]
        proposals = self._proposals([[of[i] for of in best] for i in asked], [sources[i] for i in asked], n_best)
        proposed = dict(zip(asked, proposals, strict=True))
        weight = self.recipe.surprise_weight
        parses: list[Parse] = []
        for i, pool in enumerate(answers):
            output = next(iter(pool)) if len(pool) == 1 else chosen(proposed[i], weight).output
            ranked = sorted(proposed.get(i, ()), key=lambda of: (of.output != output, -of.score(weight)))
            proposers = ranked[0].proposers if ranked else pool[output]
            alternatives = [self._alternative(of) for of in ranked[:n_best]] if n_best > 1 else []
            parses.append(self._joint(proposers, alternatives))
        return parses

    def _proposals(
        self, best: Sequence[Sequence[Parse]], sources: Sequence[Sequence[str]], n_best: int
    ) -> list[list[Proposal]]:
        """The outputs that members propose for every sentence, with their best parses of it, judged by all."""
        sentences = [parses[0].sentence for parses in best]
        candidates = [member.candidate_parses(sources, sentences, n_best) for member in self.members]
        pools = [
            pooled([first, *others[i]] for first, others in zip(parses, candidates, strict=True))
            for i, parses in enumerate(best)
        ]
        return judged(self.members, sources, pools)

    def _joint(self, proposers: Proposers, alternatives: Sequence[Alternative]) -> JointParse:
        number, parse = next(iter(proposers.items()))
        joint = {"confidence": self._confidence(proposers), "alternatives": tuple(alternatives), "member": number}
        return JointParse(**(vars(parse) | joint))

    def _alternative(self, proposal: Proposal) -> Alternative:
        tokens = next(iter(proposal.proposers.values())).tokens
        return Alternative(
            proposal.output, tokens, proposal.score(self.recipe.surprise_weight), self._confidence(proposal.proposers)
        )

    def _confidence(self, proposers: Proposers) -> float:
        """See `JointParse`."""
        return sum(parse.confidence for parse in proposers.values()) / len(self.members)

    def prepare(self) -> None:
        for member in self.members:
            member.prepare()

    def explain(self, parse: Parse) -> Explanation | None:
        return self._member(parse).explain(parse)

    def error_kind(self, example: Example, parse: Parse) -> str:
        return self._member(parse).error_kind(example, parse)

    def gold_and_found(self, example: Example, parse: Parse) -> tuple[list[str], list[str]]:
        return self._member(parse).gold_and_found(example, parse)

    def _member(self, parse: Parse) -> Member:
        """The member whose parse it is."""
        assert isinstance(parse, JointParse), "expected a parse of this ensemble"
        return self.members[parse.member]

    def files(self) -> dict[str, bytes]:
        """The files of all members; their recipes do not say where the data lay."""
        return {
            f"{_prefix(number)}{name}": content
            for number, member in enumerate(self.members, 1)
            for name, content in {
                RECIPE_FILE: member.recipe.for_results().to_toml().encode(),
                **member.files(),
            }.items()
        }

    @classmethod
    def from_files(cls, recipe: Recipe, task: Task, files: Mapping[str, bytes], where: str) -> Self:
        assert isinstance(recipe, EnsembleRecipe)
        count = len({found[0] for name in files if (found := re.match(r"member\d+_", name))})
        members = [_restored(number, recipe, task, files, where) for number in range(1, max(1, count) + 1)]
        return cls(recipe, members)


def _prefix(number: int) -> str:
    """How the names of the files of a member begin."""
    return f"member{number}_"


def _restored(number: int, recipe: EnsembleRecipe, task: Task, files: Mapping[str, bytes], where: str) -> Member:
    """A member from the files of the ensemble, on the device of the ensemble."""
    prefix, where = _prefix(number), f"{where}: member {number}"
    text = files[f"{prefix}{RECIPE_FILE}"].decode()
    of_member = read_recipe(text, where, [f"device={as_toml(recipe.device)}"], trained=True)
    kind = parser_class(of_member.parser)
    if not issubclass(kind, MultisetPermutationParser):
        raise UserError(f"{where}: expected a {DEFAULT_PARSER} parser, found {of_member.parser!r}")
    own = {name.removeprefix(prefix): content for name, content in files.items() if name.startswith(prefix)}
    return kind.from_files(of_member, task, own, where)


def _task(member: Member) -> str:
    """The task of a member and its options, but for those that name the file of a split."""
    options = {key: value for key, value in member.recipe.data.options.items() if key not in member.task.splits}
    return " ".join([member.recipe.task, *(f"{key}={as_toml(value)}" for key, value in sorted(options.items()))])
