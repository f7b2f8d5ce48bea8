"""``python -m rankwright``, and the command ``rankwright``."""

import sys


def main() -> None:
    """Run the command line; also while it is loaded, Ctrl-C is one line."""
    try:
        from rankwright.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("rankwright: stopped; nothing was written.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
