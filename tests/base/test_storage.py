"""Folders that are replaced all at once survive crashes, full disks and tampering."""

import errno
import json
import os
import signal
from pathlib import Path

import pytest
import torch

import permparse
from permparse.base import storage
from permparse.base.errors import UserError
from permparse.base.locks import locked
from permparse.base.reading import read_json
from permparse.base.storage import load_folder, pack, save_folder, unpack, write_atomically


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save_folder(tmp_path / "a", "parser", {"x.json": b"{}", "w.safetensors": pack({"w": torch.arange(3)})})
    files = load_folder(tmp_path / "a", "parser")
    assert files["x.json"] == b"{}"
    assert torch.equal(unpack(files["w.safetensors"])["w"], torch.arange(3))


def test_saving_again_replaces_and_cleans_up(tmp_path: Path) -> None:
    save_folder(tmp_path, "parser", {"x.json": b"old", "same.json": b"s"})
    (tmp_path / "notes.txt").write_text("mine")
    save_folder(tmp_path, "parser", {"x.json": b"new", "same.json": b"s"})
    assert load_folder(tmp_path, "parser")["x.json"] == b"new"
    names = sorted(path.name.split("-")[0] for path in tmp_path.iterdir())
    assert names == [".lock", "manifest.json", "notes.txt", "same", "x"]


@pytest.mark.parametrize("failing_write", [0, 1, 2])
def test_a_full_disk_leaves_the_previous_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing_write: int
) -> None:
    save_folder(tmp_path, "parser", {"x.json": b"old", "y.json": b"old y"})
    writes = 0

    def fsync(descriptor: int) -> None:
        nonlocal writes
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            return
        writes += 1
        if writes > failing_write:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", fsync)
    with pytest.raises(UserError, match="the disk is full; what was saved before is intact"):
        save_folder(tmp_path, "parser", {"x.json": b"new", "y.json": b"new y"})
    assert load_folder(tmp_path, "parser") == {"x.json": b"old", "y.json": b"old y"}


def _tamper_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_foreign_old_new_damaged_and_missing_folders_are_refused_in_words(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    with pytest.raises(UserError, match="no such folder"):
        load_folder(folder, "parser")
    folder.mkdir()
    with pytest.raises(UserError, match=r"found no manifest\.json"):
        load_folder(folder, "parser")
    save_folder(folder, "parser", {"x.json": b"content"})
    with pytest.raises(UserError, match="expected a training state, found a parser"):
        load_folder(folder, "training state")
    _tamper_manifest(folder, version=0)
    with pytest.raises(UserError, match=r"saved by an older permparse .* train it again"):
        load_folder(folder, "parser")
    _tamper_manifest(folder, version=99)
    with pytest.raises(UserError, match=r"saved by a newer permparse .* update permparse"):
        load_folder(folder, "parser")
    _tamper_manifest(folder, version=storage.VERSION, format="other")
    with pytest.raises(UserError, match="expected format 'permparse', got 'other'"):
        load_folder(folder, "parser")
    save_folder(folder, "parser", {"x.json": b"content"})
    next(folder.glob("x-*")).write_bytes(b"c0ntent")
    with pytest.raises(UserError, match=r"x-\w+\.json is damaged"):
        load_folder(folder, "parser")
    next(folder.glob("x-*")).unlink()
    with pytest.raises(UserError, match="cannot be read"):
        load_folder(folder, "parser")
    (folder / "manifest.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        load_folder(folder, "parser")


def test_a_manifest_cannot_point_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"s")
    folder = tmp_path / "p"
    save_folder(folder, "parser", {"x.json": b"s"})
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["x.json"]["file"] = "../secret"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=r"damaged: 'files\.x\.json\.file': string should match"):
        load_folder(folder, "parser")


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    module = torch.nn.Linear(2, 3)
    with pytest.raises(UserError, match=r"'weight': expected shape \[3, 2\], got \[2, 2\]"):
        storage.load_weights(module, {"weight": torch.zeros(2, 2), "bias": torch.zeros(3)}, "folder")
    with pytest.raises(UserError, match="no weights for 'bias'"):
        storage.load_weights(module, {"weight": torch.zeros(3, 2)}, "folder")


def test_an_unwritable_place_is_one_clear_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_atomically(tmp_path / "file" / "inside", b"")


def test_a_manifest_names_the_version_of_the_package(tmp_path: Path) -> None:
    save_folder(tmp_path, "parser", {"x.json": b"{}"})
    assert json.loads((tmp_path / "manifest.json").read_text())["permparse"] == permparse.__version__


@pytest.mark.parametrize("name", ["manifest.json", "x"])
@pytest.mark.parametrize("target", ["/dev/zero", "/dev/null", "fifo", "folder", "loop"])
def test_only_regular_files_are_read(tmp_path: Path, name: str, target: str) -> None:
    save_folder(tmp_path, "parser", {"x.json": b"content"})
    path = next(path for path in tmp_path.iterdir() if path.name.startswith(name))
    path.unlink()
    if target == "fifo":
        os.mkfifo(path)
    elif target == "folder":
        path.mkdir()
    else:
        path.symlink_to(path.name if target == "loop" else target)
    with pytest.raises(UserError, match=r"regular file|cannot be read"):
        load_folder(tmp_path, "parser")


def test_declared_sizes_are_enforced_before_anything_is_read(tmp_path: Path) -> None:
    save_folder(tmp_path, "parser", {"x.json": b"content"})
    with open(next(tmp_path.glob("x-*")), "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UserError, match=r"expected at most 7 bytes, found 1,099,511,627,776"):
        load_folder(tmp_path, "parser")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["files"]["x.json"]["bytes"] = 1 << 40
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=r"'files\.x\.json\.bytes': input should be less than"):
        load_folder(tmp_path, "parser")


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e999}', "[" * 100_000, "\udcff", "9" * 9999]
)
def test_json_that_says_two_things_or_nothing_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"^here: "):
        read_json(text.encode("utf-8", "surrogateescape"), "here")


def test_weights_that_are_not_finite_or_of_another_type_are_refused() -> None:
    module = torch.nn.Linear(1, 1)
    good = module.state_dict()
    with pytest.raises(UserError, match="expected finite weights"):
        storage.load_weights(module, {**good, "bias": torch.tensor([torch.nan])}, "folder")
    with pytest.raises(UserError, match=r"expected numbers of type torch\.float32, got torch\.int64"):
        storage.load_weights(module, {**good, "bias": torch.tensor([1])}, "folder")
    with pytest.raises(UserError, match="not a safetensors file"):
        unpack(b"\xff" * 30)


def test_weights_know_what_they_belong_to() -> None:
    packed = pack({"w": torch.zeros(1)}, belongs_to=b"vocabulary")
    assert set(unpack(packed, "here", b"vocabulary")) == {"w"}
    with pytest.raises(UserError, match="trained with another vocabulary"):
        unpack(packed, "here", b"other")
    assert set(unpack(pack({"w": torch.zeros(1)}), "here", b"any")) == {"w"}


def test_a_second_writer_waits_and_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    with locked(tmp_path, "busy"), pytest.raises(UserError, match="busy"), locked(tmp_path, "busy"):
        pass
    child = os.fork()
    if child == 0:
        with locked(tmp_path, "busy"):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with locked(tmp_path, "busy"):
        pass


def test_a_reader_that_meets_a_save_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_folder(tmp_path, "parser", {"x.json": b"old", "y.json": b"old y"})
    read, saves = storage._file, 0

    def save_in_between(folder: Path, entry: storage._Entry) -> bytes:
        nonlocal saves
        if saves < 2:  # back to the old content the second time: the manifest reads the same, but is another
            saves += 1
            new = b"new" if saves == 1 else b"old"
            save_folder(tmp_path, "parser", {"x.json": new, "y.json": new + b" y"})
        return read(folder, entry)

    monkeypatch.setattr(storage, "_file", save_in_between)
    assert load_folder(tmp_path, "parser") == {"x.json": b"old", "y.json": b"old y"}
