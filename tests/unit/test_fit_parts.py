"""Learning from data in parts: one part has the bits of data in memory, more are near them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.data.parts import LocalParts
from rankwright.exceptions import DataError, DataWarning
from rankwright.linear.domination_rank import layer_cuts
from rankwright.scaling import Moments, measured

LOSSES = ["xendcg", "listnet", "domination", "smooth-slam", "rank_logistic"]
N_FEATURES = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same data in one file, and in three parts in its order."""
    folder = tmp_path_factory.mktemp("fit")
    data = rw.data.make_mslr_like(n_queries=90, n_features=N_FEATURES, mean_docs=8)
    rw.write(data, folder / "all.txt")
    (folder / "parts").mkdir()
    for i, queries in enumerate((range(20), range(20, 55), range(55, 90))):
        rw.write(data.select(queries), folder / "parts" / f"{i}.txt")
    return folder


@pytest.fixture(scope="module")
def memory(folder: Path) -> rw.Dataset:
    return rw.read(folder / "all.txt")


@pytest.fixture(scope="module")
def one(folder: Path) -> LocalParts:
    return rw.read_parts(folder / "all.txt")


@pytest.fixture(scope="module")
def three(folder: Path) -> LocalParts:
    return rw.read_parts(folder / "parts")


def check_same(a: Any, b: Any) -> None:
    """All that was fitted is the same, bit for bit."""
    assert vars(a).keys() == vars(b).keys()
    for name, value in vars(a).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, vars(b)[name], err_msg=name)
        else:
            assert value == vars(b)[name], name


def check_near(a: Any, b: Any, tolerance: float = 1e-9) -> None:
    size = np.abs(a.coef_).max()
    assert np.abs(a.coef_ - b.coef_).max() <= tolerance * size
    assert a.objective_[-1] == pytest.approx(b.objective_[-1], rel=1e-12)
    assert a.n_iter_ == b.n_iter_


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
def test_one_part_is_data_in_memory_and_three_are_near(
    memory: rw.Dataset, one: LocalParts, three: LocalParts, loss: str, penalty: str
) -> None:
    ranker: Any = {"loss": loss, "penalty": penalty, "alpha": 1e-2, "standardize": True}
    fitted = rw.LinearRanker(**ranker).fit_dataset(memory)
    check_same(fitted, rw.LinearRanker(**ranker).fit_parts(one))
    check_near(fitted, rw.LinearRanker(**ranker).fit_parts(three))


@pytest.mark.parametrize(
    "options",
    [
        {"standardize": False},
        {"penalty": "l1", "alpha": 1e-2, "relax": True},
        {"solver": "lbfgs"},
        {"loss": "rank_hinge", "alpha": 1e-1, "tol": 1e-2},
        {"missing": "median"},
        {"missing": "zero"},
    ],
    ids=str,
)
def test_options_hold_for_parts(
    memory: rw.Dataset, one: LocalParts, three: LocalParts, options: Any
) -> None:
    fitted = rw.LinearRanker(**options).fit_dataset(memory)
    check_same(fitted, rw.LinearRanker(**options).fit_parts(one))
    near = rw.LinearRanker(**options).fit_parts(three)
    assert near.objective_[-1] == pytest.approx(fitted.objective_[-1], rel=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"layers": 3, "standardize": True},
        {"negatives": 0.5, "standardize": True},
        {"layers": [1, 3], "negatives": 0.3, "margin": 1.0},
    ],
    ids=str,
)
def test_domination_rank(
    memory: rw.Dataset, one: LocalParts, three: LocalParts, options: Any
) -> None:
    fitted = rw.DominationRank(**options).fit_dataset(memory)
    check_same(fitted, rw.DominationRank(**options).fit_parts(one))
    near = rw.DominationRank(**options).fit_parts(three)
    assert near.layers_ == fitted.layers_
    np.testing.assert_allclose(near.coef_, fitted.coef_, rtol=1e-6, atol=1e-8)


def test_the_same_parts_give_the_same_bits_again(three: LocalParts) -> None:
    check_same(rw.LinearRanker().fit_parts(three), rw.LinearRanker().fit_parts(three))


def test_weights_are_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    data = rw.data.make_mslr_like(n_queries=40, n_features=4, mean_docs=6)
    frame = pd.DataFrame(data.X.astype(np.float64), columns=list("abcd"))
    frame["qid"], frame["label"] = data.qid, data.y
    frame["w"] = rng.random(len(frame)) + 0.5
    frame["times"] = rng.integers(1, 4, 41)[pd.factorize(frame["qid"])[0]]
    frame.to_parquet(tmp_path / "all.parquet", index=False)
    half = frame["qid"].isin(frame["qid"].unique()[:20])
    frame[half].to_parquet(tmp_path / "0.parquet", index=False)
    frame[~half].to_parquet(tmp_path / "1.parquet", index=False)
    options: Any = {"ignore": ["w", "times"], "keep": ["w", "times"]}
    one = rw.read_parts(tmp_path / "all.parquet", **options)
    two = rw.read_parts([tmp_path / "0.parquet", tmp_path / "1.parquet"], **options)
    columns: Any = {"sample_weight": "w", "query_weight": "times"}
    X = frame[list("abcd")]
    fitted = rw.LinearRanker().fit(
        X, frame["label"], frame["qid"], sample_weight=frame["w"], query_weight=frame["times"]
    )
    check_same(fitted, rw.LinearRanker().fit_parts(one, **columns))
    check_near(fitted, rw.LinearRanker().fit_parts(two, **columns))
    unweighted = rw.LinearRanker().fit_parts(two)
    assert np.abs(unweighted.coef_ - fitted.coef_).max() > 1e-3
    with pytest.raises(ValueError, match=r"sample_weight .* 'v' is not: .*keep=\['v'\]"):
        rw.LinearRanker().fit_parts(one, sample_weight="v")
    with pytest.raises(ValueError, match="query_weight must be the same in all rows"):
        rw.LinearRanker().fit_parts(one, query_weight="w")


def weighted(folder: Path, weights: list[Any]) -> LocalParts:
    """Return parts with a column ``w``, of which each part has its own value, or values."""
    folder.mkdir()
    data = rw.data.make_mslr_like(n_queries=40, n_features=4, mean_docs=6)
    for i, (part, w) in enumerate(zip(data.split((0.5, 0.5)), weights, strict=True)):
        frame = pd.DataFrame(part.X.astype(np.float64), columns=list("abcd"))
        frame = frame.assign(qid=part.qid, label=part.y, w=w)
        frame.to_parquet(folder / f"{i}.parquet", index=False)
    return rw.read_parts(folder, ignore=["w"], keep=["w"])


def test_all_weights_of_a_part_may_be_zero(tmp_path: Path) -> None:
    parts = weighted(tmp_path / "some", [0, 2])
    fitted = rw.LinearRanker().fit_parts(parts, sample_weight="w")
    queries = rw.LinearRanker().fit_parts(parts, query_weight="w")
    whole = rw.read(tmp_path / "some", ignore=["w"], keep=["w"])
    w = whole.kept["w"].astype(float)
    check_near(rw.LinearRanker().fit(whole.X, whole.y, whole.qid, sample_weight=w), fitted)
    check_near(fitted, queries)
    trees = rw.BoostedRanker(n_estimators=2, min_child_samples=2)
    assert trees.fit_parts(parts, sample_weight="w").n_iter_ == 2


@pytest.mark.parametrize("model", [rw.LinearRanker(), rw.BoostedRanker(n_estimators=2)])
def test_wrong_weights_name_their_part(tmp_path: Path, model: Any) -> None:
    wrong = {
        -1: "sample_weight must not be negative, but row 0 is -1",
        "x": "sample_weight must be numbers, but row 0 of the column 'w' is 'x'",
        None: "sample_weight must be numbers, but row 0 of the column 'w' is missing",
    }
    for i, (weight, message) in enumerate(wrong.items()):
        parts = weighted(tmp_path / str(i), ["1", str(weight) if weight else None])
        with pytest.raises(DataError, match=rf"1\.parquet: {message}"):
            model.fit_parts(parts, sample_weight="w")
    parts = weighted(tmp_path / "none", [0, 0])
    with pytest.raises(ValueError, match="sample_weight must not be zero everywhere"):
        model.fit_parts(parts, sample_weight="w")
    with pytest.raises(TypeError, match="the name of a column from parts, but is a ndarray"):
        model.fit_parts(parts, sample_weight=np.ones(3))


def test_categories_and_missing_values(tmp_path: Path) -> None:
    """The third part has no level y, and nothing is missing in the first."""
    data = rw.data.make_mslr_like(n_queries=60, n_features=3, mean_docs=6)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(data.X.astype(np.float64), columns=list("abc"))
    frame["qid"], frame["label"] = data.qid, data.y
    frame["kind"] = rng.choice(["x", "y", "z"], len(frame))
    third = np.digitize(pd.factorize(frame["qid"])[0], [20, 40])
    frame.loc[(third > 0) & (rng.random(len(frame)) < 0.2), "b"] = np.nan
    frame.loc[(third == 2) & (frame["kind"] == "y"), "kind"] = "x"
    frame.to_parquet(tmp_path / "all.parquet", index=False)
    for i in range(3):
        frame[third == i].to_parquet(tmp_path / f"{i}.parquet", index=False)
    options: Any = {"categorical": ["kind"], "allow_nan": True}
    memory = rw.read(tmp_path / "all.parquet", **options)
    one = rw.read_parts(tmp_path / "all.parquet", **options)
    parts = rw.read_parts([tmp_path / f"{i}.parquet" for i in range(3)], **options)
    fitted = rw.LinearRanker(missing="median", standardize=True).fit_dataset(memory)
    near = rw.LinearRanker(missing="median", standardize=True).fit_parts(parts)
    check_same(fitted, rw.LinearRanker(missing="median", standardize=True).fit_parts(one))
    check_near(fitted, near)
    assert near.feature_names_in_.tolist() == ["a", "b", "c", "kind=x", "kind=y", "kind=z"]
    np.testing.assert_array_equal(near.fill_, fitted.fill_)
    with pytest.raises(DataError, match=r"1\.parquet: X must have no missing values"):
        rw.LinearRanker().fit_parts(parts)


def test_what_cannot_be_learned_from_parts_is_refused(three: LocalParts, folder: Path) -> None:
    with pytest.raises(ValueError, match="pooled=True makes one query of all documents"):
        rw.DominationRank(pooled=True).fit_parts(three)
    with pytest.raises(TypeError, match="coordinate_descent needs all data in one share"):
        rw.LinearRanker("domination", solver="coordinate_descent").fit_parts(three)
    with pytest.raises(TypeError, match="feature_induction needs all data in one share"):
        rw.DominationRank("l1", n_induced=2).fit_parts(three)
    with pytest.raises(TypeError, match=r"must be data in parts, but is a str.*read_parts"):
        rw.LinearRanker().fit_parts(str(folder))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="learns from data in memory only"):
        rw.SLAMPerceptron().fit_parts(three)
    assert rw.LinearRanker().takes_parts()
    assert not rw.SLAMPerceptron().takes_parts()


def test_a_fit_that_fails_leaves_the_model_as_it_was(memory: rw.Dataset, three: LocalParts) -> None:
    ranker = rw.LinearRanker().fit_dataset(memory)
    before = dict(vars(ranker))

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranker.fit_parts(three, callback=stop)
    assert vars(ranker) == before


def test_the_progress_is_told(three: LocalParts) -> None:
    told: list[Any] = []
    ranker = rw.LinearRanker().fit_parts(three, callback=told.append)
    assert [one.iteration for one in told] == list(range(1, ranker.n_iter_ + 1))


def test_a_model_that_ranks_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text("0 qid:1 1:1\n0 qid:1 1:2\n")
    (tmp_path / "1.txt").write_text("0 qid:2 1:1\n0 qid:2 1:2\n")
    parts = rw.read_parts(tmp_path)
    with pytest.warns(DataWarning, match="ranks nothing: no query has documents with different"):
        rw.LinearRanker().fit_parts(parts)


def test_moments_of_parts_are_those_of_all_rows() -> None:
    X = np.random.default_rng(3).normal(3, 2, (5000, 4))
    whole, alone = measured(X), Moments(4).joined(measured(X))
    np.testing.assert_array_equal(alone.deviations(), whole.deviations())
    joined = measured(X[:1700]).joined(measured(X[1700:]))
    np.testing.assert_allclose(joined.deviations(), X.std(axis=0), rtol=1e-13)
    assert joined.n_rows == 5000


@pytest.mark.parametrize("n_layers", [2, 3, 4, 7])
def test_layers_are_cut_at_the_quantiles_of_numpy(n_layers: int) -> None:
    rng = np.random.default_rng(n_layers)
    for y in (
        rng.integers(-1, 5, 200).astype(np.float64),
        rng.random(101) * 3,
        np.array([0.0, 2.0]),
        np.array([3.0, 3.0, 0.0]),
    ):
        positive = y[y > 0]
        shares = np.arange(1, n_layers - 1) / (n_layers - 1)
        expected = np.unique(np.append(positive.min(), np.quantile(positive, shares)))
        assert layer_cuts(y, n_layers) == tuple(expected.tolist())


# ---- evaluation ----


def test_parts_are_measured_as_data_in_memory(
    memory: rw.Dataset, three: LocalParts, folder: Path
) -> None:
    model = rw.LinearRanker().fit_dataset(memory)
    metrics = ["ndcg@10", "map", "err"]
    found: Any = [rw.evaluate(model, data, metrics) for data in (memory, three)]
    whole, parts = found
    for name in metrics:
        a, b = whole.results[name], parts.results[name]
        assert (a.mean, a.low, a.high) == (b.mean, b.low, b.high)
        np.testing.assert_array_equal(a.per_query, b.per_query)
    np.testing.assert_array_equal(whole.query_ids, parts.query_ids)


def test_scores_of_parts_are_those_of_their_rows(memory: rw.Dataset, three: LocalParts) -> None:
    model = rw.LinearRanker().fit_dataset(memory)
    scores = np.concatenate(three.map(model.predict_dataset))
    np.testing.assert_array_equal(scores, model.predict_dataset(memory))


def test_segments_and_several_models_are_measured_on_parts(
    memory: rw.Dataset, three: LocalParts
) -> None:
    models = {
        "one": rw.LinearRanker().fit_dataset(memory),
        "two": rw.LinearRanker("listnet", alpha=1.0).fit_dataset(memory),
    }
    whole, parts = (rw.evaluate(models, data, segments=["list-length"]) for data in (memory, three))
    assert [s.means for s in whole.standings] == [s.means for s in parts.standings]
    assert [s.to_dict() for s in whole.segments] == [s.to_dict() for s in parts.segments]
    assert whole.pairs == parts.pairs
    with pytest.raises(TypeError, match="measured by models, but this is none"):
        rw.evaluate(memory.y, three)


# ---- streams ----


@pytest.mark.parametrize(
    "learner",
    [
        rw.SLAMPerceptron(n_epochs=2, shuffle=False),
        rw.OnlineRanker("xendcg", n_epochs=2, shuffle=False),
        rw.PRank(shuffle=False),
        rw.PredtronRanker(n_epochs=2, shuffle=False),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_online_learners_go_over_parts_query_by_query(
    memory: rw.Dataset, three: LocalParts, folder: Path, learner: Any
) -> None:
    from sklearn.base import clone

    whole = rw.fit_stream(clone(learner), folder / "all.txt")
    parts = rw.fit_stream(clone(learner), three)
    np.testing.assert_array_equal(parts.predict(memory.X), whole.predict(memory.X))
    assert parts.n_rounds_ == whole.n_rounds_


def test_a_run_over_parts_is_resumed(three: LocalParts, folder: Path, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    rounds = []

    def stop(progress: Any) -> None:
        rounds.append(progress.n_docs)
        if len(rounds) > 4:
            raise StopError

    options: Any = {"out": tmp_path / "model.rw", "checkpoint_every": 20}
    with pytest.raises(StopError):
        rw.fit_stream(rw.SLAMPerceptron(n_epochs=3), three, callback=stop, **options)
    assert (tmp_path / "model.rw.checkpoint").exists()
    other = rw.read_parts(sorted((folder / "parts").iterdir())[:2])
    with pytest.raises(DataError, match="was made from other data than LocalParts"):
        rw.fit_stream(rw.SLAMPerceptron(n_epochs=3), other, resume=True, **options)
    resumed = rw.fit_stream(rw.SLAMPerceptron(n_epochs=3), three, resume=True, **options)
    whole = rw.fit_stream(rw.SLAMPerceptron(n_epochs=3), three)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert not (tmp_path / "model.rw.checkpoint").exists()


def test_tables_in_parts_are_a_stream_with_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(60), 4), "label": rng.integers(0, 3, 240)})
    frame["a"], frame["b"] = rng.random(240) + frame["label"], rng.random(240)
    frame["kind"] = rng.choice(["x", "y"], 240)
    frame.loc[::7, "b"] = np.nan
    frame.to_parquet(tmp_path / "all.parquet", index=False)
    rw.data.partition(tmp_path / "all.parquet", tmp_path / "parts", 3)
    parts = rw.read_parts(tmp_path / "parts", categorical=["kind"], allow_nan=True)
    fitted = rw.fit_stream(rw.SLAMPerceptron(n_epochs=2, missing="median"), parts)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "kind=x", "kind=y"]
    assert fitted.fill_[1] == pytest.approx(frame["b"].median())


def test_columns_to_measure_by_are_kept_in_parts(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(60), 4), "label": rng.integers(0, 3, 240)})
    frame["a"] = rng.random(240) + frame["label"]
    frame["land"] = np.where(frame["qid"] % 3 == 0, "de", "us")
    frame["topic"] = rng.choice(["x", "y", "x y"], 240)
    frame.to_parquet(tmp_path / "all.parquet", index=False)
    rw.data.partition(tmp_path / "all.parquet", tmp_path / "parts", 3)
    options: Any = {"keep": ["land", "topic"], "ignore": ["land", "topic"]}
    memory = rw.read(tmp_path / "parts", **options)
    parts = rw.read_parts(tmp_path / "parts", **options)
    model = rw.LinearRanker().fit_parts(parts)
    metrics: Any = ["ndcg@3", rw.metrics.AlphaNDCG(subtopics="topic")]
    whole: Any = rw.evaluate(model, memory, metrics, segments=["land"])
    found: Any = rw.evaluate(model, parts, metrics, segments=["land"])
    assert dict(whole) == dict(found)
    assert [s.to_dict() for s in whole.segments] == [s.to_dict() for s in found.segments]
