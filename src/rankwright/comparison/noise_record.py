"""Finished fits of a noise study, in a CSV file, so that it can be resumed."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.comparison.entries import Entry
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.writing import write_text
from rankwright.exceptions import DataError

_COLUMNS = ["noise", "level", "trial", "model", "metric", "value", "seconds", "key"]


@dataclass(frozen=True)
class Fit:
    """One model, fitted once."""

    level: float
    trial: int
    model: str
    value: float  # mean of the metric over the test queries
    seconds: float
    key: str
    kept: bool = False  # was finished before


class Record:
    """The lines of finished fits, in a file or only here."""

    def __init__(self, path: PathLike | None, noise: str, metric: str) -> None:
        self.path = None if path is None else Path(path)
        self.noise, self.metric = noise, metric
        self.rows: list[dict[str, str]] = []
        if self.path is not None and self.path.exists():
            self.rows = _read_rows(self.path)
        self.by_key = {row["key"]: row for row in self.rows}

    def find(self, key: str) -> Fit | None:
        """Return a finished fit."""
        row = self.by_key.get(key)
        if row is None:
            return None
        numbers = float(row["value"]), float(row["seconds"])
        return Fit(float(row["level"]), int(row["trial"]), row["model"], *numbers, key, kept=True)

    def add(self, fit: Fit) -> None:
        """Keep a finished fit."""
        if self.path is None:
            return
        row: list[Any] = [self.noise, fit.level, fit.trial, fit.model, self.metric]
        row += [repr(fit.value), f"{fit.seconds:.3f}", fit.key]
        self.rows.append(dict(zip(_COLUMNS, map(str, row), strict=True)))
        out = io.StringIO()
        writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_text(self.path, out.getvalue())


def _read_rows(path: Path) -> list[dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}.", path=path) from None
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or rows[0] != _COLUMNS:
        raise DataError(
            f"must be a file of a noise study, with columns {', '.join(_COLUMNS)}, but is not. "
            "Name another file.",
            path=path,
        )
    for number, row in enumerate(rows[1:], 2):
        try:
            _, level, trial, _, _, value, seconds, _ = row
            float(level), int(trial), float(value), float(seconds)
        except ValueError:
            raise DataError(
                f"must be a finished fit, but is {','.join(row)!r}. Delete the line.",
                path=path,
                line=number,
            ) from None
    return [dict(zip(_COLUMNS, row, strict=True)) for row in rows[1:]]


def key_of(*parts: Any) -> str:
    """Return a hash of everything that the value of a fit depends on."""
    return hashlib.blake2b("\n".join(map(repr, parts)).encode(), digest_size=12).hexdigest()


def describe(entry: Entry) -> str:
    """Return class and parameters of a model, but for those that do not change the result."""
    kind, params = type(entry.estimator), entry.estimator.get_params()
    kept = sorted((k, v) for k, v in params.items() if k not in ("n_jobs", "verbose"))
    return f"{kind.__module__}.{kind.__qualname__} {kept!r} {entry.scale}"


def fingerprint(dataset: Dataset) -> str:
    """Return a hash of features, labels and query ids."""
    X = dataset.X
    parts = [X.data, X.indices, X.indptr] if dataset.is_sparse else [X]
    digest = hashlib.blake2b(repr(dataset).encode(), digest_size=16)
    for array in [*parts, dataset.y, dataset.qid]:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()
