"""Parameters of boosted trees: what they may be, and what LightGBM calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwright.suggestions import meant
from rankwright.trees.constraints import constraints
from rankwright.trees.engine import BINNING, QUIET, parameter_names, threads

# What LightGBM calls what BoostedRanker has a name for (with its other names), and what would break
# a promise: trees that change later, leaves that are not constant, categories.
_OURS = {
    "objective": "loss",
    "objective_type": "loss",
    "app": "loss",
    "application": "loss",
    "metric": "eval_metric",
    "metrics": "eval_metric",
    "num_iterations": "n_estimators",
    "num_iteration": "n_estimators",
    "num_boost_round": "n_estimators",
    "num_trees": "n_estimators",
    "num_round": "n_estimators",
    "num_rounds": "n_estimators",
    "n_iter": "n_estimators",
    "n_estimators": "n_estimators",
    "learning_rate": "learning_rate",
    "shrinkage_rate": "learning_rate",
    "eta": "learning_rate",
    "num_leaves": "num_leaves",
    "num_leaf": "num_leaves",
    "max_leaves": "num_leaves",
    "max_leaf": "num_leaves",
    "max_leaf_nodes": "num_leaves",
    "min_data_in_leaf": "min_child_samples",
    "min_data_per_leaf": "min_child_samples",
    "min_data": "min_child_samples",
    "min_child_samples": "min_child_samples",
    "min_samples_leaf": "min_child_samples",
    "monotone_constraints": "monotone_constraints",
    "mc": "monotone_constraints",
    "monotone_constraint": "monotone_constraints",
    "monotonic_cst": "monotone_constraints",
    "interaction_constraints": "interaction_constraints",
    "max_bin": "max_bin",
    "max_bins": "max_bin",
    "bagging_fraction": "subsample",
    "sub_row": "subsample",
    "subsample": "subsample",
    "bagging": "subsample",
    "feature_fraction": "colsample",
    "sub_feature": "colsample",
    "colsample_bytree": "colsample",
    "feature_fraction_bynode": "colsample_bynode",
    "sub_feature_bynode": "colsample_bynode",
    "colsample_bynode": "colsample_bynode",
    "lambda_l2": "leaf_l2",
    "reg_lambda": "leaf_l2",
    "lambda": "leaf_l2",
    "l2_regularization": "leaf_l2",
    "path_smooth": "path_smooth",
    "min_gain_to_split": "min_gain",
    "min_split_gain": "min_gain",
    "extra_trees": "extra_trees",
    "extra_tree": "extra_trees",
    "early_stopping_round": "early_stopping_rounds",
    "early_stopping_rounds": "early_stopping_rounds",
    "seed": "random_state",
    "random_seed": "random_state",
    "random_state": "random_state",
    "num_threads": "n_jobs",
    "num_thread": "n_jobs",
    "nthread": "n_jobs",
    "nthreads": "n_jobs",
    "n_jobs": "n_jobs",
}
_REFUSED = {
    "boosting",
    "boosting_type",
    "boost",
    "linear_tree",
    "linear_trees",
    "num_class",
    "categorical_feature",
    "cat_feature",
    "categorical_column",
    "cat_column",
}


def check_more(params: Any) -> None:
    """Raise unless LightGBM knows these parameters, and they are not ours to set."""
    if params is None:
        return
    if not isinstance(params, Mapping):
        raise TypeError(f"lightgbm_params must be a dict, but is a {type(params).__name__}.")
    for name in params:
        if name in _OURS:
            raise ValueError(f"lightgbm_params must not have {name!r}: use {_OURS[name]}.")
        if name in _REFUSED:
            raise ValueError(f"lightgbm_params must not have {name!r}: it is not supported.")
        if name not in (known := parameter_names()):
            raise ValueError(f"LightGBM has no parameter {name!r}.{meant(name, known)}")


def lightgbm_params(ranker: Any) -> dict[str, Any]:
    """Return the parameters as LightGBM takes them."""
    more = dict(ranker.lightgbm_params or {})
    if "data_seed" in more:  # LightGBM would not look at the second name
        more["data_random_seed"] = more.pop("data_seed")
    return {
        "objective": "none",
        "metric": "None",
        "learning_rate": float(ranker.learning_rate),
        "num_leaves": int(ranker.num_leaves),
        "min_data_in_leaf": int(ranker.min_child_samples),
        "max_bin": int(ranker.max_bin),
        "feature_fraction": float(ranker.colsample),
        "feature_fraction_bynode": float(ranker.colsample_bynode),
        "lambda_l2": float(ranker.leaf_l2),
        "path_smooth": float(ranker.path_smooth),
        "min_gain_to_split": float(ranker.min_gain),
        "extra_trees": bool(ranker.extra_trees),
        "seed": int(ranker.random_state) % 2**31,
        "num_threads": threads(ranker.n_jobs),
        **QUIET,
        **BINNING,
        **constraints(
            ranker.monotone_constraints, ranker.interaction_constraints, ranker.features()
        ),
        **more,
    }
