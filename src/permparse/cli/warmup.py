"""`permparse warmup`: compile all kernels in advance, so that the first training or parse need not wait."""

from __future__ import annotations

import time

from permparse.base.console import err, out


def command() -> None:
    """Compile all kernels now, once after installation, so that the first parse does not have to wait.

    [bold]Example[/]

      permparse warmup
    """
    started = time.monotonic()
    with err.status("compiling"):
        from permparse.permutation.warmup import compile_kernels

        compile_kernels()
    out.print(f"ready ({time.monotonic() - started:.1f} s)")
