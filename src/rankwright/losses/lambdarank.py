"""LambdaRank: directions without a loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.hashing import Keys
from rankwright.data.validation import Floats, check_count
from rankwright.losses.directions import WithTerms
from rankwright.metrics.dcg import DCG, check_gain_labels
from rankwright.threads import n_threads


@dataclass(frozen=True)
class LambdaRank(WithTerms):
    r"""Pushes on pairs, weighted by how much swapping them would change NDCG.

    For each pair with :math:`y_i > y_j`, at least one of them among the first ``k`` ranks,

    .. math::
        \lambda_{ij} = \frac{\sigma\, |\Delta \mathrm{NDCG}_{ij}|}{1 + e^{\sigma (s_i - s_j)}}

    is subtracted from document :math:`i`'s direction and added to :math:`j`'s. There is no function
    whose gradient this is, so there is no ``value_and_grad``.

    Parameters
    ----------
    sigma : float, default 1.0
        :math:`\sigma > 0`.
    k : int, default 30
        Truncation: ranks of which at least one document of a pair must come.
    norm : bool, default False
        LightGBM's ``lambdarank_norm``: divide by :math:`0.01 + |s_i - s_j|`, and rescale each query
        by :math:`\log_2(1 + \Lambda)/\Lambda`, where :math:`\Lambda` is the sum of its pushes.

    References
    ----------
    .. [1] Burges, "From RankNet to LambdaRank to LambdaMART: an overview", 2010.
    """

    sigma: float = 1.0
    k: int = 30  # LightGBM's default
    norm: bool = False

    name: ClassVar[str] = "lambdarank"
    cost: ClassVar[str] = "O(m k)"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise ValueError(f"sigma must be a positive number, but is {self.sigma!r}.")
        check_count("k", self.k)

    def prepare_terms(
        self, y: Floats, groups: Groups, *, n_jobs: int | None = None
    ) -> PreparedLambdaRank:
        """Do once what depends on the labels only; arguments are trusted."""
        return PreparedLambdaRank(self, y, groups, n_threads(n_jobs))

    def noise_of(self, groups: Groups, draw: int) -> tuple[Keys, float]:
        """Return keys of the noise on ranks, by draw and query, and its scale: none here."""
        return np.empty(0, dtype=np.uint64), 0.0


class PreparedLambdaRank:
    """LambdaRank on given labels."""

    def __init__(self, directions: LambdaRank, y: Floats, groups: Groups, threads: int) -> None:
        check_gain_labels(y, type(directions).__name__)
        self.directions, self.groups, self.threads = directions, groups, threads
        self.gains = np.exp2(y) - 1
        # By the cutoff of the pairs too, as LightGBM has it.
        self.best = DCG(k=directions.k, ties="order").per_query(y, y, groups)

    def grad_and_hess(self, scores: Floats, draw: int = 0) -> tuple[Floats, Floats]:
        """Return directions and curvatures; ranks are drawn if the rule says how."""
        rule = self.directions
        return _kernels.lambdarank(
            scores,
            self.gains,
            self.best,
            rule.sigma,
            rule.k,
            rule.norm,
            *rule.noise_of(self.groups, draw),
            self.groups.indptr,
            self.threads,
        )
