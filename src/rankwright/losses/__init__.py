"""Losses in score space, each with what it promises."""

from rankwright.losses.directions import Directions
from rankwright.losses.domination import Domination
from rankwright.losses.lambdarank import LambdaRank
from rankwright.losses.loss import Bound, Loss
from rankwright.losses.margins import LinearMargin, LogMargin
from rankwright.losses.names import LOSSES, from_name
from rankwright.losses.pairs import RankHinge, RankLogistic
from rankwright.losses.prepared import Prepared, WithConjugate, WithDescent, WithHessian
from rankwright.losses.slam import SLAM
from rankwright.losses.smooth_slam import SmoothSLAM
from rankwright.losses.softmax import XENDCG, ListNet
from rankwright.losses.stochastic_lambdarank import StochasticLambdaRank

__all__ = [
    "LOSSES",
    "SLAM",
    "XENDCG",
    "Bound",
    "Directions",
    "Domination",
    "LambdaRank",
    "LinearMargin",
    "ListNet",
    "LogMargin",
    "Loss",
    "Prepared",
    "RankHinge",
    "RankLogistic",
    "SmoothSLAM",
    "StochasticLambdaRank",
    "WithConjugate",
    "WithDescent",
    "WithHessian",
    "from_name",
]
