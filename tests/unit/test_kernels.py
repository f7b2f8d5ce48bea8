"""The parameter ``kernel`` of online learners: a name, a function, or a Kernel."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rankwright as rw
from rankwright.online import Kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.digitize(X @ [1.0, -1.0, 0.5], [-0.5, 0.5])
QID = np.repeat(np.arange(6), 10)
LEARNERS: list[Any] = [
    rw.SLAMPerceptron(),
    rw.PRank(),
    rw.WidrowHoff(),
    rw.MulticlassPerceptron(),
    rw.PredtronClassifier(),
    rw.PredtronRanker(),
]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda model: type(model).__name__)


@every_learner
def test_a_kernel_object_is_the_four_parameters(learner: Any) -> None:
    spelled: dict[str, Any] = {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 0.25}
    by_name = clone(learner).set_params(**spelled).fit(X, Y, QID)
    by_object = clone(learner).set_params(kernel=Kernel("poly", 0.5, 2, 0.25)).fit(X, Y, QID)
    np.testing.assert_array_equal(by_object.dual_coef_, by_name.dual_coef_)
    np.testing.assert_array_equal(by_object.predict(X), by_name.predict(X))
    assert clone(by_object).get_params()["kernel"] == Kernel("poly", 0.5, 2, 0.25)


@every_learner
def test_a_kernel_object_is_kept_in_files(learner: Any, tmp_path: Path) -> None:
    model = clone(learner).set_params(kernel=Kernel("rbf", gamma=0.3)).fit(X, Y, QID)
    rw.save(model, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw")
    assert again.kernel == Kernel("rbf", gamma=0.3)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    again.partial_fit(X, Y, QID)
    assert 10 * again.n_rounds_ == 11 * model.n_rounds_  # one pass more


@every_learner
def test_a_kernel_object_has_parameters_of_its_own(learner: Any) -> None:
    model = clone(learner).set_params(kernel=Kernel("rbf"), gamma=2.0)
    with pytest.raises(ValueError, match="gamma, degree and coef0 must be left as they are"):
        model.fit(X, Y, QID)


@every_learner
def test_a_precomputed_kernel_object(learner: Any) -> None:
    gram = X @ X.T
    by_name = clone(learner).set_params(kernel="precomputed").fit(gram, Y, QID)
    by_object = clone(learner).set_params(kernel=Kernel("precomputed")).fit(gram, Y, QID)
    np.testing.assert_array_equal(by_object.predict(gram), by_name.predict(gram))
    assert by_object.__sklearn_tags__().input_tags.pairwise
    by_object.check_state()
    with pytest.raises(ValueError, match="X must be square with kernel='precomputed'"):
        clone(by_object).fit(X, Y, QID)


@pytest.mark.parametrize(
    "learner", [rw.SLAMPerceptron(update="paper"), rw.PredtronRanker(mode="augmented")]
)
def test_a_step_that_measures_the_data_looks_at_their_shape_first(learner: Any) -> None:
    with pytest.raises(ValueError, match="X must be square with kernel='precomputed'"):
        clone(learner).set_params(kernel="precomputed").fit(X, Y, QID)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kind": "cosine"}, "kernel must be None, one of linear, poly, rbf, precomputed, or"),
        ({"kind": "rbf", "gamma": -1.0}, "gamma must be a positive number, but is -1.0"),
        ({"kind": "poly", "degree": 0}, "degree must be a positive integer, but is 0"),
        ({"kind": "poly", "coef0": np.inf}, "coef0 must be a finite number, but is inf"),
    ],
)
def test_kernels_that_cannot_be(params: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        Kernel(**params)
    # Nor in a file.
    rw.save(rw.PRank(kernel=Kernel("rbf")).fit(X, Y), tmp_path / "good.rw")
    with (
        zipfile.ZipFile(tmp_path / "good.rw") as good,
        zipfile.ZipFile(tmp_path / "bad.rw", "w") as bad,
    ):
        for name in good.namelist():
            content = good.read(name)
            if name == "header.json":
                header = json.loads(content)
                shown = {k: {"float": "inf"} if v == np.inf else v for k, v in params.items()}
                header["params"]["kernel"]["kernel"] |= shown
                content = json.dumps(header).encode()
            bad.writestr(name, content)
    with pytest.raises(rw.DataError, match="Kernel cannot be made"):
        rw.load(tmp_path / "bad.rw")


def test_a_function_is_not_kept_in_files(tmp_path: Path) -> None:
    model = rw.PRank(kernel=Kernel(lambda a, b: a @ b.T)).fit(X, Y)
    with pytest.raises(TypeError, match=r"kernel\.kind must be a number, a text"):
        rw.save(model, tmp_path / "model.rw")
