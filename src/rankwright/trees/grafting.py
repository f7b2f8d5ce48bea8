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
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from rankwright.data.alignment import Features
from rankwright.data.validation import Matrix
from rankwright.estimator import Ranker
from rankwright.linear import LinearRanker
from rankwright.trees.additive import Additive
from rankwright.trees.constraints import WeightLimits

BASES = ("linear", "auto")
N_ALPHAS = 12  # a factor of 2.3 between them: a path's neighbours hardly differ
N_FOLDS = 3
_LARGEST_SCALE = 2.0**40  # separable queries have no best scale
_HALVINGS = 50  # of an interval of a factor 2: to the last bits

Mask: TypeAlias = NDArray[np.bool_]
Rises: TypeAlias = Callable[[float], bool]


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


class GraftSource(Protocol):
    """The documents that a base is fitted to, wherever they are."""

    def alpha_of(self, ranker: LinearRanker, usable: Mask) -> float:
        """Return the penalty that is best on validation queries, or on folds of the documents."""

    def fitted(self, ranker: Any, usable: Mask) -> Additive:
        """Fit a ranker, without the features that are not usable."""

    def rises(self, part: Additive) -> Rises:
        """Tell whether the loss rises along some scores, as a function of their factor."""


def graft(
    base: Any, source: GraftSource, known: Features, limits: WeightLimits, n_jobs: int | None
) -> Graft:
    """Fit a base, and find its scale.

    ``known`` are the features of the documents, and ``limits`` what weights must be for the model
    to obey its constraints.
    """
    alpha = None
    if isinstance(base, str):
        found = linear_base(n_jobs=n_jobs)
        alpha = source.alpha_of(found, limits.usable)
        part = _within(found.set_params(alpha=alpha), source, limits)
    elif is_fitted_base(base):
        part = Additive.of(base)
        check_same_features("base", base, part, known)
    else:
        part = source.fitted(clone(base), limits.usable)
    _check_limits(part, limits)
    scale = turning_point(source.rises(part))
    return Graft(part.scaled(scale), scale, alpha)


def _within(ranker: LinearRanker, source: GraftSource, limits: WeightLimits) -> Additive:
    """Fit without the features whose weights break a limit, until none does."""
    usable = limits.usable
    while True:
        part = source.fitted(ranker, usable)
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


def turning_point(rises: Rises) -> float:
    """Return the number by which scores are multiplied before the loss falls no further; 0 or more.

    Examples
    --------
    >>> turning_point(lambda c: c >= 3.0)
    3.0
    """
    if rises(0.0):
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


def only_usable(X: Matrix, usable: Mask) -> Matrix:
    """Return features with 0 for those from which no weight is to be learned."""
    if usable.all():
        return X
    if sp.issparse(X):
        kept = sp.diags_array(usable.astype(X.dtype), dtype=X.dtype)
        return sp.csr_array(X @ kept)
    return np.where(usable, X, X.dtype.type(0))
