"""One thread for small networks: cutting their little products in two costs more than it saves."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread inside; the solver and the search, which share out whole examples, belong outside."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def fix_threads() -> None:
    """Keep to the present number of threads. Left to themselves, libraries choose differently each time, and sums
    that are split otherwise differ in their last digits: a resumed training would end in other weights."""
    torch.set_num_threads(torch.get_num_threads())
