"""Bins that fits share: when they do, and that nothing else changes."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.comparison.entries import Entry
from rankwright.comparison.space import Choice
from rankwright.comparison.trial import run_search
from rankwright.comparison.tune import tune
from rankwright.data import Dataset, make_mslr_like
from rankwright.ensemble import EnsembleRanker
from rankwright.evaluation import split
from rankwright.metrics import NDCG
from rankwright.trees import BoostedRanker, engine
from rankwright.trees.shared_bins import SharedBins, current_bins, shared_bins

FEW: dict[str, Any] = {"n_estimators": 4, "num_leaves": 6, "min_child_samples": 5, "n_jobs": 1}
# What a search, or an ensemble, may change from fit to fit.
TRIALS: list[dict[str, Any]] = [
    {},
    {"min_child_samples": 60, "learning_rate": 0.3},
    {"min_child_samples": 2, "num_leaves": 9},
    {"loss": "stochastic-lambdarank", "random_state": 3},
    {"colsample": 0.5, "colsample_bynode": 0.5, "random_state": 4},
    {"leaf_l2": 2.0, "path_smooth": 1.0, "min_gain": 0.01, "extra_trees": True},
]


@pytest.fixture(scope="module")
def parts() -> tuple[Dataset, ...]:
    data = make_mslr_like(n_queries=40, n_features=8, mean_docs=15, random_state=2)
    rare = np.zeros(data.n_docs, dtype=np.float32)
    rare[::40] = 1.0  # no split of it, if a leaf must have many documents
    return Dataset(np.c_[data.X, rare + 0.1 * data.y], data.y, data.qid).split((0.6, 0.4))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the matrices of which bins are made, as they are."""
    seen: list[Any] = []
    taken = engine.as_lightgbm_takes_it

    def counted(X: Any) -> Any:
        seen.append(X)
        return taken(X)

    monkeypatch.setattr(engine, "as_lightgbm_takes_it", counted)
    return seen


def fitted(train: Dataset, valid: Dataset | None, **params: Any) -> str:
    return BoostedRanker(**{**FEW, **params}).fit_dataset(train, valid=valid).model_text_


def as_sparse(part: Dataset) -> Dataset:
    return Dataset(sp.csr_array(np.where(part.X > 1, part.X, 0)), part.y, part.qid)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_models_are_the_same_bits(kind: str, parts: tuple[Dataset, ...], made: list[Any]) -> None:
    train, valid = parts if kind == "dense" else map(as_sparse, parts)
    alone = [fitted(train, valid, **params) for params in TRIALS]
    assert len(made) == 2 * len(TRIALS)
    assert len(set(alone)) == len(TRIALS)
    made.clear()
    with shared_bins():
        assert [fitted(train, valid, **params) for params in TRIALS] == alone
        assert len(made) == 2  # of training and validation queries
        assert [fitted(train, valid, **params) for params in TRIALS[::-1]] == alone[::-1]
    assert len(made) == 2


def test_other_bins_are_not_shared(parts: tuple[Dataset, ...], made: list[Any]) -> None:
    train, valid = parts
    others: list[dict[str, Any]] = [
        {"max_bin": 15},
        {"lightgbm_params": {"min_data_in_bin": 20}},
        {"lightgbm_params": {"feature_pre_filter": True}},
        {"lightgbm_params": {"feature_pre_filter": True}, "min_child_samples": 50},
        {"loss": "lightgbm:lambdarank"},  # its bins know labels
    ]
    alone = [fitted(train, valid, **params) for params in others]
    made.clear()
    with shared_bins():
        fitted(train, valid)
        assert [fitted(train, valid, **params) for params in others] == alone
    assert len(made) == 2 * (1 + len(others))


def test_other_features_are_not_shared(parts: tuple[Dataset, ...], made: list[Any]) -> None:
    train, valid = parts
    copy = Dataset(train.X.copy(), train.y, train.qid)
    with shared_bins():
        assert fitted(train, None) == fitted(copy, None)
        assert len(made) == 2
        fitted(train, valid)
        fitted(copy, None)
    assert len(made) == 3


def test_scores_to_begin_with_are_of_one_fit(parts: tuple[Dataset, ...]) -> None:
    train, valid = parts
    starts = np.linspace(0, 2, train.n_docs), np.linspace(0, 3, valid.n_docs)

    def two() -> list[Any]:
        found = []
        for first, second in (starts, (None, None)):
            ranker = BoostedRanker(**FEW).fit(
                train.X, train.y, train.qid, valid=valid, init_score=first, valid_init_score=second
            )
            found += [ranker.model_text_, ranker.evals_result_]
        return found

    alone = two()
    assert alone[0] != alone[2]
    with shared_bins():
        assert two() == two() == alone


def test_blocks_end_and_nest_and_stay_in_their_thread(parts: tuple[Dataset, ...]) -> None:
    elsewhere: list[Any] = []
    assert current_bins() is None
    with shared_bins():
        outer = current_bins()
        with shared_bins():
            assert current_bins() is outer is not None
        thread = threading.Thread(target=lambda: elsewhere.append(current_bins()))
        thread.start()
        thread.join()
    assert elsewhere == [None]
    assert current_bins() is None


def test_bins_keep_no_features_alive(parts: tuple[Dataset, ...]) -> None:
    train = parts[0]
    with shared_bins():
        bins = current_bins()
        assert bins is not None
        for _ in range(6):
            copy = Dataset(train.X.copy(), train.y, train.qid)
            fitted(copy, None)
            del copy
        gc.collect()
        fitted(train, None)
        assert len(bins) == 1


def test_what_is_kept_is_known_by_where_it_lies() -> None:
    bins, made = SharedBins(), []

    def of(X: Any, key: Any = 0) -> Any:
        return bins.of(X, key, lambda: made.append(key) or len(made))  # type: ignore[func-returns-value]

    X = np.arange(12.0).reshape(4, 3)
    # A view is made anew for each fit; another part of the memory is another matrix.
    assert [of(X[:]), of(X[:]), of(X[:2]), of(X, "other")] == [1, 1, 2, 3]
    # Sparse ones may share their values, and have them elsewhere.
    values, starts = np.ones(3), np.array([0, 1, 2, 3])
    one, two = (sp.csr_array((values, np.array(at), starts)) for at in ([0, 1, 2], [2, 1, 0]))
    assert [of(one), of(two), of(one)] == [4, 5, 4]


def test_the_last_few_are_kept() -> None:
    bins, made = SharedBins(), []
    X = np.zeros((2, 2))
    for key in (*range(20), 19, 8, 7):
        bins.of(X, key, lambda key=key: made.append(key))  # type: ignore[misc]
    assert made == [*range(20), 7]  # twelve are kept: 8 to 19
    assert len(bins) == 12


def test_a_search_makes_them_once(parts: tuple[Dataset, ...], made: list[Any]) -> None:
    fold = split(parts[0])[0]
    space = {"num_leaves": Choice((3, 5, 7)), "min_child_samples": Choice((5, 10, 20))}
    entry = Entry("trees", BoostedRanker(**FEW), space)
    found = run_search(entry, fold, NDCG(), n_trials=3, random_state=0)
    assert len(found.facts["trials"]) == 3
    assert len(made) == 2


def test_tuning_makes_them_once_a_fold(parts: tuple[Dataset, ...], made: list[Any]) -> None:
    space = {"num_leaves": Choice((3, 5, 7)), "leaf_l2": Choice((0.0, 1.0))}
    study = tune(BoostedRanker(**FEW), parts[0], space, n_trials=3, n_folds=2)
    assert len(study.trials) == 3
    assert len(made) == 2 * 2


def test_an_ensemble_makes_them_once(parts: tuple[Dataset, ...], made: list[Any]) -> None:
    ensemble = EnsembleRanker(BoostedRanker(**FEW), n_models=3, n_jobs=1)
    ensemble.fit_dataset(parts[0], valid=parts[1])
    assert len(made) == 2


def test_auto_makes_them_once(parts: tuple[Dataset, ...], made: list[Any]) -> None:
    fitted(*parts, base="auto")
    assert len(made) == 2


def test_the_seed_of_the_sample_can_be_given(parts: tuple[Dataset, ...]) -> None:
    by_either_name = [
        BoostedRanker(**FEW, lightgbm_params={name: 7, "bin_construct_sample_cnt": 50}).fit_dataset(
            parts[0]
        )
        for name in ("data_seed", "data_random_seed")
    ]
    texts = {ranker.model_text_ for ranker in by_either_name}
    assert len(texts) == 1
    assert texts != {fitted(parts[0], None, lightgbm_params={"bin_construct_sample_cnt": 50})}
