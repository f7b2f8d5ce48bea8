"""A comparison that its report is tried on: folds, failures, names that attack the page."""

from __future__ import annotations

import numpy as np

import rankwright as rw
from rankwright.comparison import Comparison, Entry, compare
from rankwright.evaluation import rotate

HOSTILE = "<img src=x onerror=alert(1)></script>"


def make_comparison() -> Comparison:
    """Compare a few models on three folds; one of them fails."""
    data = rw.data.make_mslr_like(n_queries=45, n_features=10, mean_docs=14)
    assert data.doc_ids is not None
    names = np.array([f"{name}-of-a-large-collection" for name in data.doc_ids], dtype=object)
    names[0] = HOSTILE
    long = "a_feature_whose_name_is_longer_than_the_screen_of_a_phone_is_wide_by_far"
    features = [long, *(f"feature {j}" for j in range(2, 11))]
    data = rw.Dataset(
        data.X,
        data.y,
        [f"q{q}" for q in data.qid],
        doc_ids=names.astype(str),
        feature_names=features,
    )
    models = ["xendcg-linear", "smooth-slam-linear", "xendcg-trees", "best-feature", "random"]
    sparse = Entry("sparse", rw.LinearRanker("listnet", "l1", 0.01, standardize=True), {}, "linear")
    broken = Entry("broken", rw.LinearRanker(HOSTILE))
    return compare(rotate(data, 3), [*models, sparse, broken], n_trials=2)
