"""Scores of many topics at once, and scores that mean nothing."""

from __future__ import annotations

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.hashing import combine, row_keys
from rankwright.data.validation import Floats, Matrix
from rankwright.exceptions import DataError
from rankwright.scoring.state import State, check_floats, check_whole
from rankwright.scoring.sums import finite_scores


def topic_scores(X: Matrix, weights: Floats, features: Ints, offsets: Ints) -> Floats:
    """Return a row of scores for each row: of each topic, by its few weights."""
    # Few features have a weight for any topic: the other columns need not be multiplied.
    used, places = np.unique(features, return_inverse=True)
    topics = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    coef = np.zeros((len(used), len(offsets) - 1))
    np.add.at(coef, (places, topics), weights)
    return finite_scores(X[:, used] @ coef)


def check_topics(state: State) -> None:
    """Raise unless weights and topics, read from a file, fit together."""
    weights = state.get("weights_")
    n = weights.size if isinstance(weights, np.ndarray) else -1
    check_floats(state, "weights_", (n,))
    topics = state.get("topics_")
    if type(topics) is not list or {type(name) for name in topics} - {str}:
        raise DataError("topics_ must be texts.")
    features = check_whole(state, "features_", n)
    offsets = check_whole(state, "offsets_", len(topics) + 1)
    if offsets[0] != 0 or offsets[-1] != n or (np.diff(offsets) < 0).any():
        raise DataError("offsets_ must rise from 0 to the number of weights.")
    if n and (features.min() < 0 or features.max() >= state["n_features_in_"]):
        raise DataError(f"features_ must lie from 0 to {state['n_features_in_'] - 1}.")


def hashed_scores(X: Matrix, seed: int) -> Floats:
    """Return scores between 0 and 1: a hash of the features and a seed."""
    keys = combine(int(seed), row_keys(X.astype(np.float64)))
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53
