r"""What an engine logged, beside what a model says of the same features.

A score agrees if it is the model's in float32, bit for bit, where engines must have these bits:
trees with leaves on a grid (:mod:`rankwright.exports.grid`), and models that have an engine's
arithmetic. Of other models it agrees if it differs by no more than float32 sums can, with leaves
rounded to float32 or put on a grid: of trees by the bounds of that module, and of a weighted sum by

.. math:: (n + 2)\, 2^{-24} \Big( |b| + \sum_j |w_j x_j| \Big)

and in any case by the rounding of the result to float32.
"""

from __future__ import annotations

import copy
import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import listed
from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.exports.causes import Cause, Differences, Looked, causes_of, spread_over
from rankwright.exports.certificate import Certificate
from rankwright.exports.grid import UNITS, place
from rankwright.exports.logs import read_log
from rankwright.exports.naming import engine_names
from rankwright.exports.reference import Reference
from rankwright.exports.rules import Rules, Trees, rules_of
from rankwright.exports.verification import Verification
from rankwright.scoring import load

_U = 2.0**-24  # relative rounding of float32
_SHOWN, _LISTED = 5, 1000  # rows that are shown, and listed for machines
_TOLD = 2000  # rows by which columns are told to be float32


def verify_log(
    what: Any, log: str | PathLike[str], names: Sequence[str] | Mapping[str, str] | None = None
) -> Verification:
    """Compare a log with a model; see :func:`rankwright.verify`."""
    judge = _Judge.of(what, names)
    rows = _LoggedRows.read(log, judge)
    predicted = judge.predict(rows.X)
    differ = ~judge.agrees(predicted, rows)
    if differ.any() and _are_doubles(judge, rows, np.flatnonzero(differ)):
        rows = replace(rows, X=rows.logged)
        predicted = judge.predict(rows.X)
        differ = ~judge.agrees(predicted, rows)
    causes = _causes(judge, rows, differ)
    return _Findings(judge, rows, predicted, differ, causes).verification(Path(log).name)


@dataclass(frozen=True)
class _Judge:
    """A model, and how its scores are compared.

    Attributes
    ----------
    rules : Rules
        What it computes, with the engine's names.
    reference : Reference
        Its scores.
    exact : bool
        Whether the engine must have its bits.
    slack : float
        By how much sums of other trees may differ.
    """

    rules: Rules
    reference: Reference
    exact: bool
    slack: float

    @classmethod
    def of(cls, what: Any, names: Sequence[str] | Mapping[str, str] | None) -> _Judge:
        """Return the judge that a certificate, a model file or a model is."""
        if isinstance(what, str | PathLike):
            path = Path(what)
            if path.suffix.lower() == ".json":
                certificate = Certificate.load(path)
                model = _certified(certificate, path)
                names = certificate.names if names is None else names
            else:
                model = load(path)
        else:
            model = what
        plain = copy.copy(model)
        vars(plain).pop("arithmetic_", None)
        rules = rules_of(plain)
        rules = rules.named(engine_names(rules.names, names))
        if rules.linear is not None and len(rules.linear.weights) > 1:
            raise DataError("a log has one score for each document, but this model has several.")
        exact = "arithmetic_" in vars(model) or (rules.trees is not None and on_grid(rules.trees))
        slack = 0.0 if exact or rules.trees is None else tree_tolerance(rules.trees)
        return cls(rules, Reference(model, rules), exact, slack)

    @property
    def takes_missing(self) -> bool:
        """Whether missing values are taken as they are, or filled in."""
        return self.rules.linear is None or self.rules.linear.fill is not None

    def predict(self, X: Floats) -> Floats:
        """Return scores."""
        return np.asarray(self.reference(X).scores)

    def tolerance(self, X: Floats) -> Floats:
        """Return by how much each score may differ, before it is rounded to float32."""
        if self.exact or self.rules.trees is not None:
            return np.full(len(X), self.slack)
        linear = self.rules.linear
        assert linear is not None
        weights, n = np.abs(linear.weights[0]), len(linear.weights[0]) + 2
        sizes = np.abs(X) if linear.fill is None else np.abs(np.where(np.isnan(X), linear.fill, X))
        return np.asarray((sizes @ weights + abs(linear.bias[0])) * n * _U / (1 - n * _U))

    def agrees(self, predicted: Floats, rows: _LoggedRows) -> NDArray[np.bool_]:
        """Tell which scores agree."""
        with np.errstate(over="ignore"):
            same = rows.scores.astype(np.float32) == predicted.astype(np.float32)
        if self.exact:
            return np.asarray(same)
        near = np.abs(rows.scores - predicted) <= self.room(rows.X, predicted)
        return np.asarray(same | near)

    def room(self, X: Floats, predicted: Floats) -> Floats:
        """Return by how much each score may differ, all in all."""
        return self.tolerance(X) + _U * np.abs(predicted)

    def way(self) -> str:
        """Say how scores are compared, and why."""
        if self.exact:
            what = (
                "leaves are on a grid" if self.rules.trees is not None else "sums are the engine's"
            )
            return f"bit for bit as float32 (the model's {what})"
        if self.rules.trees is not None:
            return (
                f"within {self.slack:.2g} (what float32 sums of {self.rules.trees.n_trees:,} "
                "trees, or leaves on a grid, can differ by; a grid model is compared bit for bit)"
            )
        n = self.rules.n_features + 2
        return f"within {n * _U:.2g} of the sum of the terms' sizes (float32 rounds each of them)"


@dataclass(frozen=True)
class _LoggedRows:
    """A log.

    Attributes
    ----------
    dataset : Dataset
        As it was read.
    X : ndarray
        The features of the model, those that are float32 numbers as such.
    logged : ndarray
        The same as doubles.
    absent, ignored : list of str
        Features that the log does not have, and columns that are no features.
    """

    dataset: Dataset
    X: Floats
    logged: Floats
    absent: list[str]
    ignored: list[str]

    @property
    def scores(self) -> Floats:
        """The engine's scores."""
        return self.dataset.y

    @classmethod
    def read(cls, path: str | PathLike[str], judge: _Judge) -> _LoggedRows:
        """Read a log: query, doc, score, and the features by their names."""
        names = judge.rules.names
        dataset, empty = read_log(path, names)
        there = {name: j for j, name in enumerate(dataset.feature_names or [])}
        absent = [name for name in names if name not in there and name not in empty]
        if len(absent) == len(names):
            raise DataError(
                f"has no feature of the model: neither {listed(names)}, but {listed([*there])}. "
                "Tell what they are called: names=... (--names FILE).",
                path=path,
            )
        logged = np.full((dataset.n_docs, len(names)), np.nan)
        for j, name in enumerate(names):
            if name in there:
                logged[:, j] = dataset.X[:, there[name]]
        if np.isinf(logged).any():
            row, j = np.argwhere(np.isinf(logged))[0].tolist()
            line = int(dataset.order[row]) + 2
            raise DataError("features must be finite.", path=path, line=line, field=names[j])
        if not judge.takes_missing:
            np.nan_to_num(logged, copy=False)
        ignored = [name for name in there if name not in set(names)]
        return cls(dataset, _as_float32(logged), logged, absent, ignored)

    def place(self, row: int) -> dict[str, Any]:
        """Return where a row is."""
        dataset = self.dataset
        assert dataset.doc_ids is not None
        return {
            "line": int(dataset.order[row]) + 2,
            "query": str(dataset.qid[row]),
            "doc": str(dataset.doc_ids[row]),
        }


def _are_doubles(judge: _Judge, rows: _LoggedRows, differ: Any) -> bool:
    """Tell whether most rows that differ do not if what looks like float32 is taken as doubles."""
    some = differ[spread_over(len(differ), _TOLD)]
    off = np.abs(rows.scores[some] - judge.predict(rows.logged[some]))
    return bool(np.mean(off <= judge.room(rows.logged[some], rows.scores[some])) > 0.5)


def _as_float32(X: Floats) -> Floats:
    """Return columns whose numbers are all texts of float32 as these; the others as they are.

    The shortest text of a float32 is read as a double beside it, on either side.
    """
    rows = X[np.unique(np.linspace(0, len(X) - 1, min(_TOLD, len(X))).astype(np.int64))]
    found = X.copy()
    with np.errstate(over="ignore"):
        for j in range(X.shape[1]):
            values = rows[:, j]
            if all(x != x or float(str(np.float32(x))) == x for x in values.tolist()):
                found[:, j] = X[:, j].astype(np.float32)
    return found


def on_grid(trees: Trees) -> bool:
    """Tell whether all sums of leaves are exact in float32, whatever their order."""
    total = math.fsum(trees.largest()) + abs(trees.shift)
    if total == 0:
        return True
    g = math.ldexp(1.0, math.frexp(total)[1] - 24)
    for step in (g / 2, g):
        units = trees.leaf / step
        if total <= UNITS * step and (units == np.rint(units)).all():
            return True
    return False


def tree_tolerance(trees: Trees) -> float:
    """Return by how much an engine's score may differ from that of trees, but for a shift."""
    return max(place(trees, "grid", True).bound, place(trees, "nearest", False).bound)


def _certified(certificate: Certificate, path: Path) -> Any:
    """Return the grid model of a certificate."""
    facts = certificate.files["grid"]
    place = path.with_name(facts["name"])
    try:
        content = place.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", path=place) from None
    if hashlib.sha256(content).hexdigest() != facts["sha256"]:
        raise DataError("is not the certified file.", path=place)
    return load(place)


def _causes(judge: _Judge, rows: _LoggedRows, differ: NDArray[np.bool_]) -> list[Cause]:
    """Return what explains the rows that differ."""
    # One score for all could come of many changes, and tells of none.
    if not differ.any() or (len(differ) > 1 and np.ptp(rows.scores) == 0):
        return []
    X = rows.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are missing throughout
        mean, deviation = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    linear = judge.rules.linear
    looked = Looked(
        names=judge.rules.names,
        used=judge.rules.used(),
        mean=np.nan_to_num(mean),
        deviation=np.nan_to_num(deviation, nan=1.0),
        # Scores are linear in the features only where nothing else is added.
        weights=None if linear is None or judge.rules.trees is not None else linear.weights[0],
        takes_missing=judge.takes_missing,
    )
    at = [spread_over(int(one.sum()), 512) for one in (differ, ~differ)]
    some = np.concatenate([np.flatnonzero(differ)[at[0]], np.flatnonzero(~differ)[at[1]]])
    return causes_of(_differences(judge, rows, some), judge.predict, looked)


def _differences(judge: _Judge, rows: _LoggedRows, at: Any) -> Differences:
    return Differences(rows.X[at], rows.scores[at], judge.room)


@dataclass(frozen=True)
class _Findings:
    """What came out."""

    judge: _Judge
    rows: _LoggedRows
    predicted: Floats
    differ: NDArray[np.bool_]
    causes: list[Cause]

    def verification(self, name: str) -> Verification:
        """Say it."""
        rows, at = self.rows, np.flatnonzero(self.differ)
        n, total = len(at), len(self.differ)
        lines = [f"{name}: {total:,} rows, compared {self.judge.way()}"]
        if rows.absent:
            taken = "missing" if self.judge.takes_missing else "0"
            lines.append(f"not in the log, taken as {taken}: {listed(rows.absent)}")
        if rows.ignored:
            lines.append(f"no features of the model: {listed(rows.ignored)}")
        off = np.abs(rows.scores - self.predicted)[at]
        at = at[np.argsort(rows.dataset.order[at], kind="stable")]
        shown = [self._row(int(i)) for i in at[:_LISTED]]
        facts: dict[str, Any] = {
            "rows": total,
            "differ": n,
            "compared": self.judge.way(),
            "largest_difference": float(off.max(initial=0.0)),
            "absent": rows.absent,
            "ignored": rows.ignored,
            "differing": shown,
            "causes": [],
        }
        if n == 0:
            return Verification(not rows.absent, (*lines, "all scores agree"), facts)
        lines.append(f"{n:,} scores differ, by at most {off.max():.3g}")
        lines += [_logged_text(row) for row in shown[:_SHOWN]]
        lines += [f"... and {n - _SHOWN:,} more"] if n > _SHOWN else []
        lines += self._why(at, facts)
        return Verification(False, tuple(lines), facts)

    def _row(self, row: int) -> dict[str, Any]:
        engine, model = float(self.rows.scores[row]), float(self.predicted[row])
        return {**self.rows.place(row), "engine": engine, "model": model}

    def _why(self, at: Any, facts: dict[str, Any]) -> list[str]:
        """Return what explains the differences, proved on all of these rows."""
        if not self.causes:
            scores = self.rows.scores
            if np.ptp(scores) == 0 < np.ptp(self.predicted):
                return [f"why: the engine gives every document the same score, {scores[0]:g}"]
            return ["why: no single cause gives the engine's scores"]
        every = np.arange(len(self.differ))
        agree, off = _differences(self.judge, self.rows, every).agree(
            self.judge.predict, self.causes
        )
        before = np.abs(self.rows.scores - self.predicted)[at].sum()
        n, n_lost = int(agree[at].sum()), int((~agree & ~self.differ).sum())
        nearer = 1 - float(off[at].sum() / before)
        facts["causes"] = [
            {"kind": one.kind, "features": list(one.features), "text": one.text()}
            for one in self.causes
        ]
        facts["explained"], facts["nearer"], facts["lost"] = n, nearer, n_lost
        lines = [f"why: {cause.text()}" for cause in self.causes]
        end = "" if n == len(at) else f", and brings them nearer by {nearer:.1%} in all"
        lost = f"; {n_lost:,} that agree would not" if n_lost else ""
        return [*lines, f"that gives {n:,} of the {len(at):,} scores{end}{lost}"]


def _logged_text(row: dict[str, Any]) -> str:
    return (
        f"  line {row['line']}, query {row['query']}, doc {row['doc']}: the engine has "
        f"{row['engine']:.9g}, the model {row['model']:.9g}"
    )
