"""requirements.lock, constraints.txt and pyproject.toml say the same."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins(file: str) -> dict[str, str]:
    lines = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    return {_normal(name): version for name, version in lines}


def test_the_lock_pins_what_the_constraints_pin() -> None:
    constraints = _pins("constraints.txt")
    locked = {name: version.partition("+")[0] for name, version in _pins("requirements.lock").items()}
    assert locked == {name: constraints.get(name) for name in locked}


def test_the_lock_covers_the_service() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["serve"]]
    assert {_normal(re.split(r"[<>=]", one)[0]) for one in needed} <= _pins("requirements.lock").keys()


def test_everything_locked_has_a_checksum_and_torch_is_the_cpu_build() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(_pins("requirements.lock"))
    assert all("--hash=sha256:" in entry for entry in entries)
    assert _pins("requirements.lock")["torch"].endswith("+cpu")
    assert not re.search(r"^(nvidia|cuda|triton)", text, re.MULTILINE)
