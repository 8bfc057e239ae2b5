"""The notebook of the docs is the executed form of its script, and its code still runs."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
CELLS = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]


def _source(cell: dict) -> str:
    return "".join(cell["source"])


def test_the_notebook_is_that_of_the_script_and_was_executed_without_a_fault() -> None:
    spec = importlib.util.spec_from_file_location("make_notebook", DOCS / "make_notebook.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert [_source(cell) for cell in CELLS] == script.CELLS
    for cell in CELLS:
        if cell["cell_type"] == "code":
            assert cell["execution_count"]
            assert cell["outputs"]
            assert not any(output["output_type"] == "error" for output in cell["outputs"])


def test_the_code_of_the_notebook_still_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for cell in CELLS:
        if cell["cell_type"] == "code":
            exec(_source(cell), names)
    assert "glorp" in capsys.readouterr().out
