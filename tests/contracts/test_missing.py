"""Missing values in every model: refused by name, or filled in as the training data say."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.models import MODELS, make_model

FILLERS = [
    name
    for name, (module, kind) in MODELS.items()
    if "missing" in getattr(import_module(module), kind)().get_params()
]
every_filler = pytest.mark.parametrize("name", FILLERS)
# Labels, not rankings: what they are fitted to has other shapes.
MATRICES = ("predtron-multilabel", "predtron-label-ranker")


def make_data(name: str = "") -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4)) * [1, 10, 0.1, 1] + [0, 50, 3, 0]
    y = np.digitize(X[:, 0], [-0.5, 0.5]).astype(float)
    qid = np.repeat([f"q{i}" for i in range(24)], 10)
    X[::5, 0] = np.nan
    X[7, 2] = np.nan
    return X, np.column_stack([y > 0, y > 1]).astype(int) if name in MATRICES else y, qid


def by_hand(X: Any, fill: Any) -> Any:
    return np.where(np.isnan(X), fill, X)


def test_all_but_trees_and_hashes_fill_in() -> None:
    assert set(MODELS) - set(FILLERS) == {"boosted", "ensemble", "random"}


@every_filler
@pytest.mark.parametrize("missing", ["median", "zero"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_filled_in_by_hand_is_the_same(name: str, missing: Any, form: Any, tmp_path: Path) -> None:
    X, y, qid = make_data(name)
    fill = np.nanmedian(X, axis=0) if missing == "median" else np.zeros(4)
    model = make_model(name, missing=missing).fit(form(X), y, qid)
    np.testing.assert_allclose(model.fill_, fill, rtol=1e-15)
    plain = make_model(name, missing="error").fit(form(by_hand(X, model.fill_)), y, qid)
    new = X[::-1].copy()
    new[3, 3] = np.nan  # nothing was missing there in fit
    np.testing.assert_array_equal(
        model.predict(form(new)), plain.predict(form(by_hand(new, model.fill_)))
    )
    rw.save(model, tmp_path / "m.rw")
    np.testing.assert_array_equal(
        rw.load(tmp_path / "m.rw").predict(form(new)), model.predict(form(new))
    )
    with pytest.raises(ValueError, match=r"X must have no missing values, but row 0, feature 1 is"):
        plain.predict(form(X))
    model.fill_ = np.ones(3)
    with pytest.raises(DataError, match="fill_ must be"):
        model.check_state()
    assert "fill_" not in vars(model.set_params(missing="error").fit(by_hand(X, fill), y, qid))


@every_filler
def test_what_is_missing_is_named(name: str) -> None:
    X, y, qid = make_data(name)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "price", "title", "length"])
    with pytest.raises(ValueError, match=r"but row 0, age is NaN\. Use missing='median' or 'zero'"):
        make_model(name, missing="error").fit(frame, y, qid)
    X[0, 0], X[2, 1] = 1.0, np.inf
    for form in (np.asarray, sp.csr_array):
        with pytest.raises(ValueError, match="X must be finite, but row 2, feature 2 is inf"):
            make_model(name, missing="median").fit(form(X), y, qid)
    with pytest.raises(ValueError, match="missing must be one of error, median, zero, but is 'm"):
        make_model(name, missing="mean").fit(X, y, qid)


@pytest.mark.parametrize("name", ["linear", "slam-perceptron", "best-feature"])
def test_whoever_looks_at_the_data_sees_them_filled(name: str) -> None:
    X, y, qid = make_data()
    data = rw.Dataset(X, y, qid, feature_names=list("abcd"), allow_nan=True)
    model = make_model(name, missing="median").fit_dataset(data)
    assert not np.isnan(model.align(data).X).any()
    assert rw.evaluate(model, data, ["ndcg@10"]).results["ndcg@10"].mean > 0.6
    shuffled = rw.Dataset(X[:, ::-1], y, qid, feature_names=list("dcba"), allow_nan=True)
    np.testing.assert_array_equal(model.predict_dataset(shuffled), model.predict_dataset(data))


def test_paths_measure_filled_queries() -> None:
    X, y, qid = make_data()
    data = rw.Dataset(X, y, qid, allow_nan=True)
    points = rw.LinearRanker(missing="median").path(X, y, qid, n_alphas=3, valid=data)
    assert all(np.isfinite([point.quality, point.valid_loss]).all() for point in points)


@pytest.mark.parametrize("missing", ["median", "zero"])
def test_a_stream_fills_in_as_the_whole_file(
    missing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwright.streaming.PIECE", 5)
    monkeypatch.setattr("rankwright.data.missing.ROWS", 40)
    X, y, qid = make_data()
    X[:, 3] = np.where(np.arange(240) % 6 == 1, X[:, 3], np.nan)  # none among the rows looked at
    path = tmp_path / "train.txt"
    rows = zip(y, qid, X, strict=True)
    path.write_text(
        "".join(
            f"{label:g} qid:{q} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x)) + "\n"
            for label, q, x in rows
        )
    )
    whole = rw.read(path, allow_nan=True)
    learner = rw.SLAMPerceptron(missing=missing, n_epochs=2)
    fitted = rw.fit_stream(learner, path)
    alone = rw.SLAMPerceptron(missing=missing, n_epochs=2, shuffle=False)
    alone.fit(whole.X, whole.y, whole.qid)
    np.testing.assert_array_equal(fitted.fill_, alone.fill_)
    np.testing.assert_array_equal(fitted.coef_, alone.coef_)
    with pytest.raises(DataError, match=r"train.txt, line 1, feature 1: must be finite"):
        rw.fit_stream(rw.SLAMPerceptron(), path)


def test_later_rows_are_filled_as_the_first() -> None:
    X, y, qid = make_data()
    learner = rw.SLAMPerceptron(missing="median").partial_fit(X[:120], y[:120], qid[:120])
    fill = learner.fill_.copy()
    np.testing.assert_array_equal(learner.partial_fit(9 * X[120:], y[120:], qid[120:]).fill_, fill)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_both_infinities_are_named(value: float) -> None:
    X, y, qid = make_data()
    X[2, 1] = value
    for form in (np.asarray, sp.csr_array):
        with pytest.raises(ValueError, match=f"X must be finite, but row 2, feature 2 is {value}"):
            make_model("linear", missing="median").fit(form(X), y, qid)


@pytest.mark.parametrize("missing", ["error", "median", "zero"])
def test_tags_tell_who_takes_missing_values(missing: Any) -> None:
    tags = rw.LinearRanker(missing=missing).__sklearn_tags__()
    assert tags.input_tags.allow_nan == (missing != "error")


def test_what_was_changed_after_fit_is_told() -> None:
    X, y, qid = make_data()
    full = by_hand(X, 1.0)
    model = rw.LinearRanker().fit(full, y, qid).set_params(missing="median")
    with pytest.raises(ValueError, match="missing was changed after fit: fit again"):
        model.predict(X)
    model = rw.LinearRanker(missing="median").fit(X, y, qid).set_params(missing="error")
    data = rw.Dataset(X, y, qid, allow_nan=True)
    for ask, given in ((model.predict, X), (model.predict_dataset, data)):
        with pytest.raises(ValueError, match="X must have no missing values"):
            ask(given)


def test_explanations_are_of_what_was_filled_in() -> None:
    X, y, qid = make_data()
    data = rw.Dataset(X, y, qid, feature_names=list("abcd"), allow_nan=True)
    model = rw.LinearRanker(missing="median").fit_dataset(data)
    for given in (data, data.X):
        found = rw.evaluation.explain(model, given)
        assert np.isfinite(found.contributions).all()
        np.testing.assert_allclose(found.contributions.sum(axis=1), model.predict(data.X))


def test_whole_numbers_lose_nothing() -> None:
    """2^24 + 1 is no number of float32."""
    bit = np.arange(40) % 2
    X = np.column_stack([2**24 + bit, bit * 0])
    for model in (rw.LinearRanker(standardize=True), rw.SLAMPerceptron()):
        assert model.fit(X, bit).score(X, bit) == 1
        assert model.fit(X.astype(float), bit).score(X, bit) == 1
