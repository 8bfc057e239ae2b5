"""Kernels compile wherever the package lies, keep nothing in a folder of somebody else, and say when it takes long."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import permparse
from permparse.permutation import _kernels as kernels

SCRIPT = """
import sys, tempfile
from permparse.permutation.decoding.assignment import best_assignment
import numpy as np
from numba import config
assert best_assignment(np.array([[2.0, 1.0], [1.0, 3.0]])).tolist() == [1, 0]
print(config.CACHE_DIR)
"""


@pytest.mark.skipif(os.name == "nt", reason="permissions of folders")
def test_a_read_only_package_without_a_home_compiles(tmp_path):
    """numba's own answer is RuntimeError: cannot cache function."""
    package, scratch = tmp_path / "site" / "permparse", tmp_path / "scratch"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(permparse.__file__).parent, package, ignore=ignored)
    scratch.mkdir()
    for folder in [*package.rglob("*"), package]:  # a file in the place of every cache folder: nobody can write there
        if folder.is_dir():
            (folder / "__pycache__").write_text("")
    home = tmp_path / "home"
    home.write_text("no folder")
    environment = {
        "PYTHONPATH": str(package.parent),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "TMPDIR": str(scratch),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": os.environ["PATH"],
    }
    found = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    kept = Path(found.stdout.strip())
    assert kept.parent == scratch
    assert kept.stat().st_mode & 0o077 == 0
    assert list(kept.rglob("*.nbc"))


@pytest.mark.skipif(os.name == "nt", reason="permissions of folders")
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = kernels.private_folder()
    assert folder is not None
    folder.chmod(0o777)
    assert kernels.private_folder() is None
    folder.rmdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert kernels.private_folder() is None


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("silence", "lines"), [(0.0, 1), (60.0, 0)])
def test_compiling_is_announced_once_if_it_takes_long(monkeypatch, silence, lines):
    monkeypatch.setattr(kernels, "SILENCE", silence)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    announcer = kernels.Announcer()
    for _ in range(2):
        announcer.on_start(None)
        until = time.monotonic() + 10
        while lines and not announcer.said and time.monotonic() < until:
            time.sleep(0.01)
        announcer.on_end(None)
    assert terminal.getvalue().count("\n") == lines
