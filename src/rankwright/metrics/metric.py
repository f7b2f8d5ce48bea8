"""What all metrics share: a metric is a value that states every convention it follows."""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, check_scores, check_y
from rankwright.exceptions import DataWarning
from rankwright.metrics.ranking import RankedLabels

Ties: TypeAlias = Literal["average", "order", "worst", "best"]
Empty: TypeAlias = Literal["skip"] | float
OwnFunction: TypeAlias = Callable[[Floats, Floats], float]
Columns: TypeAlias = Mapping[str, ArrayLike]

CHOICES: dict[str, tuple[str, ...]] = {
    "ties": ("average", "order", "worst", "best"),
    "gain": ("exp2", "linear"),
    "discount": ("log2", "letor"),
    "short": ("keep", "zero"),
    "variant": ("a", "b"),
    "target": ("documents", "relevance"),
}
COLUMNS = ("subtopics", "group", "duplicates")  # conventions that name a column
_COLUMN = re.compile(r"[^\s,()=]([^,()=]*[^\s,()=])?")  # what a text can hold
_LARGEST_K = 2**31 - 1


@dataclass(frozen=True)
class Metric:
    """A quality measure of rankings, query by query.

    Metrics are frozen values: two with the same conventions are equal, ``str`` writes the
    conventions that differ from the defaults, and :func:`rankwright.metrics.parse` reads them back.

    The conventions that several metrics share:

    ``k``
        Ranks that count; None is all of them.
    ``ties``
        The order of documents with equal scores. ``"average"`` is the exact expectation over all
        orders, ``"order"`` keeps the order of the rows, ``"worst"`` puts lower labels first,
        ``"best"`` higher ones.
    ``empty``
        The value of a query on which the metric is undefined, usually because it has no relevant
        document.
        ``"skip"`` makes it NaN, which :meth:`mean` leaves out.
    ``threshold``
        A document is relevant if its label is at least this.

    A metric that looks at more than labels and scores says so by :attr:`needs`, and gets it by
    ``columns``: arrays by name, one value for each row, such as ``Dataset.kept``.
    """

    name: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    denominators: ClassVar[tuple[str, ...]] = ()
    tie_rules: ClassVar[tuple[str, ...]] = CHOICES["ties"]
    uses_ranking: ClassVar[bool] = True  # if not, per_query is to be called on its own

    def __post_init__(self) -> None:
        own = {"denominator": self.denominators, "ties": self.tie_rules}
        for name, value in fields_of(self).items():
            choices = own.get(name, CHOICES.get(name))
            check_convention(type(self).__name__, name, value, choices)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the columns that it looks at besides labels and scores."""
        return tuple(value for name, value in fields_of(self).items() if name in COLUMNS)

    @property
    def depth(self) -> int | None:
        """Ranks that must be known; None is all of them."""
        k: int | None = fields_of(self).get("k")
        return k

    def per_query(
        self,
        y: ArrayLike,
        scores: ArrayLike,
        groups: Groups | None = None,
        *,
        columns: Columns | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        """Return the metric of each query; NaN where it is skipped.

        Parameters
        ----------
        y : array-like of shape (n_docs,)
            Labels.
        scores : array-like of shape (n_docs,)
            Scores; larger ranks higher.
        groups : Groups, optional
            Row ranges of the queries; None is one query.
        columns : mapping of str to array-like of shape (n_docs,), optional
            What the metric :attr:`needs`.
        n_jobs : int, optional
            Threads; the result does not depend on them.
        """
        return self.from_ranking(RankedLabels(y, scores, groups, depth=self.depth, n_jobs=n_jobs))

    def mean(
        self,
        y: ArrayLike,
        scores: ArrayLike,
        groups: Groups | None = None,
        *,
        columns: Columns | None = None,
        n_jobs: int | None = None,
    ) -> float:
        """Return the mean over the queries that are not skipped."""
        values = self.per_query(y, scores, groups, columns=columns, n_jobs=n_jobs)
        return mean_of_queries(values, str(self))

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query of a ranking that is at least ``depth`` deep."""
        raise NotImplementedError

    def _rule(self, ranking: RankedLabels, ties: Ties = "average") -> _kernels.Rule:
        """Return the conventions that every kernel takes."""
        chosen = fields_of(self).get("ties", ties)
        return _kernels.Rule(chosen, self.undefined, ranking.n_threads)

    @property
    def undefined(self) -> float:
        """The value of a query on which it is undefined; NaN if that is skipped."""
        empty: Empty = fields_of(self).get("empty", "skip")
        return math.nan if isinstance(empty, str) else float(empty)

    def __str__(self) -> str:
        # Only what differs from the defaults, and each in a form that parse reads:
        # parse(str(metric)) == metric is what files and tables rely on.
        text = self.name
        options, chosen = [], fields_of(self)
        for field in dataclasses.fields(self):
            value = chosen[field.name]
            if field.name == "k":
                text += "" if value is None else f"@{value}"
            elif value != field.default:
                options.append(f"{field.name}={value}")
        return text + (f"({','.join(options)})" if options else "")


@dataclass(frozen=True)
class RowMetric(Metric):
    """A metric that looks at rows, of which a ranking of labels does not know enough."""

    uses_ranking: ClassVar[bool] = False

    def per_query(
        self,
        y: ArrayLike,
        scores: ArrayLike,
        groups: Groups | None = None,
        *,
        columns: Columns | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        """Return the metric of each query; NaN where it is skipped."""
        labels = check_y(y)
        values = check_scores(scores, len(labels))
        groups = Groups.one_query(len(labels)) if groups is None else groups
        groups.require_rows(len(labels))
        return self.of_rows(labels, values, groups, columns or {})

    def of_rows(self, y: Floats, scores: Floats, groups: Groups, columns: Columns) -> Floats:
        """Return the metric of each query, of labels and scores that have been checked."""
        raise NotImplementedError

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Refuse: a ranking of labels does not know all that it takes."""
        raise NotImplementedError(f"{self.name} needs rows: call per_query.")


def fields_of(metric: Metric) -> dict[str, Any]:
    """Return what a metric leaves to choose, and what was chosen, by name."""
    return {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}


def mean_of_queries(values: Floats, name: str, weights: Floats | None = None) -> float:
    """Return the mean without NaN; exact summation makes it independent of the order of queries.

    With weights it is the weighted mean; queries of weight 0 do not count.
    """
    mean = mean_or_nan(values, weights)
    if math.isnan(mean):
        tell_undefined(name, stacklevel=4)  # the line that called mean()
    return mean


def tell_undefined(name: str, stacklevel: int) -> None:
    """Warn that a metric has no mean."""
    warnings.warn(
        f"{name} is undefined on every query, so its mean is NaN. Pass empty=0.0 or 1.0 to count "
        "such queries.",
        DataWarning,
        stacklevel=stacklevel,
    )


def mean_or_nan(values: Floats, weights: Floats | None = None) -> float:
    """Return what :func:`mean_of_queries` does, without a word if there is none."""
    defined = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
    kept = values[defined]
    if len(kept) == 0:
        return math.nan
    if weights is None:
        return math.fsum(kept.tolist()) / len(kept)
    own = weights[defined]
    return math.fsum((own * kept).tolist()) / math.fsum(own.tolist())


def per_query_of_all(
    metrics: Sequence[Metric],
    y: ArrayLike,
    scores: ArrayLike,
    groups: Groups | None = None,
    *,
    columns: Columns | None = None,
    n_jobs: int | None = None,
) -> list[Floats]:
    """Return ``per_query`` of several metrics; documents are sorted once for all of them."""
    # A deeper ranking serves a shallower metric, never the other way round: behind its depth
    # documents are in no order.
    depths = [metric.depth for metric in metrics if metric.uses_ranking]
    depth = None if None in depths else max((d for d in depths if d is not None), default=1)
    ranking = RankedLabels(y, scores, groups, depth=depth, n_jobs=n_jobs) if depths else None
    return [
        metric.per_query(y, scores, groups, columns=columns, n_jobs=n_jobs)
        if ranking is None or not metric.uses_ranking
        else metric.from_ranking(ranking)
        for metric in metrics
    ]


def check_convention(
    metric: str, name: str, value: Any, choices: tuple[str, ...] | None = None
) -> None:
    """Raise unless a convention has a value that it can have."""
    if choices is not None:
        if value not in choices:
            names = ", ".join(repr(choice) for choice in choices)
            raise ValueError(f"{name} of {metric} must be one of {names}, but is {value!r}.")
        return
    # True is an int in Python, and k=True would be a cutoff of 1.
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if name == "k":
        whole = isinstance(value, int | np.integer) and number
        if value is not None and not (whole and 0 < value <= _LARGEST_K):
            raise ValueError(
                f"k of {metric} must be a positive integer below 2^31 or None, but is {value!r}."
            )
    elif name == "empty":
        if value != "skip" and not (number and math.isfinite(value)):
            raise ValueError(f"empty of {metric} must be 'skip' or a number, but is {value!r}.")
    elif name in COLUMNS:
        if not isinstance(value, str) or not _COLUMN.fullmatch(value):
            raise ValueError(
                f"{name} of {metric} must be the name of a column, without any of ,()= and spaces "
                f"around it, but is {value!r}."
            )
    elif name == "p":
        if not number or not 0 < value < 1:
            raise ValueError(f"p of {metric} must lie between 0 and 1, but is {value!r}.")
    elif name == "alpha":
        if not number or not 0 <= value <= 1:
            raise ValueError(f"alpha of {metric} must lie between 0 and 1, but is {value!r}.")
    elif not number or not math.isfinite(value):
        raise ValueError(f"{name} of {metric} must be a number, but is {value!r}.")
