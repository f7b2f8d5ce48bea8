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
    finally:
        # Python ends by SIGINT, not with 130, if one came out of an exec(), as of a module that is
        # loaded. The next exec() makes it forget that.
        exec("")


if __name__ == "__main__":
    start()
