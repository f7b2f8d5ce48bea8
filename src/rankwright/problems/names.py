"""What the package shows."""

from rankwright.problems.classes import REJECT, Binary, Multiclass, Ordinal
from rankwright.problems.finite import Finite
from rankwright.problems.multilabel import Multilabel
from rankwright.problems.problem import Problem, surrogate
from rankwright.problems.ranking import Ranking

__all__ = [
    "REJECT",
    "Binary",
    "Finite",
    "Multiclass",
    "Multilabel",
    "Ordinal",
    "Problem",
    "Ranking",
    "surrogate",
]
