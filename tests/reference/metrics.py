"""Slow, plain-python twins of the ranking metrics, for one query at a time.

Every metric of a ranked list is defined here on a *concrete order*: the list of labels at ranks
``1..m``. How tied scores are treated is then a matter of which orders are looked at, so that no
metric needs a closed form for ties:

``"order"``
    The one stable order: larger scores first, equal scores in row order.
``"average"``
    The mean of the metric over all orders of every block of tied documents.
``"worst"``, ``"best"``
    The worst and the best value of the metric over the same orders.

A query on which a metric is undefined gets the value of ``empty``; ``"skip"`` stands for nan.
The keyword defaults are a convenience of this module and promise nothing about the library's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = Sequence[float] | npt.NDArray[np.float64]
Ranked: TypeAlias = list[float]
Ties: TypeAlias = Literal["order", "average", "worst", "best"]
Gain: TypeAlias = Literal["exp2", "linear"]
Discount: TypeAlias = Literal["log2", "letor"]
Empty: TypeAlias = Literal["skip"] | float

MAX_ORDERS = 50_000


# --- orders and ties ---------------------------------------------------------------------------


def stable_order(s: Values) -> list[int]:
    """Rows by decreasing score, equal scores in row order.

    Parameters
    ----------
    s : sequence of float
        Scores of one query.

    Returns
    -------
    list of int
        ``order[r - 1]`` is the row at rank ``r``.
    """
    scores = [float(v) for v in s]
    return sorted(range(len(scores)), key=lambda row: -scores[row])


def tied_blocks(s: Values) -> list[list[int]]:
    """Rows by decreasing score, one list per distinct score.

    Parameters
    ----------
    s : sequence of float
        Scores of one query.

    Returns
    -------
    list of list of int
        The blocks; the rows of a block are in row order.
    """
    grouped = itertools.groupby(stable_order(s), key=lambda row: float(s[row]))
    return [list(rows) for _, rows in grouped]


def all_orders(s: Values) -> Iterator[list[int]]:
    """Every order of the rows that agrees with the scores.

    Parameters
    ----------
    s : sequence of float
        Scores of one query.

    Yields
    ------
    list of int
        Rows by rank; the first one is the stable order.

    Raises
    ------
    ValueError
        If there are more than `MAX_ORDERS` orders.
    """
    blocks = tied_blocks(s)
    count = math.prod(math.factorial(len(block)) for block in blocks)
    if count > MAX_ORDERS:
        msg = f"{count} orders are too many to enumerate (at most {MAX_ORDERS})"
        raise ValueError(msg)
    for parts in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield [row for part in parts for row in part]


def over_orders(
    y: Values,
    s: Values,
    value: Callable[[Ranked], float],
    ties: Ties,
    *,
    lower_is_better: bool = False,
) -> float:
    """Apply a metric of a concrete order under a tie rule.

    Parameters
    ----------
    y, s : sequence of float
        Labels and scores of one query.
    value : callable
        The metric, from the labels at ranks ``1..m``.
    ties : {"order", "average", "worst", "best"}
        The tie rule.
    lower_is_better : bool
        Whether the best value is the smallest one.

    Returns
    -------
    float
        The value of the metric.
    """
    labels = [float(v) for v in y]
    if ties == "order":
        return value([labels[row] for row in stable_order(s)])
    values = [value([labels[row] for row in order]) for order in all_orders(s)]
    if ties == "average":
        return math.fsum(values) / len(values)
    if ties not in ("worst", "best"):
        raise _unknown("ties", ties)
    return max(values) if (ties == "best") != lower_is_better else min(values)


# --- small pieces ------------------------------------------------------------------------------


def _unknown(name: str, value: object) -> ValueError:
    return ValueError(f"unknown {name}: {value!r}")


def _empty_value(empty: Empty) -> float:
    return math.nan if empty == "skip" else float(empty)


def _depth(m: int, k: int | None) -> int:
    """Return the number of ranks that exist and count."""
    return m if k is None else min(k, m)


def _gain(label: float, gain: Gain) -> float:
    if gain == "exp2":
        return math.pow(2.0, label) - 1.0
    if gain == "linear":
        return float(label)
    raise _unknown("gain", gain)


def _discount(rank: int, discount: Discount) -> float:
    if discount == "log2":
        return 1.0 / math.log2(1 + rank)
    if discount == "letor":
        return 1.0 if rank <= 2 else 1.0 / math.log2(rank)
    raise _unknown("discount", discount)


def _relevant(y: Values, threshold: float) -> int:
    return sum(1 for label in y if label >= threshold)


def _hits(ranked: Ranked, k: int | None, threshold: float) -> int:
    return _relevant(ranked[: _depth(len(ranked), k)], threshold)


# --- graded metrics ----------------------------------------------------------------------------


def _dcg_of(ranked: Ranked, k: int | None, gain: Gain, discount: Discount) -> float:
    return math.fsum(
        _gain(ranked[r - 1], gain) * _discount(r, discount)
        for r in range(1, _depth(len(ranked), k) + 1)
    )


def dcg(
    y: Values,
    s: Values,
    *,
    k: int | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "order",
) -> float:
    """Discounted cumulative gain: the sum of ``G(y_(r)) d(r)`` over ranks ``r <= k``.

    Parameters
    ----------
    y, s : sequence of float
        Labels and scores of one query.
    k : int or None
        Cutoff; None for all ranks.
    gain : {"exp2", "linear"}
        ``2**y - 1`` or ``y``.
    discount : {"log2", "letor"}
        ``1 / log2(1 + r)``; or 1 at ranks 1 and 2 and ``1 / log2(r)`` from rank 3.
    ties : {"order", "average", "worst", "best"}
        The tie rule.

    Returns
    -------
    float
        The value; 0 where there is no gain.
    """
    return over_orders(y, s, lambda ranked: _dcg_of(ranked, k, gain, discount), ties)


def ndcg(
    y: Values,
    s: Values,
    *,
    k: int | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "order",
    empty: Empty = "skip",
    short: Literal["keep", "zero"] = "keep",
) -> float:
    """DCG divided by the DCG of the labels in decreasing order, at the same cutoff.

    Parameters
    ----------
    y, s : sequence of float
        Labels and scores of one query.
    k : int or None
        Cutoff; None for all ranks.
    gain, discount, ties
        As in `dcg`.
    empty : "skip" or float
        The value where the best DCG is 0.
    short : {"keep", "zero"}
        With "zero", a query of fewer than `k` documents has the value 0, even if it is empty.

    Returns
    -------
    float
        The value.
    """
    if short not in ("keep", "zero"):
        raise _unknown("short", short)
    if short == "zero" and k is not None and len(y) < k:
        return 0.0
    best = _dcg_of(sorted((float(v) for v in y), reverse=True), k, gain, discount)
    if best == 0.0:
        return _empty_value(empty)
    return over_orders(y, s, lambda ranked: _dcg_of(ranked, k, gain, discount) / best, ties)


def _err_of(ranked: Ranked, k: int | None, max_grade: float) -> float:
    total = 0.0
    still_looking = 1.0
    for r in range(1, _depth(len(ranked), k) + 1):
        stop = _gain(ranked[r - 1], "exp2") / math.pow(2.0, max_grade)
        total += still_looking * stop / r
        still_looking *= 1.0 - stop
    return total


def err(
    y: Values,
    s: Values,
    *,
    k: int | None = None,
    max_grade: float,
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """Return the expected reciprocal rank of the document at which a cascading user stops.

    With ``R_r = (2**y_(r) - 1) / 2**max_grade``, the sum over ranks ``r <= k`` of
    ``R_r / r`` times the product of ``1 - R_j`` over ``j < r``.

    Parameters
    ----------
    y, s : sequence of float
        Labels and scores of one query.
    k : int or None
        Cutoff; None for all ranks.
    max_grade : float
        The largest label of the scale.
    ties : {"order", "average", "worst", "best"}
        The tie rule.
    empty : "skip" or float
        The value where all labels are 0.

    Returns
    -------
    float
        The value.
    """
    if all(label == 0 for label in y):
        return _empty_value(empty)
    return over_orders(y, s, lambda ranked: _err_of(ranked, k, max_grade), ties)


# --- binary metrics: a document is relevant where y >= threshold --------------------------------


def _ap_of(ranked: Ranked, k: int | None, threshold: float, denominator: str) -> float:
    precisions = [
        _hits(ranked, r, threshold) / r
        for r in range(1, _depth(len(ranked), k) + 1)
        if ranked[r - 1] >= threshold
    ]
    relevant = _relevant(ranked, threshold)
    if denominator == "relevant":
        return math.fsum(precisions) / relevant
    if denominator == "cutoff":
        return math.fsum(precisions) / (relevant if k is None else min(relevant, k))
    if denominator == "hits":
        return math.fsum(precisions) / len(precisions) if precisions else 0.0
    raise _unknown("denominator", denominator)


def ap(
    y: Values,
    s: Values,
    *,
    k: int | None = None,
    threshold: float = 1.0,
    denominator: Literal["relevant", "cutoff", "hits"] = "relevant",
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """Average precision: precision at the ranks ``r <= k`` of relevant documents, added up.

    Parameters
    ----------
    y, s : sequence of float
        Labels and scores of one query.
    k : int or None
        Cutoff; None for all ranks.
    threshold : float
        The smallest relevant label.
    denominator : {"relevant", "cutoff", "hits"}
        Divide by the number ``R`` of relevant documents, by ``min(R, k)``, or by the number of
        relevant documents within the first `k` (the value is 0 if there are none).
    ties : {"order", "average", "worst", "best"}
        The tie rule.
    empty : "skip" or float
        The value where no document is relevant.

    Returns
    -------
    float
        The value.
    """
    if _relevant(y, threshold) == 0:
        return _empty_value(empty)
    return over_orders(y, s, lambda ranked: _ap_of(ranked, k, threshold, denominator), ties)


def _rr_of(ranked: Ranked, k: int | None, threshold: float) -> float:
    for r in range(1, _depth(len(ranked), k) + 1):
        if ranked[r - 1] >= threshold:
            return 1.0 / r
    return 0.0


def rr(
    y: Values,
    s: Values,
    *,
    k: int | None = None,
    threshold: float = 1.0,
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """Reciprocal rank of the first relevant document, 0 if it is beyond rank `k`.

    Parameters
    ----------
    y, s, k, threshold, ties, empty
        As in `ap`.

    Returns
    -------
    float
        The value.
    """
    if _relevant(y, threshold) == 0:
        return _empty_value(empty)
    return over_orders(y, s, lambda ranked: _rr_of(ranked, k, threshold), ties)


def _precision_depth(m: int, k: int | None, denominator: str) -> int:
    if denominator not in ("cutoff", "documents"):
        raise _unknown("denominator", denominator)
    if k is None:
        return m
    return k if denominator == "cutoff" else min(k, m)


def precision(
    y: Values,
    s: Values,
    *,
    k: int | None = None,
    threshold: float = 1.0,
    denominator: Literal["cutoff", "documents"] = "cutoff",
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """Share of relevant documents among the first `k`.

    Parameters
    ----------
    y, s, k, threshold, ties, empty
        As in `ap`.
    denominator : {"cutoff", "documents"}
        Divide by `k` (ranks that do not exist are irrelevant) or by ``min(k, m)``. Without a
        cutoff both are the number of documents.

    Returns
    -------
    float
        The value.
    """
    if _relevant(y, threshold) == 0:
        return _empty_value(empty)
    depth = _precision_depth(len(y), k, denominator)
    return over_orders(y, s, lambda ranked: _hits(ranked, k, threshold) / depth, ties)


def recall(
    y: Values,
    s: Values,
    *,
    k: int | None = None,
    threshold: float = 1.0,
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """Share of the relevant documents that are among the first `k`.

    Parameters
    ----------
    y, s, k, threshold, ties, empty
        As in `ap`.

    Returns
    -------
    float
        The value.
    """
    relevant = _relevant(y, threshold)
    if relevant == 0:
        return _empty_value(empty)
    return over_orders(y, s, lambda ranked: _hits(ranked, k, threshold) / relevant, ties)


def hit_rate(
    y: Values,
    s: Values,
    *,
    k: int | None = None,
    threshold: float = 1.0,
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """1 if a relevant document is among the first `k`, else 0.

    Parameters
    ----------
    y, s, k, threshold, ties, empty
        As in `ap`.

    Returns
    -------
    float
        The value.
    """
    if _relevant(y, threshold) == 0:
        return _empty_value(empty)
    return over_orders(y, s, lambda ranked: float(_hits(ranked, k, threshold) > 0), ties)


def f1(
    y: Values,
    s: Values,
    *,
    k: int | None = None,
    threshold: float = 1.0,
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """Harmonic mean of precision at `k` (of all documents without a cutoff) and recall at `k`.

    Parameters
    ----------
    y, s, k, threshold, ties, empty
        As in `ap`.

    Returns
    -------
    float
        The value; 0 where both are 0.
    """
    relevant = _relevant(y, threshold)
    if relevant == 0:
        return _empty_value(empty)

    def of(ranked: Ranked) -> float:
        hits = _hits(ranked, k, threshold)
        p, r = hits / (len(ranked) if k is None else k), hits / relevant
        return 2 * p * r / (p + r) if hits else 0.0

    return over_orders(y, s, of, ties)


def r_precision(
    y: Values, s: Values, *, threshold: float = 1.0, ties: Ties = "order", empty: Empty = "skip"
) -> float:
    """Share of relevant documents among the first ``R``, if there are ``R`` relevant ones.

    Parameters
    ----------
    y, s, threshold, ties, empty
        As in `ap`.

    Returns
    -------
    float
        The value.
    """
    relevant = _relevant(y, threshold)
    if relevant == 0:
        return _empty_value(empty)
    return over_orders(y, s, lambda ranked: _hits(ranked, relevant, threshold) / relevant, ties)


def _bpref_of(ranked: Ranked, threshold: float) -> float:
    relevant = _relevant(ranked, threshold)
    other = len(ranked) - relevant
    total = 0.0
    for r, label in enumerate(ranked):
        if label >= threshold:
            above = sum(1 for v in ranked[:r] if v < threshold)
            total += 1 - min(above, relevant) / min(relevant, other) if above else 1
    return total / relevant


def bpref(
    y: Values, s: Values, *, threshold: float = 1.0, ties: Ties = "order", empty: Empty = "skip"
) -> float:
    """Binary preference as in trec_eval, all documents being judged.

    Parameters
    ----------
    y, s, threshold, ties, empty
        As in `ap`.

    Returns
    -------
    float
        The value.
    """
    if _relevant(y, threshold) == 0:
        return _empty_value(empty)
    return over_orders(y, s, lambda ranked: _bpref_of(ranked, threshold), ties)


def judged(y: Values, s: Values, *, k: int | None = None, ties: Ties = "order") -> float:
    """Share of the documents among the first `k` whose label is not nan.

    Parameters
    ----------
    y, s, k, ties
        As in `ap`; labels may be nan.

    Returns
    -------
    float
        The value; nan without documents.
    """
    if not len(y):
        return math.nan
    known = [0.0 if math.isnan(label) else 1.0 for label in y]
    depth = _depth(len(known), k)
    return over_orders(known, s, lambda ranked: sum(ranked[:depth]) / depth, ties)


def _rbp_of(ranked: Ranked, p: float, k: int | None, threshold: float) -> float:
    depth = _depth(len(ranked), k)
    hits = [r for r in range(1, depth + 1) if ranked[r - 1] >= threshold]
    return (1.0 - p) * math.fsum(p ** (r - 1) for r in hits)


def rbp(
    y: Values,
    s: Values,
    *,
    p: float,
    k: int | None = None,
    threshold: float = 1.0,
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """Rank-biased precision: ``1 - p`` times the sum of ``p**(r - 1)`` over relevant ranks.

    Parameters
    ----------
    y, s, k, threshold, ties, empty
        As in `ap`.
    p : float
        Persistence: the chance that the user goes on to the next rank.

    Returns
    -------
    float
        The value.
    """
    if _relevant(y, threshold) == 0:
        return _empty_value(empty)
    return over_orders(y, s, lambda ranked: _rbp_of(ranked, p, k, threshold), ties)


# --- pairs -------------------------------------------------------------------------------------


def pairwise_error(y: Values, s: Values, *, empty: Empty = "skip") -> float:
    """Share of the pairs with ``y_i > y_j`` that the scores put the wrong way round.

    Parameters
    ----------
    y, s : sequence of float
        Labels and scores of one query. A pair with equal scores costs a half.
    empty : "skip" or float
        The value where no pair has different labels.

    Returns
    -------
    float
        The value.
    """
    costs = []
    for i, j in itertools.permutations(range(len(y)), 2):
        if y[i] > y[j]:
            costs.append(1.0 if s[i] < s[j] else 0.5 if s[i] == s[j] else 0.0)
    return math.fsum(costs) / len(costs) if costs else _empty_value(empty)


def _sign(a: float, b: float) -> int:
    return int(a > b) - int(a < b)


def kendall_tau(
    y: Values, s: Values, *, variant: Literal["a", "b"] = "b", empty: Empty = "skip"
) -> float:
    """Kendall's rank correlation of labels and scores.

    Parameters
    ----------
    y, s : sequence of float
        Labels and scores of one query.
    variant : {"a", "b"}
        Concordant minus discordant pairs, divided by the number ``n0`` of pairs ("a") or by
        ``sqrt((n0 - n1) (n0 - n2))`` ("b"), where ``n1`` pairs have equal labels and ``n2`` pairs
        have equal scores.
    empty : "skip" or float
        The value where the denominator is 0.

    Returns
    -------
    float
        The value.
    """
    pairs = list(itertools.combinations(range(len(y)), 2))
    label_signs = [_sign(y[i], y[j]) for i, j in pairs]
    score_signs = [_sign(s[i], s[j]) for i, j in pairs]
    numerator = sum(a * b for a, b in zip(label_signs, score_signs, strict=True))
    if variant == "a":
        denominator = float(len(pairs))
    elif variant == "b":
        label_pairs = len(pairs) - label_signs.count(0)
        score_pairs = len(pairs) - score_signs.count(0)
        denominator = math.sqrt(label_pairs * score_pairs)
    else:
        raise _unknown("variant", variant)
    return numerator / denominator if denominator > 0 else _empty_value(empty)


def _domination_error_of(ranked: Ranked) -> float:
    dominating = [r for r, label in enumerate(ranked) if any(v < label for v in ranked)]
    outscored = [r for r in dominating if any(v < ranked[r] for v in ranked[:r])]
    return len(outscored) / len(dominating)


def domination_error(y: Values, s: Values, *, ties: Ties = "order", empty: Empty = "skip") -> float:
    """Share of the dominating documents placed below a document that they dominate.

    A document dominates every document of a smaller label; it is dominating if there is one.

    Parameters
    ----------
    y, s : sequence of float
        Labels and scores of one query.
    ties : {"order", "average", "worst", "best"}
        The tie rule; the best value is the smallest one.
    empty : "skip" or float
        The value where no document dominates another one.

    Returns
    -------
    float
        The value.
    """
    if len({float(v) for v in y}) < 2:
        return _empty_value(empty)
    return over_orders(y, s, _domination_error_of, ties, lower_is_better=True)


def _dominated_error_of(ranked: Ranked) -> float:
    dominated = [r for r, label in enumerate(ranked) if any(v > label for v in ranked)]
    misplaced = [r for r in dominated if any(v > ranked[r] for v in ranked[r + 1 :])]
    return len(misplaced) / len(dominated)


def dominated_error(y: Values, s: Values, *, ties: Ties = "order", empty: Empty = "skip") -> float:
    """Share of the dominated documents placed above one of their dominators.

    Parameters
    ----------
    y, s, ties, empty
        As in `domination_error`.

    Returns
    -------
    float
        The value.
    """
    if len({float(v) for v in y}) < 2:
        return _empty_value(empty)
    return over_orders(y, s, _dominated_error_of, ties, lower_is_better=True)


# --- ordinal predictions -----------------------------------------------------------------------


def rank_loss(y: Values, s: Values) -> float:
    """Mean absolute difference of predicted and true ordinal labels.

    Parameters
    ----------
    y, s : sequence of float
        True and predicted labels of one query.

    Returns
    -------
    float
        The value; nan without documents.
    """
    losses = [abs(float(b) - float(a)) for a, b in zip(y, s, strict=True)]
    return math.fsum(losses) / len(losses) if losses else math.nan


def rank_accuracy(y: Values, s: Values) -> float:
    """Share of the ordinal labels that are predicted exactly.

    Parameters
    ----------
    y, s : sequence of float
        True and predicted labels of one query.

    Returns
    -------
    float
        The value; nan without documents.
    """
    equal = [bool(a == b) for a, b in zip(y, s, strict=True)]
    return sum(equal) / len(equal) if equal else math.nan


# --- many queries ------------------------------------------------------------------------------


def per_query(
    fn: Callable[..., float],
    y: npt.NDArray[Any],
    scores: npt.NDArray[Any],
    indptr: npt.NDArray[Any],
    **kw: Any,
) -> npt.NDArray[np.float64]:
    """Apply a metric of this module to every query.

    Parameters
    ----------
    fn : callable
        The metric, called as ``fn(y, scores, **kw)`` with the lists of one query.
    y, scores : array of shape (n_documents,)
        Labels and scores.
    indptr : array of shape (n_queries + 1,)
        Query ``q`` is rows ``indptr[q]`` to ``indptr[q + 1]``, the latter exclusive.
    **kw
        Options of the metric.

    Returns
    -------
    array of shape (n_queries,)
        The values.
    """
    bounds = itertools.pairwise(int(row) for row in indptr)
    values = [fn(y[a:b].tolist(), scores[a:b].tolist(), **kw) for a, b in bounds]
    return np.array(values, dtype=np.float64)
