"""Code of one's own as a text: the same for the same code, in this and in any other process.

Of a class or function of a module that can be imported, that is its source. One that was typed into
a notebook or a session has the name of what it replaces, and often no source: it is told by its
instructions, constants and defaults, by what its closure holds, and by the functions, classes and
values of the session that it uses. Where in a file or a cell it stands does not matter.
"""

from __future__ import annotations

import inspect
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None), tuple, list, dict)
# What Python adds to a class by itself.
_ADDED = {"__module__", "__qualname__", "__dict__", "__weakref__", "__doc__", "__annotations__"}
_ADDED |= {"__firstlineno__", "__static_attributes__", "__annotate_func__"}


def is_own(what: Any) -> bool:
    """Tell whether a class or function cannot be imported by another process."""
    return what.__module__ == "__main__" or "<" in what.__qualname__


def body_text(what: Any, described: Callable[[Any], str]) -> str:
    """Return a class or function of one's own as a text.

    Parameters
    ----------
    what : class or function
        One that :func:`is_own`.
    described : callable
        Returns the text of any other value.
    """
    seen: dict[int, int] = {}

    def text(value: Any) -> str:
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(text, value))}]"
        if isinstance(value, Mapping):
            return f"{{{', '.join(sorted(f'{text(k)}: {text(v)}' for k, v in value.items()))}}}"
        code = isinstance(value, type | FunctionType)
        if not is_own(value if code else type(value)):
            return described(value)
        if id(value) in seen:  # it calls itself, or is a method of what is being told
            return f"<{seen[id(value)]}>"
        seen[id(value)] = len(seen)
        if not code:
            return f"{text(type(value))} {text(getattr(value, '__dict__', {}))}"
        parts = _of_class(value) if isinstance(value, type) else _of_function(value)
        told = ", ".join(f"{name}: {text(part)}" for name, part in parts)
        return f"{value.__module__}.{value.__qualname__} {{{told}}}"

    return text(what)


def _of_class(kind: type) -> Iterator[tuple[str, Any]]:
    yield "bases", list(kind.__bases__)
    for name, value in sorted(vars(kind).items()):
        value = getattr(value, "__func__", value)  # of class methods and static ones
        if isinstance(value, property):
            yield name, [f for f in (value.fget, value.fset, value.fdel) if f is not None]
        elif isinstance(value, FunctionType | type) or (
            name not in _ADDED and isinstance(value, _PLAIN)
        ):
            yield name, value


def _of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    function = inspect.unwrap(function)
    code = function.__code__
    yield "code", _of_code(code)
    yield "defaults", [function.__defaults__, function.__kwdefaults__]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield name, _content(cell)
    for name in sorted(_used_names(code)):
        if name in function.__globals__:
            value = function.__globals__[name]
            yield name, module_text(value) if isinstance(value, ModuleType) else value


def module_text(module: ModuleType) -> str:
    """Return the name of a module; and what is in its file, if it is not of an installed package.

    A package that is installed has a version and stays as it is; a file beside one's own code is
    edited like it.
    """
    path = getattr(module, "__file__", None) or ""
    if not path.endswith(".py") or any(Path(path).is_relative_to(p) for p in _installed()):
        return module.__name__
    return f"{module.__name__} {blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()}"


def _installed() -> list[str]:
    library = Path(__file__).parents[1]
    return [str(library), *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return None


def _of_code(code: CodeType) -> list[Any]:
    constants = [_of_code(c) if isinstance(c, CodeType) else _sorted(c) for c in code.co_consts]
    return [code.co_code, code.co_exceptiontable, code.co_varnames, code.co_names, constants]


def _sorted(constant: Any) -> Any:
    # The order of a set of texts differs from process to process.
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


def _used_names(code: CodeType) -> set[str]:
    inner = (_used_names(c) for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*inner)
