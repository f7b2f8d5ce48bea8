"""Packages that compute with their docstrings, under ``python -OO``.

LightGBM and Altair build docstrings out of others when they are imported, and fail where ``-OO``
has left none. Their modules are compiled with them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

_PACKAGES = ("altair", "lightgbm")


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile as without ``-OO``."""
        path = self.get_filename(fullname)
        code: CodeType = compile(self.get_data(path), path, "exec", dont_inherit=True, optimize=0)
        return code


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find modules as Python does, and load those of the packages by a loader of our own."""
        if fullname.partition(".")[0] not in _PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def keep_docstrings() -> None:
    """Let the packages keep theirs; to be called before they are imported."""
    if sys.flags.optimize >= 2 and not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
