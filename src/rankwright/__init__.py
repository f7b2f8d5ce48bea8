"""Learning to rank you can prove and ship.

Everything here is loaded on first use, so that ``import rankwright`` costs milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankwright import (
        baselines,
        client,
        comparison,
        dask,
        data,
        distilling,
        ensemble,
        estimator,
        evaluation,
        exceptions,
        experiments,
        exports,
        linear,
        losses,
        metrics,
        online,
        penalties,
        persistence,
        predtron,
        problems,
        report,
        scoring,
        serve,
        solvers,
        streaming,
        text,
        theory,
        trees,
    )
    from rankwright.comparison.compare import compare  # the package has a module of this name
    from rankwright.comparison.result import Comparison
    from rankwright.data import (
        Dataset,
        from_frame,
        rank,
        read,
        read_parts,
        stream,
        top_k,
        write,
        write_letor,
    )
    from rankwright.distilling import distill
    from rankwright.ensemble import EnsembleRanker
    from rankwright.evaluation import Evaluation, evaluate
    from rankwright.exceptions import ConvergenceWarning, DataError, DataWarning
    from rankwright.exports import Certificate, export, verify
    from rankwright.linear import DominationRank, LinearRanker
    from rankwright.online import (
        PAMIR,
        MulticlassPerceptron,
        OnlineRanker,
        PRank,
        SLAMPerceptron,
        WidrowHoff,
    )
    from rankwright.persistence import save
    from rankwright.predtron import (
        Predtron,
        PredtronClassifier,
        PredtronLabelRanker,
        PredtronMultilabel,
        PredtronOrdinal,
        PredtronRanker,
    )
    from rankwright.scoring import Scorer, load
    from rankwright.streaming import fit_stream
    from rankwright.trees import BoostedRanker

__version__ = "0.1.0"

_WHERE = {
    "Dataset": "rankwright.data",
    "from_frame": "rankwright.data",
    "rank": "rankwright.data",
    "read": "rankwright.data",
    "read_parts": "rankwright.data",
    "stream": "rankwright.data",
    "top_k": "rankwright.data",
    "write": "rankwright.data",
    "write_letor": "rankwright.data",
    "Comparison": "rankwright.comparison",
    "Evaluation": "rankwright.evaluation",
    "compare": "rankwright.comparison",
    "Certificate": "rankwright.exports",
    "export": "rankwright.exports",
    "verify": "rankwright.exports",
    "distill": "rankwright.distilling",
    "EnsembleRanker": "rankwright.ensemble",
    "evaluate": "rankwright.evaluation",
    "DominationRank": "rankwright.linear",
    "LinearRanker": "rankwright.linear",
    "MulticlassPerceptron": "rankwright.online",
    "OnlineRanker": "rankwright.online",
    "PAMIR": "rankwright.online",
    "PRank": "rankwright.online",
    "Predtron": "rankwright.predtron",
    "PredtronClassifier": "rankwright.predtron",
    "PredtronLabelRanker": "rankwright.predtron",
    "PredtronMultilabel": "rankwright.predtron",
    "PredtronOrdinal": "rankwright.predtron",
    "PredtronRanker": "rankwright.predtron",
    "SLAMPerceptron": "rankwright.online",
    "Scorer": "rankwright.scoring",
    "WidrowHoff": "rankwright.online",
    "BoostedRanker": "rankwright.trees",
    "fit_stream": "rankwright.streaming",
    "load": "rankwright.scoring",
    "save": "rankwright.persistence",
    "ConvergenceWarning": "rankwright.exceptions",
    "DataError": "rankwright.exceptions",
    "DataWarning": "rankwright.exceptions",
}
_PACKAGES = (
    "baselines",
    "client",
    "comparison",
    "dask",
    "data",
    "distilling",
    "ensemble",
    "estimator",
    "evaluation",
    "exceptions",
    "experiments",
    "exports",
    "linear",
    "losses",
    "metrics",
    "online",
    "penalties",
    "persistence",
    "predtron",
    "problems",
    "report",
    "scoring",
    "serve",
    "solvers",
    "streaming",
    "text",
    "theory",
    "trees",
)

__all__ = [
    "PAMIR",
    "BoostedRanker",
    "Certificate",
    "Comparison",
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "Dataset",
    "DominationRank",
    "EnsembleRanker",
    "Evaluation",
    "LinearRanker",
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
    "Scorer",
    "WidrowHoff",
    "baselines",
    "client",
    "compare",
    "comparison",
    "dask",
    "data",
    "distill",
    "distilling",
    "ensemble",
    "estimator",
    "evaluate",
    "evaluation",
    "exceptions",
    "experiments",
    "export",
    "exports",
    "fit_stream",
    "from_frame",
    "linear",
    "load",
    "losses",
    "metrics",
    "online",
    "penalties",
    "persistence",
    "predtron",
    "problems",
    "rank",
    "read",
    "read_parts",
    "report",
    "save",
    "scoring",
    "serve",
    "solvers",
    "stream",
    "streaming",
    "text",
    "theory",
    "top_k",
    "trees",
    "verify",
    "write",
    "write_letor",
]


if not TYPE_CHECKING:  # or every name would be one to a type checker

    def __getattr__(name: str) -> Any:
        if name in _PACKAGES:
            return import_module(f"rankwright.{name}")
        if name in _WHERE:
            return getattr(import_module(_WHERE[name]), name)
        raise AttributeError(f"module 'rankwright' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
