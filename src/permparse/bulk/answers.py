"""What is written for a sentence: its output, its n best, or all that is known of it as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from permparse.base.errors import UserError
from permparse.bulk.lines import Line
from permparse.parsers import Parse, Parser


@dataclass(frozen=True)
class Format:
    """How a parse is written."""

    json: bool = False
    n_best: int = 1

    def text(self, answer: Parse | UserError) -> str:
        """The answer to a line, which has as many lines as there are alternatives if several are asked for."""
        if isinstance(answer, UserError):
            return (json.dumps({"error": str(answer)}) if self.json else "") + "\n"
        if self.json:
            return answer.to_json() + "\n"
        if self.n_best > 1:
            return "".join(f"{other.confidence:.3f}\t{other.output}\n" for other in answer.alternatives)
        return answer.output + "\n"


def answers(parser: Parser, batch: Sequence[Line], n_best: int) -> Iterator[Parse | UserError]:
    """An answer for every line of a batch."""
    parses = iter(parser.parse_each([line for line in batch if isinstance(line, str)], n_best))
    return (line if isinstance(line, UserError) else next(parses) for line in batch)
