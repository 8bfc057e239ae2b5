"""Where work runs: processes of this machine, or Ray; one interface for both. Knows nothing of what the work is."""

from permparse.executors.base import Executor, Work
from permparse.executors.choice import executor_for

__all__ = ["Executor", "Work", "executor_for"]
