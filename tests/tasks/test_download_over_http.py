"""Downloads from a real server on this machine: whole or not at all, with a bar for whoever watches."""

import hashlib
import io
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from rich.console import Console

from permparse.base.errors import UserError
from permparse.tasks import downloads

CONTENT = bytes(range(256)) * 2000


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT: with its length, without it, half of it, or not at all."""

    def do_GET(self) -> None:
        if self.path == "/missing.zip":
            self.send_error(404)
            return
        self.send_response(200)
        if self.path != "/unknown-length.zip":
            self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2] if self.path == "/broken.zip" else CONTENT)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def screen(monkeypatch):
    """What a person at a terminal sees."""
    shown = io.StringIO()
    monkeypatch.setattr(downloads, "err", Console(file=shown, force_terminal=True, width=100))
    return shown


def source(url: str, content: bytes = CONTENT) -> downloads.Source:
    return downloads.Source(url, hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("name", ["whole.zip", "unknown-length.zip"])
def test_a_terminal_shows_name_bytes_and_time_left(address, tmp_path, screen, name):
    path = downloads._fetch(source(f"{address}/{name}"), tmp_path / "data.zip")
    assert path.read_bytes() == CONTENT
    assert f"downloading {name}" in screen.getvalue()
    assert ("512.0/512.0 kB" if name == "whole.zip" else "512.0/? kB") in screen.getvalue()
    assert ("00:00" if name == "whole.zip" else "") in screen.getvalue()


def test_nothing_is_shown_when_the_output_is_no_terminal(address, tmp_path, monkeypatch, capsys):
    shown = io.StringIO()
    monkeypatch.setattr(downloads, "err", Console(file=shown, force_terminal=False))
    downloads._fetch(source(f"{address}/whole.zip"), tmp_path / "data.zip")
    assert (shown.getvalue(), *capsys.readouterr()) == ("", "", "")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("broken.zip", CONTENT, "the connection broke after 256,000 of 512,000 bytes.*--data FOLDER"),
        ("missing.zip", CONTENT, "HTTP 404 Not Found.*--data FOLDER"),
        ("whole.zip", b"other", "wrong checksum: expected sha256 .*, got .*; nothing was kept"),
    ],
)
def test_a_failure_is_said_in_words_and_leaves_what_was_there(address, tmp_path, screen, name, content, message):
    path = tmp_path / "cache" / "data.zip"
    for before in (None, b"of yesterday"):
        path.parent.mkdir(exist_ok=True)
        if before is not None:
            path.write_bytes(before)
        with pytest.raises(UserError, match=message):
            downloads._fetch(source(f"{address}/{name}", content), path)
        left = {file.name: file.read_bytes() for file in path.parent.rglob("*")}
        assert left == ({} if before is None else {"data.zip": before})
