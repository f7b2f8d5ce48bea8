"""Losses by name, for the command line and for parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rankwright.losses.domination import Domination
from rankwright.losses.loss import Loss
from rankwright.losses.own import WithValue
from rankwright.losses.pairs import RankHinge, RankLogistic
from rankwright.losses.slam import SLAM
from rankwright.losses.smooth_slam import SmoothSLAM
from rankwright.losses.softmax import XENDCG, ListNet
from rankwright.suggestions import meant

LOSSES: dict[str, Callable[[], Loss]] = {
    "xendcg": XENDCG,
    "listnet": ListNet,
    "domination": Domination,
    "slam": SLAM,
    "slam-map": lambda: SLAM("map"),
    "smooth-slam": SmoothSLAM,
    "smooth-slam-map": lambda: SmoothSLAM("map"),
    "rank_hinge": RankHinge,
    "rank_logistic": RankLogistic,
}


def from_name(loss: str | Loss, skip_empty: bool = True) -> Loss:
    """Return the loss of a name; a loss is returned as it is.

    But with ``skip_empty=False`` no cross entropy skips queries without a relevant document.

    >>> from_name("smooth-slam-map")
    SmoothSLAM(metric='map', threshold=1.0, weights='group')
    >>> from_name("listnet", skip_empty=False)
    ListNet(skip_empty=False)
    """
    if isinstance(loss, XENDCG | ListNet) and not skip_empty:
        return replace(loss, skip_empty=False)
    if not isinstance(loss, str):
        if not isinstance(loss, WithValue):
            raise TypeError(f"loss must be a name or have value_and_grad, but is {loss!r}.")
        return loss
    if loss not in LOSSES:
        raise ValueError(
            f"loss must be one of {', '.join(LOSSES)}, but is {loss!r}.{meant(loss, LOSSES)}"
        )
    return from_name(LOSSES[loss](), skip_empty)
