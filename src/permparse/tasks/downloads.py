"""The paper's data: fetched once, checked by SHA-256 and kept in a cache folder.

The project holds no data; a local folder of the same layout serves as well and is never written to.
"""

import http.client
import os
import shutil
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from permparse.base.console import err
from permparse.base.errors import UserError, nearest
from permparse.base.files import cache_folder
from permparse.base.locks import locked
from permparse.base.reading import sha256_of

SPLITS = ("train", "dev", "test")
TIMEOUT = 60.0
CHUNK = 1 << 16
LARGEST = 256 << 20
"""Bytes of a download, and of a file in an archive, at most."""
WAITING = 600.0
"""Seconds to wait for another process that downloads."""
SCRATCH = ".download-"
"""How the names of folders begin that hold what is not whole yet."""


@dataclass(frozen=True)
class Source:
    """A file on the web: where it is and what it must hash to."""

    url: str
    sha256: str


ARCHIVE = Source(
    "https://raw.githubusercontent.com/namednil/multiset-perm/b50c52fa239be5a8e9a7f2260ea3b85d9701da84/data.zip",
    "c8bc01297d2ad477c6148cf08625b97aaf9de15566cb1c01bddc3ba014c91306",
)
COGS_TEST = Source(
    "https://raw.githubusercontent.com/najoungkim/COGS/165a7b669eade971fa47bf568a2e51925360fed8/data/test.tsv",
    "68f8e51e9f6d9cd22d64efe68dd21d7ea5ba327e9a2359481030161aea757035",
)

MEMBERS: dict[str, dict[str, str]] = {
    "doubling": {f"doubling/{split}.tsv": f"data/doubling_task/{split}.tsv" for split in (*SPLITS, "dev_iid")},
    "cogs": {f"cogs/{split}.tsv": f"data/COGS/data/{split}.tsv" for split in ("train", "dev", "gen")},
    "atis": {
        f"atis/{kind}_{split}.tsv": f"data/atis/atis_funql_{infix}{split}_brackets.tsv"
        for kind, infix in (("iid", ""), ("length", "length4_"))
        for split in SPLITS
    },
    "okapi": {
        f"okapi/{domain}/{split}.tsv": f"data/okapi_length2/{domain}/{split}.tsv"
        for domain in ("calendar", "document", "email")
        for split in SPLITS
    },
}
"""For each data set: file in the data folder → member of the archive."""
EXTRA: dict[str, dict[str, Source]] = {"cogs": {"cogs/test.tsv": COGS_TEST}}
"""Files that are not in the archive."""


def data_sets() -> tuple[str, ...]:
    """Names of the data sets that can be downloaded."""
    return tuple(MEMBERS)


def data_files(name: str) -> tuple[str, ...]:
    """The files of a data set, relative to the data folder."""
    if name not in MEMBERS:
        raise UserError(f"no data set is called {name!r}; {nearest(name, MEMBERS)}")
    return (*MEMBERS[name], *EXTRA.get(name, {}))


def data_folder(name: str, folder: Path | str | None = None) -> Path:
    """Where data set `name` is: the folder given, PERMPARSE_DATA, or the cache, filled if need be."""
    chosen = folder or os.environ.get("PERMPARSE_DATA")
    if not chosen:
        return download(name)
    path = Path(chosen).expanduser()
    origin = "" if folder else " (from PERMPARSE_DATA)"
    if not path.is_dir():
        raise UserError(f"the data folder {path}{origin} does not exist or is not a folder; check --data")
    missing = [file for file in data_files(name) if not (path / file).is_file()]
    if len(missing) == len(data_files(name)):
        raise UserError(f"the data folder {path}{origin} has no {missing[0]}; expected in it: {', '.join(missing)}")
    return path


def download(name: str, cache: Path | None = None) -> Path:
    """Make sure that all files of data set `name` are in the cache, as they were published; return its folder.

    Each use compares them with the archive, and the archive with its checksum: what is damaged is fetched again.
    """
    folder, files = cache_folder() if cache is None else cache, data_files(name)
    if all((folder / file).is_file() for file in files) and _is_whole(name, folder):
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder, "another process downloads into this cache; wait for it", WAITING, ".download.lock"):
            _remove_scratch(folder)
            _unpack(_fetch(ARCHIVE, folder / "data.zip"), MEMBERS[name], folder)
            for file, source in EXTRA.get(name, {}).items():
                _fetch(source, folder / file)
    except OSError as error:
        raise UserError(
            f"the cache folder {folder} cannot be written: {error.strerror or error}; "
            "choose another one with PERMPARSE_CACHE"
        ) from None
    return folder


def _is_whole(name: str, folder: Path) -> bool:
    """Whether the cached files of a data set are those that were published."""
    try:
        if sha256_of(folder / "data.zip") != ARCHIVE.sha256:
            return False
        with zipfile.ZipFile(folder / "data.zip") as content:
            members = MEMBERS[name].items()
            if any((folder / file).read_bytes() != content.read(member) for file, member in members):
                return False
        return all(sha256_of(folder / file) == source.sha256 for file, source in EXTRA.get(name, {}).items())
    except (OSError, KeyError, zipfile.BadZipFile):
        return False


def _remove_scratch(folder: Path) -> None:
    """Remove what a download that was killed has left."""
    for left in folder.rglob(f"{SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)


def _fetch(source: Source, path: Path) -> Path:
    """The file at `path`, downloaded if it is not there; it appears under that name only when it is whole."""
    if path.is_file() and sha256_of(path) == source.sha256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=SCRATCH) as scratch:
        part = Path(scratch) / path.name
        _retrieve(source.url, part)
        found = sha256_of(part)
        if found != source.sha256:
            raise UserError(
                f"{source.url} has the wrong checksum: expected sha256 {source.sha256}, got {found}; "
                "nothing was kept. Try again, or name a folder that has the data with --data FOLDER"
            )
        part.replace(path)
    return path


def _retrieve(url: str, path: Path) -> None:
    """Save what the URL serves, with a progress bar for whoever waits at a terminal."""
    with path.open("wb") as file, closing(_served(url)) as chunks:
        for chunk in chunks:
            file.write(chunk)


def _served(url: str) -> Generator[bytes, None, None]:
    """What the URL serves; any failure of the network is the UserError that says what to do instead."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer, _progress_bar() as bar:
            stated = answer.headers.get("Content-Length")
            total, received = int(stated) if stated else None, 0
            shown = bar.add_task(f"downloading {url.rpartition('/')[2]}", total=total)
            while chunk := answer.read(CHUNK):
                received += len(chunk)
                if received > LARGEST:
                    raise UserError(
                        f"{url} serves more than {LARGEST:,} bytes, which is not the data; nothing was kept"
                    )
                bar.update(shown, completed=received)
                yield chunk
            if total is not None and received < total:
                raise ConnectionError(f"the connection broke after {received:,} of {total:,} bytes")
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        if isinstance(error, urllib.error.HTTPError):
            error.close()
            reason = f"HTTP {error.code} {error.reason}"
        raise UserError(
            f"cannot download {url} ({reason}). If this machine is offline, copy the data to a folder and "
            "name it with --data FOLDER or the environment variable PERMPARSE_DATA; the tasks doubling and "
            "fragment need no data"
        ) from None


def _progress_bar() -> Progress:
    """Bytes and time left of a download; shows nothing when nobody watches a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(compact=True),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


def _unpack(archive: Path, members: dict[str, str], folder: Path) -> None:
    """Put members of the archive where the layout says."""
    try:
        with zipfile.ZipFile(archive) as content:
            for file, member in members.items():
                path, wanted = folder / file, content.getinfo(member)
                if wanted.file_size > LARGEST:
                    raise UserError(f"{archive}: {member} is larger than {LARGEST:,} bytes; delete the archive")
                path.parent.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(dir=path.parent, prefix=SCRATCH) as scratch:
                    part = Path(scratch) / path.name
                    part.write_bytes(content.read(wanted))
                    part.replace(path)
    except (KeyError, zipfile.BadZipFile, RuntimeError) as error:
        raise UserError(f"{archive} cannot be unpacked: {error}; delete it and try again") from None
