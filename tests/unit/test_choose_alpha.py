"""choose_alpha: which weight wins, worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankwright.data import Dataset, make_mslr_like
from rankwright.linear import LinearRanker, choose_alpha
from rankwright.linear.path_point import PathPoint
from rankwright.metrics import NDCG, PairwiseError

# Quality by weight, one row a fold.
FOLDS = {1.0: [0.50, 0.10], 0.1: [0.30, 0.60], 0.01: [0.20, 0.30]}


class Prescribed(LinearRanker):
    """A ranker whose qualities are given."""

    def path(self, *args: Any, **options: Any) -> list[PathPoint]:
        self.calls = [*getattr(self, "calls", []), options]
        fold = len(self.calls) - 1
        return [
            PathPoint(alpha, np.zeros(1), 0.0, 0, FOLDS[alpha][fold], 0.0)
            for alpha in options["alphas"]
        ]


def two_queries() -> Dataset:
    return Dataset(np.eye(4), np.array([0.0, 1, 0, 1]), np.array([1, 1, 2, 2]))


def test_the_largest_mean_wins_if_higher_is_better() -> None:
    choice = choose_alpha(Prescribed(), two_queries(), alphas=[0.01, 1.0, 0.1], n_folds=2)
    # Not 1.0, the best of the first fold; not 0.01, the worst of all.
    assert choice.alpha == 0.1
    assert choice.alphas.tolist() == [1.0, 0.1, 0.01]
    np.testing.assert_allclose(choice.quality, [0.6 / 2, 0.9 / 2, 0.5 / 2])
    np.testing.assert_array_equal(choice.ndcg, choice.quality)


def test_the_smallest_mean_wins_if_lower_is_better() -> None:
    ranker = Prescribed()
    choice = choose_alpha(
        ranker, two_queries(), alphas=[0.1, 1.0, 0.01], n_folds=2, metric=PairwiseError()
    )
    assert choice.alpha == 0.01
    assert [options["metric"] for options in ranker.calls] == [PairwiseError()] * 2


@pytest.mark.parametrize("metric", [NDCG(10), PairwiseError()], ids=str)
def test_of_equal_qualities_the_largest_weight_wins(
    metric: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for alpha in FOLDS:
        monkeypatch.setitem(FOLDS, alpha, [0.5, 0.5])
    choice = choose_alpha(Prescribed(), two_queries(), alphas=list(FOLDS), n_folds=2, metric=metric)
    assert choice.alpha == 1.0


@pytest.mark.parametrize("metric", [NDCG(10), PairwiseError()], ids=str)
def test_qualities_are_those_of_fits_on_the_other_folds(metric: Any) -> None:
    ds = make_mslr_like(n_queries=12, mean_docs=12, n_features=5)
    ranker = LinearRanker("listnet", standardize=True, tol=1e-9)
    choice = choose_alpha(ranker, ds, alphas=[10.0, 0.1], n_folds=3, random_state=4, metric=metric)
    for alpha, quality in zip(choice.alphas, choice.quality, strict=True):
        alone = LinearRanker("listnet", alpha=float(alpha), standardize=True, tol=1e-9)
        folds = [
            metric.mean(valid.y, alone.fit_dataset(train).predict(valid.X), valid.groups)
            for train, valid in ds.folds(3, 4)
        ]
        assert quality == pytest.approx(sum(folds) / 3, abs=1e-9)
