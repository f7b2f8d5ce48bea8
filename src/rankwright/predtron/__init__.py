"""Predtron: one online algorithm for any prediction task, and estimators for seven of them."""

from rankwright.predtron.classes import PredtronClassifier, PredtronOrdinal
from rankwright.predtron.general import Predtron
from rankwright.predtron.label_ranker import PredtronLabelRanker
from rankwright.predtron.multilabel import PredtronMultilabel
from rankwright.predtron.ranker import PredtronRanker

__all__ = [
    "Predtron",
    "PredtronClassifier",
    "PredtronLabelRanker",
    "PredtronMultilabel",
    "PredtronOrdinal",
    "PredtronRanker",
]
