"""Settings of parsers that train within seconds, for attacks that need one."""

NETWORKS = [
    "tagger.encoder.layers=1",
    "tagger.encoder.hidden_size=16",
    "tagger.encoder.embedding_size=16",
    "tagger.ff_size=16",
    "scorer.encoder.layers=1",
    "scorer.encoder.hidden_size=16",
    "scorer.encoder.embedding_size=16",
    "scorer.ff_size=16",
    "scorer.jump_size=16",
]
SMALL = [
    *NETWORKS,
    "data.train_examples=160",
    "tagger.training.epochs=6",
    "tagger.training.batch=8",
    "tagger.training.lr=1e-2",
    "scorer.training.epochs=3",
    "scorer.training.batch=8",
]
"""A parser of the doubling task, good enough not to predict hundreds of tokens."""


def as_options(settings: list[str]) -> list[str]:
    """Settings as they are written on the command line."""
    return [part for setting in settings for part in ("--set", setting)]
