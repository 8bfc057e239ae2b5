"""The way to a Ray cluster, and what may be wrong with it in one line each."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from permparse.base.errors import UserError

HERE = ("auto", "local")
INSTALL = "pip install 'permparse[cluster]'"
REACH_SECONDS = 5.0
OBJECT_STORE = 1 << 27
"""Bytes that Ray may keep in shared memory: work is named by text, so there is little to keep."""


def require_usable(address: str) -> None:
    """UserError if Ray is not installed or this is no address: what can be said before anything else is done."""
    if importlib.util.find_spec("ray") is None:
        raise UserError(f"--cluster needs Ray, which is not installed; {INSTALL}")
    if address not in HERE:
        _host_and_port(address)


def connect(address: str, cores: int | None) -> ModuleType:
    """The module `ray`, connected: to a cluster started here with this many ``cores`` (`local`), to one that runs here
    (`auto`), or to the one at HOST:PORT."""
    require_usable(address)
    ray = _ray()
    _require_reachable(address)
    common = {"log_to_driver": False, "logging_level": "CRITICAL", "namespace": "permparse"}
    try:
        if address == "local":
            here = {"num_cpus": cores, "object_store_memory": OBJECT_STORE, "include_dashboard": False}
            ray.init(address="local", **here, **common)
        else:
            with _unheard():
                ray.init(address=address, **common)
    except Exception as error:  # this very class, if a node is slow to start
        raise UserError(_explained(address, error)) from error
    return ray


def _ray() -> ModuleType:
    # Without these, Ray reports its use to its makers, warns of a coming change that does not concern us, and gives the
    # workers that it starts here a lower priority than the command has, so that other work keeps them waiting.
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "RAY_worker_niceness"):
        os.environ.setdefault(name, "0")
    import ray

    return ray


@contextmanager
def _unheard() -> Iterator[None]:
    """Nobody hears what native code writes to stderr inside: Ray repeats every second that it is not let in."""
    sys.stderr.flush()
    heard = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(heard, 2)
        os.close(heard)


def _require_reachable(address: str) -> None:
    """Ray itself tries for a minute before it gives up."""
    if address in HERE:
        return
    try:
        socket.create_connection(_host_and_port(address), REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"--cluster {address}: nothing answers there ({error}); is the head node up (ray start --head), "
            "and is its port open?"
        ) from error


def _host_and_port(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdigit():
        raise UserError(f"--cluster {address}: expected auto, local or HOST:PORT, such as 10.0.0.1:6379")
    return host.strip("[]"), int(port)


def _explained(address: str, error: Exception) -> str:
    """What Ray says when it does not start, and what to do."""
    said = " ".join(str(error).split())
    if "ersion mismatch" in said:
        return f"--cluster {address}: {said}; install the same versions on all nodes"
    if address == "auto" and isinstance(error, ConnectionError):
        return "--cluster auto: no Ray runs on this machine; start it with `ray start --head`, or use --cluster local"
    if isinstance(error, ConnectionError):
        return (
            f"--cluster {address}: something answers there, but no Ray that lets us in; is it Ray of the same version, "
            "and if it wants a token, is RAY_AUTH_MODE=token set here?"
        )
    return f"--cluster {address}: Ray does not start ({said:.300})"
