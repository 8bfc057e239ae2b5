"""What may be wrong with a cluster: one clear line each, and nothing left behind. Ray itself is not needed."""

import os
import socket
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from permparse.base.errors import UserError
from permparse.cli import run
from permparse.executors import executor_for
from permparse.executors.connection import connect
from permparse.executors.terms import Terms


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module in the place of Ray."""
    module = ModuleType("ray")
    module.__spec__ = ModuleSpec("ray", None)
    monkeypatch.setitem(sys.modules, "ray", module)
    return module


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        UserError, match=r"--cluster needs Ray, which is not installed; pip install 'permparse\[cluster\]'"
    ):
        executor_for("local", None, [tmp_path])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ["reproduce", "doubling"],
        ["tune", "doubling", "--space", "doubling"],
        ["compare", "mine.tsv"],
        ["parse", "--file", "mine.tsv", "--output", "out"],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize(("cluster", "said"), [("local", "pip install 'permparse[cluster]'"), ("here", "HOST:PORT")])
def test_a_command_says_one_line_and_writes_nothing(
    command: list[str],
    cluster: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = ModuleSpec("ray", None) if cluster == "here" else None
    monkeypatch.setattr("importlib.util.find_spec", lambda _: found)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("mine.tsv").write_text("a b\tB A\n" * 20)
    assert run([*command, "--cluster", cluster]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.tsv"]


def test_reproduce_says_one_line_of_a_cluster_out_of_reach(
    ray: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["reproduce", "doubling", "--cluster", "127.0.0.1:1"]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert not list(tmp_path.iterdir())


def test_a_cluster_out_of_reach(ray: ModuleType) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(UserError, match=f"--cluster 127.0.0.1:{port}: nothing answers there"):
        connect(f"127.0.0.1:{port}", None)
    for address in ("10.0.0.1", "ray://10.0.0.1", ":6379"):
        with pytest.raises(UserError, match="expected auto, local or HOST:PORT"):
            connect(address, None)


def test_what_answers_but_is_no_ray_that_lets_us_in(ray: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    def init(**_: object) -> None:
        os.write(2, b"Failed to get cluster ID from GCS server\n" * 20)
        raise ConnectionError("Failed to connect to Ray cluster")

    ray.init = init  # type: ignore[attr-defined]
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(UserError, match=r"no Ray that lets us in.*RAY_AUTH_MODE=token"):
            connect(f"127.0.0.1:{server.getsockname()[1]}", None)
    os.write(2, b"heard again")
    assert capfd.readouterr().err == "heard again"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionError("Could not find any running Ray instance."), "no Ray runs on this machine; start it with"),
        (RuntimeError("Version mismatch: The cluster\nwas started with: Ray: 2.9"), "install the same versions"),
        (Exception("The current node timed out during startup."), "Ray does not start (The current node timed out"),
    ],
)
def test_ray_that_does_not_start(ray: ModuleType, error: Exception, said: str) -> None:
    def init(**_: object) -> None:
        raise error

    ray.init = init  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="--cluster auto") as found:
        connect("auto", None)
    assert said in str(found.value)
    assert "\n" not in str(found.value)


def test_a_node_with_other_versions(tmp_path: Path) -> None:
    terms = Terms.here([tmp_path])
    terms.mark()
    assert terms.complaint() is None
    other = Terms({**terms.versions, "torch": "1.8.0"}, terms.marks)
    assert "this machine 1.8.0; install the same on all nodes" in str(other.complaint())


def test_a_folder_that_a_node_does_not_see(tmp_path: Path) -> None:
    terms = Terms.here([tmp_path / "runs"])
    terms.mark()
    terms.forget()
    assert f"does not see {tmp_path / 'runs'}; choose a folder on storage that all nodes share" in str(
        terms.complaint()
    )


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        Terms.here([tmp_path / "file"]).mark()
