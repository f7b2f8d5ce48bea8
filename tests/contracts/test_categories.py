"""Columns of categories in every model: found again by name and level, whatever table comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.data.arrays import fingerprint, map_arrays, write_arrays
from rankwright.exceptions import DataError, DataWarning
from rankwright.models import make_model
from rankwright.trees import model_text

RANKERS = ["linear", "domination-rank", "slam-perceptron", "online", "pamir", "predtron-ranker"]
every_model = pytest.mark.parametrize(
    "name", [*RANKERS, "boosted", "ensemble", "best-feature", "random"]
)
SMALL: dict[str, Any] = {
    "boosted": {"n_estimators": 5, "min_child_samples": 2},
    "ensemble": {"members": rw.BoostedRanker(min_child_samples=2), "n_estimators": 5},
}


def table(n_queries: int = 30, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    qid = np.repeat([f"q{i}" for i in range(n_queries)], 8)
    country = rng.choice(["de", "fr", "us", "uk"], len(qid))
    good = (country == "de") + (country == "uk") * 0.5 + rng.normal(size=len(qid)) * 0.2
    price = np.where(rng.random(len(qid)) < 0.2, np.nan, rng.normal(size=len(qid)) * 100)
    brand = rng.integers(100, 104, len(qid))
    columns = {"qid": qid, "label": (good * 2).round().clip(0), "price": price, "brand": brand}
    return pd.DataFrame(columns | {"country": country})


def read(frame: pd.DataFrame) -> rw.Dataset:
    return rw.from_frame(frame, categorical=["country", "brand"], allow_nan=True)


def fitted(name: str) -> Any:
    return make_model(name, **SMALL.get(name, {})).fit_dataset(read(table()))


@every_model
def test_levels_are_found_in_any_table(name: str, tmp_path: Path) -> None:
    model, frame = fitted(name), table()
    rw.save(model, tmp_path / "m.rw")
    model = rw.load(tmp_path / "m.rw")
    scores = np.asarray(model.predict_dataset(read(frame)), dtype=float)
    if name not in ("random", "best-feature"):
        assert rw.evaluate(model, read(frame), ["ndcg@5"])["ndcg@5"] > 0.85
    # Other columns first, other rows first, some levels absent: codes are others, levels the same.
    part = frame[frame["country"] != "de"].sample(frac=1, random_state=0)
    found = model.predict_dataset(read(part[["country", "label", "price", "brand", "qid"]]))
    ds = read(part)
    by_row = dict(zip(frame.index, scores, strict=True))
    expected = [by_row[row] for row in part.index[ds.order]]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", [*RANKERS, "boosted", "ensemble"])
def test_a_frame_is_taken_as_it_is(name: str) -> None:
    model, frame = fitted(name), table()
    with pytest.warns(DataWarning, match="'label' is not looked at"):
        scores = model.predict(frame[["country", "price", "brand", "label"]])
    np.testing.assert_array_equal(scores, model.predict_dataset(read(frame)))


@every_model
def test_what_cannot_be_found_is_named(name: str) -> None:
    model, frame = fitted(name), table()
    with pytest.raises(DataError, match=r"but 'country.*missing"):
        model.predict_dataset(
            rw.from_frame(frame.drop(columns="country"), categorical=["brand"], allow_nan=True)
        )
    numbers = frame.assign(country=1.5)
    with pytest.raises(DataError, match=r"country"):
        model.predict_dataset(rw.from_frame(numbers, categorical=["brand"], allow_nan=True))


def test_trees_take_a_new_level_for_a_missing_one() -> None:
    model, frame = fitted("boosted"), table()
    unknown, none = (read(frame.assign(country=value)) for value in ("at", None))
    with pytest.warns(DataWarning, match="country: 'at' is not among the levels that this Boost"):
        scores = model.predict_dataset(unknown)
    np.testing.assert_array_equal(scores, model.predict_dataset(none))


def test_trees_split_by_sets_of_categories() -> None:
    model = fitted("boosted")
    assert model.categories_ == {
        "brand": ["100", "101", "102", "103"],
        "country": ["de", "fr", "uk", "us"],
    }
    assert "num_cat=1\n" in model.model_text_
    model_text.read_trees(model.model_text_, 3)
    for before, after, why in (
        ("cat_boundaries=0 1", "cat_boundaries=0 9", "words of 32 bits"),
        ("cat_boundaries=0 1", "cat_boundaries=1 1", "one behind the other"),
        ("cat_threshold=", "cat_threshold=-", "words of 32 bits|sizes"),
        ("num_cat=1", "num_cat=0", "must not have|unknown kind"),
        ("num_cat=1", "num_cat=7", "fewer sets|sizes|one behind"),
    ):
        text = model.model_text_.replace(before, after)
        assert text != model.model_text_
        with pytest.raises(DataError, match=f"is not a model of LightGBM: .*({why})"):
            model_text.read_trees(text, 3)
    for wrong in ({"country": ["de", "de"]}, {"other": ["a"]}, ["country"], {"country": "de"}):
        model.categories_ = wrong
        with pytest.raises(DataError, match="categories_ must be different texts"):
            model.check_state()


def test_only_the_most_frequent_levels_become_features() -> None:
    frame = pd.DataFrame({"label": [0, 1, 0, 1, 0], "c": ["a", "b", "b", "c", "c"]})
    ds = rw.from_frame(frame, qid=None, categorical=["c"])
    assert ds.one_hot(most=2).feature_names == ["c=b", "c=c"]
    np.testing.assert_array_equal(ds.one_hot(2).X, [[0, 0], [1, 0], [1, 0], [0, 1], [0, 1]])


def test_a_level_must_not_have_the_name_of_a_column() -> None:
    frame = table().rename(columns={"price": "country=de"})
    ds = rw.from_frame(frame, categorical=["country"], allow_nan=True)
    with pytest.raises(DataError, match="'country' would have the name of the column 'country=de'"):
        ds.one_hot()


def test_categories_go_wherever_a_data_set_goes(tmp_path: Path) -> None:
    ds = read(table())
    for other in (ds.select([0, 1]), ds.split()[0], ds.with_labels(ds.y), rw.data.augment(ds, 0.5)):
        assert other.features.categories == ds.features.categories
    write_arrays(ds, tmp_path, "a")
    assert map_arrays(tmp_path, "a").features == ds.features
    renamed = rw.from_frame(
        table().replace({"country": {"de": "at"}}), categorical=["country", "brand"], allow_nan=True
    )
    assert fingerprint(renamed) != fingerprint(ds)
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        rw.write(ds, tmp_path / name)
        again = rw.read(tmp_path / name, categorical=["country", "brand"], allow_nan=True)
        assert again.features.categories == ds.features.categories
        np.testing.assert_array_equal(again.X, ds.X)
    assert ds.describe().features == {"price": "real", "brand": "category", "country": "category"}
    assert list(ds.describe().missing) == ["price"]
    with pytest.raises(DataError, match="LETOR text has no categories, such as 'brand'"):
        rw.write_letor(ds, tmp_path / "a.txt")


def test_a_comparison_of_models_that_take_them_in_their_ways() -> None:
    train, test = read(table(60)).split((0.6, 0.4))
    found = rw.compare(train, ["xendcg-linear", "xendcg-trees", "best-feature"], test=test)
    assert not found.failures
    assert {row.name: row.means["ndcg@5"] > 0.8 for row in found.standings}["xendcg-linear"]


def test_an_array_of_codes_is_no_category() -> None:
    with pytest.raises(ValueError, match="X must hold numbers, but the column 'country' holds tex"):
        rw.LinearRanker().fit(table()[["price", "country"]], table()["label"])


def test_other_estimators_refuse(tmp_path: Path) -> None:
    from sklearn.linear_model import Ridge

    ds = read(table(60))
    found = rw.compare(ds, [rw.comparison.Entry("ridge", Ridge())])
    assert "takes no categories, such as 'brand'" in found.failures[0].reason


def test_levels_in_order_and_with_documents() -> None:
    frame = pd.DataFrame({"label": [0] * 6, "qid": [1] * 5 + [2], "c": [*"abbccc"]})
    ds = rw.from_frame(frame, categorical=["c"])
    assert ds.one_hot(most=2).feature_names == ["c=b", "c=c"]
    assert ds.select([1]).one_hot().feature_names == ["c=c"]


def test_a_category_where_the_model_has_a_number() -> None:
    frame = table().drop(columns="country")
    for name in ("linear", "boosted"):
        model = make_model(name, **SMALL.get(name, {})).fit_dataset(
            rw.from_frame(frame, allow_nan=True)
        )
        with pytest.raises(DataError, match="'brand' holds categories, but numbers in this"):
            model.predict_dataset(rw.from_frame(frame, categorical=["brand"], allow_nan=True))


def test_fit_forgets_categories() -> None:
    model = fitted("boosted")
    model.fit_dataset(rw.from_frame(table().drop(columns="country"), allow_nan=True))
    assert "categories_" not in vars(model)


def test_numbers_with_gaps_are_the_same_levels() -> None:
    model, frame = fitted("linear"), table()
    gaps = frame.assign(brand=frame["brand"].where(frame.index > 0))  # pandas makes 101.0 of 101
    scores = model.predict_dataset(read(gaps))
    np.testing.assert_array_equal(scores[1:], model.predict_dataset(read(frame))[1:])


@pytest.mark.parametrize(
    ("ends", "words", "chosen"),
    [
        ("0 1 1", "3", [0, 1]),
        ("0 1 2", "3 4 5", [0, 1]),
        ("0 1 2", "3 4294967296", [0, 1]),
        ("0 1 2", "3 4", [0, 2]),
        ("1 2 3", "3 4 5", [0, 1]),
    ],
)
def test_sets_of_categories_that_cannot_be(ends: str, words: str, chosen: list[int]) -> None:
    from rankwright.trees import model_text

    arrays = {"decision_type": np.array([1, 1]), "threshold": np.array(chosen, dtype=float)}
    arrays |= {"cat_boundaries": np.array(ends.split(), dtype=np.int64)}
    arrays |= {"cat_threshold": np.array(words.split(), dtype=np.int64)}
    with pytest.raises(DataError, match="model_text_ is not a model of LightGBM: tree 0 "):
        model_text._check_sets(arrays, 0, 2)


def test_categories_stand_behind_the_features() -> None:
    ds = rw.from_frame(table(), features=["price"], categorical=["country"], allow_nan=True)
    assert ds.feature_names == ["price", "country"]


def test_a_data_set_is_not_changed_by_a_model() -> None:
    model, frame = fitted("boosted"), table()
    ds = read(frame[frame["country"] != "de"])
    before = ds.X.copy()
    model.predict_dataset(ds)
    np.testing.assert_array_equal(ds.X, before)


def test_indicators_keep_the_precision() -> None:
    X = np.array([[1.0], [np.nan]], dtype=np.float32)
    ds = rw.Dataset(X, [0, 1], feature_names=["price"], allow_nan=True)
    assert ds.with_indicators().X.dtype == np.float32


def test_names_that_two_features_would_have_are_refused() -> None:
    frame = pd.DataFrame({"label": [0, 1, 0], "a": ["x", "b=c", "x"], "a=b": ["c", "d", "c"]})
    ds = rw.from_frame(frame, qid=None, categorical=["a", "a=b"])
    with pytest.raises(DataError, match="would have the name of the column 'a=b=c'"):
        ds.one_hot()
    X = np.array([[np.nan, 1.0], [2.0, 0.0]])
    ds = rw.Dataset(X, [0, 1], feature_names=["p", "p is missing"], allow_nan=True)
    with pytest.raises(DataError, match="there is a column 'p is missing' already"):
        ds.with_indicators()


@pytest.mark.parametrize("name", ["linear", "slam-perceptron"])
def test_a_new_level_is_told_by_linear_models_too(name: str) -> None:
    model, frame = fitted(name), table()
    with pytest.warns(DataWarning, match="country: 'at' is not among the levels that this"):
        model.predict_dataset(read(frame.assign(country="at")))


@pytest.mark.parametrize("kind", ["string", "object", "category"])
def test_missing_texts_of_pandas(kind: str) -> None:
    values = pd.Series(["a", pd.NA, "b", None], dtype=object).astype(kind)
    frame = pd.DataFrame({"label": [0, 1, 0, 1], "c": values})
    ds = rw.from_frame(frame, qid=None, categorical=["c"], allow_nan=True)
    np.testing.assert_array_equal(ds.X[:, 0], [0, np.nan, 1, np.nan])


def test_the_same_levels_in_every_format(tmp_path: Path) -> None:
    levels = {
        "zip": ["01", "1", "2", "01"],
        "flag": [True, False, True, None],
        "day": ["2020-01-01", "2021-01-01", "2020-01-01", "2022-01-01"],
        "text": ["a,b", "NA", "", 'say "a=b"'],
    }
    frame = pd.DataFrame({"qid": ["2020-01-01"] * 4, "label": [0, 1, 0, 1], **levels})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    found = [
        rw.read(tmp_path / f"a.{ending}", categorical=list(levels), allow_nan=True)
        for ending in ("csv", "parquet", "jsonl")
    ]
    assert found[0].features.categories == {
        "zip": ["01", "1", "2"],
        "flag": ["false", "true"],
        "day": ["2020-01-01", "2021-01-01", "2022-01-01"],
        "text": ["a,b", 'say "a=b"'],
    }
    for other in found[1:]:
        assert other.features == found[0].features
        np.testing.assert_array_equal(other.X, found[0].X)
        assert other.qid.tolist() == found[0].qid.tolist()
