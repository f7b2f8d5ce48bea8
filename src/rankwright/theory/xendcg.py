"""What the XE-NDCG paper claims, as functions of data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.losses import XENDCG
from rankwright.losses.loss import check_query_data, sum_by_query
from rankwright.metrics.dcg import DCG, NDCG
from rankwright.showing import Brief
from rankwright.theory.guarantee import Guarantee, require

_DRAWS = 4096  # of gamma, for means over it: their standard error is a 64th of a deviation


def xendcg_theorem1(
    scores: ArrayLike, y: ArrayLike, groups: Groups | None = None, loss: XENDCG | None = None
) -> Guarantee:
    r"""Theorem 1: the loss bounds a translated, log-transformed NDCG.

    .. math::
        -\log\Bigl(\overline{\mathrm{NDCG}} + \overline{1/Z}\Bigr) \le \bar L

    with means over the queries that have a relevant document, Z the best DCG, and tied documents in
    the worst order. Because of the added 1/Z the bound is never close (X1);
    :func:`xendcg_translation_free` is.

    Parameters
    ----------
    scores, y : array-like of shape (n_docs,)
        Scores and labels.
    groups : Groups, optional
        Row ranges of the queries; None is one query.
    loss : XENDCG, optional
        The loss; ``XENDCG()`` by default.

    Examples
    --------
    >>> bound = xendcg_theorem1([1.0, 0.0], [1, 0], loss=XENDCG(gamma=0.5))
    >>> bound.terms["left side"] <= bound.value
    True
    """
    loss = XENDCG() if loss is None else loss
    values, ndcg, best, _ = _means(scores, y, groups, loss)
    # The logarithm of the means, not the mean of logarithms: by Jensen's inequality it is smaller,
    # and a query with NDCG 0 does not make it infinite.
    left = -math.log(ndcg.mean() + (1 / best).mean())
    terms = {"left side": left, "mean ndcg": ndcg.mean(), "mean 1/Z": (1 / best).mean()}
    return Guarantee(
        "XE-NDCG, Theorem 1",
        "-log(ndcg + 1/Z)",
        "mean loss",
        float(values.mean()),
        _float_terms(terms),
    )


def xendcg_translation_free(
    scores: ArrayLike, y: ArrayLike, groups: Groups | None = None
) -> Guarantee:
    r"""Bound NDCG itself by the loss with :math:`\gamma = 1` (X1).

    .. math::
        -\log \overline{\mathrm{NDCG}} \le \bar L_{\gamma = 1} - \overline{\log(S/Z)}, \qquad
        S = \sum_j (2^{y_j} - 1)

    Parameters
    ----------
    scores, y, groups
        As for :func:`xendcg_theorem1`.

    Examples
    --------
    >>> bound = xendcg_translation_free([50.0, 0.0], [3, 0])  # tight on a perfect ranking
    >>> round(bound.value, 9) == round(bound.terms["left side"], 9) == 0
    True
    """
    values, ndcg, best, gains = _means(scores, y, groups, XENDCG(gamma=1.0))
    # Not negative: no discount exceeds 1, so that Z <= S.
    mean_log = np.log(gains / best).mean()
    with np.errstate(divide="ignore"):
        left = -np.log(ndcg.mean())
    terms = {"left side": left, "mean loss": values.mean(), "mean log(S/Z)": mean_log}
    return Guarantee(
        "XE-NDCG without translation",
        "-log(ndcg)",
        "mean loss - mean log(S/Z)",
        float(values.mean() - mean_log),
        _float_terms(terms),
    )


def xendcg_theorem2(
    epsilon: float,
    n_queries: int,
    covering_number: float,
    lipschitz: float = 2.0,
    *,
    printed: bool = False,
) -> Guarantee:
    r"""Theorem 2: how likely the loss on new queries exceeds that on the sample by more.

    .. math::
        P\{\exists f : \mathcal{E}(f) > \epsilon\}
        \le 2\, N\bigl(\tfrac{\epsilon}{4\,\mathrm{Lip}}\bigr)\,
        \exp\Bigl(-\frac{n \epsilon^2}{2\,\mathrm{Lip}^2}\Bigr)

    where N is the covering number of the models by balls of that radius, and all queries have the
    same number of documents. A cover moves :math:`\mathcal{E}` by :math:`\epsilon/2`, so that
    Hoeffding's inequality is left with :math:`\epsilon/2`: the exponent printed in the paper,
    :math:`-2 n \epsilon^2/\mathrm{Lip}^2`, is four times too large (X2).

    Parameters
    ----------
    epsilon : float
        :math:`\epsilon`.
    n_queries : int
        n.
    covering_number : float
        N.
    lipschitz : float, default 2.0
        Lip: 2 for XE-NDCG (Proposition 1).
    printed : bool, default False
        The exponent as printed, which does not hold.

    Examples
    --------
    >>> round(xendcg_theorem2(0.1, 1600, 1).value, 4)  # 2 e^-2
    0.2707
    >>> round(xendcg_theorem2(0.1, 1600, 1, printed=True).value, 5)  # 2 e^-8
    0.00067
    """
    require(epsilon=epsilon, n_queries=n_queries, covering_number=covering_number)
    require(lipschitz=lipschitz)
    factor = 2.0 if printed else 0.5
    exponent = -factor * n_queries * epsilon**2 / max(lipschitz, 1e-300) ** 2
    return Guarantee(
        "XE-NDCG, Theorem 2" + (" as printed" if printed else ""),
        "probability of a larger generalisation error",
        "2 N exp(exponent)",
        2 * covering_number * math.exp(exponent),
        {
            "epsilon": epsilon,
            "n": n_queries,
            "N": covering_number,
            "Lip": lipschitz,
            "exponent": exponent,
        },
    )


@dataclass(frozen=True, eq=False, repr=False)
class Consistency(Brief):
    """Claim 1 on one query whose labels are random.

    Attributes
    ----------
    targets : ndarray of shape (n_docs,)
        Expected target of the cross entropy; its minimiser orders documents by it.
    gains : ndarray of shape (n_docs,)
        Expected gain over the best DCG; the order with the best expected NDCG.
    holds : bool
        Whether both orders agree.
    """

    targets: Floats
    gains: Floats
    holds: bool


def xendcg_claim1(
    labels: ArrayLike,
    probabilities: ArrayLike,
    gamma: ArrayLike | None = None,
    *,
    normalize: bool = False,
    random_state: int = 0,
) -> Consistency:
    r"""Claim 1: whether minimising the loss of a query ranks it by expected NDCG.

    It holds for a single click per query and for labels that never change if :math:`\gamma` is
    independent of the document. With :math:`\gamma` fixed by document it can fail.

    Parameters
    ----------
    labels : array-like of shape (n_outcomes, n_docs)
        What the labels may be.
    probabilities : array-like of shape (n_outcomes,)
        How likely.
    gamma : array-like of shape (n_docs,), optional
        :math:`\gamma`; by default independent uniform numbers, over which the mean is taken.
    normalize : bool, default False
        Divide each outcome's loss by its best DCG, as ``XENDCG(normalize="ideal_dcg")`` does.
    random_state : int, default 0
        Seed of those numbers.

    Examples
    --------
    >>> clicks = [[1, 0], [0, 1]]
    >>> xendcg_claim1(clicks, [0.9, 0.1]).holds
    True
    >>> claim = xendcg_claim1(clicks, [0.9, 0.1], gamma=[1, 0])
    >>> claim.targets.round(2).tolist(), claim.holds
    ([0.45, 0.55], False)
    """
    y = np.atleast_2d(np.asarray(labels, dtype=np.float64))
    p = np.asarray(probabilities, dtype=np.float64)
    if p.shape != (len(y),) or not (p >= 0).all() or not math.isclose(p.sum(), 1, rel_tol=1e-9):
        raise ValueError(
            f"probabilities must be {len(y)} numbers >= 0 with sum 1, one for each outcome."
        )
    if gamma is None:
        draws = np.random.default_rng(random_state).random((_DRAWS, y.shape[1]))
        # Every permutation of a draw is as likely; all of one cycle make equal labels equal.
        shifts = np.arange(y.shape[1])
        draws = np.concatenate([np.roll(draws, shift, axis=1) for shift in shifts])
    else:
        draws = np.asarray(gamma, dtype=np.float64).reshape(1, y.shape[1])
    targets, gains = np.zeros(y.shape[1]), np.zeros(y.shape[1])
    for outcome, weight in zip(y, p, strict=True):
        best = float(DCG().per_query(outcome, outcome)[0])
        # Without a relevant document every order is as good, and the target is noise: 2^0 - gamma.
        if best == 0:
            continue
        raw = np.exp2(outcome) - draws
        targets += weight / (best if normalize else 1.0) * (raw / raw.sum(1, keepdims=True)).mean(0)
        gains += weight * (np.exp2(outcome) - 1) / best
    # Documents of equal expected gain may come in any order; leads of rounding are no leads.
    lead_of_gains, lead_of_targets = gains[:, None] - gains, targets[:, None] - targets
    return Consistency(targets, gains, bool((lead_of_targets[lead_of_gains > 1e-12] > 0).all()))


def lambdamart_claim2(n_docs: int, sigma: float = 1.0) -> Guarantee:
    r"""Claim 2: LambdaMART's gradient, :math:`\|\nabla_s\|_1 \le \sigma m^2`.

    It grows with m, but the largest norms that were found grow linearly, not quadratically (X10).

    Parameters
    ----------
    n_docs : int
        m.
    sigma : float, default 1.0
        :math:`\sigma`.
    """
    require(n_docs=n_docs, sigma=sigma)
    return Guarantee(
        "XE-NDCG, Claim 2",
        "l1 norm of LambdaMART's gradient",
        "sigma m^2",
        sigma * n_docs**2,
        {"sigma": sigma, "m": n_docs},
    )


def xendcg_proposition1() -> Guarantee:
    r"""Proposition 1: XE-NDCG's gradient, :math:`\|\nabla_s\|_1 \le 2` for any number of documents.

    The norms of given scores are measured by :func:`score_gradient_norms`.
    """
    return Guarantee("XE-NDCG, Proposition 1", "l1 norm of XE-NDCG's gradient", "2", 2.0)


def xendcg_claim3(scores: ArrayLike, eps: float) -> Guarantee:
    r"""Claim 3: with :math:`\epsilon` in the softmax, the Hessian is positive definite.

    .. math::
        \frac{1}{\lambda_{\min}(H)} \le \frac{1}{\min_k \rho_k \, \rho_{m+1}}, \qquad
        \rho_{m+1} = \frac{\epsilon}{\epsilon + \sum_j e^{s_j}}

    by Gershgorin's circles. For a negligible :math:`\epsilon` that says nearly nothing (X4).

    Parameters
    ----------
    scores : array-like of shape (n_docs,)
        Scores of one query.
    eps : float
        :math:`\epsilon`.
    """
    rho, spare = _softmax(scores, eps)
    smallest = float(rho.min() * spare)
    return Guarantee(
        "XE-NDCG, Claim 3",
        "1 / smallest eigenvalue of the Hessian",
        "1 / (min rho x spare rho)",
        1 / smallest if smallest > 0 else math.inf,
        {"min rho": float(rho.min()), "spare rho": spare},
    )


def xendcg_claim4(scores: ArrayLike, eps: float) -> Guarantee:
    r"""Claim 4: the spectral radius of S, in :math:`H = D (I - S)`, is below 1.

    .. math::
        \mathrm{radius}(S) \le \max_i \frac{1 - \rho_i - \rho_{m+1}}{1 - \rho_i}
        = 1 - \frac{\rho_{m+1}}{1 - \min_i \rho_i}

    which is so near 1 for a negligible :math:`\epsilon` that the Neumann series does not converge
    usefully (X4).

    Parameters
    ----------
    scores, eps
        As for :func:`xendcg_claim3`.
    """
    rho, spare = _softmax(scores, eps)
    return Guarantee(
        "XE-NDCG, Claim 4",
        "spectral radius of S",
        "1 - spare rho / (1 - min rho)",
        1 - spare / (1 - float(rho.min())) if len(rho) > 1 else 0.0,
        {"min rho": float(rho.min()), "spare rho": spare},
    )


def _means(
    scores: ArrayLike, y: ArrayLike, groups: Groups | None, loss: XENDCG
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return loss, NDCG, best DCG and sum of gains of the queries with a relevant document."""
    labels, values, groups = check_query_data(scores, y, groups)
    best = DCG().per_query(labels, labels, groups)
    full = best > 0
    if not full.any():
        raise ValueError("there must be a query with a label above 0.")
    ndcg = NDCG(ties="worst", empty=0.0).per_query(labels, values, groups)
    gains = sum_by_query(np.exp2(labels) - 1, groups)
    per_query = loss.per_query(values, labels, groups)
    return per_query[full], ndcg[full], best[full], gains[full]


def _softmax(scores: ArrayLike, eps: float) -> tuple[Floats, float]:
    """Return the softmax with eps in the denominator, and what is left to 1."""
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 1 or len(s) == 0 or not np.isfinite(s).all():
        raise ValueError("scores must be the finite scores of one query.")
    require(eps=eps)
    # eps is one more document with score log(eps): the largest of all is subtracted before exp.
    top = max(float(s.max()), math.log(eps) if eps > 0 else -math.inf)
    shifted, spare = np.exp(s - top), math.exp(math.log(eps) - top) if eps > 0 else 0.0
    total = float(shifted.sum()) + spare
    return shifted / total, spare / total


def _float_terms(terms: dict[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in terms.items()}
