"""The `permparse` command, also as `python -m permparse`: Ctrl-C while modules are loaded ends it quietly, too."""

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from permparse.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(130)
    command_line()


if __name__ == "__main__":
    main()
