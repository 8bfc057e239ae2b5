"""Downloads are checked, kept whole or not at all, and never needed twice. No test touches the network."""

import hashlib
import urllib.error
import urllib.request
import zipfile
from http.client import IncompleteRead

import pytest

from permparse.base.errors import UserError
from permparse.base.files import cache_folder
from permparse.tasks import downloads
from permparse.tasks.downloads import data_files, data_folder, data_sets, download


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("PERMPARSE_DATA", raising=False)
    monkeypatch.setenv("PERMPARSE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def served(monkeypatch, tmp_path):
    """The archive and the extra file behind file:// addresses, with the checksums of what is there."""
    archive, extra = tmp_path / "served.zip", tmp_path / "served.tsv"
    with zipfile.ZipFile(archive, "w") as content:
        for members in downloads.MEMBERS.values():
            for member in members.values():
                content.writestr(member, f"in\t{member}\n")
    extra.write_text("in\tout\n")

    def source(path):
        return downloads.Source(path.as_uri(), hashlib.sha256(path.read_bytes()).hexdigest())

    monkeypatch.setattr(downloads, "ARCHIVE", source(archive))
    monkeypatch.setattr(downloads, "EXTRA", {"cogs": {"cogs/test.tsv": source(extra)}})
    return archive


@pytest.mark.parametrize("name", data_sets())
def test_every_file_arrives(served, name):
    folder = download(name)
    assert folder == cache_folder()
    assert all((folder / file).is_file() for file in data_files(name))
    assert [path.name for path in folder.rglob(".*")] == [".download.lock"]


def test_members_go_where_the_layout_says(served):
    assert "length4_dev" in (download("atis") / "atis/length_dev.tsv").read_text()


def test_nothing_is_fetched_twice(served, monkeypatch):
    download("cogs")
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: pytest.fail("fetched again"))
    assert data_folder("cogs") == download("cogs")
    download("atis")


def test_a_bad_checksum_is_refused_and_nothing_kept(served, monkeypatch):
    monkeypatch.setattr(downloads, "ARCHIVE", downloads.Source(served.as_uri(), "0" * 64))
    with pytest.raises(UserError, match="wrong checksum: expected sha256 000"):
        download("atis")
    assert [path.name for path in cache_folder().rglob("*") if path.is_file()] == [".download.lock"]


def test_a_damaged_cached_archive_is_fetched_again(served):
    cache_folder().mkdir()
    (cache_folder() / "data.zip").write_bytes(b"damaged")
    assert (download("okapi") / "okapi/email/dev.tsv").is_file()


def test_a_cached_file_that_has_changed_is_put_right(served):
    path = download("atis") / "atis/iid_dev.tsv"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"!")
    extra = download("cogs") / "cogs/test.tsv"
    extra.write_text("another\tfile\n")
    download("atis")
    download("cogs")
    assert path.read_bytes() == whole
    assert extra.read_text() == "in\tout\n"


def test_what_a_killed_download_left_is_removed(served):
    left = cache_folder() / "atis" / ".download-x"
    left.mkdir(parents=True)
    (left / "part").write_text("half")
    download("atis")
    assert not left.exists()


def test_a_download_without_end_is_cut_short(served, monkeypatch):
    monkeypatch.setattr(downloads, "LARGEST", 100)
    with pytest.raises(UserError, match="serves more than 100 bytes"):
        download("atis")
    assert not (cache_folder() / "data.zip").exists()


def test_an_archive_that_is_no_archive_is_reported(served, monkeypatch):
    served.write_bytes(b"no archive")
    source = downloads.Source(served.as_uri(), hashlib.sha256(b"no archive").hexdigest())
    monkeypatch.setattr(downloads, "ARCHIVE", source)
    with pytest.raises(UserError, match="cannot be unpacked"):
        download("atis")


@pytest.mark.parametrize(
    "error",
    [
        urllib.error.URLError("no route"),
        TimeoutError("timed out"),
        ConnectionResetError(),
        IncompleteRead(b""),
    ],
)
def test_offline_says_what_to_do(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(urllib.request, "urlopen", fail)
    with pytest.raises(UserError, match="--data FOLDER or the environment variable PERMPARSE_DATA"):
        data_folder("cogs")


def test_a_cache_that_cannot_be_written_is_reported(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PERMPARSE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UserError, match=r"cannot be written.*PERMPARSE_CACHE"):
        download("atis")


def test_a_local_folder_is_preferred(monkeypatch, tmp_path):
    for name in ("given", "environment"):
        (tmp_path / name / "cogs").mkdir(parents=True)
        (tmp_path / name / "cogs" / "train.tsv").write_text("a\tb\n")
    monkeypatch.setenv("PERMPARSE_DATA", str(tmp_path / "environment"))
    assert data_folder("cogs") == tmp_path / "environment"
    assert data_folder("cogs", tmp_path / "given") == tmp_path / "given"


def test_a_folder_without_the_data_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"has no cogs/train.tsv; expected in it: .*cogs/test.tsv"):
        data_folder("cogs", tmp_path)
    with pytest.raises(UserError, match="does not exist or is not a folder"):
        data_folder("cogs", tmp_path / "missing")


def test_an_unknown_data_set_names_the_nearest():
    with pytest.raises(UserError, match="did you mean 'okapi'"):
        data_files("okapy")
