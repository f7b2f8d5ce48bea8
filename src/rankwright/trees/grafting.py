r"""Trees that go on from another ranker: the base, its penalty and its scale.

Boosting begins with :math:`c\, b(x)`, the scores of a base times one number, which is where the
loss falls no further along them:

.. math:: c = \arg\min_{c \ge 0} \sum_q L(c\, b_q, y_q),
   \qquad \text{or} \qquad \sum_i b_i\, g_i(c\, b) = 0

with :math:`g` the gradient of the loss, or the directions that stand for one. The penalty of a
linear base is the one that is best on validation queries; without any, in the mean over folds of
the training queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from rankwright.data.alignment import Features
from rankwright.data.dataset import Dataset
from rankwright.data.kept import Kept
from rankwright.data.validation import Floats
from rankwright.estimator import Ranker
from rankwright.inputs import RankingData
from rankwright.linear import LinearRanker
from rankwright.linear.selection import choose_alpha
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import columns_of, per_query_on
from rankwright.trees.additive import Additive
from rankwright.trees.constraints import WeightLimits

BASES = ("linear", "auto")
_N_ALPHAS = 12  # a factor of 2.3 between them: a path's neighbours hardly differ
_N_FOLDS = 3
_LARGEST_SCALE = 2.0**40  # separable queries have no best scale
_HALVINGS = 50  # of an interval of a factor 2: to the last bits


@dataclass(frozen=True)
class Graft:
    """A fitted base, by which boosting begins.

    Attributes
    ----------
    part : Additive
        Its scores, times their scale.
    scale : float
        That number.
    alpha : float or None
        The penalty that was chosen, of a linear base.
    """

    part: Additive
    scale: float
    alpha: float | None


def check_base(base: Any) -> None:
    """Raise unless boosting can begin with this."""
    if base is None or (isinstance(base, str) and base in BASES):
        return
    if isinstance(base, str) or not isinstance(base, Ranker):
        shown = " ".join(repr(base).split())  # pipelines have lines
        raise ValueError(
            f"base must be None, 'linear', 'auto' or a ranker of the library, but is {shown:.80}."
        )
    if not is_fitted_base(base):
        base.check_params()


def is_fitted_base(base: Ranker) -> bool:
    """Tell whether a base is used as it is."""
    return "n_features_in_" in vars(base)


def linear_base(alpha: float = 1e-3, n_jobs: int | None = None) -> LinearRanker:
    """Return the ranker that ``base="linear"`` stands for."""
    return LinearRanker("xendcg", alpha=alpha, standardize=True, missing="median", n_jobs=n_jobs)


def graft(
    base: Any,
    data: RankingData,
    valid: Dataset | None,
    metric: Metric,
    slope: Callable[[Floats], Floats],
    known: Features,
    limits: WeightLimits,
    n_jobs: int | None,
    columns: Kept | None = None,
) -> Graft:
    """Fit a base to training data, and find its scale.

    ``slope`` returns the gradient at some scores, ``known`` are the features of the data, and
    ``limits`` what weights must be for the model to obey its constraints; ``columns`` are those of
    the training documents that the metric looks at.
    """
    alpha = None
    if isinstance(base, str):
        found = linear_base(n_jobs=n_jobs)
        alpha = _base_alpha(found, _usable_part(data, limits.usable), valid, metric, columns or {})
        part = _within(found.set_params(alpha=alpha), data, limits)
    elif is_fitted_base(base):
        part = Additive.of(base)
        check_same_features("base", base, part, known)
    else:
        part = _fitted_part(clone(base), _usable_part(data, limits.usable))
    _check_limits(part, limits)
    scale = best_scale(part.scores(data.X, n_jobs), slope)
    return Graft(part.scaled(scale), scale, alpha)


def _fitted_part(ranker: Any, data: RankingData) -> Additive:
    return Additive.of(ranker.fit(data.X, data.y, _qid(data), **_given_weights(data)))


def _within(ranker: LinearRanker, data: RankingData, limits: WeightLimits) -> Additive:
    """Fit without the features whose weights break a limit, until none does."""
    usable = limits.usable
    while True:
        part = _fitted_part(ranker, _usable_part(data, usable))
        assert part.coef is not None
        broken = limits.broken(part.coef)
        if not broken.any():
            return part
        usable = usable & ~broken  # fewer each time


def _check_limits(part: Additive, limits: WeightLimits) -> None:
    if not limits.binding:
        return
    if part.n_trees > 0:
        raise ValueError(
            "base must be linear where features are categories or constrained: its trees know of "
            "neither. Take base='linear'."
        )
    broken = limits.broken(np.zeros(part.n_features) if part.coef is None else part.coef)
    if broken.any():
        raise ValueError(
            f"base must obey the constraints too, but has a weight for "
            f"{limits.names[int(np.argmax(broken))]!r} that does not. Take base='linear', which "
            "leaves such features to the trees."
        )


def best_scale(scores: Floats, slope: Callable[[Floats], Floats]) -> float:
    """Return the number by which scores are multiplied before the loss falls no further; 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> best_scale(np.array([1.0, -1.0]), lambda s: s - 3.0 * np.array([1.0, -1.0]))
    3.0
    """

    def rises(c: float) -> bool:
        return float(np.dot(scores, slope(c * scores))) >= 0

    if not scores.any() or rises(0.0):
        return 0.0
    high = 1.0
    while not rises(high) and high < _LARGEST_SCALE:
        high *= 2
    while high > 1 / _LARGEST_SCALE and rises(high / 2):
        high /= 2
    low = high / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rises(middle) else (middle, high)
    return high


def _given_weights(data: RankingData) -> dict[str, Any]:
    """Return the weights as arguments of ``fit``; none if all are 1."""
    given = {"sample_weight": data.sample_weight, "query_weight": data.query_weight}
    return {name: value for name, value in given.items() if value is not None}


def check_same_features(what: str, base: Any, part: Additive, known: Features) -> None:
    """Raise unless a fitted model was fitted to these features, names and categories too."""
    names = getattr(base, "feature_names_in_", None)
    same = names is None or known.names is None or [*map(str, names)] == list(known.names)
    if part.n_features != known.n or not same:
        raise ValueError(
            f"{what} must have been fitted to the features of X, in their order, but was fitted to "
            f"{part.n_features} features{'' if names is None else f' from {names[0]!r} on'}, and X "
            f"has {known.n}{'' if known.names is None else f' from {known.names[0]!r} on'}."
        )
    for name, levels in getattr(base, "categories_", {}).items():
        if list(levels) != list(known.categories.get(name, ())):
            raise ValueError(
                f"{what} must have been fitted to the categories of X, but knows others of "
                f"{name!r}. Fit it to the same data."
            )


def _usable_part(data: RankingData, usable: NDArray[np.bool_]) -> RankingData:
    """Return the data with 0 for features from which no weight is to be learned."""
    if usable.all():
        return data
    X: Any = data.X
    if sp.issparse(X):
        kept = sp.diags_array(usable.astype(X.dtype), dtype=X.dtype)
        return replace(data, X=sp.csr_array(X @ kept))
    return replace(data, X=np.where(usable, X, X.dtype.type(0)))


def _base_alpha(
    ranker: LinearRanker,
    data: RankingData,
    valid: Dataset | None,
    metric: Metric,
    columns: Kept,
) -> float:
    """Return the penalty that is best on validation queries, or on folds; of equals the largest."""
    qid = _qid(data)
    if valid is None:
        if data.groups.n_queries < _N_FOLDS:
            return ranker.alpha
        whole = Dataset(data.X, data.y, qid, kept=columns, allow_nan=True)
        if np.isnan(per_query_on([metric], whole, whole.y)[0]).all():
            return ranker.alpha  # no fold has anything to choose by
        return choose_alpha(ranker, whole, n_folds=_N_FOLDS, metric=metric).alpha
    looked_at = columns_of(valid, [metric])
    watched = Dataset(valid.X, valid.y, valid.qid, kept=looked_at, allow_nan=True)
    points = ranker.path(
        data.X,
        data.y,
        qid,
        n_alphas=_N_ALPHAS,
        valid=watched,
        metric=metric,
        **_given_weights(data),
    )
    sign = 1.0 if metric.higher_is_better else -1.0
    return max(points, key=lambda point: sign * point.quality).alpha


def _qid(data: RankingData) -> Any:
    return np.repeat(data.groups.names, data.groups.sizes)
