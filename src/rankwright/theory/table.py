"""The losses side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rankwright.losses import LOSSES, Loss, from_name
from rankwright.showing import Brief, lined_up
from rankwright.theory.structured import SVMMAP, LargeMarginNDCG

_SIZES = (10, 1000)  # a short list and a long one: what grows with the list is seen to grow


@dataclass(frozen=True, repr=False)
class LossFacts(Brief):
    r"""What a loss says of itself.

    Attributes
    ----------
    name : str
        Its name in ``LinearRanker``, or the loss as text.
    promise : str
        What it bounds from above, in words; empty if nothing.
    gradient : dict of int to float
        By number of documents, the bound on :math:`\|\nabla_s L\|_1`; infinite if none is known.
    convex, smooth : bool
        Whether it is; a loss that is not smooth has kinks.
    cost : str
        Time of one evaluation on a query of m documents.
    """

    name: str
    promise: str
    gradient: dict[int, float]
    convex: bool
    smooth: bool
    cost: str

    @property
    def shape(self) -> str:
        """Convexity and smoothness in words."""
        return f"{'' if self.convex else 'not '}convex, {'smooth' if self.smooth else 'kinks'}"


class LossTable(list[LossFacts]):
    """A list of :class:`LossFacts` that prints as a table."""

    def __repr__(self) -> str:
        small, large = (f"m={m}" for m in _SIZES)
        header = ["loss", "is at least", f"|grad|, {small}", large, "shape", "cost"]
        rows = [
            [
                facts.name,
                facts.promise or "-",
                *(f"{facts.gradient[m]:g}" for m in _SIZES),
                facts.shape,
                facts.cost,
            ]
            for facts in self
        ]
        return lined_up([header, *rows])


def loss_table(losses: str | Loss | Iterable[str | Loss] | None = None) -> LossTable:
    r"""Return promise, :math:`\|\nabla_s L\|_1`, shape and cost of losses.

    Parameters
    ----------
    losses : str, Loss or iterable of them, optional
        Names or losses, or a single one; by default every name there is, and the two structured
        losses of Section 6.1 of the SLAM paper.

    Examples
    --------
    >>> print(loss_table(["xendcg", "rank_hinge"]))
    loss        is at least                         |grad|, m=10  m=1000  shape           cost
    xendcg      log(S/Z) - log(ndcg + 1/Z)          2             2       convex, smooth  O(m)
    rank_hinge  1 x the number of misordered pairs  50            500000  convex, kinks   O(m log m)
    """
    if losses is None:
        losses = [*LOSSES, SVMMAP(), LargeMarginNDCG()]
    elif isinstance(losses, str) or not isinstance(losses, Iterable):
        losses = [losses]
    return LossTable(map(_loss_facts, losses))


def _loss_facts(named: str | Loss) -> LossFacts:
    loss = from_name(named)
    bound = loss.bound
    return LossFacts(
        name=named if isinstance(named, str) else repr(named),
        promise="" if bound is None else bound.text,
        gradient={m: loss.lipschitz(m) for m in _SIZES},
        convex=loss.convex,
        smooth=loss.smooth,
        cost=loss.cost,
    )
