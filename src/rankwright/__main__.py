"""``python -m rankwright``, and the command ``rankwright``."""

import sys


def start() -> None:
    """Run the command line; also while it is loaded, Ctrl-C is one line."""
    try:
        from rankwright.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("rankwright: stopped; nothing was written.\n")
        sys.exit(130)


if __name__ == "__main__":
    start()
