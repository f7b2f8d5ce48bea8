"""What a file says, as engines read it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np

from rankwright.exceptions import DataError

_TOKEN = re.compile(r'\s*([{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)')


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into a DataError that says what it must be."""
    try:
        yield
    except DataError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, SyntaxError, StopIteration) as bad:
        raise DataError(f"the file must be {what}, but is not: {bad!r:.200}.") from None


def float32_of(text: str) -> Any:
    """Return the float32 nearest to a decimal number, as ``Float.parseFloat`` does.

    Not that of the nearest double: where this lies in the middle of two float32, the number itself
    tells which is nearer.

    >>> float32_of("1.00000005960464478"), float32_of("Infinity")
    (np.float32(1.0000001), np.float32(inf))
    """
    double = float(text)
    with np.errstate(over="ignore"):
        found = np.float32(double)
        if float(found) == double:
            return found
        other = np.nextafter(found, np.float32(np.inf if double > float(found) else -np.inf))
    # Beyond the largest number is infinity, as if it were 2^128.
    ends = np.clip([float(found), float(other)], -(2.0**128), 2.0**128)
    middle = float(ends.sum()) / 2
    if double != middle or Decimal(text) == Decimal(middle):
        return found
    return max(found, other) if Decimal(text) > Decimal(middle) else min(found, other)


def read_json(text: str) -> Any:
    """Return what JSON says, however deep it is nested."""
    try:
        return json.loads(text)
    except RecursionError:
        return _read_deep(text)


def _read_deep(text: str) -> Any:
    """Return the same by a stack of its own; what is well-formed is read, nothing is checked."""
    top: list[Any] = []
    stack: list[Any] = [top]
    key: str | None = None
    for token in _TOKEN.findall(text):
        if token in ",:":
            continue
        if token in "}]":
            stack.pop()
            continue
        value = {"{": dict, "[": list}[token]() if token in "{[" else json.loads(token)
        inside = stack[-1]
        if isinstance(inside, list):
            inside.append(value)
        elif key is None:
            key = value
            continue
        else:
            inside[key], key = value, None
        if token in "{[":
            stack.append(value)
    return top[0]
