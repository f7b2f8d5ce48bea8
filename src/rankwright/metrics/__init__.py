"""The metric contract: every convention is an argument, every default is stated."""

from rankwright.metrics.binary import AP, F1, RBP, RR, HitRate, Precision, Recall, RPrecision
from rankwright.metrics.dcg import DCG, NDCG
from rankwright.metrics.differences import Difference, QueryDifference, explain_difference
from rankwright.metrics.diversity import ERRIA, AlphaNDCG
from rankwright.metrics.domination import DominatedError, DominationError
from rankwright.metrics.duplicates import UniqueNDCG
from rankwright.metrics.err import ERR
from rankwright.metrics.exposure import ExposureDisparity, ExposureShares
from rankwright.metrics.function import FunctionMetric
from rankwright.metrics.judged import Bpref, Judged
from rankwright.metrics.metric import Metric, mean_of_queries, per_query_of_all
from rankwright.metrics.names import METRICS
from rankwright.metrics.on_data import mean_on, per_query_on
from rankwright.metrics.ordinal import RankAccuracy, RankLoss
from rankwright.metrics.pairs import KendallTau, PairwiseError
from rankwright.metrics.parsing import named_metrics, parse
from rankwright.metrics.presets import PRESETS
from rankwright.metrics.ranking import RankedLabels

Ranking = RankedLabels  # its first name

__all__ = [
    "AP",
    "DCG",
    "ERR",
    "ERRIA",
    "F1",
    "METRICS",
    "NDCG",
    "PRESETS",
    "RBP",
    "RR",
    "AlphaNDCG",
    "Bpref",
    "Difference",
    "DominatedError",
    "DominationError",
    "ExposureDisparity",
    "ExposureShares",
    "FunctionMetric",
    "HitRate",
    "Judged",
    "KendallTau",
    "Metric",
    "PairwiseError",
    "Precision",
    "QueryDifference",
    "RPrecision",
    "RankAccuracy",
    "RankLoss",
    "RankedLabels",
    "Ranking",
    "Recall",
    "UniqueNDCG",
    "explain_difference",
    "mean_of_queries",
    "mean_on",
    "named_metrics",
    "parse",
    "per_query_of_all",
    "per_query_on",
]
