"""The learning rate as a pure function of the step, so that a resumed run needs no schedule state."""

import math
from typing import Literal

WARMUP = 0.03
"""Share of the steps in which the learning rate rises from 0."""
FINAL_SHARE = 0.01
"""Learning rate at the end, as a share of the highest. A low one matters: validation accuracy does not show it, but
accuracy on longer inputs does."""


def rate_share(schedule: Literal["cosine", "linear", "constant"], step: int, steps: int) -> float:
    """The rate of step 0..steps-1 as a share of the highest: a linear warm-up, then a fall along the chosen curve."""
    warmup = math.ceil(WARMUP * steps)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    if schedule == "constant":
        return 1.0
    progress = (step - warmup) / max(1, steps - warmup)
    remaining = 1 - progress if schedule == "linear" else 0.5 * (1 + math.cos(math.pi * progress))
    return FINAL_SHARE + (1 - FINAL_SHARE) * remaining
