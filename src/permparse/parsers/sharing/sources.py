"""Where a parser lies: a folder, a packaged file, the box, an installed package, or a repository.

Whatever it is, `Parser.load` sees a folder; a name that is also a file or folder of the user means that one.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import resources
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from permparse.base.errors import UserError, nearest

GROUP = "permparse.models"
"""Entry points of installed packages: the name of a parser → the module whose folder `parser` holds it."""
HUB = "hf://"
BOX = "models"
MOST_BYTES = 4 * 2**30
"""A packaged parser that unpacks to more is refused."""


def boxed_names() -> list[str]:
    """The parsers that come with permparse."""
    return sorted(folder.name for folder in (resources.files("permparse") / BOX).iterdir() if folder.is_dir())


@contextmanager
def located(where: str | Path) -> Iterator[Path]:
    """The folder of a parser, for as long as it is read."""
    path, name = Path(where), str(where)
    with ExitStack() as stack:
        if path.is_file():
            unpacked = Path(stack.enter_context(TemporaryDirectory(prefix="permparse-")))
            try:
                _unpack(path, unpacked)
                yield unpacked
            except UserError as error:
                raise UserError(str(error).replace(str(unpacked), str(path))) from error
        elif path.exists():
            yield path
        elif name.startswith(HUB):
            from permparse.parsers.sharing.hub import download

            yield download(name.removeprefix(HUB))
        elif name in boxed_names():
            yield stack.enter_context(resources.as_file(resources.files("permparse") / BOX / name))
        elif module := _installed().get(name):
            yield stack.enter_context(resources.as_file(resources.files(module) / "parser"))
        else:
            known = [*boxed_names(), *_installed()]
            hint = "" if len(path.parts) > 1 else f"; {nearest(name, known)}"
            raise UserError(f"{name}: no such folder or packaged parser{hint}")


def _installed() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=GROUP)}


def _unpack(path: Path, folder: Path) -> None:
    """Unpack a packaged parser: plain files in one folder, no links, no paths that lead elsewhere."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if sum(member.file_size for member in members) > MOST_BYTES:
                raise UserError(f"{path}: unpacks to more than {MOST_BYTES >> 30} GB; this is no packaged parser")
            for member in members:
                name = PurePosixPath(member.filename).name
                if name != member.filename:
                    raise UserError(f"{path}: expected files without folders, found {member.filename!r}")
                (folder / name).write_bytes(archive.read(member))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise UserError(f"{path}: not a packaged parser, or damaged ({error}); permparse package writes one") from error
