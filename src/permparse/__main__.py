"""`python -m permparse`: the command line."""

from permparse.cli import main

if __name__ == "__main__":
    main()
