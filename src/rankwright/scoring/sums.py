r"""Scores: weighted sums of features, or of kernels.

.. math::
    s(x) = W x + b \qquad \text{or} \qquad s(x) = \sum_i c_i K(x_i, x)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.products import linear_scores
from rankwright.data.sparse import is_sparse
from rankwright.data.validation import Floats, Matrix
from rankwright.exceptions import DataError
from rankwright.scaling import FeatureScale
from rankwright.scoring.given import Intake, refuse_values
from rankwright.scoring.kernels import BLOCK, Kernel, PlusOne
from rankwright.scoring.state import (
    State,
    check_floats,
    check_rounds,
    has_intercept,
    settled,
)


def finite_scores(scores: Any, first_row: int = 0) -> Floats:
    """Return scores as float64; raise if products of very large features and weights overflowed."""
    result = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(result).all():
        row = first_row + int(np.argwhere(~np.isfinite(result))[0, 0])
        raise ValueError(f"the score of row {row} is not finite: scale the features.")
    return result


# A tuple, as every call of an estimator makes one: a frozen dataclass would take twice as long.
class WeightedSum(NamedTuple):
    """Sums of weighted features.

    Attributes
    ----------
    coef : ndarray of shape (n_features,) or (n_scores, n_features)
        The weights.
    intercept : float or ndarray of shape (n_scores,), optional
        What is added.
    n_jobs : int, optional
        Threads.
    """

    coef: Floats
    intercept: Any = None
    n_jobs: int | None = None

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the sums of a fitted model."""
        intercept = state["intercept_"] if has_intercept(state) else None
        # Of another layout, as a learner may have them, products differ in their last bits.
        return cls(np.ascontiguousarray(state["coef_"]), intercept, state.get("n_jobs"))

    def scores(self, X: Matrix) -> Floats:
        """Return a score for each row, or a row of scores."""
        found, finite = linear_scores(X, self.coef, self.intercept, self.n_jobs)
        return found if finite else finite_scores(found)

    def scores_of(self, intake: Intake, X: Any) -> Floats:
        """Return the scores of what ``predict`` was given, which is looked at by multiplying it."""
        rows = intake.rows(X, look=False)
        found, finite = linear_scores(rows, self.coef, self.intercept, self.n_jobs)
        if not finite:
            refuse_values(intake, rows, False)
        return found if finite else finite_scores(found)


SUM_TYPES = ("float32", "float64")


@dataclass(frozen=True)
class InOrderSum:
    r"""Weighted sums as search engines take them, one feature after the other.

    .. math:: s_0 = b, \qquad s_j = s_{j-1} + w_j x_j

    with :math:`x` in float32, every product and sum rounded to one type, and the result to float32.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        The weights.
    intercept : float
        What the sum begins with.
    arithmetic : {"float32", "float64"}
        The type of weights, products and sums.
    """

    coef: Floats
    intercept: float
    arithmetic: str

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the sums of a fitted model."""
        intercept = float(np.sum(state["intercept_"])) if has_intercept(state) else 0.0
        return cls(state["coef_"].reshape(-1), intercept, state["arithmetic_"])

    def scores_of(self, intake: Intake, X: Any) -> Floats:
        """Return the scores of what ``predict`` was given."""
        return self.scores(intake.rows(X))

    def scores(self, X: Matrix) -> Floats:
        """Return a score for each row."""
        kind = np.dtype(self.arithmetic).type
        with np.errstate(over="ignore", invalid="ignore"):
            weights, found = self.coef.astype(kind), np.full(X.shape[0], kind(self.intercept))
            for begin in range(0, X.shape[0], BLOCK):
                rows = slice(begin, begin + BLOCK)
                columns = X[rows].toarray().T if is_sparse(X) else X[rows].T
                for w, x in zip(weights, columns, strict=True):
                    found[rows] += w * x.astype(np.float32).astype(kind)
            return finite_scores(found.astype(np.float32))


def check_arithmetic(state: State) -> None:
    """Raise unless a state, read from a file, says how its weighted sums are taken, or nothing."""
    if "arithmetic_" in state:
        if state["arithmetic_"] not in SUM_TYPES:
            raise DataError(f"arithmetic_ must be one of {', '.join(SUM_TYPES)}.")
        coef = state.get("coef_", state.get("linear_coef_"))
        if not isinstance(coef, np.ndarray) or (coef.ndim > 1 and len(coef) != 1):
            raise DataError("arithmetic_ is for models with one score.")


def check_weights_of(state: State, *n_scores: int) -> None:
    """Raise unless weights and intercept, read from a file, have these shapes."""
    check_floats(state, "coef_", (*n_scores, state["n_features_in_"]))
    if has_intercept(state) and n_scores:
        check_floats(state, "intercept_", n_scores)
    elif has_intercept(state) and type(state.get("intercept_")) is not float:
        raise DataError("intercept_ must be a number.")
    check_arithmetic(state)


@dataclass(frozen=True)
class KernelSum:
    """Sums of kernels.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    support : ndarray
        The documents of the sum, as the learner saw them; or columns of a precomputed kernel.
    coef : ndarray of shape (n_points, n_scores)
        Their coefficients.
    scale : FeatureScale, optional
        How the learner sees documents.
    """

    kernel: Kernel
    support: Any
    coef: Floats
    scale: FeatureScale | None = None

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the sums of a fitted model that has a kernel."""
        scale = None
        if "scale_" in state:
            scale = FeatureScale(state["scale_"], state.get("center_"))
        return cls(kernel_of(state), state["support_"], predicting_coef(state), scale)

    def scores_of(self, intake: Intake, X: Any) -> Floats:
        """Return the scores of what ``predict`` was given."""
        return self.scores(intake.rows(X))

    def scores(self, X: Matrix) -> Floats:
        """Return a row of scores for each row."""
        scores = np.zeros((X.shape[0], self.coef.shape[1]))
        for begin in range(0, X.shape[0] if len(self.coef) else 0, BLOCK):
            rows = slice(begin, begin + BLOCK)
            seen = X[rows] if self.scale is None else self.scale.apply(X[rows])
            scores[rows] = self.kernel(seen, self.support) @ self.coef
        if not np.isfinite(scores).all():
            raise ValueError("the values of the kernel overflow: scale the features.")
        return scores


def plain_kernel(state: State) -> Kernel:
    """Return the kernel of a model as its parameters say; without one, the linear one."""
    given = state.get("kernel")
    more = state.get("gamma"), state.get("degree", 3), state.get("coef0", 1.0)
    if not isinstance(given, Kernel):
        return Kernel(given or "linear", *more)
    if more != (None, 3, 1.0):
        raise ValueError(
            "gamma, degree and coef0 must be left as they are if kernel is a Kernel, which has its "
            "own."
        )
    return given


def kernel_of(state: State) -> Kernel:
    """Return the kernel that predicts, which has the intercept in it."""
    kernel = plain_kernel(state)
    return PlusOne.of(kernel) if has_intercept(state) else kernel


def shares_of(state: State, n_rounds: int) -> Floats:
    """Return what share of each document's coefficient predicts.

    The mean of the sums over the rounds has each document as long as it was part of them; that of
    their directions has it for each round by one over the length.
    """
    born: Ints = state["born_"]
    if settled(state, "variant") == "averaged":
        return np.asarray((n_rounds + 1 - born) / max(n_rounds, 1))
    if "squared_lengths_" not in state or len(born) == 0:
        return np.ones(len(born))
    rounds, first = np.unique(born, return_index=True)
    held = np.diff(np.append(rounds, n_rounds + 1))
    lengths = np.sqrt(state["squared_lengths_"][first, 0])
    directions = np.divide(held, lengths, out=np.zeros(len(held)), where=lengths > 0)
    later = np.cumsum(directions[::-1])[::-1] / max(n_rounds, 1)
    return np.asarray(later[np.searchsorted(rounds, born)])


def predicting_coef(state: State) -> Floats:
    """Return the coefficients of the documents that predict; of votes, those of the last."""
    return np.asarray(state["dual_coef_"] * shares_of(state, state["n_rounds_"])[:, None])


def check_support_of(state: State, width: int, n_scores: int) -> int:
    """Return how many documents the sum has; raise unless they fit together.

    Documents have ``width`` features, as the learner sees them.
    """
    _check_points(state, width)
    n = len(state["support_"])
    check_floats(state, "dual_coef_", (n, n_scores))
    born, last = state.get("born_"), state["n_rounds_"]
    if not isinstance(born, np.ndarray) or born.dtype != np.int64 or born.shape != (n,):
        raise DataError("born_ must be a round for each of the support.")
    if n and ((np.diff(born) < 0).any() or not 1 <= born[0] <= born[-1] <= last):
        raise DataError("born_ must be rounds so far, in their order.")
    if "squared_lengths_" in state:
        check_floats(state, "squared_lengths_", (n, 1))
        if (state["squared_lengths_"] < 0).any():
            raise DataError("squared_lengths_ must not be negative.")
    return n


def _check_points(state: State, width: int) -> None:
    support = state.get("support_")
    if not isinstance(support, np.ndarray) or support.ndim == 0:
        raise DataError("support_ must be the documents that made updates.")
    if not plain_kernel(state).precomputed:
        check_floats(state, "support_", (len(support), width))
        return
    columns = support.dtype == np.int64 and support.ndim == 1
    if not columns or ((support < 0) | (support >= state["n_features_in_"])).any():
        raise DataError("support_ must be columns of the kernel.")


def check_scale_of(state: State) -> None:
    """Raise unless the scale, read from a file, can be one."""
    n = state["n_features_in_"]
    if "scale_" in state:
        check_floats(state, "scale_", (n,))
        if (state["scale_"] <= 0).any():
            raise DataError("scale_ must be positive.")
    elif "center_" in state:
        raise DataError("center_ must come with scale_.")
    if "center_" in state:
        check_floats(state, "center_", (n,))


def check_sums_of(state: State, *n_scores: int) -> None:
    """Raise unless the sums of a model, read from a file, can be; of so many scores."""
    if state.get("kernel") is None:
        check_weights_of(state, *n_scores)
        return
    check_rounds(state, "n_rounds_")
    check_scale_of(state)
    check_support_of(state, state["n_features_in_"], *(n_scores or (1,)))


Sums: TypeAlias = WeightedSum | InOrderSum | KernelSum


def sums_of(state: State) -> Sums:
    """Return the sums of a fitted model, of whichever form."""
    if state.get("kernel") is not None:
        return KernelSum.of(state)
    return InOrderSum.of(state) if "arithmetic_" in state else WeightedSum.of(state)


def one_each(sums: Sums, intake: Intake, X: Any) -> Floats:
    """Return one score for each row of what was given; sums of kernels have a column of them."""
    scores = sums.scores_of(intake, X)
    return scores if scores.ndim == 1 else scores[:, 0]
