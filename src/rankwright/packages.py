"""Packages that load what they show on first use.

A package's names stand in its module ``names``. Without it, who imports one small module of the
package would load all others, and what they need, before it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def shown_by(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose names are in ``names``.

    The first name that is asked for, or ``__all__``, brings them all.
    """

    def get(name: str) -> Any:
        if name == "__all__" or not name.startswith("_"):
            if find_spec(f"{package}.{name}") is not None:  # a module of the package
                return import_module(f"{package}.{name}")
            names, own = import_module(f"{package}.names"), vars(sys.modules[package])
            shown = {public: getattr(names, public) for public in names.__all__}
            own.update(shown, __all__=names.__all__)
            if name in own:
                return own[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names_of() -> list[str]:
        return sorted({*vars(sys.modules[package]), *get("__all__")})

    return get, names_of
