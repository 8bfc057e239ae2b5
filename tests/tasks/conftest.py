"""The paper's data, for tests marked `data`."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def paper_data() -> Path:
    folder = os.environ.get("PERMPARSE_DATA")
    if not folder:
        pytest.skip("set PERMPARSE_DATA to the folder of the paper's data")
    return Path(folder)
