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
from typing import Annotated

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor

from permparse import __version__
from permparse.base.errors import UserError
from permparse.base.locks import SAVE_SECONDS, locked
from permparse.base.reading import Content, read_json, read_regular
from permparse.base.settings import first_mistake

FORMAT = "permparse"
VERSION = 1
MANIFEST = "manifest.json"
PART = ".part"
"""How the name of a file ends that is not whole yet."""
MANIFEST_LIMIT = 1 << 20
FILE_LIMIT = 2 << 30
"""Bytes of a manifest, and of all files that it names, at most."""
TRIES = 100
"""How often a reader tries again when a save has replaced what it was reading."""
BELONGS_TO = "belongs_to"
"""Key of a safetensors file under which the checksum of its vocabulary stands."""
REMEDY = "train it again, or copy it again from where it was whole"


class _Entry(BaseModel):
    """What a manifest says of a file."""

    model_config = ConfigDict(strict=True)

    file: Annotated[str, Field(pattern=r"^\w[\w.-]*$", max_length=201)]
    bytes: Annotated[int, Field(ge=0, le=FILE_LIMIT)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Manifest(BaseModel):
    """A manifest of the present version, its format aside. Parsers of version 0.1 do not name the package's version."""

    model_config = ConfigDict(strict=True)

    kind: str
    permparse: str | None = None
    files: dict[str, _Entry]


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part (temporary file, fsync,
    rename)."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}{PART}")
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
    """Replace the content of ``folder`` by ``files``; files left from earlier saves are removed once the new ones
    stand. A save that meets another one waits for it."""
    with locked(folder, "another process keeps saving here; stop it, or save elsewhere", SAVE_SECONDS):
        entries = {}
        for name, content in files.items():
            digest = hashlib.sha256(content).hexdigest()
            stem, dot, suffix = name.partition(".")
            stored = f"{stem}-{digest[:8]}{dot}{suffix}"
            entries[name] = {"file": stored, "bytes": len(content), "sha256": digest}
            if not _same(folder / stored, content):
                write_atomically(folder / stored, content)
        manifest = {"format": FORMAT, "version": VERSION, "permparse": __version__, "kind": kind, "files": entries}
        write_atomically(folder / MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())
        current = {MANIFEST, *(entry["file"] for entry in entries.values())}
        for path in folder.iterdir():
            if path.name not in current and (is_scratch(path.name) or _is_stored(path.name)):
                _remove(path)


def load_folder(folder: Path, kind: str) -> dict[str, bytes]:
    """The files of a saved folder, or a UserError that says in words what is wrong with it.

    A save may replace them meanwhile: then it reads the new ones.
    """
    for _ in range(TRIES):
        manifest = _manifest(folder, kind)
        try:
            entries = _entries(folder, kind, manifest)
            return {name: _file(folder, entry) for name, entry in entries.items()}
        except UserError:
            if _manifest(folder, kind).identity == manifest.identity:
                raise
    raise UserError(f"{folder}: is being saved again and again; stop what saves it, or try later")


def _manifest(folder: Path, kind: str) -> Content:
    """The manifest of a folder as it is on the disk."""
    path = folder / MANIFEST
    try:
        if not folder.exists():
            raise UserError(f"{folder}: no such folder; expected a {kind} saved by permparse")
        return read_regular(path, MANIFEST_LIMIT)
    except FileNotFoundError:
        raise UserError(
            f"{folder}: expected a {kind} saved by permparse, found no {MANIFEST} (is this the right folder?)"
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{path}: cannot be read ({reason}); expected a {kind} saved by permparse") from error


def _entries(folder: Path, kind: str, manifest: Content) -> dict[str, _Entry]:
    """What the manifest says of each file, once its format, version and kind are found right."""
    path = folder / MANIFEST
    table = read_json(manifest.data, str(path))
    if not isinstance(table, dict) or type(table.get("version")) is not int:
        raise UserError(f"{path}: not a manifest of permparse, or damaged; {REMEDY}")
    if table.get("format") != FORMAT:
        raise UserError(f"{path}: expected format {FORMAT!r}, got {table.get('format')!r:.40}")
    version = table["version"]
    if version != VERSION:
        age, remedy = ("an older", "train it again") if version < VERSION else ("a newer", "update permparse")
        raise UserError(
            f"{folder}: saved by {age} permparse (format version {version:.6g}, this one reads {VERSION}); {remedy}"
        )
    try:
        found = _Manifest.model_validate(table)
    except ValidationError as error:
        raise UserError(f"{path}: damaged: {first_mistake(error)}; {REMEDY}") from error
    if found.kind != kind:
        raise UserError(f"{folder}: expected a {kind}, found a {found.kind:.40}")
    if (total := sum(entry.bytes for entry in found.files.values())) > FILE_LIMIT:
        raise UserError(f"{path}: expected files of at most {FILE_LIMIT:,} bytes in all, found {total:,}")
    return found.files


def _file(folder: Path, entry: _Entry) -> bytes:
    """The content of a file, if it is what the manifest says."""
    path = folder / entry.file
    try:
        content = read_regular(path, entry.bytes).data
    except OSError as error:
        raise UserError(f"{folder}: {entry.file} cannot be read ({error.strerror}); {REMEDY}") from error
    except UserError as error:
        raise UserError(f"{error}; {REMEDY}") from error
    if len(content) != entry.bytes or hashlib.sha256(content).hexdigest() != entry.sha256:
        raise UserError(f"{folder}: {entry.file} is damaged (its checksum differs from {MANIFEST}); {REMEDY}")
    return content


def is_saved(folder: Path) -> bool:
    """Whether something has been saved in ``folder``."""
    return (folder / MANIFEST).is_file()


def pack(tensors: Mapping[str, Tensor], belongs_to: bytes | None = None) -> bytes:
    """Tensors as the bytes of a safetensors file, which says by a checksum what else they belong to."""
    bound = None if belongs_to is None else {BELONGS_TO: hashlib.sha256(belongs_to).hexdigest()}
    return tensors_to_bytes({name: t.detach().cpu().contiguous() for name, t in tensors.items()}, bound)


def unpack(content: bytes, where: str = "the file", belongs_to: bytes | None = None) -> dict[str, Tensor]:
    """The tensors of a safetensors file; UserError if it is none, or says that it belongs to something else."""
    try:
        tensors = tensors_from_bytes(content)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise UserError(f"{where}: not a safetensors file, or damaged ({error}); {REMEDY}") from error
    bound = _metadata(content).get(BELONGS_TO)
    if belongs_to is not None and bound not in (None, hashlib.sha256(belongs_to).hexdigest()):
        raise UserError(
            f"{where}: these weights were trained with another vocabulary than the one beside them; {REMEDY}"
        )
    return tensors


def load_weights(module: torch.nn.Module, tensors: Mapping[str, Tensor], where: str) -> None:
    """Put saved weights into a module; a wrong name, shape, type or number is the folder's fault and said so."""
    expected = module.state_dict()
    for name in sorted(expected.keys() | tensors.keys()):
        if name not in tensors or name not in expected:
            raise UserError(f"{where}: {'no weights for' if name in expected else 'unexpected weights'} {name!r}")
        wanted, found = expected[name], tensors[name]
        if wanted.shape != found.shape:
            raise UserError(f"{where}: {name!r}: expected shape {list(wanted.shape)}, got {list(found.shape)}")
        if wanted.dtype != found.dtype:
            raise UserError(f"{where}: {name!r}: expected numbers of type {wanted.dtype}, got {found.dtype}")
        if not bool(torch.isfinite(found).all()):
            raise UserError(f"{where}: {name!r}: expected finite weights, got NaN or infinity; {REMEDY}")
    module.load_state_dict(dict(tensors))


def _metadata(content: bytes) -> dict[str, str]:
    """What a safetensors file that has been read says besides its tensors."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]).get("__metadata__") or {}


def _same(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def is_scratch(name: str) -> bool:
    """Whether a file is what a killed process has left of an atomic write."""
    return re.fullmatch(rf".+\.\d+{re.escape(PART)}", name) is not None


def _is_stored(name: str) -> bool:
    return re.fullmatch(r"[a-z0-9_]+-[0-9a-f]{8}\.[a-z]+", name) is not None


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
        return f"{path}: the disk is full; what was saved before is intact; free some space, then go on (--resume)"
    return f"{path}: cannot be written ({error.strerror}); what was saved before is intact"
