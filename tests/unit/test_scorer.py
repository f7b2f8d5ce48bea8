"""Scorers: the predictions of models, through a door that needs NumPy and the kernels alone."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import rankwright as rw
from rankwright.models import CLASSES
from rankwright.scoring.kernels import Kernel
from rankwright.scoring.rules import RULES

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing", "ignore:stopped after")

NAMES = [f"signal {j}" for j in range(6)]
OF_LABELS = ("TopicRankers", "PredtronMultilabel", "PredtronLabelRanker")
HEAVY = ("sklearn", "scipy", "lightgbm", "pandas", "pyarrow", "narwhals")
REFUSED = {
    "PRank-voted",
    "MulticlassPerceptron-voted",
    "PredtronClassifier-voted",
    "PredtronOrdinal-voted",
    "PredtronMultilabel-voted",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "LinearRanker-standardized": {"standardize": True, "missing": "median"},
    "LinearRanker-zero": {"missing": "zero"},
    "SLAMPerceptron-voted": {"variant": "voted"},
    "SLAMPerceptron-rbf": {"kernel": "rbf"},
    "SLAMPerceptron-rbf-voted": {"kernel": "rbf", "variant": "voted"},
    "PRank-last": {"variant": "last"},
    "PRank-poly": {"kernel": "poly", "degree": 2},
    "PRank-kernel": {"kernel": Kernel("rbf", gamma=0.3), "variant": "last"},
    "WidrowHoff-plain": {"fit_intercept": False},
    "WidrowHoff-rbf": {"kernel": "rbf"},
    "MulticlassPerceptron-rbf": {"kernel": "rbf"},
    "PredtronClassifier-reject": {"reject": 0.3},
    "PredtronClassifier-costs": {"loss": [1.0, 2.0, 3.0]},
    "PredtronClassifier-plain": {"fit_intercept": False},
    "PredtronOrdinal-rbf": {"kernel": "rbf"},
    "PredtronMultilabel-subset": {"loss": "subset"},
    "PredtronLabelRanker-rbf": {"kernel": "rbf"},
    "PredtronRanker-rbf": {"kernel": "rbf"},
    **{name: {"variant": "voted"} for name in REFUSED},
}
CASES: dict[str, dict[str, Any]] = {name: {} for name in CLASSES} | VARIANTS
TAKE_MISSING = {"BoostedRanker", "EnsembleRanker", "RandomRanker"}
TAKE_MISSING |= {"LinearRanker-standardized", "LinearRanker-zero"}


def labels(name: str, X: Any) -> Any:
    if name.partition("-")[0] in OF_LABELS:
        return (X[:, :3] > 0).astype(int)
    return np.digitize(X[:, 0] - X[:, 1], [-1.0, 1.0])


def fitted(name: str) -> Any:
    kind = name.partition("-")[0]
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(90, 6)) * (rng.random((90, 6)) < 0.7), 3)
    more: dict[str, Any] = {"n_estimators": 5, "num_leaves": 4} if kind == "BoostedRanker" else {}
    if kind == "EnsembleRanker":
        more = {"members": ["lambdarank-trees", "linear"], "n_models": 2, "n_estimators": 3}
    model = getattr(import_module(CLASSES[kind]), kind)(**CASES[name] | more)
    ids = [np.repeat(np.arange(9), 10)] if isinstance(model, rw.estimator.Ranker) else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rw.ConvergenceWarning)
        model.fit(pd.DataFrame(X, columns=NAMES), labels(name, X), *ids)
    return model


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Path]]:
    """Return what fits and saves a model by its name, once."""
    folder, made = tmp_path_factory.mktemp("models"), dict[str, tuple[Any, Path]]()

    def model(name: str) -> tuple[Any, Path]:
        if name not in made:
            made[name] = fitted(name), folder / f"{name}.rw"
            rw.save(*made[name])
        return made[name]

    return model


Models = Callable[[str], tuple[Any, Path]]


def rows(n: int = 40) -> Any:
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.7)


def containers(X: Any) -> dict[str, Any]:
    csr = sp.csr_matrix(X)
    return {
        "float64": X,
        "float32": X.astype(np.float32),
        "integers": np.round(X).astype(np.int64),
        "Fortran": np.asfortranarray(X),
        "rows apart": np.repeat(X, 2, axis=0)[::2],
        "big-endian": X.astype(">f8"),
        "list": X.tolist(),
        "one row": X[:1],
        "csr": csr,
        "csr float32": sp.csr_array(X.astype(np.float32)),
        "csc": sp.csc_array(X),
        "entries": SimpleNamespace(
            data=csr.data, indices=csr.indices, indptr=csr.indptr, shape=csr.shape
        ),
        "masked": np.ma.array(X, mask=False),
        "frame": pd.DataFrame(X, columns=NAMES),
        "frame, columns moved": pd.DataFrame(X, columns=NAMES)[NAMES[::-1]],
        "frame float32": pd.DataFrame(X.astype(np.float32), columns=NAMES),
        "frame, sparse": pd.DataFrame(X, columns=NAMES).astype(pd.SparseDtype(float, 0)),
        "frame, nullable": pd.DataFrame(X, columns=NAMES).convert_dtypes(),
        "data set": rw.Dataset(X, np.zeros(len(X)), feature_names=NAMES),
    }


# ---- every model ----


def test_every_class_has_a_rule() -> None:
    assert set(RULES) == set(CLASSES)
    assert {name.partition("-")[0] for name in CASES} == set(CLASSES)


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED])
def test_a_scorer_predicts_what_the_model_does(name: str, models: Models) -> None:
    model, path = models(name)
    scorers = [rw.load(path, scorer=True), rw.Scorer.load(path), rw.Scorer.from_model(model)]
    again = rw.load(path)
    for what, X in containers(rows()).items():
        expected = again.predict(X)
        np.testing.assert_array_equal(model.predict(X), expected, err_msg=what)
        for scorer in scorers:
            found = scorer.predict(X)
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape), what
            assert found.tobytes() == expected.tobytes(), what
    assert scorers[0].feature_names == NAMES
    assert scorers[0].n_features == 6
    assert repr(scorers[0]) == f"Scorer({name.partition('-')[0]}, 6 features)"


@pytest.mark.parametrize("name", sorted(TAKE_MISSING))
def test_missing_values_are_what_they_are_to_the_model(name: str, models: Models) -> None:
    model, path = models(name)
    X = rows()
    X[::3, 2] = X[1, :] = np.nan
    sparse = sp.csr_array(np.nan_to_num(X))
    sparse.data[5] = np.nan
    frame = pd.DataFrame(X, columns=NAMES)
    scorer = rw.load(path, scorer=True)
    for given in (X, X.astype(np.float32), sparse, frame, np.ma.masked_invalid(X)):
        assert scorer.predict(given).tobytes() == model.predict(given).tobytes()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_votes_are_refused_in_one_line(name: str, models: Models) -> None:
    model, path = models(name)
    kind = name.partition("-")[0]
    message = (
        rf"{kind} with variant='voted', in which all weights of a run vote, has no scorer\. Load "
        r"the model itself, with rankwright\.load\(path\), and call its predict\.$"
    )
    with pytest.raises(rw.DataError, match=message):
        rw.load(path, scorer=True)
    with pytest.raises(rw.DataError, match=message):
        rw.Scorer.from_model(model)


def test_labels_of_every_kind_come_back(tmp_path: Path) -> None:
    X = rows()
    grades = np.digitize(X[:, 0], [-0.5, 0.5])
    texts = np.array(["poor", "fair", "good"])
    for y in (grades, grades * 0.5, texts[grades], np.where(grades > 1, "yes", "no")):
        for kind in (rw.PRank, rw.WidrowHoff, rw.MulticlassPerceptron, rw.PredtronOrdinal):
            order = [label for label in ("no", "yes", "poor", "fair", "good") if label in set(y)]
            model = kind(classes=order or None).fit(X, y)
            rw.save(model, tmp_path / "model.rw")
            found = rw.load(tmp_path / "model.rw", scorer=True).predict(X)
            assert found.dtype == model.predict(X).dtype
            assert found.tolist() == model.predict(X).tolist()
    for y in (grades, texts[grades], grades > 0):
        model = rw.PredtronClassifier().fit(X, y)
        rw.save(model, tmp_path / "model.rw")
        found = rw.load(tmp_path / "model.rw", scorer=True).predict(X)
        assert found.tolist() == model.predict(X).tolist()
    one = rw.PredtronMultilabel().fit(X, np.where(grades > 1, "yes", "no"))
    assert rw.Scorer.from_model(one).predict(X).tolist() == one.predict(X).tolist()


# ---- what it is given ----


def fault(predict: Callable[[Any], Any], X: Any) -> tuple[type, str, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            predict(X)
        except Exception as error:
            return type(error), str(error), [str(w.message) for w in caught]
    return type(None), "", [str(w.message) for w in caught]


def bad_inputs() -> dict[str, Any]:
    X = rows(5)
    infinite, missing = X.copy(), X.copy()
    infinite[3, 4], missing[2, 1] = -np.inf, np.nan
    frame = pd.DataFrame(X, columns=NAMES)
    outside = sp.csr_array(X)
    outside.indices[2] = 77
    return {
        "narrow": X[:, :4],
        "wide": np.hstack([X, X]),
        "a vector": X[0],
        "a number": 3.0,
        "three dimensions": X[None],
        "no rows": X[:0],
        "no columns": X[:, :0],
        "infinite": infinite,
        "infinite, float32": infinite.astype(np.float32),
        "missing": missing,
        "infinite, sparse": sp.csr_array(infinite),
        "missing, sparse": sp.csr_array(missing),
        "missing, frame": pd.DataFrame(missing, columns=NAMES),
        "text": [["a"] * 6],
        "texts": np.full((3, 6), "word"),
        "objects": np.array([[object()] * 6]),
        "ragged": [[1.0] * 6, [1.0]],
        "complex": X + 1j,
        "None": None,
        "a dict": {"a": 1},
        "masked": np.ma.array(X, mask=X > 0),
        "column of texts": frame.assign(**{NAMES[2]: "word"}),
        "column missing": frame[NAMES[:4]],
        "column more": frame.assign(more=1.0),
        "columns by position": pd.DataFrame(X),
        "names half texts": pd.DataFrame(X, columns=[*NAMES[:3], 1, 2, 3]),
        "other names": pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]),
        "out of the matrix": outside,
    }


@pytest.mark.parametrize("name", ["LinearRanker", "PRank", "PredtronOrdinal", "LinearRanker-zero"])
def test_bad_input_ends_in_the_words_of_the_model(name: str, models: Models) -> None:
    model, path = models(name)
    scorer, fine = rw.load(path, scorer=True), set[str]()
    for what, X in bad_inputs().items():
        expected = fault(model.predict, X)
        assert fault(scorer.predict, X) == expected, what
        assert "\n" not in expected[1], what
        if expected[0] is type(None):
            fine.add(what)
    missing = {"missing", "missing, sparse", "missing, frame", "masked"}
    assert fine == {"column more", "columns by position"} | (missing if "-" in name else set())


def test_options_of_trees(models: Models) -> None:
    model, path = models("BoostedRanker")
    scorer, X = rw.load(path, scorer=True), rows()
    for given in (X, X.astype(np.float32), sp.csr_array(X), pd.DataFrame(X, columns=NAMES)):
        for options in (
            {"n_trees": 2},
            {"top_k": 3},
            {"top_k": 2, "n_trees": 4, "qid": np.arange(40) % 7},
        ):
            expected = model.predict(given, **options)
            assert scorer.predict(given, **options).tobytes() == expected.tobytes()
    for wrong in ({"n_trees": 6}, {"n_trees": "x"}, {"top_k": 0}, {"qid": [1] * 40}):
        expected = fault(partial(model.predict, **wrong), X)
        assert expected[0] in (ValueError, TypeError)
        assert fault(partial(scorer.predict, **wrong), X) == expected


def test_options_of_trees_are_refused_by_others(models: Models) -> None:
    scorer = rw.load(models("PRank")[1], scorer=True)
    for option in ("n_trees", "top_k", "qid"):
        with pytest.raises(
            TypeError, match=rf"^{option} is for boosted trees, not for PRank: leave it out\.$"
        ):
            scorer.predict(rows(), **{option: 3})


# ---- where it comes from ----


def test_a_model_may_learn_on_without_its_scorer(models: Models) -> None:
    model, _ = models("SLAMPerceptron")
    model = pickle.loads(pickle.dumps(model))
    X = rows()
    scorer = rw.Scorer.from_model(model)
    before = scorer.predict(X)
    model.partial_fit(X, np.arange(40) % 3, np.repeat(np.arange(4), 10))
    assert (model.predict(X) != before).any()
    assert scorer.predict(X).tobytes() == before.tobytes()


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED])
def test_a_scorer_shares_no_numbers_with_the_model(name: str, models: Models) -> None:
    model = pickle.loads(pickle.dumps(models(name)[0]))
    scorer = rw.Scorer.from_model(model)
    before = scorer.predict(rows())
    for array in vars(model).values():
        if isinstance(array, np.ndarray) and array.dtype.kind == "f":
            array.fill(7.5)
    assert scorer.predict(rows()).tobytes() == before.tobytes()


def test_only_fitted_models_of_the_library_have_scorers() -> None:
    with pytest.raises(ValueError, match=r"^PRank must be fitted before it is made a scorer\.$"):
        rw.Scorer.from_model(rw.PRank())
    with pytest.raises(TypeError, match=r"^model must be one of LinearRanker, .*but is a sklearn"):
        rw.Scorer.from_model(Ridge())
    other = type("LinearRanker", (rw.LinearRanker,), {})
    with pytest.raises(TypeError, match=r"^model must be one of "):
        rw.Scorer.from_model(other())


def test_what_rows_are_checked_by_is_checked_in_files(models: Models, tmp_path: Path) -> None:
    _, path = models("LinearRanker-zero")
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(entries["header.json"])

    def refused(message: str, **changes: dict[str, Any]) -> None:
        changed = header | {key: header[key] | more for key, more in changes.items()}
        with zipfile.ZipFile(tmp_path / "model.rw", "w") as archive:
            for name, content in entries.items():
                text = json.dumps(changed).encode() if name == "header.json" else content
                archive.writestr(name, text)
        for scorer in (True, False):
            with pytest.raises(rw.DataError, match=message):
                rw.load(tmp_path / "model.rw", scorer=scorer)

    cannot_be = "the parameters cannot be: "
    refused(f"{cannot_be}missing must be one of error, median, zero, ", params={"missing": "mean"})
    refused(f"{cannot_be}missing must be one of error, median, zero, ", params={"missing": None})
    refused(f"{cannot_be}n_jobs must be a non-zero integer ", params={"n_jobs": 0})
    refused(r"categories_ must be different texts ", fitted={"categories_": {"dict": {"x": []}}})
    del entries["fill_.npy"]
    header["arrays"].remove("fill_")
    refused(r"fill_ must be an array of float64 of shape \(6,\)\.$")


# ---- threads, processes, what is loaded ----


@pytest.mark.parametrize("name", ["LinearRanker", "PRank", "PredtronOrdinal", "BoostedRanker"])
def test_threads_share_a_scorer(name: str, models: Models) -> None:
    scorer = rw.load(models(name)[1], scorer=True)
    X = rows(200)
    expected, wrong = scorer.predict(X).tobytes(), list[int]()

    def work(number: int) -> None:
        for _ in range(30):
            if scorer.predict(X).tobytes() != expected:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong


def score_in_child(scorer: rw.Scorer, X: Any) -> bytes:
    return scorer.predict(X).tobytes()


@pytest.mark.parametrize("name", ["LinearRanker", "PRank-poly", "PredtronOrdinal", "BoostedRanker"])
def test_a_scorer_goes_to_other_processes(name: str, models: Models) -> None:
    scorer = rw.load(models(name)[1], scorer=True)
    X = rows()
    expected = scorer.predict(X).tobytes()
    assert pickle.loads(pickle.dumps(scorer)).predict(X).tobytes() == expected
    if hasattr(os, "fork"):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.apply_async(score_in_child, (scorer, X)).get(60) == expected
            assert pool.apply_async(score_in_child, (scorer, X)).get(60) == expected


SCRIPT = """
import json, sys
import rankwright as rw
import numpy as np
scorer = rw.load(sys.argv[1], scorer=True)
found = scorer.predict(np.linspace(-1, 1, 60).reshape(10, 6))
scorer.predict([[0.5] * 6])
print(json.dumps([found.tolist(), sorted(sys.modules)]))
"""


FORMS = (
    *("LinearRanker", "LinearRanker-zero", "TopicRankers", "RandomRanker", "BoostedRanker"),
    *("PRank", "PRank-poly", "WidrowHoff", "PredtronClassifier-reject", "PredtronMultilabel"),
)


@pytest.mark.parametrize("name", FORMS)
def test_a_serving_process_needs_numpy_and_the_kernels_alone(name: str, models: Models) -> None:
    model, path = models(name)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], capture_output=True, encoding="utf-8", check=True
    )
    found, modules = json.loads(done.stdout)
    assert found == model.predict(np.linspace(-1, 1, 60).reshape(10, 6)).tolist()
    assert "numpy" in modules
    assert not {module.partition(".")[0] for module in modules} & set(HEAVY)
