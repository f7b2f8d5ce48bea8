r"""Predtron's step: that of the theorem, and one that works.

Augmented updates compare scores with losses, so that their step matters. Theorem 1 takes
:math:`\eta = c_L/(4 R^2)`. Where inputs differ in length, or losses in size, that is hundreds of
times too small, and what it guarantees says nothing (P12). The step ``"auto"`` is such that one
update on an average input mends the smallest mistake:

.. math::
    \eta = \frac{1}{\overline{\|x\|^2}}
    \min_\sigma \frac{L(\sigma, y)}{\|\mathrm{rep}(\sigma) - \mathrm{rep}(\sigma_y)\|^2}

with the mean over the inputs as the learner sees them, and the smallest ratio over wrong
predictions of random scores for the first labels: 1/2 for classes, m/4 for sets of m labels and
the Hamming loss. Any step has a bound (P2), :func:`~rankwright.theory.predtron_bound`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from rankwright.data.validation import Matrix
from rankwright.online.parameters import parametrized
from rankwright.parameters import POSITIVE, Rule
from rankwright.predtron.guarantees import PredtronGuarantees
from rankwright.predtron.rounds import PredtronData, loss_range, round_of
from rankwright.problems.problem import method_of
from rankwright.scaling import Moments
from rankwright.theory.gradients import mean_square
from rankwright.theory.links import link_constant, link_exponent, link_size

Step: TypeAlias = float | Literal["auto", "theory"]
_LABELS, _DRAWS = 32, 8  # labels that are looked at: the first piece of a stream has as many
_APART = 1e3  # random scores are so far apart that nothing is rejected


@parametrized(kw_only=True)
class StepParameters:
    """The step, and what the theorem's is made of."""

    eta: Step | None = None
    radius: float | None = None


class PredtronSteps(StepParameters, PredtronGuarantees):
    """Mixin of the Predtron learners: how long their steps are."""

    RULES: ClassVar[dict[str, Rule]] = {
        "eta": Rule(
            "a positive number, 'auto' or 'theory'",
            lambda value: (
                POSITIVE.holds(value) or (isinstance(value, str) and value in ("auto", "theory"))
            ),
        )
    }
    LEFT_OPEN: ClassVar[dict[str, tuple[Any, Any]]] = {"eta": ("auto", "theory")}
    smallest_loss: float | None = None

    @property
    def measures(self) -> bool:
        """Whether ``fit`` measures the features before the first round."""
        return self.standardizes or self._measures_step()

    def measure(self, moments: Moments) -> None:
        """Freeze what ``fit`` measures, for a learner that is given its data in pieces."""
        super().measure(moments)
        if self._measures_step() and self.kernel is None and self.norm in ("l2", "trace"):
            self._measured = moments.mean_square(self._feature_scale()) + self.fit_intercept

    def _measures_step(self) -> bool:
        return self._mode() == "augmented" and bool(vars(self).get("eta_") == "auto")

    def _step(self, data: PredtronData, whole: bool, d: int) -> float:
        told: Any = self.eta_
        if told not in ("auto", "theory"):
            return float(told)
        # Predictions do not depend on the scale of the weights: without comparisons of scores and
        # losses any step will do.
        if self._mode() != "augmented":
            return 1.0
        find = self._practical_step if told == "auto" else self._theorem_step
        step = find(data, whole, d)
        # Where all inputs are 0 no score ever moves, and any step will do.
        return step if math.isfinite(step) and step > 0 else 1.0

    # ---- the step that works ----

    def _practical_step(self, data: PredtronData, whole: bool, d: int) -> float:
        square = self.__dict__.pop("_measured", None) or self._mean_input(data, d)
        step = _over(self._smallest_mistake(data, d), square)
        # To three digits: the last bits depend on how the inputs were measured.
        return float(f"{step:.2e}")

    def _mean_input(self, data: PredtronData, d: int) -> float:
        """Return the mean of the inputs' squares, each what an update does to its own scores."""
        if self.kernel is not None:
            return self._mean_square(data.X, data.order)
        if self.norm in ("l2", "trace"):
            return mean_square(data.X) + self.fit_intercept
        q = link_exponent(link_size(self.norm, data.X.shape[1] + self.fit_intercept, d))
        return _mean_power(data.X, q, self.fit_intercept)

    def _smallest_mistake(self, data: PredtronData, d: int) -> float:
        """Return the smallest loss of random predictions, over the square of their distance."""
        play, rng = round_of(self._problem(), "predicted"), np.random.default_rng(0)
        smallest = math.inf
        for at in range(min(_LABELS, data.n_rounds)):
            rows = data.rows_of(at)
            n = d if data.groups is None else rows.stop - rows.start
            for _ in range(_DRAWS):
                direction = np.zeros(n)
                scores = _APART * rng.normal(size=n)
                loss, _ = play(scores, data.label_of(at), np.empty(0), direction)
                if loss > 0:
                    smallest = min(smallest, loss / max(float(direction @ direction), 1e-300))
        return smallest if math.isfinite(smallest) else 1.0

    # ---- the theorem's ----

    def _theorem_step(self, data: PredtronData, whole: bool, d: int) -> float:
        smallest, radius = self.smallest_loss, self.radius
        if smallest is None:
            smallest = self._smallest_loss(data, whole)
        if radius is None:
            if not whole:
                raise ValueError(
                    "mode='augmented' needs radius or eta before partial_fit or a stream: the "
                    "theorem's step depends on the largest input, which may be still to come. Pass "
                    "one of them, on the command line by -p radius=... or -p eta=..."
                )
            radius = self._radius(data)
        n = link_size(self.norm, data.X.shape[1] + self.fit_intercept, d)
        # Theorem 1's c_L / (4 R^2), for which eta = 1 will not do (P2); another norm adds its
        # constant (Corollary 6).
        return _over(smallest, 4 * link_constant(self.norm, n) * radius**2)

    def _smallest_loss(self, data: PredtronData, whole: bool) -> float:
        problem = self._problem()
        try:
            return float(method_of(problem, "loss_range")()[0])
        except ValueError:  # it depends on the labels
            if not whole:
                raise ValueError(
                    "mode='augmented' needs smallest_loss or eta before partial_fit or a stream: "
                    "the theorem's step depends on the labels to come. Pass one of them, on the "
                    "command line by -p smallest_loss=... or -p eta=..."
                ) from None
        labels = map(data.label_of, range(data.n_rounds))
        return min((loss_range(problem, label)[0] for label in labels), default=math.inf)


def _over(loss: float, square: float) -> float:
    return loss / square if square > 0 else math.inf


def _mean_power(X: Matrix, q: float, intercept: bool) -> float:
    r"""Return the mean of :math:`\|x\|_q^2` over rows."""
    entries = np.abs((X.data if sp.issparse(X) else X).astype(np.float64))
    largest = max(float(entries.max(initial=0.0)), float(intercept), 1e-300)
    powers = (entries / largest) ** q
    if sp.issparse(X):
        sums = np.asarray(sp.csr_array((powers, X.indices, X.indptr), shape=X.shape).sum(axis=1))
    else:
        sums = powers.sum(axis=1)
    sums = sums + (1 / largest) ** q if intercept else sums
    return largest**2 * float(np.mean(sums ** (2 / q))) if sums.size else 0.0
