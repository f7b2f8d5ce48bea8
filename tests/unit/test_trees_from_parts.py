"""Trees from data in parts: the same bits for any machines, parts and order; what is refused."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import Dataset
from rankwright.data.parts import LocalParts
from rankwright.exceptions import DataError
from rankwright.metrics import parse
from rankwright.refitting import EndedEarly
from rankwright.trees import BoostedRanker, BoostingProgress
from rankwright.trees.forest import Forest
from rankwright.trees.local_machines import balanced
from tests.part_samples import FEW, cut, sample
from tests.signals import default_handlers

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


@pytest.fixture(autouse=True)
def foreground() -> Iterator[None]:
    """Hear SIGINT, also where the tests run in the background."""
    with default_handlers():
        yield


@pytest.fixture(scope="module")
def data() -> Dataset:
    return sample()


@pytest.fixture(scope="module")
def cuts(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[LocalParts]:
    """Return the same queries, cut into 2, 4 and 7 parts, each in an order of its own."""
    folder = tmp_path_factory.mktemp("parts")
    sizes = ([25, 35], [3, 20, 30, 7], [10, 5, 15, 1, 9, 12, 8])
    return [cut(data, own, folder / str(i), seed=i) for i, own in enumerate(sizes)]


def grown(parts: LocalParts, machines: int = 2, **options: Any) -> str:
    names = ("sample_weight", "query_weight", "valid")
    given = {name: options.pop(name) for name in names if name in options}
    ranker = BoostedRanker(**{**FEW, **options})
    return ranker.fit_parts(parts, machines=machines, **given).model_text_


# --- the same bits -----------------------------------------------------------------------------


def test_machines_threads_order_and_cut_change_no_bit(cuts: list[LocalParts]) -> None:
    texts = {plain(cuts), grown(cuts[1], 3), grown(cuts[2], 4, n_jobs=8)}
    assert len(texts) == 1
    assert Forest.from_text(texts.pop(), 8).n_trees == FEW["n_estimators"]


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "listnet", "sample_weight": "w", "query_weight": "v"},
        {"loss": "lambdarank", "subsample": 0.5, "leaf_l2": 1.0, "path_smooth": 1.0},
        {"loss": "stochastic-lambdarank", "lightgbm_params": {"bin_construct_sample_cnt": 200}},
        {"subsample": 1e-9, "min_child_samples": 1},  # no query of a machine may be in the sample
        {"colsample": 0.7, "colsample_bynode": 0.7, "extra_trees": True},
        {"monotone_constraints": {0: 1}},
    ],
    ids=str,
)
def test_whatever_the_parameters(options: dict[str, Any], cuts: list[LocalParts]) -> None:
    one, other = grown(cuts[1], **options), grown(cuts[2], 3, **options)
    assert one == other
    assert one != plain(cuts)


@cache
def _plain(cuts: tuple[LocalParts, ...]) -> str:
    return grown(cuts[0])


def plain(cuts: list[LocalParts]) -> str:
    """Return the trees of the common parameters."""
    return _plain(tuple(cuts))


def test_the_first_tree_is_that_of_data_in_memory(data: Dataset, cuts: list[LocalParts]) -> None:
    """Later ones differ where LightGBM's counts, which are estimates, forbid a split."""
    in_memory = BoostedRanker(**FEW).fit_dataset(data)
    forests = [Forest.from_text(text, 8) for text in (plain(cuts), in_memory.model_text_)]
    first = [slice(*forest.node_begin[:2]) for forest in forests]
    for name in ("feature", "threshold", "left", "right"):
        one, two = (getattr(f, name)[rows] for f, rows in zip(forests, first, strict=True))
        np.testing.assert_array_equal(one, two)


def test_sparse_and_missing_values(data: Dataset, tmp_path: Path) -> None:
    X = np.where(data.X > 1, data.X, 0)
    for i, part in enumerate((X, sp.csr_array(X))):
        whole = Dataset(part, data.y, data.qid)
        folder = tmp_path / str(i)
        folder.mkdir()
        for j, queries in enumerate((range(20), range(20, 60))):
            rw.write(whole.select(list(queries)), folder / f"{j}.txt")
    dense = rw.read_parts(tmp_path / "0", dense=True)
    sparse = rw.read_parts(tmp_path / "1", dense=False)
    assert sparse.facts.is_sparse > dense.facts.is_sparse
    assert grown(dense) == grown(sparse)
    gaps = data.X.copy()
    gaps[::3, 2] = np.nan
    lacking = Dataset(gaps, data.y, data.qid, allow_nan=True, kept=data.kept)
    one, other = (cut(lacking, own, tmp_path / str(own[0]), own[0]) for own in ([30, 30], [9, 51]))
    assert one.facts.missing[2] > 0
    assert grown(one) == grown(other)


# --- what is measured and kept -----------------------------------------------------------------


def test_early_stopping_is_that_of_one_process(data: Dataset, tmp_path: Path) -> None:
    train, valid = data.split((0.6, 0.4))
    parts = cut(train, [10, 26], tmp_path / "train")
    # Fewer validation parts than machines: one machine has none.
    watched = cut(valid, [valid.n_queries], tmp_path / "valid")
    options = {**FEW, "n_estimators": 60, "early_stopping_rounds": 4, "eval_train": True}
    ranker = BoostedRanker(**options).fit_parts(parts, watched)
    curve = ranker.evals_result_["valid"]["ndcg@10"]
    assert ranker.stop_ == "early_stopping"
    assert ranker.n_iter_ == int(np.argmax(curve)) + 1 == len(curve) - 4
    assert ranker.best_score_ == max(curve)
    metric = parse("ndcg@10")
    for name, part in (("train", train), ("valid", valid)):
        seen = ranker.evals_result_[name]["ndcg@10"][: ranker.n_iter_]
        stages = [metric.mean(part.y, s, part.groups) for s in ranker.staged_predict(part.X)]
        assert seen == stages


def test_leaves_are_counted(data: Dataset, cuts: list[LocalParts]) -> None:
    ranker = BoostedRanker(**FEW).fit_parts(cuts[1])
    leaves = np.asarray(ranker.booster_.predict(data.X, pred_leaf=True))
    forest = Forest.from_text(ranker.model_text_, 8)
    for i in range(forest.n_trees):
        own = slice(*forest.leaf_begin[i : i + 2])
        counts = np.bincount(leaves[:, i], minlength=own.stop - own.start)
        np.testing.assert_array_equal(forest.leaf_count[own], counts)
        assert forest.node_count[forest.node_begin[i]] == data.n_docs
    ours, expected = ranker.contributions(data.X[:5])
    theirs = np.asarray(ranker.booster_.predict(data.X[:5], pred_contrib=True))
    np.testing.assert_allclose(ours, theirs[:, :-1], atol=1e-12)
    np.testing.assert_allclose(expected, theirs[0, -1], atol=1e-12)


def test_a_model_from_parts_is_a_model(
    data: Dataset, cuts: list[LocalParts], tmp_path: Path
) -> None:
    ranker = BoostedRanker(**FEW).fit_parts(cuts[0])
    rw.save(ranker, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw")
    np.testing.assert_array_equal(again.predict(data.X), ranker.predict(data.X))
    assert ranker.score(data.X, data.y, data.qid) > 0.5


def test_progress_is_told_and_an_answer_ends_it(cuts: list[LocalParts]) -> None:
    seen: list[BoostingProgress] = []

    def callback(progress: BoostingProgress) -> bool:
        seen.append(progress)
        return progress.iteration == 3

    ranker = BoostedRanker(**FEW).fit_parts(cuts[0], callback=callback)
    assert [progress.iteration for progress in seen] == [1, 2, 3]
    assert (ranker.stop_, ranker.n_iter_) == ("interrupted", 3)
    assert Forest.from_text(ranker.model_text_, 8).n_trees == 3


def test_ctrl_c_keeps_what_there_is(cuts: list[LocalParts]) -> None:
    def callback(progress: BoostingProgress) -> None:
        if progress.iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)

    ranker = BoostedRanker(**FEW)
    with pytest.raises(EndedEarly):
        ranker.fit_parts(cuts[0], callback=callback)
    assert (ranker.stop_, ranker.n_iter_) == ("interrupted", 2)


@pytest.mark.filterwarnings("ignore:this model ranks nothing")
def test_nothing_to_split(data: Dataset, tmp_path: Path) -> None:
    flat = Dataset(np.ones((data.n_docs, 2)), data.y, data.qid, kept=data.kept)
    ranker = BoostedRanker(**FEW).fit_parts(cut(flat, [30, 30], tmp_path / "flat"))
    assert (ranker.stop_, ranker.n_iter_) == ("no_split", 1)
    assert not ranker.predict(np.ones((3, 2))).any()
    few = cut(data, [30, 30], tmp_path / "few")
    ranker = BoostedRanker(**{**FEW, "min_child_samples": 10_000}).fit_parts(few)
    assert (ranker.stop_, ranker.n_iter_) == ("no_split", 1)


def test_a_killed_machine_changes_no_bit(
    cuts: list[LocalParts], monkeypatch: pytest.MonkeyPatch
) -> None:
    children = children_of_fits(monkeypatch)

    def callback(progress: BoostingProgress) -> None:
        if progress.iteration == 3 and len(children) == 2:
            children[1].process.kill()

    with pytest.warns(RuntimeWarning, match="All are started again, behind tree 3"):
        ranker = BoostedRanker(**FEW).fit_parts(cuts[1], callback=callback)
    assert len(children) == 4
    assert ranker.model_text_ == plain(cuts)
    assert all(child.process.poll() is not None for child in children)


def children_of_fits(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the processes that fits start, as they do."""
    from rankwright.trees import children

    started: list[Any] = []

    class Seen(children.ChildMachine):
        def __init__(self, threads: int) -> None:
            super().__init__(threads)
            started.append(self)

    monkeypatch.setattr(children, "ChildMachine", Seen)
    return started


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "lightgbm:lambdarank"}, "is for data in memory. Use loss='lambdarank'."),
        ({"loss": "lightgbm:rank_xendcg"}, "is for data in memory. Use loss='xendcg'."),
        ({"interaction_constraints": [[0, 1]]}, "interaction_constraints must be None from parts"),
        ({"early_stopping_rounds": 3}, "early_stopping_rounds needs validation queries"),
        ({"lightgbm_params": {"num_machines": 3}}, "must not have 'num_machines' from parts"),
        ({"lightgbm_params": {"bagging_freq": 3}}, "must not have 'bagging_freq' from parts"),
        ({"lightgbm_params": {"boosting": "dart"}}, "must not have 'boosting'"),
    ],
)
def test_what_cannot_come_from_parts(
    options: dict[str, Any], message: str, cuts: list[LocalParts]
) -> None:
    ranker = BoostedRanker(**{**FEW, **options})
    with pytest.raises(ValueError, match=message):
        ranker.fit_parts(cuts[0])
    assert "n_features_in_" not in vars(ranker)


@pytest.mark.parametrize("machines", [0, 1, 2.0, True, "2"])
def test_machines_are_at_least_two(machines: Any, cuts: list[LocalParts]) -> None:
    with pytest.raises(ValueError, match="machines must be an integer of at least 2, but is"):
        BoostedRanker(**FEW).fit_parts(cuts[0], machines=machines)


def test_parts_are_at_least_the_machines(data: Dataset, tmp_path: Path) -> None:
    parts = cut(data, [60], tmp_path / "one")
    with pytest.raises(DataError, match="a part for each of 2 machines, but there is one") as told:
        BoostedRanker(**FEW).fit_parts(parts)
    assert "--parts 2" in str(told.value)
    two = cut(data, [30, 30], tmp_path / "two")
    with pytest.raises(DataError, match="a part for each of 3 machines, but there is 2"):
        BoostedRanker(**FEW).fit_parts(two, machines=3)


def test_categories_are_refused(tmp_path: Path) -> None:
    import pandas as pd

    for i in range(2):
        rows = {"qid": [i] * 4, "label": [0, 1, 0, 2], "brand": ["a", "b", "a", "c"], "price": 1.5}
        pd.DataFrame(rows).to_parquet(tmp_path / f"{i}.parquet")
    parts = rw.read_parts(tmp_path, categorical=["brand"])
    with pytest.raises(DataError, match="'brand' is a category"):
        BoostedRanker(**FEW).fit_parts(parts)


def test_other_systems_are_refused(cuts: list[LocalParts], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ValueError, match="on Linux only"):
        BoostedRanker(**FEW).fit_parts(cuts[0])


def test_a_loss_that_is_not_finite_is_told_once(cuts: list[LocalParts]) -> None:
    class Bad:
        def grad_and_hess(self, scores: Any, y: Any, groups: Any, draw: int = 0) -> Any:
            return np.where(y > 0, np.nan, 0.0), np.ones(len(y))

    with pytest.raises(ValueError, match="in iteration 1 the gradient of row"):
        BoostedRanker(Bad(), **FEW).fit_parts(cuts[0])


def test_validation_queries_must_count(data: Dataset, tmp_path: Path) -> None:
    empty = cut(data.with_labels(np.zeros(data.n_docs)), [60], tmp_path / "empty")
    parts = cut(data, [30, 30], tmp_path / "train")
    with pytest.raises(ValueError, match="valid must have a query that counts in ndcg@10"):
        BoostedRanker(**FEW).fit_parts(parts, empty)


def test_parts_are_dealt_out_by_size() -> None:
    assert balanced([("a", 5), ("b", 9), ("c", 3), ("d", 1)], 2) == [["b"], ["a", "c", "d"]]
    assert balanced([], 2) == [[], []]
