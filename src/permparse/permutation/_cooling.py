"""The cooling schedule that both backends follow: low temperatures are reached through higher ones."""

WARM_SPREAD = 60.0
"""The first temperature brings scores over it into this range."""
COOLING = 4.0
"""The factor from one temperature to the next."""
WARM_TOLERANCE = 1e-2
WARM_SWEEPS = 200
"""How exactly, and for how long at most, an intermediate temperature is solved."""
