"""What a parser makes of one sentence: the output, and how it came about."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Alternative:
    """One of the n best outputs; ``log_score`` is what they are ranked by."""

    output: str
    tokens: tuple[str, ...]
    log_score: float
    confidence: float


@dataclass(frozen=True)
class Parse:
    """What a parser made of one sentence.

    ``tokens`` are the output tokens in order, ``log_prob`` the log probability of the tokens (for multiset tagging: of
    the multiset), ``confidence`` the calibrated probability that the output is right.

    Multiset tagging adds how it got there. ``multisets[i]`` are the tokens that word i contributes, as the model knows
    them; ``order[j]`` is the number, in canonical order, of the token at output position j, ``source_index[j]`` the
    word it came from. ``score`` is the path score of the order, ``order_log_prob`` the log probability of its jumps,
    each among its alternatives, ``weakest_jump`` the least of them, and ``surprise`` tells how badly the output reads.
    """

    sentence: str
    output: str
    words: tuple[str, ...]
    tokens: tuple[str, ...]
    log_prob: float
    confidence: float
    multisets: tuple[tuple[str, ...], ...] = ()
    order: tuple[int, ...] = ()
    source_index: tuple[int, ...] = ()
    score: float = 0.0
    proven_optimal: bool = False
    order_log_prob: float = 0.0
    weakest_jump: float = 0.0
    surprise: float = 0.0
    alternatives: tuple[Alternative, ...] = field(default=())

    def to_json(self) -> str:
        """The parse as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def to_svg(self) -> str:
        """The parse as a picture: words, chips and jumps; for papers and slides."""
        return self._picture(adaptive=False)

    def _repr_html_(self) -> str:
        """The same picture with the output below it; for notebooks."""
        from permparse.drawing import parse_html

        facts = [f"confidence {self.confidence:.1%}"]
        if self.order:
            facts.append("order proven to be the best" if self.proven_optimal else "order not proven to be the best")
        others = [(other.confidence, other.output) for other in self.alternatives[1:]]
        return parse_html(self._picture(adaptive=True), self.output, facts, others)

    def _picture(self, adaptive: bool) -> str:
        from permparse.drawing import jump_picture

        # A parser that does not tag words has nothing to draw but the words.
        multisets = self.multisets or ((),) * len(self.words)
        title = f"{self.sentence} ↦ {self.output}"
        return jump_picture(self.words, multisets, self.order).svg(title, adaptive)
