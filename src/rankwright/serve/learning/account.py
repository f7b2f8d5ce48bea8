"""What a learner has lost beside what theory guarantees, since it was first served.

The comparator is known before the first event: the weights that the model is first served with, or
those of another model file. The ledger remembers the second; the first are in the model file.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from rankwright.estimator import as_model
from rankwright.exceptions import DataError
from rankwright.online.base import OnlineLearner
from rankwright.online.comparator import DualComparator
from rankwright.online.ledger import Ledger
from rankwright.online.log_state import as_comparator_given, plain_comparator
from rankwright.persistence import unpack_model
from rankwright.serve.records import NOT_YET


@dataclass
class Account:
    """A ledger that goes where the learner goes.

    Attributes
    ----------
    ledger : Ledger, optional
        What the bound is made of; None where there is no bound.
    reason : str
        Why there is none.
    other : dict, optional
        The comparator, if it is not what the model was first served with.
    was_open : bool
        Whether there was a bound at the beginning.
    """

    ledger: Ledger | None
    reason: str = ""
    other: dict[str, Any] | None = None
    was_open: bool = False

    @classmethod
    def closed(cls, reason: str) -> Self:
        """Return an account without a bound."""
        return cls(None, reason)

    def close(self, reason: str) -> Self:
        """Return the same from here on without a bound."""
        return replace(self, ledger=None, reason=reason)

    @classmethod
    def opened(cls, first: OnlineLearner, comparator: OnlineLearner | None = None) -> Self:
        """Return the account of a learner that is as it was first served."""
        reason = first.why_no_guarantee()
        if reason is None and comparator is not None:
            reason = why_no_comparator(comparator, first)
        if reason is not None:
            return cls.closed(reason)
        other = None if comparator is None else plain_comparator(comparator.as_comparator())
        return cls(Ledger(_comparator(other, first)), "", other, was_open=True)

    @classmethod
    def begun_like(cls, state: dict[str, Any], first: OnlineLearner) -> Self:
        """Return an account at its beginning, with the comparator that another has in its end."""
        reason = first.why_no_guarantee()
        if reason is not None or not state["was_open"]:
            return cls.closed(reason or state["reason"])
        other = state["comparator"]
        return cls(Ledger(_comparator(other, first)), "", other, was_open=True)

    @classmethod
    def from_state(cls, state: dict[str, Any], first: OnlineLearner) -> Self:
        """Return an account as :meth:`state` told of it."""
        other, was_open = state["comparator"], state["was_open"]
        if state["reason"]:
            return cls(None, state["reason"], other, was_open)
        ledger = Ledger(_comparator(other, first), dict(state["totals"]))
        ledger.has_start = state["has_start"]
        if ledger.has_start:
            ledger.enter(first)  # into the scale, which never moves
        return cls(ledger, "", other, was_open)

    def state(self) -> dict[str, Any]:
        """Return plain values to go on from."""
        known = {"reason": self.reason, "comparator": self.other, "was_open": self.was_open}
        if self.ledger is None:
            return known
        return {**known, "totals": self.ledger.totals, "has_start": self.ledger.has_start}

    def copied(self) -> Self:
        """Return the same, to go back to."""
        ledger = self.ledger
        if ledger is not None:
            ledger = replace(ledger, totals=dict(ledger.totals))
        return replace(self, ledger=ledger)

    def figures(self, model: OnlineLearner, loss: float) -> tuple[float, float | None, str]:
        """Return the loss, its bound, and why there is none.

        The loss is the one that the bound is about; ``loss`` where there is no bound.
        """
        if self.ledger is None:
            return loss, None, self.reason
        if "loss" not in self.ledger.totals:
            return loss, None, NOT_YET
        try:
            guarantee = model.guarantee(self.ledger)
        except (ValueError, TypeError, ArithmeticError) as error:
            return loss, None, " ".join(str(error).split())
        if not math.isfinite(guarantee.value):
            return guarantee.terms["loss"], None, "the bound is larger than any number."
        return guarantee.terms["loss"], guarantee.value, ""


def read_comparator(path: str) -> Any:
    """Return the model of ``--comparator``; DataError for what is none."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", path=path) from None
    try:
        return unpack_model(io.BytesIO(content))
    except DataError as error:
        raise DataError(error.message, path=path) from None


def why_no_comparator(comparator: Any, model: Any) -> str | None:
    """Return why a model cannot be compared with another, in one line; None if it can.

    Parameters
    ----------
    comparator, model : estimators
        What to compare with, and what learns.
    """
    kinds = type(comparator).__name__, type(model).__name__
    if not isinstance(comparator, OnlineLearner) or kinds[0] != kinds[1]:
        return f"the comparator must be a {kinds[1]}, as the model is, but is a {kinds[0]}."
    widths = comparator.n_features_in_, model.n_features_in_
    if widths[0] != widths[1]:
        return f"the comparator must have the model's {widths[1]} features, but has {widths[0]}."
    names = [as_model(m).features().names for m in (comparator, model)]
    if names[0] is not None and names[1] is not None and names[0] != names[1]:
        return "the comparator must have the features of the model in their order."
    classes = [np.asarray(vars(m).get("classes_", [])).tolist() for m in (comparator, model)]
    if classes[0] != classes[1]:
        return f"the comparator must have the model's classes, {classes[1]}, but has {classes[0]}."
    try:
        Ledger(_as_given(comparator)).enter(model)
    except (TypeError, ValueError) as error:
        return " ".join(str(error).split())
    return None


def _comparator(other: dict[str, Any] | None, first: OnlineLearner) -> Any:
    return first.as_comparator() if other is None else as_comparator_given(other)


def _as_given(comparator: OnlineLearner) -> Any:
    """Return a comparator for a look: with a kernel the learner itself, whose kernel must agree."""
    found = comparator.as_comparator()
    return comparator if isinstance(found, DualComparator) else found
