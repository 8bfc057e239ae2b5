"""The learning rate as a pure function of the step, so that a resumed run needs no schedule state."""

import math

from permparse.training.recipe import Optimisation


def learning_rate(settings: Optimisation, step: int, steps: int) -> float:
    """The rate of step 0..steps-1: a linear warm-up, then a fall to ``lr * final_lr`` along the chosen
    curve."""
    warmup = math.ceil(settings.warmup * steps)
    if step < warmup:
        return settings.lr * (step + 1) / (warmup + 1)
    if settings.schedule == "constant":
        return settings.lr
    progress = (step - warmup) / max(1, steps - warmup)
    remaining = 1 - progress if settings.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * progress))
    return settings.lr * (settings.final_lr + (1 - settings.final_lr) * remaining)
