"""``python -m rankwright``."""

from rankwright.cli import main

main()
