"""The structured surrogates of Section 6.1, by enumeration of all rankings."""

from __future__ import annotations

import itertools

import numpy as np

from tests.reference import metrics
from tests.reference.losses import Evaluation, Floats


def svm_map(scores: Floats, y: Floats) -> Evaluation:
    """Return the largest ``1 - AP + Psi(ranking) - Psi(correct)``, Psi a mean of signed pairs."""
    up, down = np.flatnonzero(y >= 1), np.flatnonzero(y < 1)
    found, where = 0.0, np.zeros(len(y))
    if len(up) == 0 or len(down) == 0:
        return found, where
    for ranks in itertools.permutations(range(len(y))):
        place = np.array(ranks)
        slope = np.zeros(len(y))
        for i in up:
            for j in down:
                if place[i] > place[j]:
                    slope[i] -= 2 / (len(up) * len(down))
                    slope[j] += 2 / (len(up) * len(down))
        value = 1 - metrics.ap(y, -place) + slope @ scores
        if value > found:
            found, where = float(value), slope
    return found, where


def large_margin_ndcg(scores: Floats, y: Floats) -> Evaluation:
    """Return the largest ``1 - NDCG + sum of (correct rank - rank) x score``."""
    found, where = 0.0, np.zeros(len(y))
    if y.min() == y.max():
        return found, where
    correct = np.empty(len(y), dtype=int)
    correct[np.argsort(-y, kind="stable")] = np.arange(len(y))
    for ranks in itertools.permutations(range(len(y))):
        place = np.array(ranks)
        slope = (correct - place).astype(float)
        value = 1 - metrics.ndcg(y, -place) + slope @ scores
        if value > found:
            found, where = float(value), slope
    return found, where
