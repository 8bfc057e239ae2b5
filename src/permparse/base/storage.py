"""Folders of files that are replaced all at once: the one way runs and parsers reach the disk.

`manifest.json` names every file with its checksum and is itself replaced atomically, so a crash or a full
disk at any moment leaves the previous content whole.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import torch
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor

from permparse.base.errors import UserError

FORMAT = "permparse"
VERSION = 1
MANIFEST = "manifest.json"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part (temporary file, fsync,
    rename)."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        _remove(temporary)
        raise UserError(_write_failure(path, error)) from error


def save_folder(folder: Path, kind: str, files: Mapping[str, bytes]) -> None:
    """Replace the content of ``folder`` by ``files``; files left from earlier saves are removed once the
    new ones stand."""
    entries = {}
    for name, content in files.items():
        digest = hashlib.sha256(content).hexdigest()
        stem, dot, suffix = name.partition(".")
        stored = f"{stem}-{digest[:8]}{dot}{suffix}"
        entries[name] = {"file": stored, "bytes": len(content), "sha256": digest}
        if not _same(folder / stored, content):
            write_atomically(folder / stored, content)
    manifest = {"format": FORMAT, "version": VERSION, "kind": kind, "files": entries}
    write_atomically(folder / MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())
    current = {MANIFEST, *(entry["file"] for entry in entries.values())}
    for path in folder.iterdir():
        if path.name not in current and (path.name.endswith(".part") or _is_stored(path.name)):
            _remove(path)


def load_folder(folder: Path, kind: str) -> dict[str, bytes]:
    """The files of a saved folder, or a UserError that says in words what is wrong with it."""
    path = folder / MANIFEST
    remedy = "train it again, or copy it again from where it was whole"
    if not folder.exists():
        raise UserError(f"{folder}: no such folder; expected a {kind} saved by permparse")
    if not path.is_file():
        raise UserError(
            f"{folder}: expected a {kind} saved by permparse, found no {MANIFEST} (is this the right folder?)"
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        is_ours = manifest["format"] == FORMAT
        version = int(manifest["version"])
        found_kind = str(manifest["kind"])
        entries = {
            str(name): (Path(str(entry["file"])).name, str(entry["sha256"]))
            for name, entry in manifest["files"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise UserError(f"{path}: not a manifest of permparse or damaged; {remedy}") from error
    if not is_ours:
        raise UserError(f"{path}: expected format {FORMAT!r}, got {manifest['format']!r}")
    if version != VERSION:
        age = "an older" if version < VERSION else "a newer"
        raise UserError(
            f"{folder}: saved by {age} permparse (format version {version}, this one reads {VERSION}); "
            f"{'train it again' if version < VERSION else 'update permparse'}"
        )
    if found_kind != kind:
        raise UserError(f"{folder}: expected a {kind}, found a {found_kind}")
    files = {}
    for name, (stored, digest) in entries.items():
        try:
            content = (folder / stored).read_bytes()
        except OSError as error:
            raise UserError(f"{folder}: {stored} cannot be read ({error.strerror}); {remedy}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise UserError(f"{folder}: {stored} is damaged (its checksum differs from {MANIFEST}); {remedy}")
        files[name] = content
    return files


def is_saved(folder: Path) -> bool:
    """Whether something has been saved in ``folder``."""
    return (folder / MANIFEST).is_file()


def pack(tensors: Mapping[str, Tensor]) -> bytes:
    """Tensors as the bytes of a safetensors file."""
    return tensors_to_bytes({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def unpack(content: bytes) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    return tensors_from_bytes(content)


def load_weights(module: torch.nn.Module, tensors: Mapping[str, Tensor], where: str) -> None:
    """Put saved weights into a module; a wrong name or shape is the folder's fault and said so."""
    expected = module.state_dict()
    for name in sorted(expected.keys() | tensors.keys()):
        if name not in tensors or name not in expected:
            raise UserError(f"{where}: {'no weights for' if name in expected else 'unexpected weights'} {name!r}")
        wanted, found = list(expected[name].shape), list(tensors[name].shape)
        if wanted != found:
            raise UserError(f"{where}: {name!r}: expected shape {wanted}, got {found}")
    module.load_state_dict(dict(tensors))


def _same(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _is_stored(name: str) -> bool:
    return re.fullmatch(r"[a-z_]+-[0-9a-f]{8}\.[a-z]+", name) is not None


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_failure(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{path}: the disk is full; what was saved before is intact. Free some space, then --resume"
    return f"{path}: cannot be written ({error.strerror}); what was saved before is intact"
