"""The parser in the box, for all tests of the service."""

import pytest

from permparse import Parser
from permparse.service import batcher as batcher_module


@pytest.fixture
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warming up for every test would take longer than the tests."""
    monkeypatch.setattr(batcher_module, "warm_up", lambda _: None)


@pytest.fixture(scope="module")
def box() -> Parser:
    return Parser.load("fragment")
