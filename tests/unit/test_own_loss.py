"""Losses of one's own, as the library asks them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from rankwright.data import Groups
from rankwright.data.validation import Floats
from rankwright.losses import XENDCG, Loss, RankLogistic
from rankwright.losses.own import as_loss
from rankwright.theory import generalization

GROUPS = Groups(np.array([0, 2, 2, 3]))
Y = np.array([1.0, 0.0, 2.0])
SCORES = np.array([0.5, -1.0, 3.0])


class Squares:
    """The least that a loss can be."""

    def value_and_grad(
        self, scores: Floats, y: Floats, groups: Groups
    ) -> tuple[float, list[float]]:
        return float(((scores - y) ** 2).sum()), (2 * (scores - y)).tolist()

    def __repr__(self) -> str:
        return "Squares()"


class Outspoken(Squares):
    """One that says all there is to say."""

    smooth, convex, bound = False, True, None

    def lipschitz(self, m: int) -> float:
        return 3.0

    def per_query(self, scores: Floats, y: Floats, groups: Groups) -> list[float]:
        return [7.0] * groups.n_queries

    def prepare(self, y: Floats, groups: Groups, **options: Any) -> Any:
        return RankLogistic().prepare(y, groups, **options)


def test_a_loss_is_asked_as_it_is() -> None:
    loss = XENDCG()
    assert as_loss(loss) is loss


def test_what_a_loss_does_not_say_has_a_safe_answer() -> None:
    asked = as_loss(Squares())
    assert asked.smooth
    assert asked.convex is None  # neither yes nor no
    assert asked.bound is None
    assert repr(asked) == "Squares()"
    with pytest.raises(NotImplementedError):
        asked.lipschitz(2)


def test_sums_are_asked_query_by_query() -> None:
    asked = as_loss(Squares())
    assert asked.per_query(SCORES, Y, GROUPS).tolist() == [1.25, 0.0, 1.0]
    assert asked.per_query(SCORES, Y).tolist() == [2.25]


def test_prepared_it_has_one_value_and_an_array() -> None:
    values, grad = as_loss(Squares()).prepare(Y, GROUPS, n_jobs=1).values_and_grad(SCORES)
    assert values.tolist() == [2.25]
    assert grad.dtype == np.float64
    assert grad.tolist() == [-1.0, -2.0, 2.0]


def test_what_a_loss_says_is_heard() -> None:
    asked = as_loss(Outspoken())
    assert not asked.smooth
    assert asked.convex
    assert asked.lipschitz(5) == 3.0
    assert asked.per_query(SCORES, Y, GROUPS).tolist() == [7.0, 7.0, 7.0]
    prepared, same = asked.prepare(Y, GROUPS, n_jobs=1), RankLogistic().prepare(Y, GROUPS, n_jobs=1)
    assert np.array_equal(prepared.values_and_grad(SCORES)[0], same.values_and_grad(SCORES)[0])
    assert generalization(Outspoken(), 1.0, 100, 1.0).gradient == 3.0  # type: ignore[arg-type]


def test_a_loss_without_a_bound_on_its_gradient_has_no_theorem() -> None:
    class Silent(Loss):
        name: ClassVar[str] = "silent"

    with pytest.raises(ValueError, match=r"^Theorem 8 needs a loss with lipschitz\(m\), but"):
        generalization(Silent(), 1.0, 100, 1.0)
