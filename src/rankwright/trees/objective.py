"""From a loss to what a tree learner fits: a gradient and a curvature for each document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.streams import query_uniforms
from rankwright.data.validation import Floats
from rankwright.losses import XENDCG, LambdaRank, ListNet, StochasticLambdaRank, from_name
from rankwright.losses.cross_entropy import Newton
from rankwright.losses.directions import Directions, WithTerms
from rankwright.losses.loss import has_argument, is_empty, max_by_query
from rankwright.losses.names import LOSSES
from rankwright.losses.own import as_loss, prepare_loss
from rankwright.suggestions import meant
from rankwright.threads import n_threads

Terms: TypeAlias = Callable[[Floats, int], tuple[Any, Any]]  # (scores, iteration) -> grad, hess
BUILT_IN = ("lightgbm:rank_xendcg", "lightgbm:lambdarank")


def choose_loss(loss: Any, newton: Newton, random_state: int, skip_empty: bool = True) -> Any:
    """Return the loss, or directions, that a parameter names; one of LightGBM's as its name."""
    if isinstance(loss, str) and loss in BUILT_IN:
        return loss
    if loss == "xendcg":
        return XENDCG(newton=newton, random_state=random_state, skip_empty=skip_empty)
    if newton != "plain":
        raise ValueError(
            f"newton={newton!r} is for loss='xendcg', but loss is {loss!r}. Give "
            "XENDCG(newton=...) or leave newton out."
        )
    if loss == "lambdarank":
        return LambdaRank()
    if loss == "stochastic-lambdarank":
        return StochasticLambdaRank(random_state=random_state)
    if isinstance(loss, str) and loss not in LOSSES:
        names = [*LOSSES, "lambdarank", "stochastic-lambdarank", *BUILT_IN]
        raise ValueError(
            f"loss must be one of {', '.join(names)}, but is {loss!r}.{meant(loss, names)}"
        )
    is_loss = isinstance(loss, str | XENDCG | ListNet) or not isinstance(loss, Directions)
    return from_name(loss, skip_empty) if is_loss else loss


def terms_of(
    loss: Any, y: Floats, groups: Groups, weights: Floats | None, n_jobs: int | None
) -> Terms:
    r"""Return a function of scores and iteration that gives gradients and curvatures.

    Losses that say how are asked for both, with the iteration as the number of the draw. Others
    give their gradient, and the curvature is 1. ``weights`` are those of the documents: losses
    weigh their terms by them, a cross entropy

    .. math:: L(s, y) = -\sum_i a_i \phi_i \log \rho_i,

    and the curvature is the largest weight of the query in place of 1. Directions, and losses of
    one's own that know no weights, have gradients and curvatures multiplied.
    """
    if isinstance(loss, WithTerms):
        if has_argument(loss.prepare_terms, "weights"):
            known: Any = loss
            terms: Terms = known.prepare_terms(
                y, groups, n_jobs=n_jobs, weights=weights
            ).grad_and_hess
            return terms
        return _multiplied(loss.prepare_terms(y, groups, n_jobs=n_jobs).grad_and_hess, weights)
    if isinstance(loss, Directions):
        return _multiplied(lambda s, draw: loss.grad_and_hess(s, y, groups, draw), weights)
    curvatures = np.ones(len(y))
    if weights is not None and not as_loss(loss).takes_weights:
        prepared = prepare_loss(loss, y, groups, n_jobs=n_jobs)
        return _multiplied(lambda s, draw: (prepared.values_and_grad(s)[1], curvatures), weights)
    prepared = prepare_loss(loss, y, groups, weights, n_jobs=n_jobs)
    if weights is not None:
        # Pushes come from other documents too: one without weight must not be without curvature.
        curvatures = np.repeat(max_by_query(weights, groups), groups.sizes)
    return lambda s, draw: (prepared.values_and_grad(s)[1], curvatures)


def _multiplied(terms: Terms, weights: Floats | None) -> Terms:
    if weights is None:
        return terms

    def weighted(scores: Floats, draw: int) -> tuple[Any, Any]:
        grad, hess = terms(scores, draw)
        return weights * grad, weights * hess

    return weighted


class TreeObjective:
    """Gradients and curvatures as LightGBM takes them, iteration by iteration.

    They are rounded to a grid on which sums are exact (``exact_sums.hpp``), so that the trees do
    not depend on the order of the queries or on the number of threads.
    """

    def __init__(
        self,
        loss: Any,
        y: Floats,
        groups: Groups,
        *,
        doc_weights: Floats | None,
        query_weights: Floats | None,
        skip_empty: bool,
        subsample: float,
        random_state: int,
        n_jobs: int | None,
    ) -> None:
        self.terms = terms_of(loss, y, groups, doc_weights, n_jobs)
        self.groups, self.subsample, self.random_state = groups, subsample, random_state
        self.threads = n_threads(n_jobs)
        counts = np.ones(groups.n_queries) if query_weights is None else query_weights
        # Cross entropies skip by themselves. Others have gradients 0 there, but curvatures of 1.
        if skip_empty and not isinstance(loss, XENDCG | ListNet):
            counts = np.where(is_empty(y, groups), 0.0, counts)
        self.query_weights = counts
        self.row_weights = np.empty(0) if (counts == 1).all() else np.repeat(counts, groups.sizes)
        self.iteration = 0

    def __call__(self, scores: Floats, _: Any = None) -> tuple[Any, Any]:
        """Return gradients and curvatures, float32; LightGBM calls this once an iteration."""
        grad, hess = self.terms(scores, self.iteration)
        weights = self._weights()
        rounded = self._rounded(grad, weights, "gradient"), self._rounded(hess, weights, "hessian")
        self.iteration += 1
        return rounded

    def _weights(self) -> Floats:
        """Return the weights of the rows, 0 for queries that are not in the sample; or nothing."""
        if self.subsample == 1:
            return self.row_weights
        # Which queries are in depends on the seed, the iteration and their ids only. One always is.
        lots = query_uniforms(self.groups, self.random_state, self.iteration)
        chosen = lots <= max(self.subsample, lots.min())
        return np.repeat(np.where(chosen, self.query_weights, 0.0), self.groups.sizes)

    def _rounded(self, values: Any, weights: Floats, name: str) -> Any:
        array = np.ascontiguousarray(values, dtype=np.float64)
        n = self.groups.n_rows
        if array.shape != (n,):
            raise ValueError(
                f"the loss must return a {name} for each of {n} documents, but returned an array "
                f"of shape {array.shape}."
            )
        try:
            return _kernels.round_to_grid(array, weights, self.threads)
        except ValueError:
            row = int(np.argmax(~np.isfinite(array) | (np.abs(array) > np.finfo(np.float32).max)))
            raise ValueError(
                f"the loss must return finite numbers, but in iteration {self.iteration + 1} the "
                f"{name} of row {row} is {array[row]}."
            ) from None
