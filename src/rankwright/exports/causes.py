r"""Why an engine's scores are not the model's: what must be done to the features to have them.

A cause is a change of the features, or of the score, such as a missing value that was taken for 0.
It is judged by the rows that differ: of how many it gives the engine's score, and by how much it
brings the others nearer,

.. math:: 1 - \sum_i |s_i - f(x'_i)| \Big/ \sum_i |s_i - f(x_i)|.

Rows that agree are looked at, too: what would change their scores is no cause. Of all changes of
one feature, of two that are exchanged, and of all features the best is taken, and then, with it
made, the best again; what is not needed in the end is dropped. Changes are first tried with a few
rows, so that the thousands of pairs of a wide model take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats

Scores = Callable[[Floats], Floats]
"""Of rows of features: what the model gives."""

_FEW, _SOME = 48, 512  # rows by which all changes, then the best of them, are judged
_BEST = 24  # changes that get so far
_STEPS = 12
_MOVED = 1e-3  # relative change of a weight that float32 does not explain
_STEP = 0.15  # of the sum of differences, or of the rows, that a step must explain,
_ENOUGH = 0.5, 0.8  # and of the rows, or of the sum, that all of them must


@dataclass(frozen=True)
class Cause:
    """A change that gives the engine's scores.

    Attributes
    ----------
    kind : str
        What happened, such as ``"missing as 0"``.
    features : tuple of str
        To which features.
    change : callable
        Makes it: of rows, the rows as the engine saw them.
    offset : float
        What is added to scores.
    detail : str
        More, for people.
    """

    kind: str
    features: tuple[str, ...]
    change: Callable[[Floats], Floats] = field(repr=False)
    offset: float = 0.0
    detail: str = ""

    def text(self) -> str:
        """Say what happened."""
        what = TEXTS[self.kind] + self.detail
        if not self.features or self.kind == "wrong order":
            return what
        more = f" and {len(self.features) - 5} more" if len(self.features) > 5 else ""
        return f"{', '.join(self.features[:5])}{more}: {what}"


TEXTS = {
    "missing as 0": "a missing value was taken for 0",
    "0 as missing": "a value of 0 was taken for a missing one",
    "float32": "doubles were rounded to float32",
    "scaled twice": "values were scaled once more",
    "wrong order": "columns are in another order",
    "off by a constant": "off by a constant",
}


@dataclass(frozen=True)
class Differences:
    """Rows that an engine scores otherwise, and some that it does not.

    Attributes
    ----------
    X : ndarray
        Their features, as logged.
    scores : ndarray
        The engine's scores.
    room : callable
        Of features and scores: by how much each score may differ.
    """

    X: Floats
    scores: Floats
    room: Callable[[Floats, Floats], Floats]

    def part(self, n: int) -> Differences:
        """Return some of the rows, spread over all."""
        at = spread_over(len(self.X), n)
        return Differences(self.X[at], self.scores[at], self.room)

    def changed(self, causes: list[Cause]) -> Differences:
        """Return what is left of the differences when changes are made."""
        X, scores = self.X, self.scores
        for cause in causes:
            X, scores = cause.change(X), scores - cause.offset
        return Differences(X, scores, self.room)

    def agree(self, predict: Scores, causes: list[Cause]) -> tuple[NDArray[np.bool_], Floats]:
        """Return which rows agree when changes are made, and by how much each differs."""
        rest = self.changed(causes)
        off = np.abs(rest.scores - predict(rest.X))
        return off <= self.room(rest.X, self.scores), off

    def judged(self, predict: Scores, causes: list[Cause]) -> tuple[float, float]:
        """Return the share of rows that agree when changes are made, and what is left in all."""
        agree, off = self.agree(predict, causes)
        return float(np.mean(agree)), float(off.sum())


def spread_over(n_rows: int, n: int) -> Ints:
    """Return ``n`` rows spread over all of them, or all."""
    return np.unique(np.linspace(0, n_rows - 1, min(n, n_rows)).astype(np.int64))


@dataclass(frozen=True)
class Looked:
    """What is known of the log.

    Attributes
    ----------
    names : tuple of str
        The features.
    used : list of int
        Those that the model looks at.
    mean, deviation : ndarray
        Of each feature, over all rows.
    weights : ndarray, optional
        Of a linear model.
    takes_missing : bool
        Whether the model takes missing values.
    """

    names: tuple[str, ...]
    used: list[int]
    mean: Floats
    deviation: Floats
    weights: Floats | None
    takes_missing: bool


def causes_of(differences: Differences, predict: Scores, looked: Looked) -> list[Cause]:
    """Return the changes that together explain most of what differs; none if there are no such."""
    rows = differences.part(_SOME)
    before = rows.judged(predict, [])
    found: list[Cause] = []
    now = before
    for _ in range(_STEPS):
        best = _best(rows, predict, looked, found)
        if best is None:
            break
        then = rows.judged(predict, [*found, best])
        if then[0] < now[0] + _STEP * (1 - now[0]) and then[1] > (1 - _STEP) * now[1]:
            break
        found, now = [*found, best], then
        if now[0] == 1.0:
            break
    for cause in found[:-1]:
        others = [one for one in found if one is not cause]
        if rows.judged(predict, others)[0] >= now[0]:
            found = others
    rows_told = 1 - now[0] <= (1 - _ENOUGH[0]) * (1 - before[0])
    # How values were scaled is known up to the digits of a mean; all else gives scores, or nothing.
    scaled = any(cause.kind == "scaled twice" for cause in found)
    sum_told = scaled and now[1] <= (1 - _ENOUGH[1]) * before[1]
    told = found if rows_told or sum_told else []
    return _joined_constants(_joined_orders(told, looked.names))


def _best(rows: Differences, predict: Scores, looked: Looked, made: list[Cause]) -> Cause | None:
    """Return the change that explains most rows, or brings them nearest; the simplest of equals."""
    rows = rows.changed(made)
    changes = [*_changes(rows, predict, looked)]
    few = rows.part(_FEW)
    judged = [few.judged(predict, [cause]) for cause in changes]
    share = few.judged(predict, [])[0]
    # Who explains rows goes before who brings them nearer; the simplest of equals stand first.
    order = sorted(range(len(changes)), key=lambda i: (min(-judged[i][0], -share), judged[i][1]))
    closer = {i: rows.judged(predict, [changes[i]]) for i in sorted(order[:_BEST])}
    if not closer:
        return None
    most = max(share for share, _ in closer.values())
    if most >= rows.judged(predict, [])[0] + _STEP:
        return changes[next(i for i, (share, _) in closer.items() if share >= most - 1e-9)]
    return changes[min(closer, key=lambda i: closer[i][1])]


def _changes(now: Differences, predict: Scores, looked: Looked) -> Iterator[Cause]:
    """Yield all that is tried, the simplest first."""
    off = now.scores - predict(now.X)
    for kind, change, where in _of_values(looked):
        features = [j for j in looked.used if where(now.X[:, j]).any()]
        for some in [[j] for j in features] + ([features] if len(features) > 1 else []):
            yield _of_features(kind, change, some, looked.names)
    yield _constant(float(np.median(off)))
    if looked.weights is None:
        for j in looked.used:
            for step in (1.0, -1.0, -looked.mean[j]):
                yield _of_features("off by a constant", _plus(step), [j], looked.names, step)
    yield from _orders(looked)
    if looked.weights is not None:
        yield from _refitted(now, off, looked)


Values = Callable[[Floats, Any], Floats]
Where = Callable[[Floats], NDArray[np.bool_]]


def _of_values(looked: Looked) -> Iterator[tuple[str, Values, Where]]:
    """Yield changes of the values of a feature, and where they change one."""
    if looked.takes_missing:
        yield "missing as 0", lambda x, _: np.where(np.isnan(x), 0.0, x), np.isnan
        yield "0 as missing", lambda x, _: np.where(x == 0, np.nan, x), lambda x: x == 0

    def rounded(x: Floats, _: Any = None) -> Floats:
        with np.errstate(over="ignore"):
            return x.astype(np.float32).astype(np.float64)

    yield "float32", rounded, lambda x: (rounded(x) != x) & ~np.isnan(x)
    if looked.weights is None:

        def scaled(x: Floats, j: Any) -> Floats:
            return np.asarray((x - looked.mean[j]) / looked.deviation[j])

        yield "scaled twice", scaled, lambda x: ~np.isnan(x)


def _plus(step: float) -> Values:
    return lambda x, _: x + step


def _of_features(
    kind: str, change: Values, features: list[int], names: tuple[str, ...], step: float = 0.0
) -> Cause:
    def changed(X: Floats) -> Floats:
        new = X.copy()
        for j in features:
            new[:, j] = change(new[:, j], j)
        return new

    detail = f": the engine's values are the logged ones {step:+.6g}" if step else ""
    return Cause(kind, tuple(names[j] for j in features), changed, detail=detail)


def _refitted(now: Differences, off: Floats, looked: Looked) -> Iterator[Cause]:
    """Yield what permutes or scales features of a linear model: differences are linear in them."""
    assert looked.weights is not None
    for some in [[j] for j in looked.used] + [looked.used]:
        complete = ~np.isnan(now.X[:, some]).any(axis=1)
        if complete.sum() < 2 * len(some) + 2:
            continue
        A = np.column_stack([now.X[complete][:, some], np.ones(complete.sum())])
        *slopes, constant = np.linalg.lstsq(A, off[complete], rcond=None)[0]
        weights = looked.weights[some] + slopes
        if len(some) > 1:
            yield from _permuted(weights, some, looked)
        factors = dict(zip(some, weights / looked.weights[some], strict=True))
        moved = {j: factor for j, factor in factors.items() if abs(factor - 1) > _MOVED}
        if moved and min(moved.values()) > 0:
            yield _scaled_by(moved, float(constant), looked)


def _permuted(weights: Floats, some: list[int], looked: Looked) -> Iterator[Cause]:
    """Yield the order of columns by which an engine's weights are the model's, if there is one."""
    assert looked.weights is not None
    ours = looked.weights[some]
    if not np.allclose(np.sort(weights), np.sort(ours), rtol=_MOVED, atol=0):
        return
    # The engine gives column j of the log the weight of the column that it takes it for.
    order = np.arange(len(looked.names))
    places = np.array(some)
    order[places[np.argsort(ours, kind="stable")]] = places[np.argsort(weights, kind="stable")]
    if (order != np.arange(len(order))).any():
        yield _ordered(order, looked.names)


def _scaled_by(factors: dict[int, float], constant: float, looked: Looked) -> Cause:
    assert looked.weights is not None

    def changed(X: Floats) -> Floats:
        new = X.copy()
        for j, factor in factors.items():
            new[:, j] *= factor
        return new

    detail = ""
    if len(factors) == 1:
        ((j, factor),) = factors.items()
        offset = constant / looked.weights[j]
        detail = f": the engine's are {factor:.4g} times the logged ones, {offset:+.4g}"
    names = tuple(looked.names[j] for j in factors)
    return Cause("scaled twice", names, changed, constant, detail)


def _orders(looked: Looked) -> Iterator[Cause]:
    """Yield other orders of the columns: two exchanged, all moved by one, by name, reversed."""
    n = len(looked.names)
    same, used = np.arange(n), set(looked.used)
    for i, j in combinations(range(n), 2):
        if i in used or j in used:
            order = same.copy()
            order[[i, j]] = j, i
            yield _ordered(order, looked.names)
    by_name = np.argsort(np.array(looked.names), kind="stable")
    for order in (np.roll(same, 1), np.roll(same, -1), by_name, np.argsort(by_name), same[::-1]):
        if n > 2 and (order != same).any():
            yield _ordered(order, looked.names)


def _ordered(order: Ints, names: tuple[str, ...]) -> Cause:
    """Return the cause that features have the values of the columns in this order."""
    moved = np.flatnonzero(order != np.arange(len(order)))
    told = [f"{names[j]} has the values of {names[order[j]]}" for j in moved[:5]]
    more = f" and {len(moved) - 5} more" if len(moved) > 5 else ""
    return Cause(
        "wrong order",
        tuple(names[j] for j in moved),
        lambda X: np.ascontiguousarray(X[:, order]),
        detail=f": {', '.join(told)}{more}",
    )


def _constant(offset: float) -> Cause:
    detail = f": the engine's scores are the model's {offset:+.7g}"
    return Cause("off by a constant", (), lambda X: X, offset, detail)


def _joined_constants(causes: list[Cause]) -> list[Cause]:
    """Return causes with all constants that are added to scores as one, the last."""
    constants = [one for one in causes if one.kind == "off by a constant" and not one.features]
    others = [one for one in causes if one not in constants]
    if not constants:
        return causes
    return [*others, _constant(float(sum(one.offset for one in constants)))]


def _joined_orders(causes: list[Cause], names: tuple[str, ...]) -> list[Cause]:
    """Return causes with all exchanges of columns as one."""
    orders = [cause for cause in causes if cause.kind == "wrong order"]
    if len(orders) < 2:
        return causes
    columns = np.arange(len(names), dtype=np.float64)[None, :]
    for cause in orders:
        columns = cause.change(columns)
    others = [cause for cause in causes if cause.kind != "wrong order"]
    return [_ordered(columns[0].astype(np.int64), names), *others]
