"""The charts are in :mod:`rankwright.report.charts`; this name of theirs still works."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("rankwright.report.charts"), name)
