"""A slow, plain-python twin of the LETOR reader.

It splits lines with ``str`` methods, reads numbers with ``float`` and finds the nearest float32
with exact fractions (``numpy.float32(text)`` rounds twice, so it is no judge). It knows neither
chunks nor threads nor files, and it expects text without faults.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

BLANKS = " \t\r"
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
FLOAT32_LIMIT = Fraction(2) ** 128 - Fraction(2) ** 103  # from here on infinity is nearest


@dataclass(frozen=True)
class Line:
    """One document: numbers still as text, features by index as written."""

    label: str
    qid: str | None
    features: dict[int, str]
    comment: str | None

    @property
    def doc_id(self) -> str:
        """The X of ``docid = X``, else the whole comment."""
        comment = (self.comment or "").strip(BLANKS)
        named = re.match(r"docid[ \t\r]*=[ \t\r]*([^ \t\r]*)", comment)
        return named.group(1) if named else comment


@dataclass(frozen=True, eq=False)
class Letor:
    """A whole text, in file order."""

    X: npt.NDArray[Any]
    y: npt.NDArray[np.float64]
    qid: list[str | None]
    doc_ids: list[str]


def parse_line(text: str) -> Line | None:
    """Split a line; None if it holds no document."""
    data, mark, comment = text.partition("#")
    tokens = [token for token in re.split(f"[{BLANKS}]+", data) if token]
    if not tokens:
        return None
    label = tokens.pop(0)
    qid = tokens.pop(0).removeprefix("qid:") if tokens and tokens[0].startswith("qid:") else None
    features: dict[int, str] = {}
    for token in tokens:
        index, value = token.split(":")
        assert int(index) not in features
        features[int(index)] = value
    return Line(label, qid, features, comment if mark else None)


def nearest(text: str, dtype: Any) -> Any:
    """Return the float32 or float64 nearest to a decimal text, ties to the even one."""
    assert NUMBER.fullmatch(text), text
    double = float(text)
    if dtype == np.float64 or not math.isfinite(double):
        return dtype(double)
    exact = Fraction(text)
    if exact == 0:
        return np.float32(double)
    if abs(exact) >= FLOAT32_LIMIT:
        return np.float32(math.copysign(math.inf, double))
    with np.errstate(over="ignore", under="ignore"):
        guess = np.float32(double)
        around = [np.nextafter(guess, np.float32(end)) for end in (-math.inf, math.inf)]
    candidates = [value for value in (guess, *around) if np.isfinite(value)]

    def rank(value: np.float32) -> tuple[Fraction, int]:
        return abs(Fraction(float(value)) - exact), int(value.view(np.uint32)) & 1

    best = min(candidates, key=rank)
    return np.copysign(best, np.float32(math.copysign(1.0, double)))


def read(
    text: str, dtype: Any = np.float32, *, first_index: int = 1, n_features: int | None = None
) -> Letor:
    """Read a text into a dense matrix."""
    lines = [line for line in map(parse_line, text.split("\n")) if line is not None]
    if n_features is None:
        last = max((index for line in lines for index in line.features), default=first_index - 1)
        n_features = last + 1 - first_index
    X = np.zeros((len(lines), n_features), dtype=dtype)
    for row, line in enumerate(lines):
        for index, value in line.features.items():
            X[row, index - first_index] = nearest(value, dtype)
    y = np.array([float(line.label) for line in lines])
    return Letor(X, y, [line.qid for line in lines], [line.doc_id for line in lines])
