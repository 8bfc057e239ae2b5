"""A parser as one file: a plain zip archive of its files and card, or a wheel that pip installs under its name.

The same parser gives the same bytes. Nothing is pickled; `Parser.load` checks every file against its checksum.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from permparse import __version__
from permparse.base.errors import UserError
from permparse.base.storage import write_atomically
from permparse.parsers.sharing.sources import GROUP

if TYPE_CHECKING:
    from permparse.parsers.base import Parser

SUFFIX = ".permparse"
CARD = "README.md"
EPOCH = (1980, 1, 1, 0, 0, 0)
NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?")


def saved_files(parser: Parser) -> dict[str, bytes]:
    """The files of the parser as `Parser.save` writes them, without the path of its data."""
    with TemporaryDirectory(prefix="permparse-") as folder:
        parser.save(folder)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def write_file(parser: Parser, card: str, path: Path) -> None:
    """Write the parser as one file that `Parser.load` reads."""
    write_atomically(path, _zipped({CARD: card.encode(), **saved_files(parser)}))


def write_wheel(parser: Parser, card: str, name: str, version: str, folder: Path) -> Path:
    """Write the parser as a wheel: once installed, `Parser.load(name)` finds it."""
    if not NAME.fullmatch(name):
        raise UserError(f"{name}: a wheel needs a name of small letters, digits and single hyphens")
    if not VERSION.fullmatch(version):
        raise UserError(f"{version}: expected a version such as 1.0 or 1.2.3")
    module = f"permparse_model_{name.replace('-', '_')}"
    about = f"{module}-{version}.dist-info"
    metadata = "\n".join(
        [
            "Metadata-Version: 2.1",
            f"Name: {module.replace('_', '-')}",
            f"Version: {version}",
            f"Summary: A trained parser for permparse ({parser.task.name})",
            f"Requires-Dist: permparse>={__version__}",
            "Description-Content-Type: text/markdown",
            "",
            card,
        ]
    )
    files = {
        f"{module}/__init__.py": f'"""A trained parser: permparse.Parser.load({name!r})."""\n'.encode(),
        **{f"{module}/parser/{file}": content for file, content in saved_files(parser).items()},
        f"{about}/METADATA": metadata.encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: permparse\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[{GROUP}]\n{name} = {module}\n".encode(),
    }
    record = "".join(f"{file},sha256={_digest(content)},{len(content)}\n" for file, content in files.items())
    path = folder / f"{module}-{version}-py3-none-any.whl"
    write_atomically(path, _zipped({**files, f"{about}/RECORD": f"{record}{about}/RECORD,,\n".encode()}))
    return path


def _zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
