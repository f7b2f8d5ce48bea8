"""PRank: perceptron ranking with ordered thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.products import native_rows
from rankwright.data.validation import Floats
from rankwright.estimator import check_fitted_array
from rankwright.exceptions import DataError
from rankwright.online.base import Rounds
from rankwright.online.comparator import Dual, compared
from rankwright.online.kernel import kernel_rounds
from rankwright.online.ledger import Ledger
from rankwright.online.means import Variant, check_variant
from rankwright.online.ordinal import OrdinalData, OrdinalLearner
from rankwright.online.parameters import parametrized
from rankwright.online.votes import Bools, for_one, median
from rankwright.scaling import Kind, Moments, power_of_two
from rankwright.scoring.decisions import by_thresholds
from rankwright.scoring.state import check_thresholds
from rankwright.scoring.sums import shares_of
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.margins import check_comparator, prank_margins
from rankwright.theory.perceptron import prank_bound, prank_theorem2
from rankwright.theory.warm import WarmStart, named_after, warm_perceptron_bound

# Margins that the bound tries, whatever the data: eight to an octave, so that the best of all is at
# most 9 % above one of them, over the range in which neither they nor R^2 over squares overflow.
_GAMMAS = np.exp2(np.arange(-8 * 400, 8 * 400 + 1) / 8)


@parametrized
class PRank(OrdinalLearner):
    r"""A direction and ordered thresholds that share an ordered set of labels.

    .. math::
        \hat y = \min \{ r : w \cdot x - b_r < 0 \}, \qquad b_1 \le \ldots \le b_{k-1},\;
        b_k = \infty

    After a wrong label, with :math:`y_r = -1` if :math:`y \le r` and +1 otherwise,

    .. math::
        \tau_r = y_r \,[(w \cdot x - b_r)\, y_r \le 0], \qquad
        w \leftarrow w + \Bigl(\sum_r \tau_r\Bigr) x, \qquad b_r \leftarrow b_r - \tau_r.

    The thresholds stay ordered, and if a unit vector :math:`(w^*, b^*)` separates the labels with
    margin :math:`\gamma`, then :math:`\sum_t |\hat y_t - y_t| \le ((k - 1) R^2 + 1)/\gamma^2`.

    Thresholds that move by 1 hardly open where documents are long. With ``threshold_step`` s they
    move by :math:`s \tau_r`, which is the same as to learn from :math:`x/\sqrt s`: the bound holds
    for these, and so do R, :math:`\gamma` and the comparator's length in it (R7).

    Parameters
    ----------
    @voting median
    threshold_step : float or "auto", optional
        How far thresholds move. ``"auto"`` is the mean of :math:`\|x\|^2` over the documents as the
        learner sees them, to the nearest power of two, measured before the first round; of
        :math:`K(x, x)` with a kernel. By default a learner that begins with ``fit`` has ``"auto"``,
        and one that begins with ``partial_fit`` has 1.
    @ordinal

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        :math:`w`; absent with a kernel.
    thresholds_ : ndarray of shape (n_ranks - 1,)
        :math:`b`.
    threshold_step_ : float
        How far they move.
    support_, dual_coef_, born_, taus_ : ndarray
        With a kernel or votes: the documents that made updates, their coefficients, the rounds in
        which they came, and their :math:`\tau`.
    @labels

    References
    ----------
    .. [1] Crammer & Singer, "Pranking with ranking", NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> y = np.digitize(X @ [3, 1], [1, 2, 3])
    >>> PRank().fit(X, y).score(X, y) > -0.1
    True
    """

    VOTES: ClassVar[bool] = True
    LEFT_OPEN: ClassVar[dict[str, tuple[Any, Any]]] = {"threshold_step": ("auto", 1.0)}
    variant: Variant | None = None
    _: KW_ONLY
    threshold_step: float | Literal["auto"] | None = None
    classes: ArrayLike | None = None

    def decision_function(self, X: Any) -> Floats:
        r"""Return the projections :math:`w \cdot x` that the thresholds cut."""
        return super().decision_function(X)

    def _n_thresholds(self) -> int:
        return len(self.classes_) - 1

    def _kind_of_scale(self) -> Kind:
        return "center"  # the thresholds make up for it

    def _rest_in_scale(self, rest: Floats, offset: Any) -> Floats:
        return np.asarray(rest - offset)

    def _no_budget(self) -> str:
        # Thresholds stay ordered because they move by whole steps and never back (Lemma 1).
        return "the thresholds of PRank need not stay ordered when updates go"

    def _predict_ranks(self, X: Any) -> Ints:
        if not self._votes:
            return by_thresholds(self._scores(X), self.thresholds_)
        k = len(self.classes_)
        # Thresholds after each update: b_r goes down by tau_r (R1) steps.
        history = -np.vstack([np.zeros(k - 1), np.cumsum(self.taus_, axis=0)]) * self._unit()

        def ballots(scores: Floats, which: slice) -> Bools:
            return for_one((scores >= history[which]).sum(axis=2), k)

        return median(self._count_votes(X, ballots, k))

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        check_variant(self.variant)

    @property
    def measures(self) -> bool:
        """Whether ``fit`` measures the features before the first round."""
        return self.standardizes or self._measures_step()

    def measure(self, moments: Moments) -> None:
        """Freeze what ``fit`` measures, for a learner that is given its data in pieces."""
        super().measure(moments)
        if self._measures_step() and self.kernel is None:
            self._freeze_step(moments.mean_square(self._feature_scale()))

    def settle(self, whole: bool) -> None:
        """Decide what was left open; a step is a float in model files, however it was given."""
        super().settle(whole)
        if not self._measures_step():
            self.threshold_step_ = float(vars(self)["threshold_step_"])

    def _measures_step(self) -> bool:
        return bool(vars(self).get("threshold_step_") == "auto")

    def _freeze_step(self, mean_square: float) -> None:
        # A power of two, as scales are: it does not depend on how the documents were measured.
        self.threshold_step_ = float(power_of_two(np.array([mean_square]))[0])

    def _unit(self) -> float:
        return float(self.threshold_step_)

    def _begin(self, data: OrdinalData, whole: bool) -> None:
        k = len(self.classes_)
        # Equal at the start, they move by whole numbers and stay in order (Lemma 1); gaps that are
        # no integers would let them cross (R4). Hence they are kept in steps.
        self.thresholds_ = np.zeros(k - 1)
        if self._keeps_support:
            self._begin_support(data.X, whole)
            self.taus_ = np.empty((0, k - 1))
        if self._measures_step():
            self._freeze_step(self._mean_square(data.X))
        if self.kernel is None:
            self._begin_weights(data.X.shape[1] + k - 1)

    def _publish(self, weights: Floats) -> None:
        d = self.n_features_in_
        self.coef_ = self._out_of_scale(weights[:d].copy())
        self.thresholds_ = weights[d:] * self._unit() + self._offset(self.coef_)

    def _learn(self, task: OrdinalData, order: Ints, comparator: Any) -> Rounds:
        if self.kernel is not None:
            return self._learn_by_kernel(task, order)
        losses = np.empty(len(order))
        # tau_r is +1 or -1 where threshold r is on the wrong side, else 0 (R1): a byte holds it.
        taus = np.empty((len(order), len(self.classes_) - 1), dtype=np.int8)
        with self._iterate(len(order)) as iterate:
            n_updates = _kernels.prank(
                native_rows(task.X), task.ranks, order, self._unit(), iterate, losses, taus
            )
        if self._votes:
            wrong = np.flatnonzero(losses)
            points = self._kernel().points(task.X, order[wrong], None)
            moves = taus[wrong].astype(np.float64)
            self._remember(points, moves.sum(axis=1, keepdims=True), self.n_rounds_ + 1 + wrong)
            self.taus_ = np.concatenate([self.taus_, moves])
        return Rounds(losses, n_updates)

    def _learn_by_kernel(self, task: OrdinalData, order: Ints) -> Rounds:
        b = -self.taus_.sum(axis=0)
        losses, taus = [], [self.taus_]
        tau = np.empty(len(b), dtype=np.int8)
        expansion = self._expansion()
        for t, row, place, scores in kernel_rounds(
            expansion, task, order, self.n_rounds_, by_ends=False
        ):
            rank = int(task.ranks[row])
            predicted = _kernels.prank_step(float(scores[0, 0]) / self._unit(), rank, b, tau)
            losses.append(float(abs(predicted - rank)))
            if predicted != rank:
                step = tau.astype(np.float64)
                b -= step
                taus.append(step[None, :])
                expansion.add(np.array([place]), np.array([[step.sum()]]), t)
        self._publish_expansion(expansion)
        self.taus_ = np.concatenate(taus)
        shares = shares_of(vars(self), self.n_rounds_ + len(order))
        self.thresholds_ = -(self.taus_ * shares[:, None]).sum(axis=0) * self._unit()
        return Rounds(np.array(losses), len(taus) - 1)

    def _charge(self, task: OrdinalData, order: Ints, rounds: Rounds, ledger: Ledger) -> None:
        # R7: all in terms of x / c, the documents whose thresholds move by 1.
        c = math.sqrt(self._unit())
        scores, thresholds, length = compared(ledger.comparator, task.X, self._n_thresholds(), c)
        margins = prank_margins(scores, task.ranks, thresholds) / max(length, 1e-300)
        ledger.keep_max("length", length)
        ledger.keep_max("radius", self._longest(task.X) / c)
        ledger.keep_min("margin", margins.min(initial=math.inf))
        ledger.keep_max("largest", margins.max(initial=0.0))
        # D(gamma) needs of the margins below gamma how many they are, and their sum: both are kept
        # between each two gammas, so that all of them know of all rounds before. The first share,
        # from the smallest gamma down, has the margins that are negative.
        missed = margins[order[rounds.losses > 0]].ravel()
        places = np.searchsorted(_GAMMAS, missed)
        for place in np.unique(places).tolist():
            share = missed[places == place]
            ledger.add(f"below {place}", len(share))
            ledger.add(f"sum {place}", share)

    def _hinges(self, ledger: Ledger) -> Iterator[tuple[float, float]]:
        """Yield gammas up to the largest margin that came, each with its D(gamma)."""
        t = ledger.totals
        last = int(np.searchsorted(_GAMMAS, t["largest"], side="right")) - 1
        known = np.array(
            sorted(int(name[6:]) for name in t if name.startswith("below ")), dtype=int
        )
        counts = np.cumsum([0.0, *(t[f"below {place}"] for place in known)])
        sums = np.cumsum([0.0, *(t[f"sum {place}"] for place in known)])
        # While the same margins are below, D is linear in gamma, and the bound is monotone.
        tried = np.unique(np.concatenate([known, known - 1, [last]]))
        for place in tried[(tried > 0) & (tried <= last)].tolist():
            share, gamma = np.searchsorted(known, place, side="right"), float(_GAMMAS[place])
            yield gamma, max(0.0, float(counts[share] * gamma - sums[share]))

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """Return the best of the bounds that hold."""
        t, k = ledger.totals, len(self.classes_)
        margin = t["margin"] if math.isfinite(t["margin"]) else 1.0
        r = t["radius"]
        hinges = [(max(margin, 0.0), 0.0), *self._hinges(ledger)]
        if ledger.start.is_cold:
            bounds = [prank_bound(gamma, r, k, charge) for gamma, charge in hinges]
            bounds.append(prank_theorem2(max(margin, 0.0), r, k))
        else:
            unit = ledger.start.against(1 / t["length"] if t["length"] > 0 else 0.0)
            bounds = [_warm_prank(gamma, r, k, charge, unit) for gamma, charge in hinges]
        best = min(bounds, key=float)
        return replace(best, terms={**best.terms, "loss": t["loss"]})

    def _start_of_weights(self, u: Any) -> WarmStart:
        d, c = self.n_features_in_, math.sqrt(self._unit())
        own, other = self._weights().copy(), check_comparator(u, d + self._n_thresholds()).copy()
        own[:d], other[:d] = own[:d] / c, other[:d] * c
        return WarmStart.between(own, other)

    def _start_of_sum(self, u: Dual, unit: float = 1.0, rest: Floats | None = None) -> WarmStart:
        return super()._start_of_sum(u, math.sqrt(self._unit()), -self.taus_.sum(axis=0))

    def _published_vector(self) -> Floats:
        return np.concatenate([self.coef_, self.thresholds_])

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        k = len(self.classes_)
        if type(self.threshold_step_) is not float:
            raise DataError("threshold_step_ must be a number.")
        check_thresholds(vars(self), k)
        if self.kernel is None:
            check_fitted_array(self, "coef_", (self.n_features_in_,))
            self._check_weights((self.n_features_in_ + k - 1,))
        if self._keeps_support:
            self._check_support(1)
            check_fitted_array(self, "taus_", (len(self.support_), k - 1))


def _warm_prank(gamma: float, r: float, k: int, charge: float, unit: WarmStart) -> Guarantee:
    """Return the bound against a unit vector, over gamma: a threshold then counts as 1."""
    c = (k - 1) * r**2 + 1
    bound = warm_perceptron_bound(math.inf, c)  # without a margin it says nothing
    if gamma > 0:
        bound = warm_perceptron_bound(1 / gamma, c, charge / gamma, unit.against(1 / gamma))
    return named_after(bound, "PRank, warm start", "sum of |predicted - y|")
