"""Hugging Face repositories, against an endpoint on this machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parsers.hub_endpoint import hub_endpoint
from permparse import Parser

pytest.importorskip("huggingface_hub", reason="needs the extra hub")
PROGRAM = """
from permparse import Parser, UserError
parser = Parser.load("fragment")
print(parser.push_to_hub("someone/parser", token="hf_x"))
print(Parser.from_pretrained("someone/parser").parse("the nurse slept .").output)
print(Parser.load("hf://someone/parser@main").task.name)
try:
    Parser.load("hf://someone/missing")
except UserError as error:
    print(error)
"""


def test_a_parser_is_uploaded_and_loaded_again(tmp_path: Path) -> None:
    with hub_endpoint() as (address, files):
        environment = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1"}
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    commit, output, task, mistake = done.stdout.splitlines()
    assert commit.startswith("http")
    assert output == Parser.load("fragment").parse("the nurse slept .").output
    assert task == "fragment"
    assert mistake.startswith("hf://someone/missing: cannot be downloaded")
    assert "README.md" in files
    assert b"library_name: permparse" in files["README.md"]
