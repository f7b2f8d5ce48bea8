"""Online learners: one query or document at a time, with guarantees.

Predtron has a package of its own, :mod:`rankwright.predtron`; its names are found here as well,
where they used to be. So is ``fit_stream``, of :mod:`rankwright.streaming`.
"""

import importlib
import typing

from rankwright.online.base import OnlineLearner
from rankwright.online.comparator import DualComparator
from rankwright.online.guarantee_log import GuaranteeLog, LogEntry
from rankwright.online.multiclass_perceptron import MulticlassPerceptron
from rankwright.online.online_ranker import OnlineRanker
from rankwright.online.pamir import PAMIR
from rankwright.online.prank import PRank
from rankwright.online.rankers import OnlineLinearRanker
from rankwright.online.slam_perceptron import SLAMPerceptron
from rankwright.online.widrow_hoff import WidrowHoff
from rankwright.scoring.kernels import Kernel

__all__ = [
    "PAMIR",
    "DualComparator",
    "GuaranteeLog",
    "Kernel",
    "LogEntry",
    "MulticlassPerceptron",
    "OnlineLearner",
    "OnlineLinearRanker",
    "OnlineRanker",
    "PRank",
    "SLAMPerceptron",
    "WidrowHoff",
]


def __getattr__(name: str) -> typing.Any:
    # By name: they stand above this package, which must not know them.
    if name.startswith("Predtron"):
        return getattr(importlib.import_module("rankwright.predtron"), name)
    if name == "fit_stream":
        return getattr(importlib.import_module("rankwright.streaming"), name)
    raise AttributeError(f"module 'rankwright.online' has no attribute {name!r}")
