r"""One simple model in the place of a large one: fewer trees, or a weighted sum, for an engine.

The student learns the teacher's scores in the place of labels, by XE-NDCG with

.. math:: y_i = \frac{t_i - \min_j t_j}{\sigma},

where :math:`t` are the teacher's scores of a query's documents, and :math:`\sigma` is the mean
standard deviation of its scores within queries. Labels of people are needed only to measure what is
lost.

Of the losses tried on OHSUMED and MQ2008 (ListNet with several temperatures, least squares within
queries, LambdaRank, XE-NDCG), this and least squares kept most of NDCG@10, sums and trees together;
the guide has the table.
"""

from __future__ import annotations

__all__ = ["Distillation", "distill"]

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwright.data.dataset import Dataset, check_is_dataset
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.ensemble.scales import mean_deviation
from rankwright.estimator import Ranker, as_model
from rankwright.evaluation.significance import PairedComparison, compare_pairs
from rankwright.linear import LinearRanker
from rankwright.metrics.metric import mean_of_queries
from rankwright.metrics.on_data import per_query_on
from rankwright.metrics.parsing import MetricLike, parse
from rankwright.parameters import choice, whole
from rankwright.showing import Brief
from rankwright.trees import BoostedRanker

Into = Literal["linear", "sparse", "trees"]
INTO = ("linear", "sparse", "trees")
_ALPHA = 1e-3  # a teacher's scores are no noisy labels: little must be held back
_LEAST = 1e-4  # of the penalty that leaves nothing: where a path of penalties ends
_HALVINGS = 10  # of four decades: to a hundredth of the penalty
_FEATURES, _TREES = 20, 100
_LEAVES = 15
# Of all trees together: 100 trees of step 0.1 are a usual forest, and fewer take larger steps.
_STEPS = 10.0
_LARGEST_STEP = 0.2
_SHARES = (0.8, 0.2)  # to learn from, and to measure on


@dataclass(frozen=True, eq=False, repr=False)
class Distillation(Brief):
    """A student, and what it loses.

    Attributes
    ----------
    model : LinearRanker or BoostedRanker
        The student.
    metric : str
        What was measured, on queries that the student did not learn from.
    teacher, student : float
        Means of the metric.
    loss : PairedComparison
        Teacher minus student by query: mean, 95 % interval, tests.
    correlation : float
        Mean of the correlation of both scores within a query, over the queries in which both have
        different ones; NaN if there is none.
    n_queries : int
        Queries to learn from.
    """

    model: LinearRanker | BoostedRanker
    metric: str
    teacher: float
    student: float
    loss: PairedComparison
    correlation: float
    n_queries: int

    def to_dict(self) -> dict[str, Any]:
        """Return all but the model as plain Python values, ready for JSON."""
        return {
            "metric": self.metric,
            "teacher": self.teacher,
            "student": self.student,
            "loss": self.loss.to_dict(),
            "correlation": self.correlation if np.isfinite(self.correlation) else None,
            "n_queries": self.n_queries,
        }

    def __str__(self) -> str:
        found = self.loss
        lost = found.better or found.difference == 0
        # What is told is positive, whichever of the two is better, and whatever better means.
        sign = 1.0 if found.difference >= 0 else -1.0
        low, high = sorted((sign * found.low, sign * found.high))
        return (
            f"{self.metric} {self.student:.4f}, the teacher's is {self.teacher:.4f}: "
            f"{sign * found.difference:.4f} {'lost' if lost else 'gained'} "
            f"[{low:+.4f}, {high:+.4f}] on {found.n_queries} queries; correlation "
            f"{self.correlation:.3f}"
        )


def distill(
    model: Any,
    data: Dataset,
    *,
    into: Into = "linear",
    n_features: int | None = None,
    n_trees: int | None = None,
    valid: Dataset | None = None,
    metric: MetricLike = "ndcg@10",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Distillation:
    """Fit a simple model to the scores of another one, and measure what is lost.

    Parameters
    ----------
    model : object
        The teacher: any fitted model whose ``predict`` returns scores, pipelines and kernels too.
    data : Dataset
        Queries to learn from. The labels are not learned, so that queries without judgements will
        do if ``valid`` has some.
    into : {"linear", "sparse", "trees"}, default "linear"
        What becomes of it: a weighted sum of all features, one of few, or a forest. A forest sees
        missing values as they are; a sum has medians in their place.
    n_features : int, optional
        Features of a sparse student, at most; 20 by default.
    n_trees : int, optional
        Trees of a forest; 100 by default. They have up to 15 leaves.
    valid : Dataset, optional
        Labelled queries to measure on; by default a fifth of ``data``, which the student does not
        learn from. If the teacher has learned from them, its own value is flattered.
    metric : str, Metric or function, default "ndcg@10"
        What is measured.
    random_state : int, default 0
        Seed of the fifth, of the trees and of the test.
    n_jobs : int, optional
        Threads.

    Examples
    --------
    >>> import rankwright as rw
    >>> train, test = rw.data.make_mslr_like(n_queries=80, mean_docs=20).split((0.7, 0.3))
    >>> teacher = rw.BoostedRanker(n_estimators=30).fit_dataset(train)
    >>> found = rw.distill(teacher, train, into="sparse", n_features=5, valid=test)
    >>> found.model.n_features_in_, int((found.model.coef_ != 0).sum()) <= 5
    (136, True)
    >>> found.correlation > 0.5
    True
    """
    choice(*INTO).check("into", into)
    for name, value, kind in (("n_features", n_features, "sparse"), ("n_trees", n_trees, "trees")):
        whole(1).check(name, value, optional=True)
        if value is not None and into != kind:
            raise ValueError(f"{name} is for into={kind!r}, but into is {into!r}.")
    measured = parse(metric)
    check_is_dataset(data, "data")
    if valid is not None:
        check_is_dataset(valid)
    _check_teacher(model)
    learn, held_out = data.split(_SHARES, random_state) if valid is None else (data, valid)
    if np.isnan(per_query_on([measured], held_out, held_out.y)[0]).all():
        raise ValueError(
            f"{'a fifth of data' if valid is None else 'valid'} must have a query that counts in "
            f"{measured}, but has none. Give labelled queries as valid."
        )
    learn, held_out = _known(model, learn), _known(model, held_out)
    learn = learn.with_labels(_soft_labels(_taught(model, learn), learn.groups))
    student: LinearRanker | BoostedRanker
    if into == "trees":
        student = _forest(learn, n_trees or _TREES, random_state, n_jobs)
    else:
        most = (n_features or _FEATURES) if into == "sparse" else None
        student = _weighted_sum(learn, most, n_jobs)
    scores = {"teacher": _taught(model, held_out), "student": student.predict_dataset(held_out)}
    values = {name: per_query_on([measured], held_out, s)[0] for name, s in scores.items()}
    means = {name: mean_of_queries(value, str(measured)) for name, value in values.items()}
    (found,) = compare_pairs(
        values, random_state=random_state, higher_is_better=measured.higher_is_better
    )
    return Distillation(
        student,
        str(measured),
        means["teacher"],
        means["student"],
        found,
        _correlation(scores["teacher"], scores["student"], held_out.groups),
        learn.n_queries,
    )


def _check_teacher(teacher: Any) -> None:
    """Raise unless this is a model that can be asked for scores."""
    if isinstance(teacher, type) or not callable(getattr(teacher, "predict", None)):
        raise TypeError(f"model must be a fitted model with predict, but is {teacher!r:.80}.")
    if isinstance(teacher, Ranker):
        check_is_fitted(teacher)


def _taught(model: Any, data: Dataset) -> Floats:
    """Return the teacher's scores."""
    found = np.asarray(as_model(model, data.n_features).predict_dataset(data))
    if found.shape != (data.n_docs,) or found.dtype.kind not in "fiu":
        raise TypeError(
            f"model must give each document a score, but {type(model).__name__} gives an array of "
            f"shape {found.shape} and type {found.dtype}."
        )
    if not np.isfinite(found).all():
        raise ValueError("the scores of model must be finite, but are not.")
    return found.astype(np.float64)


def _known(model: Any, data: Dataset) -> Dataset:
    """Return the documents with the teacher's features, if it knows their names."""
    known = as_model(model, data.n_features).features()
    return data if known.names is None else data.aligned(known)


def _soft_labels(scores: Floats, groups: Groups) -> Floats:
    """Return the teacher's scores as labels: in units of their spread, 0 for a query's last."""
    spread = mean_deviation(scores, groups)
    if spread == 0:
        raise ValueError(
            "model must rank something, but gives the documents of each query one score."
        )
    least = np.minimum.reduceat(scores, groups.indptr[:-1])
    return np.asarray((scores - np.repeat(least, groups.sizes)) / spread)


def _forest(learn: Dataset, n_trees: int, random_state: int, n_jobs: int | None) -> BoostedRanker:
    step = min(_LARGEST_STEP, _STEPS / n_trees)
    student = BoostedRanker(
        "xendcg",
        n_estimators=n_trees,
        learning_rate=step,
        num_leaves=_LEAVES,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return student.fit_dataset(learn)


def _weighted_sum(learn: Dataset, most: int | None, n_jobs: int | None) -> LinearRanker:
    """Return a weighted sum, of so many features at most."""
    common: dict[str, Any] = {"standardize": True, "missing": "median", "n_jobs": n_jobs}
    if most is None:
        return LinearRanker("xendcg", alpha=_ALPHA, **common).fit_dataset(learn)
    student = LinearRanker("xendcg", "l1", **common)
    learn = student.encoded(learn)
    high = student.path(learn, learn.y, learn.qid, n_alphas=1)[0].alpha
    low, best = _LEAST * high, None
    for _ in range(_HALVINGS):
        alpha = math.sqrt(low * high)
        n_used = np.count_nonzero(student.set_params(alpha=alpha).fit_dataset(learn).coef_)
        low, high = (low, alpha) if n_used <= most else (alpha, high)
        if 0 < n_used <= most:
            best = alpha
    if best is None:
        raise ValueError(f"no penalty leaves 1 to {most} features: several come at once.")
    student.set_params(alpha=best, relax=True)
    return student.fit_dataset(learn)


def _correlation(a: Floats, b: Floats, groups: Groups) -> float:
    """Return the mean over queries of the correlation of two scores."""
    found = []
    for rows in groups:
        x, y = a[rows] - a[rows].mean(), b[rows] - b[rows].mean()
        size = float(np.sqrt((x @ x) * (y @ y)))
        if size > 0:
            found.append(float(x @ y) / size)
    return float(np.mean(found)) if found else float("nan")
