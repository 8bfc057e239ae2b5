"""One piece of work in a process of its own: `python -m permparse.executors.process WORK`, with the work as JSON."""

import sys

from permparse.executors.base import Work, perform

FAILED = 2


def main() -> int:
    """Do the work; why it failed, if it did, is all that goes to stdout."""
    reason = perform(Work.from_json(sys.argv[1]))
    if reason is None:
        return 0
    print(reason)
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
