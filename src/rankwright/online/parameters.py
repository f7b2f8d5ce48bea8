"""Parameters of online learners: constructors made of fields, and texts that are written once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform, overload

from numpy.typing import ArrayLike

from rankwright.data.missing import Missing
from rankwright.scoring.kernels import KernelLike

T = TypeVar("T")

_TEXTS = {
    "rounds": """\
n_epochs : int, default 10
    Passes over the data in ``fit``.
shuffle : bool, default True
    Take the {} in a random order, another in each pass.
random_state : int, optional
    Seed of that order.
@standardize
@missing""",
    "missing": """\
missing : {{"error", "median", "zero"}}, default "error"
    What stands for a missing value (NaN): the median of its feature, measured on the rows that come
    first and kept as ``fill_``, or 0. ``"error"`` refuses.""",
    "standardize": """\
standardize : bool or array-like of shape (n_features,), optional
    Learn from scaled features (:mod:`rankwright.scaling`). The scale is measured before the first
    round, or given, and never moves; weights are for features as they are. By default ``fit``
    measures all rows, and a learner that begins with ``partial_fit`` has no scale; with True it
    measures the first rows it is given.""",
    "kernel": """\
kernel : {{"linear", "poly", "rbf", "precomputed"}}, Kernel or callable, optional
    Kernel form: scores are sums over {}. None keeps weights.
gamma, degree, coef0
    Of the kernel, unless it is a :class:`~rankwright.online.Kernel`, which has its own.
budget : int, optional
    The most documents that the sum may have: the oldest fade and go, with a bound
    (:mod:`rankwright.online.budget`). Learners without such a bound refuse it.""",
    "variant": """\
variant : {{"last", "averaged", "voted"}}, optional
    Which weights predict: the last, their mean over the rounds, or the mean of their
    directions. By default a learner that begins with ``fit`` is averaged, and one that begins with
    ``partial_fit`` has the last.""",
    "mean": """\
variant : {{"last", "averaged"}}, optional
    Which {} predict: the last, or their mean over the rounds. By default a learner that begins with
    ``fit`` is averaged, and one that begins with ``partial_fit`` has the last.""",
    "intercept": """\
fit_intercept : bool, optional
    Add a feature that is always 1; with a kernel, 1 to its values. By default a learner that begins
    with ``fit`` has an intercept, and one that begins with ``partial_fit`` has none, as in the
    paper: without one it is no match for thresholds (R8).""",
    "voting": """\
variant : {{"last", "averaged", "voted"}}, optional
    What predicts: the last weights, their mean over the rounds, or a vote of all of them: each has
    as many votes as rounds that it survived, and the {} decides
    (:mod:`rankwright.online.votes`). Votes keep every document that led to an update, and leave the
    last weights in ``coef_``. By default a learner that begins with ``fit`` is averaged, and one
    that begins with ``partial_fit`` has the last.""",
    "classes": """\
classes : array-like, optional
    All labels, worst first; texts need them. By default the numbers in y, sorted, or the
    categories of an ordered pandas or polars column.""",
    "ordinal": """\
@classes
@kernel documents
@rounds documents""",
    "labels": """\
classes_ : ndarray of shape (n_ranks,)
    Labels, worst first.
n_rounds_, n_updates_ : int
    Documents so far, and those that led to an update.
cumulative_loss_ : float
    Sum of :math:`|\\hat y - y|` in labels, each before its update.""",
    "mode": """\
mode : {{"augmented", "predicted", "loss_driven"}}, default "{}"
    The update, see :class:`~rankwright.predtron.Predtron`.""",
    "norm": """\
norm : {{"l2", "l1", "group", "trace"}}, default "l2"
    The norm of margins, see :class:`~rankwright.predtron.Predtron`.""",
    "rows": """\
eta : float, "auto" or "theory", optional
    Step of ``"augmented"``. ``"auto"``, the default of ``fit``, mends the smallest mistake on
    an average row (:mod:`rankwright.predtron.steps`); ``"theory"``, that of ``partial_fit``, is
    :math:`c_L/(4 R^2)` as in Theorem 1, which is much smaller.
radius : float, optional
    R, the largest length of a row (with a 1 for the intercept), for ``"theory"``; ``fit`` measures
    it, ``partial_fit`` needs it or a number for ``eta``.
fit_intercept : bool, default True
    Add a feature that is always 1.
@kernel rows
@rounds rows""",
    "weights": """\
coef_ : ndarray of shape (n_scores, n_features)
    Weights; absent with a kernel.
intercept_ : ndarray of shape (n_scores,)
    Weights of the feature that is always 1.
n_rounds_, n_updates_ : int
    Rows so far, and those that led to an update.
cumulative_loss_ : float
    Sum of the losses of the predictions, each before its update.""",
}
_PLACE = re.compile(r"^( *)@(\w+)(?: (\w+))?$", re.MULTILINE)


@overload
def parametrized(kind: type[T]) -> type[T]: ...
@overload
def parametrized(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform()
def parametrized(kind: type[T] | None = None, *, kw_only: bool = False) -> Any:
    """Give a class the constructor that its annotated parameters tell, and its texts.

    The constructor stores, and does nothing else, as scikit-learn wants it. In the docstring a line
    ``@rounds queries`` stands for the text of that name, about queries.
    """

    def make(kind: type[T]) -> type[T]:
        if kind.__doc__:  # none with python -OO
            kind.__doc__ = _PLACE.sub(_written_out, kind.__doc__)
        return dataclass(eq=False, repr=False, kw_only=kw_only)(kind)

    return make if kind is None else make(kind)


def _written_out(place: re.Match[str]) -> str:
    indent, name, noun = place.groups()
    lines = _PLACE.sub(_written_out, _TEXTS[name].format(noun)).splitlines()
    return "\n".join(indent + line for line in lines)


@parametrized(kw_only=True)
class RoundParameters:
    """How often and in which order ``fit`` goes over the data, and on which scale."""

    n_epochs: int = 10
    shuffle: bool = True
    random_state: int | None = None
    standardize: bool | ArrayLike | None = None
    missing: Missing = "error"


@parametrized(kw_only=True)
class KernelParameters:
    """The kernel of a learner."""

    kernel: KernelLike | None = None
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    budget: int | None = None
