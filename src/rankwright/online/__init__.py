"""Online learners: one query or document at a time, with guarantees."""

from rankwright.online.guarantee_log import GuaranteeLog, LogEntry
from rankwright.online.multiclass_perceptron import MulticlassPerceptron
from rankwright.online.online_ranker import OnlineRanker
from rankwright.online.pamir import PAMIR
from rankwright.online.prank import PRank
from rankwright.online.predtron import Predtron
from rankwright.online.predtron_classes import PredtronClassifier, PredtronOrdinal
from rankwright.online.predtron_labels import PredtronLabelRanker, PredtronMultilabel
from rankwright.online.predtron_ranker import PredtronRanker
from rankwright.online.slam_perceptron import SLAMPerceptron
from rankwright.online.widrow_hoff import WidrowHoff

__all__ = [
    "PAMIR",
    "GuaranteeLog",
    "LogEntry",
    "MulticlassPerceptron",
    "OnlineRanker",
    "PRank",
    "Predtron",
    "PredtronClassifier",
    "PredtronLabelRanker",
    "PredtronMultilabel",
    "PredtronOrdinal",
    "PredtronRanker",
    "SLAMPerceptron",
    "WidrowHoff",
]
