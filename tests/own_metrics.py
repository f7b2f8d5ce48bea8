"""Metrics that other processes can import, as the tests of own metrics need them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
TOP = 3


def top_label_sum(labels: Floats, scores: Floats) -> float:
    """Sum of the labels of the first three documents; undefined without a relevant one."""
    first = np.argsort(-scores, kind="stable")[:TOP]
    return float(labels[first].sum()) if labels.any() else np.nan


def first_relevant_place(labels: Floats, scores: Floats) -> float:
    """Rank of the first relevant document: less is better."""
    ranked = labels[np.argsort(-scores, kind="stable")]
    return float(np.argmax(ranked >= 1) + 1) if (ranked >= 1).any() else np.nan
