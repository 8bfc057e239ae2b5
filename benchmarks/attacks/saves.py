"""Two processes that save one folder while two others load it: every load gets one parser, whole."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from attacks.verdict import FAULT, Section, exit_code, forked
from permparse import UserError
from permparse.base.storage import load_folder, pack, save_folder

FILES = 4


def attack_saves(count: int, scratch: Path) -> Section:
    """``count`` saves by each of two writers, of contents that differ in every file, and ``count`` loads by each of two
    readers."""
    section, folder = Section(), scratch / "shared"
    save_folder(folder, "parser", _content(0))
    work: dict[str, Callable[[], dict[str, int]]] = {
        "writer 1": lambda: _write(folder, count, 1),
        "writer 2": lambda: _write(folder, count, 2),
        "reader 1": lambda: _read(folder, count),
        "reader 2": lambda: _read(folder, count),
    }
    children = {}
    for name, of in work.items():
        children[name] = forked(lambda of=of, name=name: _report(scratch / name, of()))
    for name, child in children.items():
        code = exit_code(child)
        if code:
            section.add(name, f"{FAULT}ended", f"exit code {code}")
            continue
        for verdict, number in json.loads((scratch / name).read_text()).items():
            section.verdicts[verdict] += number
            if verdict.startswith(FAULT):
                section.failed[name] = verdict
    left = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
    section.add("scratch files", f"{FAULT}scratch files" if left else "no scratch files left", ", ".join(left))
    return section


def _content(number: int) -> dict[str, bytes]:
    """Files that all say which save they belong to."""
    import torch

    files = {f"part{i}.json": json.dumps([number, i, "x" * 2000]).encode() for i in range(FILES)}
    return {**files, "weights.safetensors": pack({"w": torch.full((500,), float(number))})}


def _write(folder: Path, count: int, writer: int) -> dict[str, int]:
    # fsync is what makes a save last; here only its order matters, and the disk is spared.
    os.fsync = lambda _: None
    for number in range(count):
        save_folder(folder, "parser", _content(2 * (number % 5) + writer))
    return {"saved": count}


def _read(folder: Path, count: int) -> dict[str, int]:
    found = {"loaded whole": 0, f"{FAULT}mixed": 0, f"{FAULT}refused": 0}
    for _ in range(count):
        try:
            files = load_folder(folder, "parser")
        except UserError:
            found[f"{FAULT}refused"] += 1
            continue
        numbers = {json.loads(content)[0] for name, content in files.items() if name.endswith(".json")}
        found["loaded whole" if len(numbers) == 1 and len(files) == FILES + 1 else f"{FAULT}mixed"] += 1
    return {verdict: number for verdict, number in found.items() if number}


def _report(path: Path, found: dict[str, int]) -> None:
    path.write_text(json.dumps(found))
