r"""What predicts: the last weights of an online learner, or a mean over its rounds.

With :math:`w_t` the weights after round t of T, ``variant_`` is

- ``"last"``: :math:`w_T`,
- ``"averaged"``: :math:`\frac{1}{T} \sum_t w_t`,
- ``"voted"``: :math:`\frac{1}{T} \sum_t w_t / \|w_t\|`, where all weights have the same say.

Neither mean is computed round by round: ``cpp/iterate.hpp`` keeps a sum that an update changes only
where it changes the weights, and the mean is made of it when the rounds are over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.validation import Floats
from rankwright.estimator import check_fitted_array
from rankwright.exceptions import DataError

Variant: TypeAlias = Literal["last", "averaged", "voted"]
VARIANTS: tuple[Variant, ...] = ("last", "averaged", "voted")


def check_variant(variant: str | None, allowed: tuple[Variant, ...] = VARIANTS) -> None:
    """Raise unless there is such a variant; None leaves it open."""
    if variant is not None and variant not in allowed:
        raise ValueError(f"variant must be one of {', '.join(allowed)}, but is {variant!r}.")


@dataclass(frozen=True)
class Names:
    """The attributes that hold weights and sum; model files have them by these names.

    Attributes
    ----------
    weights : str
        The weights after the last round.
    total : str
        The sum that a mean is made of.
    weights_if_last : str, optional
        The weights where no mean is kept, if they have another name then.
    always : bool
        Whether ``total``, without entries, and ``since_`` are there where no mean is kept.
    """

    weights: str
    total: str
    weights_if_last: str = ""
    always: bool = False


class WeightForm:
    """Mixin of learners with weights that change round by round.

    ``_publish`` makes of weights, or of their mean, the attributes that users know.
    """

    _names: ClassVar[Names]
    LEFT_OPEN: ClassVar[dict[str, tuple[Any, Any]]] = {"variant": ("averaged", "last")}
    variant: Variant | None
    variant_: Variant
    n_rounds_: int
    since_: int  # the round that made the weights

    def _publish(self, weights: Floats) -> None:
        """Set ``coef_``, and what else predicts."""
        raise NotImplementedError

    def _mean(self) -> Variant:
        """Return which mean of the weights is kept."""
        return self.variant_

    def _length(self, weights: Floats) -> float:
        """Return the length of weights; summed in order, so that it is the same everywhere."""
        return float(np.sqrt(np.cumsum(weights**2)[-1])) if weights.size else 0.0

    def _weights(self) -> Floats:
        """Return the weights after the last round."""
        weights: Floats = getattr(self, self._weights_name())
        return weights

    def _weights_name(self) -> str:
        # Published weights are for features as they are: a learner that has a scale keeps its own.
        published = self._mean() == "last" and "scale_" not in vars(self)
        return (self._names.weights_if_last if published else "") or self._names.weights

    def _begin_weights(self, shape: int | tuple[int, int]) -> None:
        weights, last = np.zeros(shape), self._mean() == "last"
        for name in (self._names.weights, self._names.total, "since_"):
            self.__dict__.pop(name, None)  # of a fit with other parameters
        setattr(self, self._weights_name(), weights)
        if self._keeps_sum():
            setattr(self, self._names.total, np.zeros(0 if last else shape))
            self.since_ = 0
        self._publish(weights if last else weights.copy())

    def _keeps_sum(self) -> bool:
        return self._mean() != "last" or self._names.always

    @contextmanager
    def _iterate(self, n_rounds: int, weights: Floats | None = None) -> Iterator[_kernels.Iterate]:
        """Yield the weights for ``n_rounds`` rounds of a native kernel; then publish what predicts.

        ``weights`` are given if those that predict are not those that are stored.
        """
        w, mean = self._weights() if weights is None else weights, self._mean()
        total = np.empty(0) if mean == "last" else getattr(self, self._names.total)
        since = self.since_ if self._keeps_sum() else 0
        iterate = _kernels.Iterate(w.reshape(-1), total.reshape(-1), mean, self.n_rounds_, since)
        yield iterate
        if self._keeps_sum():
            self.since_ = iterate.since
        self._publish(self._mean_of(w, total, self.n_rounds_ + n_rounds))

    def _mean_of(self, w: Floats, total: Floats, n: int) -> Floats:
        """Return the mean over n rounds; the formulas are those of ``cpp/iterate.hpp``."""
        match self._mean():
            case "last":
                return w
            case "averaged":
                # The step of round t is not in the t - 1 weights before it: total adds that up.
                return np.asarray(w - total / max(n, 1))
        length = self._length(w)
        direction = w / length if length > 0 else w
        # The last weights are not in the sum yet: they hold from since_ on.
        return np.asarray((total + (n + 1 - self.since_) * direction) / max(n, 1))

    def _check_weights(self, shape: tuple[int, ...]) -> None:
        """Raise unless weights and sum, read from a file, have this shape."""
        check_fitted_array(self, self._weights_name(), shape)
        if not self._keeps_sum():
            return
        check_fitted_array(self, self._names.total, (0,) if self._mean() == "last" else shape)
        since = getattr(self, "since_", None)
        if type(since) is not int or not 0 <= since <= self.n_rounds_:
            raise DataError("since_ must be one of the rounds so far.")
