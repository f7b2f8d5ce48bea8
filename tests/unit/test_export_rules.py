"""The form between models and engines: of every model that has one, and of pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import rankwright as rw
from rankwright.baselines import BestFeature
from rankwright.exports.folding import folded
from rankwright.exports.reference import Reference
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Labels, Rules, rules_of
from rankwright.exports.sample import SampleRows
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.target import Gap, Options, Verdicts
from tests.contracts.exported_models import FILLED, LABELS, QID, ROWS
from tests.contracts.test_export_bits import ranker as ranker_of
from tests.reference.forest import NAN, Split

EXPORTABLE: dict[str, Any] = {
    "BoostedRanker": lambda: rw.BoostedRanker(n_estimators=5, n_jobs=1).fit(FILLED, LABELS, QID),
    "BoostedRanker on a base": lambda: rw.BoostedRanker(
        n_estimators=5, n_jobs=1, base=rw.LinearRanker()
    ).fit(FILLED, LABELS, QID),
    "EnsembleRanker": lambda: rw.EnsembleRanker(
        [rw.LinearRanker(), rw.BoostedRanker(n_estimators=3)], n_models=2, n_jobs=1
    ).fit(FILLED, LABELS, QID),
    "LinearRanker": lambda: rw.LinearRanker().fit(FILLED, LABELS, QID),
    "DominationRank": lambda: rw.DominationRank().fit(FILLED, LABELS, QID),
    "SLAMPerceptron": lambda: rw.SLAMPerceptron().fit(FILLED, LABELS, QID),
    "OnlineRanker": lambda: rw.OnlineRanker().fit(FILLED, LABELS, QID),
    "PAMIR": lambda: rw.PAMIR().fit(FILLED, LABELS, QID),
    "PRank": lambda: rw.PRank().fit(FILLED, LABELS),
    "WidrowHoff": lambda: rw.WidrowHoff().fit(FILLED, LABELS),
    "PredtronOrdinal": lambda: rw.PredtronOrdinal().fit(FILLED, LABELS),
    "PredtronOrdinal of two": lambda: rw.PredtronOrdinal().fit(FILLED, LABELS > 1),
    "PredtronRanker": lambda: rw.PredtronRanker().fit(FILLED, LABELS, QID),
    "BestFeature": lambda: BestFeature().fit(FILLED, LABELS, QID),
}


def by_rules(rules: Rules, X: Any) -> Any:
    """Score rows by the form in between, in doubles, one row and one node at a time."""
    found: list[Any] = []
    for x in X.astype(np.float64):
        score: Any = 0.0
        if rules.trees is not None:
            trees, total = rules.trees, 0.0
            for k in range(trees.n_trees):
                forest, node = trees.forest, 0 if trees.nodes(k) else ~0
                while node >= 0:
                    i = int(forest.node_begin[k]) + node
                    value = x[forest.feature[i]]
                    left = (
                        trees.nan_left[i] if np.isnan(value) else value <= trees.cuts["float64"][i]
                    )
                    node = int((forest.left if left else forest.right)[i])
                total += trees.leaf[int(forest.leaf_begin[k]) + ~node]
            score = np.array([total])
        if rules.linear is not None:
            x = x if rules.linear.fill is None else np.where(np.isnan(x), rules.linear.fill, x)
            score = score + (rules.linear.weights @ x + rules.linear.bias)
        found.append(score)
    return np.array(found)


@pytest.mark.parametrize("name", EXPORTABLE)
def test_the_form_in_between_is_the_model(name: str) -> None:
    model = EXPORTABLE[name]()
    rules = rules_of(model)
    X = FILLED[:200]
    scores = by_rules(rules, X)
    reference = Reference(model, rules)(X)
    np.testing.assert_allclose(scores, np.asarray(reference.scores).reshape(scores.shape), 1e-10)
    predicted = model.predict(X)
    if rules.labels is None:
        np.testing.assert_allclose(scores[:, 0], predicted, rtol=1e-10, atol=1e-12)
    else:
        one = scores[:, 0] if rules.labels.thresholds is not None else scores
        labels = np.array(rules.labels.classes)[rules.labels.of(one)]
        assert (labels == predicted).mean() > 0.99  # a score may round to the other side
        np.testing.assert_array_equal(np.array(rules.labels.classes)[reference.labels], predicted)


def test_ranks_that_are_rounded_turn_where_the_sum_does() -> None:
    model = rw.WidrowHoff(fit_intercept=False).fit(FILLED, LABELS)
    rules = rules_of(model)
    assert rules.labels is not None
    for b, rank in zip(np.asarray(rules.labels.thresholds), range(2, 5), strict=True):
        assert np.floor(b + 0.5) == rank
        assert np.floor(np.nextafter(b, -9.0) + 0.5) == rank - 1


def test_a_threshold_is_reached_by_a_score_that_is_it() -> None:
    labels = Labels(("bad", "fair", "good"), np.array([1.0, 2.0]))
    scores = np.array([np.nextafter(1.0, 0), 1.0, np.nextafter(2.0, 0), 2.0])
    assert labels.of(scores).tolist() == [0, 1, 1, 2]
    equal = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    assert Labels(labels.classes).of(equal).tolist() == [1, 0]  # of equal ones the first


def test_what_changes_for_rows_is_counted() -> None:
    data = rw.Dataset(np.zeros((6, 1)), np.zeros(6), [1, 1, 1, 1, 2, 2])
    sample = SampleRows(data.X, data.X, data.groups)
    ours = Verdicts(np.array([4.0, 3.0, 2.0, 1.0, 1.0, 0.0]), np.array([2, 2, 1, 1, 1, 0]))
    # Of the first query, two pairs swap and one becomes a tie; of the second, none.
    theirs = Verdicts(np.array([14.0, 12.0, 13.0, 13.0, 11.5, 10.0]), np.array([2, 1, 2, 1, 1, 0]))
    assert sample.facts(ours, theirs, 10.0, ["bad", "fair", "good"]) == {
        "rows": 6,
        "queries": 2,
        "largest_change": 2.0,
        "changed_rankings": 1,
        "swapped_pairs": 2,
        "changed_labels": 2,
        "label_changes": [["fair", "good", 1], ["good", "fair", 1]],
    }


def test_of_two_classes_the_second_begins_above_zero() -> None:
    model = rw.PredtronOrdinal(fit_intercept=False).fit(FILLED, LABELS > 1)
    rules, nothing = rules_of(model), np.zeros((1, FILLED.shape[1]))
    assert rules.labels is not None
    assert model.predict(nothing).tolist() == [False]
    assert rules.labels.of(np.array([-5e-324, 0.0, 5e-324])).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("model", "code"),
    [
        (lambda: rw.MulticlassPerceptron().fit(FILLED, LABELS), "model"),
        (lambda: rw.PredtronClassifier().fit(FILLED, LABELS), "model"),
        (lambda: rw.PRank(kernel="rbf").fit(FILLED[:200], LABELS[:200]), "kernel"),
        (
            lambda: rw.BoostedRanker(
                n_estimators=5, n_jobs=1, lightgbm_params={"zero_as_missing": True}
            ).fit(ROWS, LABELS, QID),
            "zero_as_missing",
        ),
    ],
)
def test_what_no_engine_can_is_refused(model: Any, code: str) -> None:
    with pytest.raises(Refusal, match="What to do") as refused:
        rules_of(model())
    assert refused.value.code == code


def test_a_model_that_is_not_fitted_or_not_ours() -> None:
    with pytest.raises(ValueError, match="must be fitted"):
        rules_of(rw.LinearRanker())
    with pytest.raises(TypeError, match="model must be one of"):
        rules_of("model.rw")


# ---- pipelines ----

SCALERS: dict[str, Any] = {
    "standard": StandardScaler,
    "minmax": lambda: MinMaxScaler((-1, 3), clip=True),
    "maxabs": MaxAbsScaler,
    "robust": RobustScaler,
    "quantile": lambda: QuantileTransformer(n_quantiles=50, random_state=0),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SCALERS)
def test_scalers_fold_into_thresholds_without_a_difference(name: str, dtype: Any) -> None:
    X = ROWS.astype(dtype)
    ranker = rw.BoostedRanker(n_estimators=20, n_jobs=1, num_leaves=15, random_state=0)
    scaler = SCALERS[name]()
    pipeline = make_pipeline(scaler, ranker)
    ranker.fit(scaler.fit_transform(X), LABELS, QID)
    alone = folded(pipeline, np.dtype(dtype).name)
    rng = np.random.default_rng(0)
    other = (X + rng.normal(size=X.shape) * rng.choice([0, 1e-7, 1])).astype(dtype)
    for rows in (X, other, np.zeros_like(X[:1]), np.full_like(X[:1], np.nan)):
        np.testing.assert_array_equal(alone.predict(rows), pipeline.predict(rows))


def test_an_imputer_folds_into_the_side_of_missing_values() -> None:
    imputer, ranker = SimpleImputer(strategy="median"), rw.BoostedRanker(n_estimators=20, n_jobs=1)
    ranker.fit(imputer.fit_transform(ROWS), LABELS, QID)
    pipeline = make_pipeline(imputer, ranker)
    np.testing.assert_array_equal(folded(pipeline, "float32").predict(ROWS), pipeline.predict(ROWS))


@pytest.mark.parametrize("name", ["standard", "maxabs", "robust", "minmax"])
@pytest.mark.parametrize("first", [True, False])
def test_scalers_and_imputers_fold_into_weights(name: str, first: bool) -> None:
    X = ROWS.astype(np.float64)
    scaler = MinMaxScaler((-1, 3)) if name == "minmax" else SCALERS[name]()
    imputer = SimpleImputer(strategy="median")
    steps = [imputer, scaler] if first else [scaler, imputer]
    for last in (rw.LinearRanker("listnet"), rw.PRank(), rw.WidrowHoff()):
        seen = steps[1].fit_transform(steps[0].fit_transform(X))
        more: dict[str, Any] = {"qid": QID} if isinstance(last, rw.LinearRanker) else {}
        last.fit(seen, LABELS, **more)
        pipeline = make_pipeline(*steps, last)
        alone = folded(pipeline, "float64")
        ours, theirs = alone.predict(X), pipeline.predict(X)
        if isinstance(last, rw.LinearRanker):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        else:
            assert (ours == theirs).mean() > 0.995


def test_scalers_of_scalers_fold_into_weights() -> None:
    X = FILLED.astype(np.float64)
    steps = StandardScaler(), MinMaxScaler((2, 5)), RobustScaler()
    seen = X
    for step in steps:
        seen = step.fit_transform(seen)
    last = rw.LinearRanker("listnet").fit(seen, LABELS, QID)
    pipeline = make_pipeline(*steps, last)
    found = folded(pipeline, "float64").predict(X)
    np.testing.assert_allclose(found, pipeline.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_split_below_all_that_a_scaler_gives_sends_nothing_left(dtype: Any) -> None:
    scaler = MinMaxScaler(clip=True).fit(np.array([[0.0] * 4, [1.0] * 4], dtype))
    model = ranker_of([Split(0, -0.5, NAN, True, 1.0, 2.0), Split(1, 1.5, NAN, False, 4.0, 8.0)])
    pipeline = make_pipeline(scaler, model)
    alone = folded(pipeline, np.dtype(dtype).name)
    most = np.finfo(np.float32).max  # of doubles, LightGBM has no threshold below the least
    rows = np.array([[x] * 4 for x in (-most, -1, 0, 1, most, np.nan)], dtype)
    assert pipeline.predict(rows).tolist() == [6.0] * 5 + [9.0]
    assert alone.predict(rows).tolist() == [6.0] * 5 + [9.0]


def test_names_are_those_before_the_scaler() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(FILLED, columns=list("abcdefgh"))
    scaler = StandardScaler().fit(frame)
    last = rw.LinearRanker("listnet").fit(scaler.transform(frame), LABELS, QID)
    assert rules_of(folded(make_pipeline(scaler, last), "float64")).names == tuple("abcdefgh")


def test_a_pipeline_is_exported_and_kept(tmp_path: Path) -> None:
    scaler, ranker = StandardScaler(), rw.BoostedRanker(n_estimators=10, n_jobs=1)
    ranker.fit(scaler.fit_transform(ROWS), LABELS, QID)
    pipeline = make_pipeline(scaler, ranker)
    certificate = rw.export(pipeline, "elasticsearch", tmp_path / "m.json", data=ROWS)
    assert certificate.exact
    grid = rw.load(tmp_path / "m.grid.rw")
    moved = grid.predict(ROWS) - certificate.shift - pipeline.predict(ROWS)
    assert np.abs(moved).max() <= certificate.bound


def test_what_does_not_fold_is_refused() -> None:
    pca, ranker = PCA(), rw.LinearRanker("listnet")
    ranker.fit(pca.fit_transform(FILLED), LABELS, QID)
    with pytest.raises(Refusal, match="PCA cannot be folded into weights"):
        folded(make_pipeline(pca, ranker), "float32")
    for step in (
        MinMaxScaler(clip=True),  # a bend is not affine
        SimpleImputer(missing_values=0.0),
        SimpleImputer(add_indicator=True),
    ):
        ranker = rw.LinearRanker("listnet").fit(step.fit_transform(FILLED), LABELS, QID)
        with pytest.raises(Refusal, match=f"{type(step).__name__} cannot be folded into weights"):
            folded(make_pipeline(step, ranker), "float32")
    pipeline = make_pipeline(StandardScaler(), rw.LinearRanker())
    with pytest.raises(ValueError, match="must be fitted"):
        folded(pipeline, "float32")


# ---- names ----


def test_features_that_the_store_does_not_have_are_refused(tmp_path: Path) -> None:
    model = EXPORTABLE["LinearRanker"]()
    model.coef_[5] = 0.0  # nobody asks for it
    known = [f"f{j + 1}" for j in range(8) if j != 5]
    path = tmp_path / "m.json"
    with pytest.raises(Refusal, match="does not have: 'f1', 'f2'") as refused:
        rw.export(model, "solr", path, known=known[2:])
    assert refused.value.code == "names"
    assert list(tmp_path.iterdir()) == []
    assert rw.export(model, "solr", path, known=known).options["known"] == sorted(known)
    assert rw.export(model, "solr", path, overwrite=True).options["known"] == []


def test_all_features_are_present(tmp_path: Path) -> None:
    model = rw.LinearRanker("listnet", missing="median").fit(ROWS, LABELS, QID)
    with pytest.raises(Refusal, match="missing"):
        rw.export(model, "elasticsearch", tmp_path / "m.json")
    names = [f"n{j}" for j in range(8)]
    certificate = rw.export(
        model, "elasticsearch", tmp_path / "m.json", data=FILLED, names=names, present="all"
    )
    assert certificate.options["present"] == names
    with pytest.raises(rw.DataError, match="present says that every document has n3"):
        rw.export(model, "solr", tmp_path / "s.json", data=ROWS, names=names, present=["all"])


def test_labels_that_change_are_told(tmp_path: Path) -> None:
    model = rw.PRank().fit(FILLED, LABELS)
    scores = FILLED.astype(np.float64) @ model.coef_
    # A threshold between a score and its float32, which is below it: the label changes.
    rounded = np.float32(scores).astype(np.float64)
    row = int(np.argmax((scores - rounded) / np.abs(scores)))
    model.thresholds_ = np.array([scores[row], 1e9, 2e9])
    certificate = rw.export(model, "elasticsearch", tmp_path / "m.json", data=FILLED)
    assert certificate.data["changed_labels"] >= 1
    changes = certificate.data["label_changes"]
    assert sum(n for *_, n in changes) == certificate.data["changed_labels"]
    assert "labels of the data change (1 to 0: " in certificate.text()


def test_the_grid_model_of_a_linear_model_is_not_exported_again(tmp_path: Path) -> None:
    rw.export(EXPORTABLE["LinearRanker"](), "solr", tmp_path / "m.json")
    with pytest.raises(Refusal, match="adds as an engine does") as refused:
        rw.export(rw.load(tmp_path / "m.grid.rw"), "solr", tmp_path / "again.json")
    assert refused.value.code == "grid"


def test_a_gap_has_its_upper_end_and_not_its_lower() -> None:
    X = np.array([[1.0], [1.5], [2.0], [2.5]])
    data = rw.Dataset(X, np.zeros(4))
    sample = SampleRows(data.X, data.X, data.groups)
    assert sample.in_gaps([Gap("a", 1.0, 2.0)], ("a",)) == {"a": 2}
    assert sample.in_gaps([Gap("a", 2.5, 9.0)], ("a",)) == {}


def test_of_rounded_leaves_the_engines_own_scores_are_told(tmp_path: Path) -> None:
    model = rw.BoostedRanker(n_estimators=30, n_jobs=1).fit(FILLED, LABELS, QID)
    path = tmp_path / "m.json"
    certificate = rw.export(model, "solr", path, data=FILLED, leaves="nearest", probes=100)
    judge = target_named("solr").interpreter(path.read_bytes(), rules_of(model), Options())
    apart = np.abs(np.asarray(judge(FILLED).scores) - model.predict(FILLED)).max()
    assert certificate.data["largest_change"] == apart
    grid = rw.load(tmp_path / "m.grid.rw")
    assert np.abs(grid.predict(FILLED) - model.predict(FILLED)).max() != apart
