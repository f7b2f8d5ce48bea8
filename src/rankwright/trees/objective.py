"""From a loss to what a tree learner fits: a gradient and a curvature for each document."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.streams import query_uniforms
from rankwright.data.validation import Floats
from rankwright.inputs import RankingData
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


@dataclass(frozen=True)
class Found:
    """What a machine knows of the gradients and curvatures of its documents.

    Attributes
    ----------
    n_docs : int
        How many documents there are.
    largest : tuple of float
        The largest gradient in size, and the largest curvature.
    lowest : float
        The lowest number that was drawn for a query: who is above the threshold is not learned
        from. 0 where all are.
    """

    n_docs: int
    largest: tuple[float, float]
    lowest: float

    @classmethod
    def together(cls, found: Sequence[Found]) -> Found:
        """Return what is known of the documents of all machines."""
        largest = [max(sizes) for sizes in zip(*(one.largest for one in found), strict=True)]
        n_docs = sum(one.n_docs for one in found)
        return cls(n_docs, (largest[0], largest[1]), min(one.lowest for one in found))


def objective_of(ranker: Any, loss: Any, data: RankingData) -> TreeObjective:
    """Return the objective of some documents, by the parameters of a ranker."""
    weights: Any = {"doc_weights": data.sample_weight, "query_weights": data.weight_of_queries}
    names = ("skip_empty", "subsample", "random_state", "n_jobs")
    params: Any = {name: getattr(ranker, name) for name in names}
    return TreeObjective(loss, data.y, data.groups, **weights, **params)


class TreeObjective:
    """Gradients and curvatures as LightGBM takes them, iteration by iteration.

    They are rounded to a grid on which sums are exact (``exact_sums.hpp``), so that the trees do
    not depend on the order of the queries, on the number of threads or on that of machines: the
    grid follows from the number of documents and the largest value of all machines. So there are
    two steps: :meth:`found` computes the numbers, :meth:`rounded` rounds them.
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
        self._pair: tuple[Floats, Floats] = (np.empty(0), np.empty(0))
        self._weights = self.row_weights

    def found(self, scores: Floats, iteration: int, at_least: float = 0.0) -> Found:
        """Compute gradients and curvatures, and keep them; return what other machines must know.

        ``iteration`` counts from 0. Of a sample, queries are in it whose lot is at most
        ``subsample``, or at most ``at_least``: one must be, of all machines.
        """
        grad, hess = self.terms(scores, iteration)
        self._pair = self._checked(grad, "gradient"), self._checked(hess, "hessian")
        lowest = self._draw(iteration, at_least)
        sizes = [_kernels.largest_weighted(v, self._weights, self.threads) for v in self._pair]
        for values, size, name in zip(self._pair, sizes, ("gradient", "hessian"), strict=True):
            if math.isnan(size):
                self._refuse(values, name, iteration)
        return Found(self.groups.n_rows, (sizes[0], sizes[1]), lowest)

    def slope(self, scores: Floats) -> Floats:
        """Return the gradient at some scores, of all queries, as in the first round."""
        weights = self.row_weights if len(self.row_weights) > 0 else 1.0
        return np.asarray(weights * self.terms(scores, 0)[0])

    def rounded(self, of_all: Found) -> tuple[Any, Any]:
        """Return what was computed on the grid of all machines, float32."""
        count = float(of_all.n_docs)
        grad, hess = (
            _kernels.round_to_grid(values, self._weights, largest, count, self.threads)
            for values, largest in zip(self._pair, of_all.largest, strict=True)
        )
        return grad, hess

    def _draw(self, iteration: int, at_least: float) -> float:
        """Set the weights of the rows, 0 for queries that are not in the sample; return a lot."""
        if self.subsample == 1:
            return 0.0
        # Which queries are in depends on the seed, the iteration and their ids only.
        lots = query_uniforms(self.groups, self.random_state, iteration)
        chosen = lots <= max(self.subsample, at_least)
        self._weights = np.repeat(np.where(chosen, self.query_weights, 0.0), self.groups.sizes)
        return float(lots.min())

    def _checked(self, values: Any, name: str) -> Floats:
        array = np.ascontiguousarray(values, dtype=np.float64)
        if array.shape == (self.groups.n_rows,):
            return array
        raise ValueError(
            f"the loss must return a {name} for each of {self.groups.n_rows} documents, but "
            f"returned an array of shape {array.shape}."
        )

    def _refuse(self, array: Floats, name: str, iteration: int) -> NoReturn:
        row = int(np.argmax(~np.isfinite(array) | (np.abs(array) > np.finfo(np.float32).max)))
        raise ValueError(
            f"the loss must return finite numbers, but in iteration {iteration + 1} the {name} of "
            f"row {row} is {array[row]}."
        )
