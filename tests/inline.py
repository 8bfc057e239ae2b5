"""An executor that does work at once, in the process of the test, until it is told to be interrupted."""

from collections.abc import Callable
from concurrent.futures import Future

from permparse.executors.base import Executor, Work, perform


class InlineExecutor(Executor):
    """Does ``most`` pieces of work and is then interrupted, as by Ctrl-C; None for no end."""

    def __init__(self, do: Callable[[Work], str | None] = perform, most: int | None = None, slots: int = 2) -> None:
        self.done: list[Work] = []
        self._do, self._most, self._slots = do, most, slots

    @property
    def slots(self) -> int:
        return self._slots

    def submit(self, work: Work) -> Future[str | None]:
        if len(self.done) == self._most:
            raise KeyboardInterrupt
        self.done.append(work)
        future: Future[str | None] = Future()
        future.set_result(self._do(work))
        return future

    def cancel(self, future: Future[str | None]) -> None:
        pass

    def close(self) -> None:
        pass
