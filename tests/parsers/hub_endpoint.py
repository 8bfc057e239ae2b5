"""As much of a Hugging Face endpoint as uploading and downloading a model needs, in memory."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class _Handler(BaseHTTPRequestHandler):
    files: dict[str, bytes]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _json(self, value: object, status: int = 200) -> None:
        self._answer(status, json.dumps(value).encode(), X_Repo_Commit=COMMIT)

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if "/resolve/" in path:
            content = self.files.get(path.rsplit("/", 1)[1])
            if content is None:
                self._answer(404, b"{}", X_Error_Code="EntryNotFound")
            else:
                etag = f'"{hashlib.sha1(content).hexdigest()}"'
                self._answer(200, content, ETag=etag, X_Repo_Commit=COMMIT, content_type="application/octet-stream")
        elif "/tree/" in path:
            self._json([{"type": "file", "path": name, "size": len(c), "oid": "0"} for name, c in self.files.items()])
        elif path.startswith("/api/models/someone/") and "missing" not in path:
            siblings = [{"rfilename": name} for name in self.files]
            self._json({"id": "someone/parser", "modelId": "someone/parser", "sha": COMMIT, "siblings": siblings})
        else:
            self._answer(404, b'{"error": "Repository not found"}', X_Error_Code="RepoNotFound")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/repos/create"):
            self._json({"url": f"http://{self.headers['host']}/someone/parser", "name": "someone/parser"})
        elif "/preupload/" in self.path:
            files = json.loads(body)["files"]
            plain = [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]
            self._json({"files": plain})
        elif "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                elif line["key"] == "deletedFile":
                    self.files.pop(line["value"]["path"], None)
            url = f"http://{self.headers['host']}/someone/parser/commit/{COMMIT}"
            self._json({"success": True, "commitUrl": url, "commitOid": COMMIT})
        else:
            self._json({"warnings": [], "errors": []})


@contextmanager
def hub_endpoint() -> Iterator[tuple[str, dict[str, bytes]]]:
    """The address of an endpoint with one empty repository, someone/parser, and its files."""
    files: dict[str, bytes] = {}
    handler = type("Handler", (_Handler,), {"files": files})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", files
    finally:
        server.shutdown()
        server.server_close()
