"""Tasks: pre- and post-processing, metrics and breakdowns of each, by name."""

from permparse.tasks.base import Metric, Task, build_lexicon, exact_match
from permparse.tasks.registry import Option, get_task, task_names, task_options
from permparse.tasks.scores import Breakdown, breakdown, multiset_match

__all__ = [
    "Breakdown",
    "Metric",
    "Option",
    "Task",
    "breakdown",
    "build_lexicon",
    "exact_match",
    "get_task",
    "multiset_match",
    "task_names",
    "task_options",
]
