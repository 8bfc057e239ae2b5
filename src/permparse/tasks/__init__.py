"""Tasks: pre- and post-processing, metrics and breakdowns of each, by name."""

from permparse.tasks.base import Metric, Task, build_lexicon, exact_match
from permparse.tasks.registry import Option, get_task, task_names, task_options

__all__ = [
    "Metric",
    "Option",
    "Task",
    "build_lexicon",
    "exact_match",
    "get_task",
    "task_names",
    "task_options",
]
