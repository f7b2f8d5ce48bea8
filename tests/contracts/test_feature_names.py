"""Every model finds its features by their names, whoever hands the documents in."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import rankwright as rw
from rankwright.comparison import Entry, compare
from rankwright.estimator import as_model
from rankwright.evaluation import explain, permutation_importance
from rankwright.exceptions import DataError, DataWarning
from rankwright.models import MODELS, make_model

NAMES = ["title", "body", "age", "clicks"]
LABELS = {"predtron-classifier", "predtron-multilabel", "predtron-ordinal", "prank"}
LABELS |= {"widrow-hoff", "multiclass-perceptron"}  # these predict labels
MATRIX = {"predtron-label-ranker"}  # a data set has one label for each row, not many
SMALL: dict[str, dict[str, Any]] = {
    "boosted": {"n_estimators": 3, "min_child_samples": 1},
    "ensemble": {
        "members": rw.BoostedRanker(min_child_samples=1),
        "n_models": 2,
        "n_estimators": 3,
    },
}
every_model = pytest.mark.parametrize("name", [name for name in MODELS if name not in MATRIX])


def make_data(names: list[str] | None = NAMES) -> rw.Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * [1.0, 5.0, 0.2, 2.0]
    y = (X @ [1.0, 0.1, 0.0, -0.5] + 0.3 * rng.normal(size=80) > 0).astype(float)
    return rw.Dataset(X, y, np.repeat(np.arange(8), 10), feature_names=names)


def fitted(name: str, names: list[str] | None = NAMES) -> Any:
    return make_model(name, **SMALL.get(name, {})).fit_dataset(make_data(names))


def moved(data: rw.Dataset, order: list[int], extra: str | None = None) -> rw.Dataset:
    """Return the same documents with other columns."""
    assert data.feature_names is not None
    X, names = data.X[:, order], [data.feature_names[j] for j in order]
    if extra is not None:
        X, names = np.column_stack([np.arange(len(X)), X]), [extra, *names]
    return rw.Dataset(X, data.y, data.qid, feature_names=names)


@pytest.fixture
def no_warning() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# ---- data sets and frames ----


@every_model
@pytest.mark.usefixtures("no_warning")
def test_columns_of_a_data_set_in_another_order(name: str) -> None:
    model, data = fitted(name), make_data()
    expected = model.predict(data.X)
    other = moved(data, [3, 1, 0, 2])
    assert np.array_equal(model.predict_dataset(other), expected)
    assert np.array_equal(model.align(other).X, data.X)
    assert model.align(other).feature_names == NAMES
    if name not in LABELS:
        assert rw.evaluate(model, other)["ndcg@10"] == rw.evaluate(model, data)["ndcg@10"]


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@every_model
@pytest.mark.parametrize("kind", FRAMES)
def test_columns_of_a_frame_in_another_order(name: str, kind: str) -> None:
    model, data = fitted(name), make_data()
    columns = {n: data.X[:, NAMES.index(n)] for n in reversed(NAMES)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(FRAMES[kind](columns)), model.predict(data.X))
    columns = {"text": np.array(["x"] * 80), **columns}
    with pytest.warns(DataWarning, match=r"^X: 'text' is not looked at: this \w+ has no such f"):
        assert np.array_equal(model.predict(FRAMES[kind](columns)), model.predict(data.X))
    del columns["age"], columns["body"]
    message = "X: there must be all 4 features of this \\w+, but 'body', 'age' are missing."
    with pytest.raises(rw.DataError, match=f"^{message}$"):
        model.predict(FRAMES[kind](columns))


@every_model
@pytest.mark.usefixtures("no_warning")
def test_documents_without_labels(name: str) -> None:
    model, data = fitted(name), make_data()
    columns = {n: data.X[:, NAMES.index(n)] for n in reversed(NAMES)}
    new = rw.from_frame(pd.DataFrame({"qid": data.qid, **columns}), label=None)
    assert np.array_equal(model.predict_dataset(new), model.predict(data.X))


@every_model
def test_a_missing_feature_is_named(name: str) -> None:
    data = moved(make_data(), [0, 1, 3])
    message = rf"there must be all 4 features of this {type(fitted(name)).__name__}, but 'age' is"
    with pytest.raises(rw.DataError, match=f"^{message} missing"):
        rw.evaluate(fitted(name), data)


@every_model
@pytest.mark.parametrize("sparse", [False, True])
def test_without_names_features_are_known_by_their_numbers(name: str, sparse: bool) -> None:
    model, data = fitted(name, None), make_data(None)
    assert model.feature_names() == ["feature 1", "feature 2", "feature 3", "feature 4"]
    numbered = moved(make_data(["f1", "f2", "f3", "f4"]), [2, 0, 3, 1])
    assert np.array_equal(model.predict_dataset(numbered), model.predict(data.X))
    X = sp.csr_array(data.X) if sparse else data.X
    short = rw.Dataset(X[:, :3], data.y, data.qid)
    with pytest.raises(rw.DataError, match=r"there must be the 4 features of this .*, but there a"):
        model.predict_dataset(short)
    short.features = replace(short.features, open_ended=True)  # as a LETOR file is
    zeroed = data.X.copy()
    zeroed[:, 3] = 0
    with pytest.warns(DataWarning, match=r"^the data: 3 of the 4 features of this \w+; the others"):
        found = model.predict_dataset(short)
    expected = model.predict(sp.csr_array(zeroed) if sparse else zeroed)
    assert np.array_equal(found, expected)


def test_numbers_are_numbers_whoever_has_them() -> None:
    """Columns called f3, f1, ... are features 3, 1, ... of an array too, without a warning."""
    names = ["f3", "f1", "f4", "f2"]
    model, data = fitted("linear", names), make_data(names)
    plain = rw.Dataset(data.X[:, [1, 3, 0, 2]], data.y, data.qid)  # features 1 to 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict_dataset(plain), model.predict(data.X))
    far = fitted("linear", ["f5", "f6", "f7", "f8"])
    with pytest.raises(rw.DataError, match="'f5', 'f6', 'f7', 'f8' are missing"):
        far.predict_dataset(plain)


@every_model
def test_names_on_one_side_only(name: str) -> None:
    for known, given in ((NAMES, None), (None, NAMES)):
        model, data = fitted(name, known), make_data(given)
        with pytest.warns(
            DataWarning, match=r"columns are taken by position, since only .*"
        ) as told:
            found = model.predict_dataset(data)
        assert len(told) == 1
        assert np.array_equal(found, model.predict(data.X))
        with pytest.raises(rw.DataError, match=r"there must be the 4 features of this \w+, but th"):
            model.predict_dataset(rw.Dataset(data.X[:, :3], data.y, data.qid, given and given[:3]))


@every_model
@pytest.mark.usefixtures("no_warning")
def test_an_array_is_taken_as_it_is(name: str) -> None:
    data = make_data()
    frame = pd.DataFrame(data.X, columns=NAMES)
    model = make_model(name, **SMALL.get(name, {})).fit(frame, data.y, data.qid)
    assert np.array_equal(model.predict(data.X), model.predict(frame))


@every_model
def test_what_comes_later_is_aligned_too(name: str) -> None:
    model = make_model(name, **SMALL.get(name, {}))
    if not hasattr(model, "partial_fit"):
        return
    data = make_data()
    frame = pd.DataFrame(data.X, columns=NAMES)
    more = {} if name in ("pamir", "online", "slam-perceptron", "predtron-ranker") else {
        "classes": [0.0, 1.0]
    }  # fmt: skip
    if name.startswith("predtron"):
        model.set_params(eta=0.1)
    model.partial_fit(frame, data.y, data.qid, **more)
    model.partial_fit(frame[NAMES[::-1]], data.y, data.qid)
    other = make_model(name, **model.get_params())
    other.partial_fit(data.X, data.y, data.qid, **more).partial_fit(data.X, data.y, data.qid)
    assert np.array_equal(model.predict(data.X), other.predict(data.X))


# ---- whoever asks ----


@pytest.mark.usefixtures("no_warning")
def test_explanations_and_importance() -> None:
    model, data = fitted("linear"), make_data()
    other = moved(data, [3, 1, 0, 2])
    own, found = explain(model, data.X[:5]), explain(model, other.X[:5], other.feature_names)
    assert found.feature_names == own.feature_names == NAMES
    assert np.array_equal(found.contributions, own.contributions)
    assert np.array_equal(found.features, own.features)
    frame = pd.DataFrame(other.X[:5], columns=other.feature_names)
    assert np.array_equal(explain(model, frame).contributions, own.contributions)
    drops = permutation_importance(model, other)
    assert drops.feature_names == NAMES
    assert np.array_equal(drops.drops, permutation_importance(model, data).drops)


@pytest.mark.usefixtures("no_warning")
def test_validation_queries() -> None:
    data = make_data()
    other = moved(data, [3, 1, 0, 2])
    trees = rw.BoostedRanker(n_estimators=3, min_child_samples=1)
    curves = [
        trees.fit_dataset(data, valid=valid).evals_result_["valid"]["ndcg@10"]
        for valid in (data, other)
    ]
    assert curves[0] == curves[1]
    ranker = rw.LinearRanker().fit_dataset(data)
    frame = pd.DataFrame(data.X, columns=NAMES)
    paths = [
        [p.quality for p in ranker.path(frame, data.y, data.qid, n_alphas=3, valid=valid)]
        for valid in (data, other)
    ]
    assert paths[0] == paths[1]


def test_models_of_a_comparison_know_their_features(tmp_path: Path) -> None:
    data = make_data()
    train, test = data.split((0.6, 0.4))
    entries: list[Any] = [
        "xendcg-linear",
        "pamir",
        Entry("trees", make_model("boosted", n_estimators=3)),
    ]
    for n_jobs in (1, 2):
        result = compare(train, entries, test=moved(test, [3, 2, 1, 0]), n_trials=1, n_jobs=n_jobs)
        straight = compare(train, entries, test=test, n_trials=1, n_jobs=1)
        assert result.metrics_csv() == straight.metrics_csv()
        assert all(result.model(n).feature_names() == NAMES for n in ("xendcg-linear", "pamir"))
        assert result.model("trees").feature_names() == NAMES


def test_estimators_of_others() -> None:
    data = make_data()
    frame = pd.DataFrame(data.X, columns=NAMES)
    ridge = Ridge().fit(frame, data.y)
    other = moved(data, [3, 1, 0, 2])
    assert np.array_equal(as_model(ridge).align(other).X, data.X)
    with pytest.raises(rw.DataError, match="'age' is missing"):
        rw.evaluate(ridge, moved(data, [0, 1, 3]))


def test_names_of_a_file_that_cannot_be(tmp_path: Path) -> None:
    model = fitted("linear")
    model.feature_names_in_ = np.array(["a"], dtype=object)
    with pytest.raises(rw.DataError, match=re.escape("feature_names_in_ must be 4 texts")):
        rw.save(model, tmp_path / "m.rw")


def test_names_in_files_of_version_0_1_0(tmp_path: Path) -> None:
    model = fitted("linear")
    del model.feature_names_in_
    model.feature_names_ = NAMES  # as it was called then
    rw.save(model, tmp_path / "m.rw")
    again = rw.load(tmp_path / "m.rw")
    assert again.feature_names() == NAMES
    assert "feature_names_" not in vars(again)


def test_a_column_with_an_equals_sign_is_no_level() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "a=b": [3.0, 1.0, 0.0]})
    model = rw.LinearRanker().fit(frame, [0, 1, 2])
    with pytest.raises(DataError, match="but 'a=b' is missing"):
        model.predict(frame[["a"]])


def test_numbers_in_names_that_begin_at_0() -> None:
    frame = pd.DataFrame({"f0": [3.0, 1.0, 2.0], "f1": [1.0, 2.0, 3.0], "f2": [0.0, 1.0, 0.0]})
    model = rw.LinearRanker().fit(frame[["f1", "f2"]], [0, 1, 2])
    expected = model.predict(frame[["f1", "f2"]].to_numpy())
    with pytest.warns(DataWarning, match="'f0' is not looked at"):
        np.testing.assert_array_equal(model.predict(frame), expected)
    with pytest.raises(DataError, match="but 'f2' is missing"):
        model.predict(frame[["f0", "f1"]])
