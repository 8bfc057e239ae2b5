"""What all tests share: shapes checked while they run, and a small parser, trained once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

SHAPED = [
    "permparse.multiset.n_best",
    "permparse.multiset.recursion",
    "permparse.nn.batches",
    "permparse.nn.decoders.lstm",
    "permparse.nn.decoders.network",
    "permparse.nn.decoders.readout",
    "permparse.nn.decoders.transformer",
    "permparse.nn.encoders.base",
    "permparse.nn.encoders.bilstm",
    "permparse.nn.encoders.geometric",
    "permparse.nn.encoders.relative",
    "permparse.nn.encoders.words",
    "permparse.nn.geometric",
    "permparse.nn.jump_scorer",
    "permparse.nn.relative",
    "permparse.nn.tagger",
    "permparse.parsers.multiset_permutation.stages",
    "permparse.parsers.seq2seq.beam",
    "permparse.permutation.decoding.dispatch",
    "permparse.permutation.decoding.hungarian",
    "permparse.permutation.layer",
    "permparse.permutation.loss",
    "permparse.permutation.problem",
    "permparse.permutation.solution",
    "permparse.permutation.solver",
]
"""Modules whose tensor shapes are checked in every test; those with numba kernels cannot be among them."""
install_import_hook(SHAPED, "beartype.beartype")
settings.register_profile("permparse", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("permparse")  # the same verdict twice, on a busy machine too


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test finds, or leaves, anything in the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERMPARSE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run on the doubling task, too short to be good."""
    from permparse import load_recipe, train

    folder = tmp_path_factory.mktemp("runs") / "tiny"
    train(load_recipe("doubling", TINY), folder, quiet=True)
    return folder


TINY = [
    "data.train_examples=160",
    "tagger.encoder.hidden_size=32",
    "tagger.encoder.embedding_size=32",
    "tagger.ff_size=16",
    "tagger.training.epochs=10",
    "tagger.training.batch=8",
    "tagger.training.lr=1e-2",
    "scorer.encoder.hidden_size=16",
    "scorer.encoder.embedding_size=16",
    "scorer.ff_size=16",
    "scorer.training.epochs=1",
]
