"""Packages that only some tasks need: the extras of ``pip install 'rankwright[NAME]'``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rankwright.docstrings import keep_docstrings


def load_extra(module: str, extra: str, need: str) -> Any:
    """Import a module of an optional package, or say what needs it and how to install it.

    >>> load_extra("no_such", "report", "charts need")
    Traceback (most recent call last):
    ImportError: charts need the package no-such. Install it with: pip install 'rankwright[report]'
    """
    keep_docstrings()
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0].replace("_", "-")
        raise ImportError(
            f"{need} the package {package}. Install it with: pip install 'rankwright[{extra}]'"
        ) from None
