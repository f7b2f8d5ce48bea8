"""Rankers of other libraries, each as an estimator that stops on validation queries.

All have the parameters of :class:`Peer`; what a library calls them is in its own class. Each
watches its own NDCG@10 while trees grow. Which trial is chosen is decided by ours, for all alike.
"""

from __future__ import annotations

from importlib import import_module, metadata
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from rankwright.comparison import Range
from rankwright.comparison.keys import hashed
from rankwright.comparison.space import Space
from rankwright.data.dataset import Dataset


class Peer(BaseEstimator):
    """What the estimators have in common.

    Parameters
    ----------
    objective : str
        The library's name of it.
    version : str
        Version of the library, and a hash of this file: results of others are done again.
    n_estimators, early_stopping_rounds : int
        Trees at most, and how many may pass without an improvement.
    learning_rate, colsample, leaf_l2 : float
        Step, share of the features for a tree, l2 penalty of leaves.
    size, least : int or float
        How large a tree may be, and how much there must be in a leaf, as the library counts it.
    n_jobs : int
        Threads.
    """

    package = ""
    space: ClassVar[Space] = {}

    def __init__(
        self,
        objective: str = "",
        *,
        version: str = "",
        n_estimators: int = 300,
        early_stopping_rounds: int = 30,
        learning_rate: float = 0.05,
        size: int = 15,
        least: float = 20,
        colsample: float = 1.0,
        leaf_l2: float = 0.0,
        n_jobs: int = 1,
    ) -> None:
        self.objective = objective
        self.version = version
        self.n_estimators = n_estimators
        self.early_stopping_rounds = early_stopping_rounds
        self.learning_rate = learning_rate
        self.size = size
        self.least = least
        self.colsample = colsample
        self.leaf_l2 = leaf_l2
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, qid: Any, *, valid: Dataset) -> Any:
        """Grow trees on documents whose queries stand together; cut them where valid is best."""
        new = np.flatnonzero(qid[1:] != qid[:-1]) + 1
        sizes = np.diff([0, *new, len(qid)])
        self.model_ = self._grow((X, y, sizes), (valid.X, valid.y, valid.groups.sizes))
        self.n_features_in_ = X.shape[1]
        return self

    def _grow(self, train: Any, valid: Any) -> Any:
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return scores of documents."""
        return np.asarray(self.model_.predict(X), dtype=np.float64)


# Spaces are equally wide where parameters mean the same; the first trial is the class's defaults.
_COMMON: Space = {"learning_rate": Range(0.02, 0.2, log=True), "colsample": Range(0.5, 1.0)}
_LEAVES = Range(4, 63, log=True, integer=True)


class LightGBM(Peer):
    """LightGBM: ``lambdarank`` or ``rank_xendcg``; size in leaves, least in documents."""

    package = "lightgbm"
    space: ClassVar[Space] = {
        **_COMMON,
        "size": _LEAVES,
        "least": Range(5, 100, log=True, integer=True),
        "leaf_l2": Range(0.01, 30.0, log=True),
    }

    def _grow(self, train: Any, valid: Any) -> Any:
        lightgbm = import_module("lightgbm")
        params = {
            "objective": self.objective,
            "metric": "ndcg",
            "eval_at": [10],
            "learning_rate": self.learning_rate,
            "num_leaves": self.size,
            "min_data_in_leaf": int(self.least),
            "feature_fraction": self.colsample,
            "lambda_l2": self.leaf_l2,
            "num_threads": self.n_jobs,
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
            "seed": 0,
        }
        data = lightgbm.Dataset(train[0], train[1], group=train[2])
        watched = lightgbm.Dataset(valid[0], valid[1], group=valid[2], reference=data)
        stop = lightgbm.early_stopping(self.early_stopping_rounds, verbose=False)
        return lightgbm.train(
            params, data, self.n_estimators, valid_sets=[watched], callbacks=[stop]
        )


class XGBoost(Peer):
    """XGBoost: ``rank:ndcg``; size in leaves, least by curvature, for it counts no documents."""

    package = "xgboost"
    space: ClassVar[Space] = {
        **_COMMON,
        "size": _LEAVES,
        "least": Range(0.01, 10.0, log=True),
        "leaf_l2": Range(0.01, 30.0, log=True),
    }

    def _grow(self, train: Any, valid: Any) -> Any:
        xgboost = import_module("xgboost")
        data, watched = (
            xgboost.DMatrix(X, y, group=sizes, nthread=self.n_jobs)
            for X, y, sizes in (train, valid)
        )
        params = {
            "objective": self.objective,
            "eval_metric": "ndcg@10",
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_depth": 0,
            "max_leaves": self.size,
            "eta": self.learning_rate,
            "colsample_bytree": self.colsample,
            "min_child_weight": self.least,
            "lambda": self.leaf_l2,
            "nthread": self.n_jobs,
            "seed": 0,
            "verbosity": 0,
        }
        return xgboost.train(
            params,
            data,
            self.n_estimators,
            evals=[(watched, "valid")],
            early_stopping_rounds=self.early_stopping_rounds,
            verbose_eval=False,
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return scores of documents, with the trees up to where the validation was best."""
        xgboost = import_module("xgboost")
        kept = (0, self.model_.best_iteration + 1)
        data = xgboost.DMatrix(X, nthread=self.n_jobs)
        return np.asarray(self.model_.predict(data, iteration_range=kept), dtype=np.float64)


class CatBoost(Peer):
    """CatBoost: ``YetiRank`` or ``QuerySoftMax``; size as depth, least as strength of its noise.

    Its symmetric trees need larger depths, and have no least number of documents in a leaf.
    """

    package = "catboost"
    space: ClassVar[Space] = {
        **_COMMON,
        "size": Range(3, 8, integer=True),
        "least": Range(0.3, 3.0, log=True),
        "leaf_l2": Range(0.3, 30.0, log=True),
    }

    def _grow(self, train: Any, valid: Any) -> Any:
        catboost = import_module("catboost")
        data, watched = (
            catboost.Pool(X, y, group_id=np.repeat(np.arange(len(sizes)), sizes))
            for X, y, sizes in (train, valid)
        )
        params = {
            "loss_function": self.objective,
            "eval_metric": "NDCG:top=10;type=Exp",
            "iterations": self.n_estimators,
            "learning_rate": self.learning_rate,
            "depth": self.size,
            "random_strength": self.least,
            "rsm": self.colsample,
            "l2_leaf_reg": self.leaf_l2,
            "od_type": "Iter",
            "od_wait": self.early_stopping_rounds,
            "use_best_model": True,
            "thread_count": self.n_jobs,
            "random_seed": 0,
            "logging_level": "Silent",
            "allow_writing_files": False,
        }
        model = catboost.CatBoost(params)
        model.fit(data, eval_set=watched)
        return model


# By name: class, objective, and the best known setting where it is not that of Peer.
PEERS: dict[str, tuple[type[Peer], str, dict[str, Any]]] = {
    "LightGBM-lambdarank": (LightGBM, "lambdarank", {}),
    "LightGBM-rank_xendcg": (LightGBM, "rank_xendcg", {}),
    "XGBoost-rank-ndcg": (XGBoost, "rank:ndcg", {"least": 0.1, "leaf_l2": 1.0}),
    "CatBoost-YetiRank": (CatBoost, "YetiRank", {"size": 6, "least": 1.0, "leaf_l2": 3.0}),
    "CatBoost-QuerySoftMax": (CatBoost, "QuerySoftMax", {"size": 6, "least": 1.0, "leaf_l2": 3.0}),
}


def code_version() -> str:
    """Return a hash of this file."""
    return hashed(Path(__file__).read_bytes())[:8]


def installed(package: str) -> str | None:
    """Return the version of a package; XGBoost's wheel for processors has a name of its own."""
    for name in (package, f"{package}-cpu"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None
