"""What is public, by the file system: a new package is tested without a list to extend."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import rankwright

SOURCE = Path(rankwright.__file__).parent
NOT_A_LIBRARY = {"cli"}


def packages() -> list[str]:
    """Return the names of all packages, without the command line."""
    names = {folder.parent.name for folder in SOURCE.glob("*/__init__.py")}
    return sorted(f"rankwright.{name}" for name in names - NOT_A_LIBRARY)


def modules() -> list[str]:
    """Return all packages, and the modules with an ``__all__`` that their package does not show."""
    found = packages()
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).with_suffix("").parts
        if path[-1] == "__init__" or not re.search(
            r"^__all__", file.read_text(encoding="utf-8"), re.MULTILINE
        ):
            continue
        name, shown = ".".join(("rankwright", *path)), set[str]()
        if len(path) > 1:
            shown = set(import_module(name.rpartition(".")[0]).__all__)
        if not set(import_module(name).__all__) <= shown:
            found.append(name)
    return found
