"""Keys of results: equal if and only if the same would come out.

A key is two hashes, ``SETTINGS-CODE``: of everything that was asked for, the data included, and of
the installed library.
"""

from __future__ import annotations

import hashlib
import inspect
import secrets
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rankwright
from rankwright.comparison.bodies import body_text, is_own, module_text
from rankwright.metrics.metric import Metric

_NO_MATTER = ("n_jobs", "verbose")  # parameters that do not change what is learned


def key(**parts: Any) -> str:
    """Return the key of a result: of what it depends on, by name.

    Arrays count with all their values, estimators with their class and parameters.
    """
    return f"{hashed(described(parts).encode())}-{code_hash()}"


# Computed once in a process; functools.cache would hold a lock that a fork could inherit.
_code: dict[Path, str] = {}


def code_hash() -> str:
    """Return a hash of the installed library: its Python files and its kernels."""
    root = Path(rankwright.__file__).parent
    if root not in _code:
        _code[root] = hash_of_files(root)
    return _code[root]


def hash_of_files(root: Path) -> str:
    """Return a hash of the Python files and shared libraries below a folder, with their names."""
    digest = hashlib.blake2b(digest_size=8)
    files = [path for suffix in ("py", "so") for path in root.rglob(f"*.{suffix}")]
    for path in sorted(files, key=lambda path: path.relative_to(root).parts):
        digest.update(f"{path.relative_to(root).as_posix()} {path.stat().st_size} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def described(value: Any) -> str:
    """Return a text that is equal for equal values, in this and in any other process.

    Classes and functions count with what they do (:mod:`rankwright.comparison.bodies`). What has no
    such text gets one of its own, so that nothing of it is ever kept.
    """
    if isinstance(value, Mapping):
        items = sorted((str(name), described(item)) for name, item in value.items())
        return "{" + ", ".join(f"{name}: {item}" for name, item in items) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        content = np.ascontiguousarray(value).tobytes()
        return f"array {value.dtype} {value.shape} {hashed(content)}"
    if isinstance(value, Metric):  # of one's own also name and direction belong to the value
        return f"{_source(type(value))} {described(vars(value))}"
    if is_dataclass(value) and not isinstance(value, type):
        parts = {item.name: getattr(value, item.name) for item in fields(value)}
        return f"{_source(type(value))} {described(parts)}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = value.get_params(deep=False).items()
        kept = {name: item for name, item in params if name not in _NO_MATTER}
        return f"{_source(type(value))} {described(kept)}"
    if inspect.isfunction(value) and not is_own(value):
        return f"{_source(value)} {_uses(value)}"
    if isinstance(value, type) or inspect.isfunction(value):
        return _source(value)
    text = repr(value)
    return text if " at 0x" not in text else f"{text} {secrets.token_hex(8)}"


def _source(what: Any) -> str:
    """Return the name of a class or function; if it is not the library's, also a hash of it."""
    name = f"{what.__module__}.{what.__qualname__}"
    if is_own(what):
        return f"{name} {hashed(body_text(what, described).encode())}"
    if what.__module__.partition(".")[0] == rankwright.__name__:
        return name
    try:
        return f"{name} {hashed(inspect.getsource(what).encode())}"
    except (OSError, TypeError):  # typed in, or made by another program
        return f"{name} {_bytecode(what.__code__)}" if inspect.isfunction(what) else name


def _bytecode(code: Any) -> str:
    inner = [_bytecode(part) if inspect.iscode(part) else repr(part) for part in code.co_consts]
    return hashed(repr((code.co_code, inner, code.co_names, code.co_varnames)).encode())


def _uses(function: Any, seen: tuple[Any, ...] = ()) -> str:
    """Return what a function finds outside itself: constants, and functions with what they use."""
    library = function.__module__.partition(".")[0] == rankwright.__name__
    found = {}
    for name in () if library else function.__code__.co_names:
        value = function.__globals__.get(name)
        if inspect.isfunction(value) and value is not function and value not in seen:
            found[name] = f"{_source(value)} {_uses(value, (*seen, function))}"
        elif inspect.ismodule(value):
            found[name] = module_text(value)
        elif isinstance(value, bool | int | float | str | tuple | list | dict | np.ndarray):
            found[name] = described(value)
    return described([function.__defaults__, function.__kwdefaults__, found])


def hashed(content: bytes) -> str:
    """Return a hash of bytes, as text."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
