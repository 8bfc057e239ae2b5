"""What several test folders share: checked tensor shapes, and a small parser, trained once."""

from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# Every call below these modules checks the shapes in its annotations. Modules with numba kernels are left out: the
# hook would wrap functions under @njit.
install_import_hook(
    [
        "permparse.permutation.decoding.dispatch",
        "permparse.permutation.decoding.hungarian",
        "permparse.permutation.layer",
        "permparse.permutation.loss",
        "permparse.permutation.problem",
        "permparse.permutation.solution",
        "permparse.permutation.solver",
    ],
    "beartype.beartype",
)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run on the doubling task, too short to be good."""
    from permparse.training.recipe import load_recipe
    from permparse.training.run import train

    folder = tmp_path_factory.mktemp("runs") / "tiny"
    train(load_recipe("doubling", TINY), folder, quiet=True)
    return folder


TINY = [
    "data.train_examples=160",
    "stage1.epochs=10",
    "stage1.batch=8",
    "stage1.lr=1e-2",
    "stage2.epochs=1",
    "stage1.evaluate_examples=10",
    "stage2.evaluate_examples=10",
    "tagger.encoder.hidden_size=32",
    "tagger.encoder.embedding_size=32",
    "scorer.encoder.hidden_size=16",
    "scorer.encoder.embedding_size=16",
    "tagger.ff_size=16",
    "scorer.ff_size=16",
]
