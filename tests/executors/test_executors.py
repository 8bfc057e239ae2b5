"""Both engines keep the same promises: one result per piece of work, again if its process dies, an end when asked."""

import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from pathlib import Path

import pytest

from permparse.executors import Executor, Work, executor_for

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
Make = Callable[..., Work]


@pytest.fixture(scope="module", params=[None, "local"], ids=["processes", "ray"])
def executor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    if request.param:
        pytest.importorskip("ray", reason="needs the extra cluster")
    with pytest.MonkeyPatch.context() as patch:
        here = str(Path(__file__).parent)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH")))))
        with executor_for(request.param, 2, [tmp_path_factory.mktemp("shared")]) as executor:
            yield executor


@pytest.fixture
def work(tmp_path: Path) -> Make:
    def make(do: str = "", **settings: object) -> Work:
        argument = json.dumps({"do": do, "calls": str(tmp_path / "calls")})
        return Work("own_work:main", argument, tmp_path / "work.log", **settings)  # type: ignore[arg-type]

    return make


def _calls(tmp_path: Path) -> list[str]:
    path = tmp_path / "calls"
    return path.read_text().splitlines() if path.is_file() else []


def test_work_is_done_and_its_words_are_kept(executor: Executor, work: Make, tmp_path: Path) -> None:
    assert executor.slots == 2
    done = [executor.submit(work(environment={"PERMPARSE_DATA": "there"})) for _ in range(3)]
    wait(done)
    assert [future.result() for future in done] == [None, None, None]
    assert [call.split()[1] for call in _calls(tmp_path)] == ["there"] * 3
    assert (tmp_path / "work.log").read_text().count("said by the work") == 3


def test_a_failure_is_one_line_and_not_repeated(executor: Executor, work: Make, tmp_path: Path) -> None:
    assert executor.submit(work("fail")).result() == "ValueError: the reason it failed"
    assert len(_calls(tmp_path)) == 1
    assert "Traceback" in (tmp_path / "work.log").read_text()


def test_work_whose_process_dies_is_done_again(executor: Executor, work: Make, tmp_path: Path) -> None:
    assert executor.submit(work("die once")).result() is None
    assert len(_calls(tmp_path)) == 2


def test_work_can_be_ended(executor: Executor, work: Make, tmp_path: Path) -> None:
    future = executor.submit(work("stay"))
    while not _calls(tmp_path):
        time.sleep(0.05)
    executor.cancel(future)
    wait([future], 30)
    process = int(_calls(tmp_path)[0].split()[0])
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the process is still there")
