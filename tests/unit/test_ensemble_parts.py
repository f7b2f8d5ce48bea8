"""Averages from data in parts: the bags, scales and weights of data in memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import Dataset
from rankwright.data.parts import LocalParts
from rankwright.ensemble import EnsembleProgress, EnsembleRanker
from rankwright.ensemble.bags import Bag, bag_of_parts, bag_weights
from rankwright.metrics import parse
from rankwright.refitting import UnfinishedError
from rankwright.trees.machines import MachineLostError
from tests.part_samples import FEW, cut, sample

LINEAR = rw.LinearRanker(alpha=0.01, standardize=True, missing="median", n_jobs=1)
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


@pytest.fixture(scope="module")
def data() -> tuple[Dataset, Dataset]:
    """Return training and validation queries; the order is that of sums in memory."""
    train, valid = sample(60).split((0.7, 0.3))
    return train.select(np.argsort(train.groups.keys, kind="stable")), valid


@pytest.fixture(scope="module")
def parts(data: tuple[Dataset, Dataset], tmp_path_factory: pytest.TempPathFactory) -> LocalParts:
    return cut(data[0], [12, 20, 10], tmp_path_factory.mktemp("three") / "parts")


@pytest.fixture(scope="module")
def watched(data: tuple[Dataset, Dataset], tmp_path_factory: pytest.TempPathFactory) -> LocalParts:
    return cut(data[1], [11, 7], tmp_path_factory.mktemp("valid") / "parts")


@pytest.fixture(scope="module")
def one_part(data: tuple[Dataset, Dataset], tmp_path_factory: pytest.TempPathFactory) -> LocalParts:
    """Return all training queries in one part, in their order."""
    folder = tmp_path_factory.mktemp("one")
    table = {f"f{j + 1}": column for j, column in enumerate(data[0].X.T)}
    weights = {name: column.astype(float) for name, column in data[0].kept.items()}
    import pandas as pd

    frame = pd.DataFrame({**table, "label": data[0].y, "qid": data[0].qid, **weights})
    frame.to_parquet(folder / "all.parquet")
    return rw.read_parts(folder, keep=["w", "v"], ignore=["w", "v"])


# --- bags --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["queries", 0.4, 0.01, 0.99])
@pytest.mark.parametrize("weighted", [False, True])
def test_bags_are_those_of_data_in_memory(
    kind: str | float, weighted: bool, data: tuple[Dataset, Dataset], parts: LocalParts
) -> None:
    groups = data[0].groups
    own = data[0].kept["v"].astype(float)[groups.indptr[:-1]] if weighted else None
    for member in range(3):
        found = bag_of_parts(Bag(kind, 5, member), parts, "v" if weighted else None)
        assert callable(found)
        expected = bag_weights(groups, kind, 5, member, own)
        by_query = dict(zip(groups.names.tolist(), expected.tolist(), strict=True))
        for part in (one.open() for one in parts.spooled):
            assert found(part).tolist() == [by_query[qid] for qid in part.qid.tolist()]


def test_one_query_with_a_weight_is_in_every_bag(parts: LocalParts) -> None:
    """Whichever part it is in; the others have queries without a weight alone."""
    chosen = parts.spooled[1].open().qid[0]
    for member in range(8):
        bag = bag_of_parts(Bag(0.1, 0, member), parts, Only(chosen))
        assert callable(bag)
        weights = [bag(one.open()) for one in parts.spooled]
        assert [bool(own.any()) for own in weights] == [False, True, False]
        assert set(parts.spooled[1].open().qid[weights[1] > 0].tolist()) == {chosen}


class Only:
    """Weight 1 for one query, 0 for all others."""

    def __init__(self, qid: Any) -> None:
        self.qid = qid

    def __call__(self, part: Dataset) -> Any:
        return (part.qid == self.qid).astype(float)


def test_without_bags_weights_are_what_was_given(parts: LocalParts) -> None:
    assert bag_of_parts(Bag(None, 0, 0), parts, None) is None
    assert bag_of_parts(Bag(None, 0, 0), parts, "v") == "v"


# --- the same as in memory ---------------------------------------------------------------------


def attributes(ranker: EnsembleRanker) -> dict[str, Any]:
    names = ("linear_coef_", "linear_spread_", "member_weights_", "member_scales_")
    return {name: vars(ranker)[name].tolist() for name in names}


@pytest.mark.filterwarnings("ignore:weights='valid' follows the noise")
@pytest.mark.parametrize("bag", ["queries", 0.5])
def test_one_part_has_the_bits_of_data_in_memory(
    bag: str | float, data: tuple[Dataset, Dataset], one_part: LocalParts, watched: LocalParts
) -> None:
    train, valid = data
    c = train.kept["v"].astype(float)
    ranker = EnsembleRanker(LINEAR, 3, bag=bag, weights="valid", random_state=2)
    named = Dataset(train.X, train.y, train.qid, feature_names=[f"f{j + 1}" for j in range(8)])
    others = valid.with_features(valid.X, named.feature_names)
    ranker.fit(named, train.y, train.qid, query_weight=c, valid=others)
    expected, best = attributes(ranker), ranker.best_score_
    assert len(set(ranker.member_weights_)) > 1
    ranker.fit_parts(one_part, watched, query_weight="v")
    assert attributes(ranker) == expected
    assert ranker.best_score_ == best


def test_a_part_may_have_no_query_of_a_bag(
    data: tuple[Dataset, Dataset], parts: LocalParts
) -> None:
    options: dict[str, Any] = {"members": LINEAR, "n_models": 2, "bag": 0.01}
    found = EnsembleRanker(**options).fit_parts(parts)
    bag = bag_of_parts(Bag(0.01, 0, 0), parts, None)
    assert callable(bag)
    assert sum(bool(bag(one.open()).any()) for one in parts.spooled) == 1
    train = data[0]
    memory = EnsembleRanker(**options).fit(train.X, train.y, train.qid)
    np.testing.assert_allclose(found.linear_coef_, memory.linear_coef_, rtol=1e-5, atol=1e-9)


@linux
def test_members_of_both_kinds(
    data: tuple[Dataset, Dataset], parts: LocalParts, watched: LocalParts, tmp_path: Path
) -> None:
    train, valid = data
    fitted = rw.LinearRanker("listnet").fit_dataset(train)
    members: Any = [("trees", rw.BoostedRanker(**FEW)), ("linear", LINEAR), ("whole", fitted)]
    ranker = EnsembleRanker(members, 1, bag=0.7, n_estimators=4, n_jobs=1)
    seen: list[str] = []

    def tell(progress: EnsembleProgress) -> None:
        seen.append(progress.member)

    ranker.fit_parts(parts, watched, tell, machines=3)
    assert set(seen) == {"trees", "linear", "whole"}
    assert (ranker.stop_, ranker.member_trees_) == ("complete", [4, 0, 0])
    trees = rw.BoostedRanker(**{**FEW, "n_estimators": 4})
    trees.fit_parts(parts, query_weight=bag_of_parts(Bag(0.7, 0, 0), parts, None))
    own = trees.predict(valid.X) / ranker.member_scales_[0]
    rest = LINEAR.fit_parts(parts, query_weight=bag_of_parts(Bag(0.7, 0, 1), parts, None))
    own += rest.predict(valid.X) / ranker.member_scales_[1]
    own += fitted.predict(valid.X) / ranker.member_scales_[2]
    np.testing.assert_allclose(ranker.predict(valid.X), own / 3, rtol=1e-9)
    assert ranker.best_score_ == ndcg(ranker, valid)
    rw.save(ranker, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw")
    np.testing.assert_array_equal(again.predict(valid.X), ranker.predict(valid.X))


def ndcg(ranker: Any, valid: Dataset) -> float:
    return parse("ndcg@10").mean(valid.y, ranker.predict(valid.X), valid.groups)


# --- what ends it, and what is refused ---------------------------------------------------------


def test_lost_machines_leave_the_members_before(
    parts: LocalParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise MachineLostError("machine 1 of 2 was lost.")

    monkeypatch.setattr(rw.BoostedRanker, "fit_parts", lost)
    members: Any = [("linear", LINEAR), ("trees", rw.BoostedRanker(**FEW))]
    ranker = EnsembleRanker(members, 1)
    with pytest.raises(UnfinishedError, match=r"member 'trees' is not complete.*machine 1 of 2"):
        ranker.fit_parts(parts)
    assert (ranker.member_names_, ranker.stop_) == (["linear"], "machine_lost")
    with pytest.raises(MachineLostError):
        EnsembleRanker(rw.BoostedRanker(**FEW), 1).fit_parts(parts)


def test_what_is_refused_before_anything_is_fitted(
    parts: LocalParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("fitted")

    monkeypatch.setattr(rw.LinearRanker, "fit_parts", never)
    online: Any = [("linear", LINEAR), ("online", rw.SLAMPerceptron())]
    with pytest.raises(TypeError, match="member 'online 1' learns from data in memory only; of"):
        EnsembleRanker(online, 2).fit_parts(parts)
    stopping: Any = [("linear", LINEAR), ("t", rw.BoostedRanker(early_stopping_rounds=3))]
    with pytest.raises(ValueError, match="early_stopping_rounds of member 't' needs validation"):
        EnsembleRanker(stopping, 1).fit_parts(parts)
    with pytest.raises(ValueError, match="weights='valid' needs validation queries"):
        EnsembleRanker(LINEAR, 1, weights="valid").fit_parts(parts)
    trees: Any = [("linear", LINEAR), ("t", rw.BoostedRanker("lightgbm:lambdarank"))]
    with pytest.raises(ValueError, match=r"is for data in memory\. Use loss='lambdarank'"):
        EnsembleRanker(trees, 1).fit_parts(parts)
    with pytest.raises(TypeError, match="must be data in parts, but is a str"):
        EnsembleRanker(LINEAR, 1).fit_parts("folder")  # type: ignore[arg-type]


def test_what_is_asked_before() -> None:
    linear, trees = rw.LinearRanker(), rw.BoostedRanker()
    both = EnsembleRanker([linear, trees])
    assert both.part_bytes == (trees.part_bytes[0], linear.part_bytes[1], trees.part_bytes[2])
    assert both.takes_parts()
    assert not EnsembleRanker([linear, rw.SLAMPerceptron()]).takes_parts()
    fitted = rw.SLAMPerceptron().fit([[1.0], [0.0]], [1, 0])
    assert EnsembleRanker(fitted).takes_parts()
    assert EnsembleRanker(fitted).part_bytes == (0, 0)
    assert "stochastic-lambdarank-trees 1" in EnsembleRanker().watches()
    assert EnsembleRanker(n_estimators=5).watches() == ""
