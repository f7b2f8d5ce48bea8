"""Pipelines of scikit-learn: as files, and wherever the library takes a model."""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import (
    SelectFdr,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    f_regression,
    mutual_info_regression,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import rankwright as rw
from rankwright import DataError
from rankwright.transformers import KNOWN

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
N = 60
QID = np.repeat(np.arange(6), 10)
Y = RNG.integers(0, 3, N)
PLAIN = RNG.normal(size=(N, 4))
HOLES = np.where(RNG.random((N, 4)) < 0.1, np.nan, PLAIN)
EMPTY = np.c_[HOLES, np.full(N, np.nan)]
TEXTS = np.array(["de", "fr", "us"], dtype=object)[RNG.integers(0, 3, (N, 1))]
NO_TEXT = TEXTS.copy()
NO_TEXT[::7] = None
FRAME = pd.DataFrame(PLAIN, columns=["price", "stock", "country", "age"]).assign(
    country=TEXTS.ravel()
)
NUMBERS = FRAME[["price", "stock"]]
BY_NAME: list[Any] = [
    ("n", StandardScaler(), ["price", "stock"]),
    ("o", OneHotEncoder(sparse_output=False), ["country"]),
]
CASES: list[tuple[Any, Any]] = [
    (SimpleImputer(), HOLES),
    (SimpleImputer(add_indicator=True), HOLES),
    (SimpleImputer(keep_empty_features=True), EMPTY),
    (SimpleImputer(strategy="median"), EMPTY),
    (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), TEXTS),
    (StandardScaler(), PLAIN),
    (StandardScaler(with_std=False), PLAIN),
    (StandardScaler(with_mean=False, with_std=False), PLAIN),
    (StandardScaler(), PLAIN.astype(np.float32)),
    (StandardScaler().set_output(transform="pandas"), NUMBERS),
    (MinMaxScaler(clip=True), PLAIN),
    (MaxAbsScaler(), PLAIN),
    (RobustScaler(quantile_range=(10.0, 90.0)), PLAIN),
    (RobustScaler(with_centering=False), PLAIN),
    (PowerTransformer(), PLAIN),
    (PowerTransformer(standardize=False), PLAIN),
    (QuantileTransformer(n_quantiles=10, output_distribution="normal"), PLAIN),
    (KBinsDiscretizer(3, strategy="uniform"), PLAIN),
    (KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), PLAIN),
    (PolynomialFeatures(), PLAIN),
    (PolynomialFeatures((2, 3), interaction_only=True), PLAIN),
    (Normalizer("l1"), PLAIN),
    (Binarizer(threshold=0.5), PLAIN),
    (OneHotEncoder(), TEXTS),
    (OneHotEncoder(dtype=np.float32, drop="first"), TEXTS.astype(str)),
    (OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"), TEXTS),
    (OneHotEncoder(max_categories=2, drop="if_binary"), TEXTS),
    (OneHotEncoder(), NO_TEXT),
    (OrdinalEncoder(encoded_missing_value=-2), NO_TEXT),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), TEXTS),
    (SelectKBest(k=2), PLAIN),
    (SelectKBest(mutual_info_regression, k=2), PLAIN),
    (SelectPercentile(f_regression, percentile=50), PLAIN),
    (SelectFdr(alpha=0.99), PLAIN),
    (VarianceThreshold(), PLAIN),
    (PCA(2), PLAIN),
    (PCA(0.9, whiten=True, svd_solver="full"), PLAIN),
    (TruncatedSVD(2, random_state=0), PLAIN),
    (FunctionTransformer(), PLAIN),
    ("passthrough", PLAIN),
    (
        FeatureUnion(
            [("a", StandardScaler()), ("b", "passthrough"), ("c", PCA(2)), ("d", "drop")],
            transformer_weights={"a": 2.0},
        ),
        PLAIN,
    ),
    (make_pipeline(StandardScaler(), make_pipeline(PCA(3), MinMaxScaler())), PLAIN),
    (ColumnTransformer(BY_NAME, remainder="passthrough"), FRAME),
    (
        ColumnTransformer(BY_NAME, verbose_feature_names_out=False).set_output(transform="pandas"),
        FRAME,
    ),
    (ColumnTransformer([("n", StandardScaler(), [0, -1]), ("d", "drop", [1])]), FRAME),
    (
        ColumnTransformer(
            [("n", StandardScaler(), slice(0, 2)), ("e", Normalizer(), [])], remainder=PCA(1)
        ),
        PLAIN,
    ),
    (ColumnTransformer([("n", RobustScaler(), slice("price", "stock"))]), FRAME),
    (
        ColumnTransformer(
            [("n", make_pipeline(SimpleImputer(), PCA(1)), np.array([True, False, True, True]))]
        ),
        HOLES,
    ),
]


def named(value: Any) -> str:
    return type(value).__name__ if not isinstance(value, str) else value


def fitted(step: Any, X: Any, model: Any = None) -> Pipeline:
    model = rw.LinearRanker("listnet", max_iter=20) if model is None else model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Pipeline([("first", clone(step, safe=False)), ("rank", model)]).fit(
            X, Y, rank__qid=QID
        )


def predict(pipeline: Any, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return pipeline.predict(X)


def saved(pipeline: Any, folder: Path) -> Path:
    rw.save(pipeline, folder / "pipeline.rw")
    return folder / "pipeline.rw"


# ---- what comes back ----


@pytest.mark.parametrize(("step", "X"), CASES, ids=lambda value: named(value)[:20])
def test_a_loaded_pipeline_is_the_saved_one(step: Any, X: Any, tmp_path: Path) -> None:
    pipeline = fitted(step, X)
    path = saved(pipeline, tmp_path)
    content, again = path.read_bytes(), rw.load(path)
    np.testing.assert_array_equal(predict(again, X), predict(pipeline, X))
    assert repr(again) == repr(pipeline)
    names = [getattr(each, "feature_names_in_", None) for each in (pipeline, again)]
    assert str(names[0]) == str(names[1])
    assert saved(again, tmp_path).read_bytes() == content
    refitted = fitted(clone(again).steps[0][1], X)
    np.testing.assert_array_equal(predict(refitted, X), predict(pipeline, X))


def test_every_transformer_of_the_list_is_tried() -> None:
    def kinds(step: Any) -> Iterator[str]:
        yield type(step).__name__
        for inner in vars(step).values() if hasattr(step, "get_params") else ():
            for item in inner if isinstance(inner, list) else [inner]:
                for each in item if isinstance(item, tuple) else [item]:
                    yield from kinds(each) if hasattr(each, "get_params") else ()

    tried = {kind for step, X in CASES for kind in kinds(fitted(step, X))}
    same = {"SelectFpr", "SelectFwe", "GenericUnivariateSelect"}  # as the other selectors
    assert set(KNOWN) - tried == same


@pytest.mark.parametrize("model", [rw.BoostedRanker(n_estimators=3), rw.PAMIR(), rw.PRank()])
def test_any_model_may_be_the_last_step(model: Any, tmp_path: Path) -> None:
    pipeline = fitted(StandardScaler(), PLAIN, model)
    again = rw.load(saved(pipeline, tmp_path))
    np.testing.assert_array_equal(again.predict(PLAIN), pipeline.predict(PLAIN))


def test_a_pipeline_of_a_model_alone(tmp_path: Path) -> None:
    pipeline = make_pipeline(rw.LinearRanker("listnet")).fit(PLAIN, Y, linearranker__qid=QID)
    again = rw.load(saved(pipeline, tmp_path))
    np.testing.assert_array_equal(again.predict(PLAIN), pipeline.predict(PLAIN))


# ---- what save refuses ----


class Own(TransformerMixin, BaseEstimator):
    def fit(self, X: Any, y: Any = None) -> Own:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return X


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (FunctionTransformer(np.abs), r"^step 'first' must not be a FunctionTransformer with a "),
        (Own(), r"^step 'first' must be a transformer .*, but is a .*test_pipelines\.Own\. There "),
        (SplineTransformer(), r"^step 'first' must be .*SplineTransformer\. There are SimpleImp"),
        (make_pipeline(PCA(2), KNNImputer()), r"^step 'first', 'knnimputer' must be .*KNNImputer"),
        (FeatureUnion([("a", Own())]), r"^step 'first', 'a' must be "),
        (
            ColumnTransformer([("a", Own(), [0])]),
            r"^step 'first', 'a' must be a transformer that a model file can hold",
        ),
        (
            SelectKBest(lambda X, y: np.arange(X.shape[1]), k=2),
            r"^score_func of step 'first' must be a number, .*, but is a function\. A model file h",
        ),
        (
            Pipeline([("a", PCA(2))], memory="somewhere"),
            r"^memory of step 'first' must be None: a model file names no folders\.$",
        ),
        (StandardScaler().set_params(copy=type), r"^copy of step 'first' must be "),
    ],
)
def test_what_a_file_cannot_hold_is_a_type_error_that_names_the_step(
    step: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = fitted(StandardScaler(), PLAIN)
    pipeline.steps[0] = ("first", step)
    with sklearn.config_context(skip_parameter_validation=True):
        if hasattr(step, "transformers") or type(step).__module__.startswith("sklearn"):
            step.fit(PLAIN, Y)
        with pytest.raises(TypeError, match=message):
            rw.save(pipeline, tmp_path / "pipeline.rw")
    assert not (tmp_path / "pipeline.rw").exists()


def test_columns_chosen_by_a_function_are_a_type_error(tmp_path: Path) -> None:
    step = ColumnTransformer([("n", StandardScaler(), make_column_selector("price|stock"))])
    with pytest.raises(TypeError, match=r"^transformers of step 'first' must be .*_selector\."):
        rw.save(fitted(step, FRAME), tmp_path / "pipeline.rw")


def test_the_last_step_is_a_model_of_the_library(tmp_path: Path) -> None:
    pipeline = make_pipeline(StandardScaler(), Ridge()).fit(PLAIN, Y)
    with pytest.raises(TypeError, match=r"^step 'ridge', the last, must be a model of rankwright"):
        rw.save(pipeline, tmp_path / "pipeline.rw")


def test_an_attribute_of_your_own_is_a_type_error(tmp_path: Path) -> None:
    pipeline = fitted(StandardScaler(), PLAIN)
    pipeline.steps[0][1].mine_ = 1
    with pytest.raises(TypeError, match=r"^step 'first' cannot be saved: there is no fitted attr"):
        rw.save(pipeline, tmp_path / "pipeline.rw")


# ---- what load refuses ----


def repacked(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> Path:
    """Change the header and the arrays of a file."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(entries.pop("header.json"))
    arrays: dict[str, Any] = {
        name: np.load(io.BytesIO(content), allow_pickle=False) for name, content in entries.items()
    }
    change(header, arrays)
    with zipfile.ZipFile(path.with_name("changed.rw"), "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array)
            archive.writestr(name, content.getvalue())
    return path.with_name("changed.rw")


def steps_of(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the steps of a header, also those within others."""
    if isinstance(value, dict):
        if value.keys() == {"step", "params", "fitted"}:
            yield value
        for item in value.values():
            yield from steps_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from steps_of(item)


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        rw.load(path)
    assert "\n" not in str(caught.value)
    return caught.value.message


@pytest.mark.parametrize(("step", "X"), CASES, ids=lambda value: named(value)[:20])
def test_states_that_do_not_fit_are_refused(step: Any, X: Any, tmp_path: Path) -> None:
    path = saved(fitted(step, X), tmp_path)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    for name in header["arrays"]:
        for shorter in (lambda a: a[:-1], lambda a: np.append(a, 1.0), lambda a: a[None]):

            def change(_: Any, arrays: Any, name: str = name, cut: Any = shorter) -> None:
                arrays[f"{name}.npy"] = cut(arrays[f"{name}.npy"])

            refused(repacked(path, change))
    n_steps = len(list(steps_of(header)))
    for place in range(n_steps):

        def add(header: Any, _: Any, place: int = place) -> None:
            list(steps_of(header))[place]["fitted"]["extra_"] = 1

        kind = list(steps_of(header))[place]["step"]
        if kind != "LinearRanker":
            found = refused(repacked(path, add))
            # Of those that a ColumnTransformer has as parameters, nothing is fitted at all.
            assert re.search("no fitted attribute 'extra_'|n_features_in_ must be a pos", found)


@pytest.mark.parametrize(("step", "X"), CASES, ids=lambda value: named(value)[:20])
@pytest.mark.parametrize("value", [None, -1, "x", {"dict": {}}, {"objects": [0.5]}, 10**9])
def test_a_wrong_attribute_is_refused_or_does_not_matter(
    step: Any, X: Any, value: Any, tmp_path: Path
) -> None:
    pipeline = fitted(step, X)
    path = saved(pipeline, tmp_path)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    for place, found in enumerate(steps_of(header)):
        if found["step"] in ("LinearRanker", "Pipeline"):
            continue
        for name in found["fitted"]:

            def change(header: Any, arrays: Any, place: int = place, name: str = name) -> None:
                state = list(steps_of(header))[place]["fitted"]
                if isinstance(state[name], dict) and {"entry", "transposed"} & state[name].keys():
                    entry = next(iter(state[name].values()))
                    header["arrays"].remove(entry)
                    arrays.pop(f"{entry}.npy")
                state[name] = value

            try:
                again = rw.load(repacked(path, change))
            except DataError as error:
                text = str(error)
                assert "\n" not in text
                continue
            # An error of Python's, and no worse, where it is not the same.
            with contextlib.suppress(TypeError, ValueError, LookupError, AttributeError):
                np.testing.assert_array_equal(predict(again, X), predict(pipeline, X))


def with_first(change: Callable[[dict[str, Any]], Any]) -> Callable[[Any, Any], None]:
    return lambda header, _: change(next(steps_of(header)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_first(lambda s: s.update(step="Popen")), "a step must be one of Sim.*'Popen'."),
        (with_first(lambda s: s.update(step="Own")), "a step must be one of SimpleImp.*'Own'."),
        (
            with_first(lambda s: s["fitted"].update(transform=1)),
            "StandardScaler has no fitted attribute 'transform'.",
        ),
        (
            with_first(lambda s: s["params"].update(evil=1)),
            "StandardScaler has no parameter 'evil'.",
        ),
        (with_first(lambda s: s["params"].update(copy=7)), "StandardScaler: what is fitted .*"),
        (
            with_first(lambda s: s["fitted"].update(_sklearn_output_config={"dict": {"a": "b"}})),
            "_sklearn_output_config must be one of default, pandas, polars.",
        ),
        (
            with_first(lambda s: s["fitted"].update(mean_={"entry": "../../etc/passwd"})),
            "header.json holds a value of unknown kind: .*",
        ),
        (
            with_first(lambda s: s["fitted"].update(mean_={"entry": "step1_scale_"})),
            ".*",
        ),
        (
            with_first(lambda s: s["fitted"].update(mean_={"function": "system"})),
            "header.json holds a value of unknown kind: .*",
        ),
        (
            with_first(lambda s: s["fitted"].update(mean_={"dtype": "M8[ns]"})),
            "header.json holds a value of unknown kind: .*",
        ),
        (
            with_first(lambda s: s.update(step="FunctionTransformer", fitted={})),
            "FunctionTransformer has no parameter 'copy'.",
        ),
        (lambda h, _: h["params"].update(memory="/tmp"), "Pipeline must have no memory and .*"),
        (lambda h, _: h["params"].update(steps=[]), ".*"),
        (lambda h, _: h["params"]["steps"].append(1), "steps of Pipeline must be named .*"),
        (lambda h, _: h["params"]["steps"].reverse(), "the last step of a pipeline must be a .*"),
        (lambda h, _: h["params"]["steps"].insert(0, h["params"]["steps"][0]), ".*"),
        (lambda h, _: h["fitted"].update(extra_=1), "Pipeline has no fitted attribute 'extra_'."),
        (lambda h, _: h["fitted"].pop("sklearn_version_"), "sklearn_version_ must be a text."),
    ],
)
def test_hostile_headers_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    found = refused(repacked(saved(fitted(StandardScaler(), PLAIN), tmp_path), change))
    assert re.fullmatch(message, found), found


def test_steps_that_do_not_meet_are_refused(tmp_path: Path) -> None:
    path = saved(fitted(make_pipeline(PCA(3), PCA(2)), PLAIN), tmp_path)
    pipeline = rw.load(path)
    pipeline.steps[0][1].steps[0] = ("pca-1", PCA(2).fit(PLAIN))
    with pytest.raises(DataError, match=r"^step 'pca-2' takes 3 features, but is given 2\.$"):
        rw.save(pipeline, path)


@pytest.mark.parametrize("given", [2, 4])
def test_a_model_takes_what_the_steps_give_no_more_and_no_less(given: int, tmp_path: Path) -> None:
    pipeline = fitted(PCA(3), PLAIN)
    pipeline.steps[0] = ("pca", PCA(given).fit(PLAIN))
    with pytest.raises(DataError, match=rf"takes 3 features, but is given {given}\.$"):
        rw.save(pipeline, tmp_path / "pipeline.rw")


def test_products_are_counted_before_they_are_made(tmp_path: Path) -> None:
    path = saved(fitted(PolynomialFeatures(), PLAIN), tmp_path)
    many = repacked(path, with_first(lambda s: s["params"].update(degree=40)))
    assert "PolynomialFeatures: _max_degree must be 40, but is 2." in refused(many)
    far_too_many = repacked(path, with_first(lambda s: s["params"].update(degree=10**9)))
    assert "PolynomialFeatures: degree must be at most 64" in refused(far_too_many)


def test_nesting_too_deep_is_refused(tmp_path: Path) -> None:
    def change(header: Any, _: Any) -> None:
        step = next(steps_of(header))
        for _ in range(150):
            inner = dict(step)
            step.clear()
            tuples = [{"tuple": ["a", inner]}]
            step.update(step="Pipeline", params={"steps": tuples}, fitted={})

    found = refused(repacked(saved(fitted(StandardScaler(), PLAIN), tmp_path), change))
    assert "nested too deeply" in found or "is not JSON" in found


def test_another_version_of_scikit_learn_is_told(tmp_path: Path) -> None:
    path = saved(fitted(StandardScaler(), PLAIN), tmp_path)
    older = repacked(path, lambda header, _: header["fitted"].update(sklearn_version_="1.2.3"))
    with pytest.warns(rw.DataWarning, match=r"^this pipeline was saved with scikit-learn 1\.2\.3,"):
        rw.load(older)

    def change(header: Any, _: Any) -> None:
        header["fitted"]["sklearn_version_"] = "1.2.3"
        next(steps_of(header))["params"]["gone"] = 1

    assert refused(repacked(path, change)).endswith(
        f"has no parameter 'gone'. It was saved with scikit-learn 1.2.3, and this is "
        f"{sklearn.__version__}."
    )


def test_imputers_of_earlier_versions_can_be_used(tmp_path: Path) -> None:
    pipeline = fitted(SimpleImputer(), HOLES)
    path = repacked(
        saved(pipeline, tmp_path), with_first(lambda s: s["fitted"].pop("_fill_dtype", None))
    )
    np.testing.assert_array_equal(rw.load(path).predict(HOLES), pipeline.predict(HOLES))


def test_no_scorer_is_made_of_a_pipeline(tmp_path: Path) -> None:
    path = saved(fitted(StandardScaler(), PLAIN), tmp_path)
    with pytest.raises(DataError, match="is a pipeline of scikit-learn, and no scorer: load it as"):
        rw.load(path, scorer=True)


# ---- wherever the library takes a model ----


def test_a_file_of_scalers_and_trees_is_exported(tmp_path: Path) -> None:
    pipeline = fitted(StandardScaler(), PLAIN, rw.BoostedRanker(n_estimators=3))
    certificate = rw.export(rw.load(saved(pipeline, tmp_path)), "c", tmp_path / "trees.c")
    assert certificate.exact
    grid = rw.load(tmp_path / "trees.grid.rw")
    np.testing.assert_allclose(grid.predict(PLAIN), pipeline.predict(PLAIN), atol=1e-5)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    FRAME.assign(qid=QID, label=Y).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_columns_chosen_by_name_are_found_in_a_data_set(table: Path) -> None:
    pipeline = fitted(ColumnTransformer(BY_NAME), FRAME)
    dataset = rw.read(table, categorical=["country"])
    direct = rw.evaluate(pipeline.predict(FRAME), dataset)
    assert dict(rw.evaluate(pipeline, dataset)) == dict(direct)
    importance = rw.evaluation.permutation_importance(pipeline, dataset, n_repeats=1)
    assert importance.drops.shape == (4, 1)
    assert importance.drops[3, 0] == 0  # nobody chose it


def test_pipelines_are_compared_and_kept(table: Path, tmp_path: Path) -> None:
    entries = [
        rw.comparison.Entry("by-name", fitted(ColumnTransformer(BY_NAME), FRAME)),
    ]
    dataset = rw.read(table, categorical=["country"])
    found = rw.compare(dataset, entries, folder=tmp_path / "by-name", n_trials=1)
    kept = next((tmp_path / "by-name").rglob("model.rw"))
    np.testing.assert_array_equal(
        rw.load(kept).predict(FRAME), found.model("by-name").predict(FRAME)
    )


def test_a_compared_pipeline_knows_its_columns_by_name(table: Path, tmp_path: Path) -> None:
    entry = rw.comparison.Entry("scaled", make_pipeline(StandardScaler(), rw.PAMIR()))
    dataset = rw.read(table, ignore=["country"])
    model = rw.compare(dataset, [entry], n_trials=1).model("scaled")
    assert model.feature_names_in_.tolist() == ["price", "stock", "age"]
    reversed_columns = rw.Dataset(
        dataset.X[:, ::-1], dataset.y, dataset.qid, feature_names=["age", "stock", "price"]
    )
    assert dict(rw.evaluate(model, reversed_columns)) == dict(rw.evaluate(model, dataset))
