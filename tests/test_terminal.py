"""Streams that fail: Ctrl-C at the prompt, input that cannot be read, output that nobody takes."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from permparse.base.errors import UserError, printable
from permparse.cli import run

PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from permparse.cli import main; main()"
)
COMMAND = [sys.executable, "-c", PROGRAM]


def _shell(script: str) -> subprocess.CompletedProcess[str]:
    """A command of bash in which `permparse` is ours."""
    program = f'permparse() {{ {sys.executable} -m permparse "$@"; }}; set -o pipefail; {script}'
    return subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL
    )


def test_ctrl_c_at_the_prompt_exits_with_130(tiny_run: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*COMMAND, "parse", str(tiny_run)], stdin=theirs, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "one sentence per line" in process.stderr.readline()
    time.sleep(0.2)  # so that it waits for a line
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=600)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 130
    assert "Traceback" not in rest
    assert "Fatal" not in rest


def test_ctrl_c_while_modules_are_loaded_exits_with_130() -> None:
    """As if it came while the command line loads NumPy or Typer, which takes half a second."""
    program = """
import runpy, sys

class Interrupting:
    def find_spec(self, name, *rest):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
runpy.run_module("permparse", run_name="__main__")
"""
    found = subprocess.run([sys.executable, "-c", program, "tasks"], capture_output=True, text=True, timeout=600)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")


@pytest.mark.parametrize("redirection", ["<&-", "0> /dev/null"])
def test_input_that_cannot_be_read_is_a_mistake(tiny_run: Path, redirection: str) -> None:
    found = _shell(f"permparse parse '{tiny_run}' {redirection}")
    assert found.returncode == 2
    assert found.stderr.startswith("error: stdin: cannot be read")
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["tasks", "--help", "tasks --json"])
def test_a_full_output_is_one_line_and_exit_code_2(command: str) -> None:
    found = _shell(f"permparse {command} > /dev/full")
    assert found.returncode == 2
    assert found.stderr.startswith("error: the output cannot be written (No space left on device)")
    assert found.stderr.count("\n") == 1


def test_parses_that_cannot_be_written_are_no_fault_of_ours(tiny_run: Path) -> None:
    found = _shell(f"permparse parse '{tiny_run}' 'a b' > /dev/full")
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("permparse tasks | true", 0),
        ("permparse tasks >&-", 0),
        ("permparse tasks 2>&-", 0),
        ("permparse trian 2> /dev/full", 2),
        ("permparse trian 2>&-", 2),
    ],
)
def test_who_does_not_listen_gets_the_exit_code_all_the_same(script: str, code: int) -> None:
    found = _shell(script)
    assert found.returncode == code
    assert "Traceback" not in found.stderr
    assert "Exception ignored" not in found.stderr


def test_a_message_shows_control_characters_and_does_not_send_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert printable("a\x1b[2Jb\u202e\ud800 ä") == "a\\x1b[2Jb\\u202e\\ud800 ä"
    assert str(UserError("\x07")) == "\\x07"
    assert run(["parse", "no\x1b[31mwhere", "a"]) == 2
    assert "no\\x1b[31mwhere: no such folder" in capsys.readouterr().err
