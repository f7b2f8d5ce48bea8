"""The perceptron of the SLAM surrogates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from math import inf
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups, Ints
from rankwright.data.products import native_rows
from rankwright.data.validation import Floats
from rankwright.inputs import RankingData
from rankwright.losses.metric_weights import Sharing
from rankwright.losses.slam import SLAM, PreparedSLAM
from rankwright.metrics.dcg import discounts
from rankwright.online.base import Rounds, check_step
from rankwright.online.comparator import compared
from rankwright.online.kernel import kernel_rounds, learn_by_kernel
from rankwright.online.kernel_bounds import KernelBounds
from rankwright.online.ledger import Ledger
from rankwright.online.means import Variant
from rankwright.online.parameters import parametrized
from rankwright.online.rankers import OnlineLinearRanker
from rankwright.theory.budget import budget_bound
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.margins import check_comparator, ranking_margins
from rankwright.theory.perceptron import (
    slam_corollary7,
    slam_misordered,
    slam_printed,
    slam_separable,
    slam_theorem5,
)
from rankwright.theory.warm import WarmStart, from_start, named_after, warm_perceptron_bound

Update: TypeAlias = Literal["misordered", "paper", "printed"]
_UPDATES = ("misordered", "paper", "printed")


@parametrized
class SLAMPerceptron(KernelBounds, OnlineLinearRanker):
    r"""Takes one step for each query that it ranks wrongly.

    .. math::
        w \leftarrow w - \eta X^\top z, \qquad
        z = \sum_{i \text{ active}} v_i (e_{k(i)} - e_i)

    where :math:`v` are the weights of :class:`~rankwright.losses.SLAM`, :math:`k(i)` is the
    best-scored document with a lower label than i (if several are tied, :math:`e_{k(i)}` is their
    mean), and a query is ranked wrongly if its metric with tied documents in the worst order is
    below 1. ``update`` says which documents are active:

    - ``"misordered"``: those with :math:`s_k \ge s_i`. The run does not depend on the scale of the
      features, :math:`\eta = 1`, and if a unit vector orders all pairs with margin
      :math:`\gamma`, :math:`\sum_t (1 - \mathrm{metric}_t) \le 4 R_X^2 V / \gamma^2` with
      :math:`R_X` the length of the longest document and :math:`V \le 1` the largest sum of a
      query's weights;
    - ``"paper"``: those with :math:`1 + s_k - s_i > 0`, and
      :math:`\eta = 1/(4 m R_X^2 v_{\max})`, as Theorem 5 needs it; m is the most documents of a
      query, :math:`v_{\max}` the largest ratio of two weights of a query. For ``"ndcg@K"`` m is K
      (Corollary 7), or the most documents with a weight if groups of equal labels share theirs
      beyond K;
    - ``"printed"``: the same with :math:`\eta = 1`, as Algorithm 1 is printed. The theorem does
      not hold for it (S1).

    With weights of documents and queries, :math:`v_i` is :math:`c_q a_i v_i`, and the loss of a
    query :math:`c_q (1 - \mathrm{metric})` if a document with a weight is misordered;
    :math:`\eta` stays as it is.

    Parameters
    ----------
    metric : {"ndcg", "map", "ndcg@K"} or callable, default "ndcg"
        As for :class:`~rankwright.losses.SLAM`. With weights of your own, a round's loss is the sum
        of the weights of the misordered documents.
    update : {"misordered", "paper", "printed"}, default "misordered"
        Which documents take part in an update.
    @variant
    eta : float, optional
        :math:`\eta`; by default what ``update`` says.
    threshold : float, default 1.0
        For MAP, relevant from this label on.
    weights : {"group", "printed"}, default "group"
        As for :class:`~rankwright.losses.SLAM`: with ``"group"`` the order of a query's rows makes
        no difference.
    radius, max_docs, v_max : float, optional
        :math:`R_X`, m and :math:`v_{\max}` of ``update="paper"``. ``fit`` measures them;
        ``partial_fit`` cannot, and needs them or ``eta``.
    @kernel documents
    @rounds queries

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights that predict; absent with a kernel.
    support_, dual_coef_, born_ : ndarray
        With a kernel: documents, their coefficients, and the rounds in which they came.
    eta_ : float
        :math:`\eta`.
    n_rounds_, n_updates_ : int
        Queries so far, and those that led to an update.
    cumulative_loss_ : float
        Sum of :math:`1 - \mathrm{metric}` over the queries, each before its update.

    References
    ----------
    .. [1] Chaudhuri & Tewari, "Perceptron-like algorithms and generalization bounds for learning to
       rank", Algorithm 1, Theorem 5, Corollaries 6 and 7.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> train, test = make_mslr_like(n_queries=100, mean_docs=30).split((0.7, 0.3))
    >>> ranker = SLAMPerceptron().fit(train.X, train.y, train.qid)
    >>> ranker.score(test.X, test.y, test.qid) > 0.7
    True
    """

    metric: str | Callable[[Floats], Floats] = "ndcg"
    update: Update = "misordered"
    _: KW_ONLY
    takes_weights: ClassVar[bool] = True
    PAPER: ClassVar[dict[str, Any]] = {"update": "paper", "weights": "printed"}
    variant: Variant | None = None
    eta: float | None = None
    threshold: float = 1.0
    weights: Sharing = "group"
    radius: float | None = None
    max_docs: int | None = None
    v_max: float | None = None

    @property
    def loss(self) -> SLAM:
        """The surrogate whose weights the updates have."""
        return SLAM(self.metric, threshold=self.threshold, weights=self.weights)

    def loss_for(self, y: Floats) -> SLAM:
        """Return the surrogate, whatever the labels are."""
        return self.loss

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        self.loss  # noqa: B018 - it raises
        if self.update not in _UPDATES:
            raise ValueError(
                f"update must be one of {', '.join(_UPDATES)}, but is {self.update!r}."
            )

    def _no_budget(self) -> str:
        if self.update == "misordered":
            return ""
        return f"its theorem is about update='misordered', but update is {self.update!r}"

    def _begin(self, data: RankingData, whole: bool) -> None:
        if self.kernel is None:
            super()._begin(data, whole)
        else:
            self._begin_support(data.X, whole)
        self.eta_ = self._step(data, whole)

    def _step(self, data: RankingData, whole: bool) -> float:
        if self.eta is not None:
            return float(self.eta)
        # Which documents are misordered does not depend on the scale of the weights: any step will
        # do (S1). That is not so for "printed", and 1 is what the paper prints.
        if self.update != "paper":
            return 1.0
        if not whole and None in (self.radius, self.max_docs, self.v_max):
            raise ValueError(
                "update='paper' needs radius, max_docs and v_max, or eta, before partial_fit or a "
                "stream: its step depends on documents that are still to come. Pass one of these, "
                "on the command line by -p eta=... or -p radius=... -p max_docs=... -p v_max=..."
            )
        v = self.loss.document_weights(data.y, data.groups)
        facts = SLAMFacts.of(v, data.groups, self.loss.cutoff)
        r = self._longest(data.X, data.order) if self.radius is None else self.radius
        m = facts.max_docs if self.max_docs is None else self.max_docs
        v_max = facts.v_max if self.v_max is None else self.v_max
        # Theorem 5; with a cutoff m is as in Corollary 7. If all features are 0, w stays 0.
        return 1 / max(4 * m * r**2 * v_max, 1e-300)

    def _prepare(self, data: RankingData) -> _SLAMTask:
        loss = self.loss
        prepared = loss.prepare(data.y, data.groups, n_jobs=1, weights=data.weights)
        kind = "weights"
        if isinstance(self.metric, str):
            kind = "ap" if loss.is_map else "ndcg"
        discount = discounts(int(data.groups.sizes.max(initial=1)), "log2")
        rounds = _kernels.SlamRounds(
            prepared.layers, prepared.v, kind, loss.cutoff, self.update == "misordered", discount
        )
        # Of weights of one's own those of the queries are part.
        of_query = None if kind == "weights" else data.weight_of_queries
        return _SLAMTask(data, prepared, rounds, of_query)

    def _learn(self, task: _SLAMTask, order: Ints, comparator: Floats | None) -> Rounds:
        scores = np.empty(0) if comparator is None else compared(comparator, task.data.X).scores
        if self.kernel is not None:
            return self._learn_by_kernel(task, order, scores)
        losses, surrogates = np.empty(len(order)), np.empty(len(order))
        with self._iterate(len(order)) as iterate:
            n_updates = task.rounds.learn(
                native_rows(task.data.X), order, self.eta_, scores, iterate, losses, surrogates
            )
        return Rounds(task.weighted(losses, order), n_updates, {"comparator": surrogates})

    def _learn_by_kernel(self, task: _SLAMTask, order: Ints, other: Floats) -> Rounds:
        expansion, indptr = self._expansion(), task.data.groups.indptr
        charges: list[float] = []
        gains: list[float] = []

        def play(q: int, scores: Floats) -> tuple[float, Floats]:
            z, t = np.empty(len(scores)), scores[:, 0].copy()
            if self.budget is not None:
                # The weights of the misordered documents: what scores of 0 are charged.
                gains.append(task.rounds.round(q, t, np.zeros(len(t)), z)[1])
            loss, charge = task.rounds.round(q, t, other[indptr[q] : indptr[q + 1]], z)
            charges.append(charge)
            return loss, z[:, None]

        rounds = kernel_rounds(expansion, task.data, order, self.n_rounds_)
        more = self._kept_of_updates(expansion, lambda: self.eta_ * gains[-1])
        losses, n_updates = learn_by_kernel(expansion, rounds, -self.eta_, play, more)
        self._publish_expansion(expansion)
        terms = {"comparator": np.array(charges, dtype=np.float64)}
        return Rounds(task.weighted(losses, order), n_updates, terms)

    def _charge(self, task: _SLAMTask, order: Ints, rounds: Rounds, ledger: Ledger) -> None:
        data = task.data
        u = compared(ledger.comparator, data.X)
        ledger.keep_max("length", u.length)
        facts = SLAMFacts.of(task.prepared.v, data.groups, self.loss.cutoff)
        ledger.add("comparator", rounds.terms["comparator"])
        ledger.keep_max("radius", self._longest(data.X, data.order))
        ledger.keep_max("max_docs", facts.max_docs)
        ledger.keep_max("v_max", facts.v_max)
        ledger.keep_max("V", facts.V)
        labels = task.prepared.y
        ledger.keep_min("margin", ranking_margins(u.scores, labels, data.groups).min(initial=inf))

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """Return the bound of the rounds so far."""
        t = ledger.totals
        length = t["length"]
        margin = t["margin"] / length if length > 0 else 0.0
        if not math.isfinite(margin):  # no pair to order, no loss
            margin = 1.0
        start = ledger.start
        bounds = self._cold_bounds(t, margin)
        if not start.is_cold:
            bounds = self._warm_bounds(t, length, t["comparator"], start)
            if margin > 0:  # u / margin loses nothing
                unit = start.against(1 / margin / length)
                bounds += self._warm_bounds(t, 1 / margin, 0.0, unit)
        best = min(bounds, key=float)
        return replace(best, terms={**best.terms, "loss": t["loss"]})

    def _theorem(self, m: int) -> Callable[..., Guarantee]:
        # Shared weights may reach beyond the cutoff; the theorem then counts their documents.
        return slam_corollary7 if m <= self.loss.cutoff else slam_theorem5

    def _warm_bounds(
        self, t: dict[str, float], length: float, charge: float, start: WarmStart
    ) -> list[Guarantee]:
        """Return the bounds from weights that are not 0, against a comparator and its charge."""
        r, m, eta = t["radius"], int(t["max_docs"]), self.eta_
        # The updates of active documents that are in order also lengthen the weights.
        misordered = self.update == "misordered"
        G = 4 * r**2 * t["V"] + (0.0 if misordered else 2 / eta)
        name = "Misordered update" if misordered else "Algorithm 1 as printed"
        root = warm_perceptron_bound(length, G, charge, start.over(eta))
        bounds = [named_after(root, f"{name}, warm start", "sum of 1 - metric")]
        if not misordered:
            away = start.distance(length)
            bounds.append(from_start(self._theorem(m)(away, r, m, t["v_max"], charge, eta)))
        return bounds

    def _cold_bounds(self, t: dict[str, float], margin: float) -> list[Guarantee]:
        """Return the bounds from weights 0."""
        length, r, m, f = t["length"], t["radius"], int(t["max_docs"]), t["comparator"]
        if self.budget is not None:
            G, S = 4 * r**2 * t["V"], float(self.forgotten_[-1])
            bounds = [budget_bound(length, G, S, f)]
            if margin > 0:  # u / margin loses nothing
                bounds.append(budget_bound(1 / margin, G, S))
        elif self.update == "misordered":
            bounds = [
                slam_separable(margin, r, t["V"]),
                slam_misordered(length, r, t["V"], f),
            ]
        else:
            theorem = self._theorem(m)
            bounds = [
                slam_printed(margin, r, t["V"], self.eta_),
                theorem(length, r, m, t["v_max"], f, self.eta_),
            ]
            if margin > 0:  # u / margin, as in Corollary 6
                bounds.append(theorem(1 / margin, r, m, t["v_max"], 0.0, self.eta_))
        return bounds

    def _start_of_weights(self, u: Any) -> WarmStart:
        w = self._weights()
        return WarmStart.between(w, check_comparator(u, len(w)))

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted ranker."""
        super().check_state()
        check_step(self)

    def _check_form(self) -> None:
        if self.kernel is None:
            super()._check_form()
        else:
            self._check_support(1)


@dataclass(frozen=True)
class _SLAMTask:
    data: RankingData
    prepared: PreparedSLAM  # its arrays are looked at by `rounds`
    rounds: _kernels.SlamRounds
    of_query: Floats | None  # what the loss of each query is multiplied by

    def weighted(self, losses: Floats, order: Ints) -> Floats:
        """Return the losses of rounds, times the weights of their queries."""
        return losses if self.of_query is None else losses * self.of_query[order]


@dataclass(frozen=True)
class SLAMFacts:
    r"""What the bounds of the SLAM paper need to know of the weights.

    Attributes
    ----------
    max_docs : int
        m: the most documents of a query. With a cutoff k those with a weight count, of which the
        printed weights have at most k; a group of equal labels may share its weight beyond k.
    v_max : float
        The largest ratio of two positive weights of one query.
    V : float
        The largest sum of a query's weights.
    """

    max_docs: int
    v_max: float
    V: float

    @classmethod
    def of(cls, v: Floats, groups: Groups, cutoff: int = 0) -> SLAMFacts:
        """Measure weights."""
        longest = int(groups.sizes.max(initial=1))
        full = groups.indptr[:-1][groups.sizes > 0]
        if len(full) == 0:
            return cls(1, 1.0, 0.0)
        largest = np.maximum.reduceat(v, full)
        # Documents without weight never make an update: the ratio is among the others.
        smallest = np.minimum.reduceat(np.where(v > 0, v, np.inf), full)
        ratio = float(np.max(largest / smallest, initial=1.0))
        total = float(np.add.reduceat(v, full).max())
        if cutoff:
            weighted = int(np.add.reduceat((v > 0).astype(np.int64), full).max())
            longest = max(min(longest, cutoff), weighted)
        return cls(longest, max(ratio, 1.0), total)
