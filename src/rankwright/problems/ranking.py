"""Rankings of documents or of labels."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright import _kernels
from rankwright.data.validation import Floats, check_y
from rankwright.metrics.dcg import check_gain_labels, discounts
from rankwright.problems.native import Codes, Native

Representation = str | Callable[[Floats], Floats]
_POWER = re.compile(r"-i(\^(\d+(\.\d*)?|\.\d+))?")
_PRECISION = re.compile(r"precision@(\d+)")


class Ranking(Native):
    r"""Rankings of documents with labels: subset ranking and multilabel ranking.

    .. math::
        \mathrm{rep}(\sigma) = f(\sigma) / Z_f, \quad Z_f = \sqrt{\textstyle\sum_{i \le m} f(i)^2},
        \qquad \mathrm{pred}(t) = \text{documents by decreasing } t

    where :math:`\sigma_i` is the rank of document i, from 1, and f falls strictly. The loss is

    - ``"ndcg"``: :math:`1 - \sum_i G(y_i) D(\sigma_i) / Z(y)`, :math:`G(y) = 2^y - 1`,
      :math:`D(r) = 1/\log_2(1 + r)`,
    - ``"precision@K"``: one minus the share of relevant documents (label >= 1) among the first K,
      divided by the best share possible, so that a best ranking has no loss.

    A query whose labels leave nothing to rank has loss 0.

    The loss-augmented argmax is the assignment of documents to ranks that maximises
    :math:`\sum_i t_i f(\sigma_i)/Z_f - G_i D(\sigma_i)/Z(y)`. It is exact by any of four routes;
    :meth:`route` tells which one: sorting if f is the discount (or there is one grade), pooling of
    adjacent violators for two grades and linear f, a row-by-row recursion for two grades, and an
    assignment solver otherwise.

    Parameters
    ----------
    loss : {"ndcg", "precision@K"}, default "ndcg"
        The loss.
    representation : {"-i", "-i^1.1", "-i^2", "1/i", "dcg"} or callable, default "-i^1.1"
        f: a power ``-i^a`` with any a > 0, the reciprocal, the discount D, or a function from an
        array of ranks to an array of values that fall strictly.

    Examples
    --------
    >>> problem = Ranking(representation="dcg")
    >>> problem.predict([0.2, 0.9, 0.4]).tolist()  # the rank of each document
    [3, 1, 2]
    >>> round(problem.loss([3, 1, 2], y=[0, 1, 2]), 4)
    0.2033
    """

    n_scores = None

    def __init__(self, loss: str = "ndcg", representation: Representation = "-i^1.1") -> None:
        cutoff = _PRECISION.fullmatch(loss)
        if loss != "ndcg" and not (cutoff and int(cutoff[1]) > 0):
            raise ValueError(f"loss must be 'ndcg' or 'precision@K', but is {loss!r}.")
        self.loss_name = loss
        self.cutoff = int(cutoff[1]) if cutoff else None
        self.representation = representation
        _function(representation)  # raises if it is none

    def kernel(self, n: int) -> _kernels.RankingProblem:
        """Return the compiled problem, with tables for at least n documents."""
        known = self._compiled
        if not isinstance(known, _kernels.RankingProblem) or known.most < n:
            known = self._compiled = self._compile(n)
        return known

    def _compile(self, n: int) -> _kernels.RankingProblem:
        # Powers of two: as lists grow the tables are made a logarithm of times, not at each length.
        size = max(64, 1 << (max(n, 1) - 1).bit_length())
        return _kernels.RankingProblem(self.f(size), self.discounts(size))

    def f(self, n: int) -> Floats:
        """Return f of the ranks 1 to n."""
        ranks = np.arange(1, n + 1, dtype=np.float64)
        values = np.ascontiguousarray(_function(self.representation)(ranks), dtype=np.float64)
        if values.shape != ranks.shape or not np.isfinite(values).all():
            raise ValueError("representation must return a finite number for each rank.")
        if not (np.diff(values) < 0).all():
            raise ValueError(f"representation must fall strictly, up to rank {n} at least.")
        return values

    def discounts(self, n: int) -> Floats:
        """Return the weight of the ranks 1 to n in the loss."""
        if self.cutoff is None:
            return np.ascontiguousarray(discounts(n, "log2"))
        return (np.arange(n) < self.cutoff).astype(np.float64)

    def encode(self, y: ArrayLike) -> Floats:
        """Return the gains of labels, those of several queries alike."""
        labels = check_y(y)
        if self.cutoff is not None:
            return (labels >= 1).astype(np.float64)
        check_gain_labels(labels, "loss='ndcg'")
        return np.exp2(labels) - 1

    def _code(self, prediction: ArrayLike) -> Codes:
        ranks = np.asarray(prediction)
        if ranks.ndim != 1 or (np.sort(ranks) != np.arange(1, len(ranks) + 1)).any():
            raise ValueError("a ranking must give each document one rank from 1 on.")
        return np.ascontiguousarray(ranks - 1, dtype=np.int32)

    def _decode(self, codes: Codes) -> NDArray[np.int64]:
        return codes.astype(np.int64) + 1

    def route(self, y: ArrayLike) -> str:
        """Return how the loss-augmented argmax is found for these labels.

        ``"sort"``, ``"pool"``, ``"rows"`` or ``"assign"``.
        """
        gains = self.encode(y)
        return self.kernel(len(gains)).route(gains)

    def augmented_by(self, scores: ArrayLike, y: ArrayLike, route: str) -> NDArray[np.int64]:
        """Return the loss-augmented argmax by a given route; ValueError where it is not exact."""
        t = self._scores(scores)
        return self._decode(self.kernel(len(t)).augmented_by(t, self._label(y, t), route))

    def extremes(self, scores: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
        """Return the similarities that margins are made of."""
        t = self._scores(scores)
        gains, m = self._label(y, t), len(t)
        f = self.f(m) / np.linalg.norm(self.f(m))
        top = np.sort(t)[::-1]
        if self.cutoff is not None:
            return self._precision_extremes(t, gains, f)
        if np.ptp(gains) == 0:
            return float(f @ top[::-1]), float(f @ top), -np.inf
        # Inside a grade any order is correct; the worst one is by increasing score.
        most, least = np.lexsort((-t, -gains)), np.lexsort((t, -gains))
        best = float(f @ t[most])
        if not np.array_equal(t[most], top):  # the order of the scores is wrong itself
            return float(f @ t[least]), best, float(f @ top)
        # The best wrong order exchanges two neighbours of the best one across a grade boundary
        # (Lemma 4), so that m - 1 candidates stand for m!.
        edges = np.flatnonzero(np.diff(gains[most]))
        costs = (t[most[edges]] - t[most[edges + 1]]) * (f[edges] - f[edges + 1])
        return float(f @ t[least]), best, best - float(costs.min())

    def _precision_extremes(
        self, t: Floats, gains: Floats, f: Floats
    ) -> tuple[float, float, float]:
        """Look at each number of relevant documents that the first K can have."""
        order = np.argsort(-t, kind="stable")
        relevant, others = order[gains[order] > 0], order[gains[order] == 0]
        k = min(self.cutoff or 0, len(t))
        fewest, most = max(0, k - len(others)), min(k, len(relevant))

        def similarity(n: int, sign: int) -> float:
            first = np.concatenate([relevant[::sign][:n], others[::sign][: k - n]])
            rest = np.setdiff1d(order, first)
            ranked = [np.sort(t[part])[::-sign] for part in (first, rest)]
            return float(f @ np.concatenate(ranked))

        wrong = max((similarity(n, 1) for n in range(fewest, most)), default=-np.inf)
        return similarity(most, -1), similarity(most, 1), wrong

    def loss_range(self, y: Any = None) -> tuple[float, float]:
        r"""Return :math:`c_L` and :math:`C_L` for labels.

        For NDCG :math:`c_L` is the least loss of an exchange of two neighbours across a grade
        boundary p: :math:`\min_p (G_p - G_{p+1})(D(p) - D(p+1)) / Z`.
        """
        if y is None:
            raise ValueError("the losses of a ranking depend on the labels: pass y.")
        return self.encoded_range(self.encode(y))

    def encoded_range(self, label: Floats) -> tuple[float, float]:
        r"""Return :math:`c_L` and :math:`C_L` for gains."""
        gains = np.sort(label)[::-1]
        D = self.discounts(len(gains))
        best, worst = float(gains @ D), float(gains[::-1] @ D)
        if not worst < best:
            return np.inf, 0.0
        # For precision `best` counts the relevant documents that the first K can have; the least
        # mistake loses one of them.
        if self.cutoff is not None:
            return 1.0 / best, (best - worst) / best
        falls = (gains[:-1] - gains[1:]) * (D[:-1] - D[1:])
        return float(falls[falls > 0].min()) / best, (best - worst) / best


def _function(representation: Representation) -> Callable[[Floats], Floats]:
    if callable(representation):
        return representation
    if representation == "1/i":
        return lambda ranks: 1 / ranks
    if representation == "dcg":
        return lambda ranks: np.asarray(discounts(len(ranks), "log2"))
    match = _POWER.fullmatch(representation)
    power = float(match[2] or 1) if match else 0.0
    if not power > 0:
        raise ValueError(
            "representation must be '-i', '-i^1.1' (or another power), '1/i', 'dcg' or a function, "
            f"but is {representation!r}."
        )
    return lambda ranks: -(ranks**power)
