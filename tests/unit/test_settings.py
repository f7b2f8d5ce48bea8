"""What is left open: one thing in fit, the paper's in partial_fit, and kept in files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import read_lineup
from rankwright.models import MODELS, make_model, model_class, paper_params
from rankwright.online import OnlineLearner

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)) * [1.0, 10.0, 0.1, 1.0] + [3.0, 0.0, 0.0, 1.0]
Y = np.digitize(X[:, 0] + 10 * X[:, 2], [2.5, 3.5])
QID = np.repeat(np.arange(12), 10)
ONLINE = [name for name in MODELS if issubclass(model_class(name), OnlineLearner)]
ROWS = [name for name in ONLINE if "label" not in name]  # of one label
every_learner = pytest.mark.parametrize("name", ROWS)


def piece(name: str) -> dict[str, Any]:
    """Return what the first ``partial_fit`` must know."""
    return {"classes": [0, 1, 2]} if name in ("predtron-classifier", "predtron-ordinal") else {}


def state(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@every_learner
def test_fit_is_averaged_and_partial_fit_is_not(name: str) -> None:
    kind = model_class(name)
    fitted, continued = kind().fit(X, Y, QID), kind().partial_fit(X, Y, QID, **piece(name))
    assert (fitted.variant_, continued.variant_) == ("averaged", "last")
    assert "scale_" in vars(fitted)
    assert "scale_" not in vars(continued)
    assert fitted.n_rounds_ == (1 if name == "pamir" else 10) * continued.n_rounds_
    before = fitted.n_rounds_
    assert fitted.partial_fit(X, Y, QID).variant_ == "averaged"  # as it began
    assert fitted.n_rounds_ == before + continued.n_rounds_
    assert kind(variant="last").fit(X, Y, QID).variant_ == "last"
    assert kind(variant="averaged").partial_fit(X, Y, QID, **piece(name)).variant_ == "averaged"


@every_learner
def test_fit_of_the_paper_is_partial_fit(name: str) -> None:
    kind = model_class(name)
    measured = name == "slam-perceptron" or name.startswith("predtron")
    params = {"eta": 0.1} if measured else {}  # a step that does not depend on what comes
    whole = kind.paper(**params).fit(X, Y, QID)
    parts = kind.paper(**params).partial_fit(X, Y, QID, **piece(name))
    assert state(whole).keys() == state(parts).keys()
    for key, value in state(whole).items():
        np.testing.assert_array_equal(value, state(parts)[key], err_msg=key)
    assert "scale_" not in vars(whole)
    assert kind.paper(n_epochs=3).n_epochs == 3  # what is given comes first


def test_papers_have_settings_of_their_own() -> None:
    assert rw.SLAMPerceptron.paper().update == "paper"
    assert rw.SLAMPerceptron.paper(update="printed").update == "printed"
    assert rw.PredtronRanker.paper().mode == "augmented"
    assert "fit_intercept" not in rw.PredtronRanker.paper_params()  # it has none
    assert rw.PredtronClassifier.paper().fit_intercept is False
    assert "shuffle" not in rw.PAMIR.paper_params()


def test_a_class_has_its_say_over_its_bases() -> None:
    class Mine(rw.PRank):
        LEFT_OPEN: ClassVar[dict[str, Any]] = {"threshold_step": (4.0, 2.0)}
        PAPER: ClassVar[dict[str, Any]] = {"n_epochs": 3}

    params = Mine.paper_params()
    assert (params["threshold_step"], params["n_epochs"], params["variant"]) == (2.0, 3, "last")
    assert Mine().fit(X, Y).threshold_step_ == 4.0


@pytest.mark.parametrize("name", ONLINE)
def test_a_name_is_the_class_with_its_defaults(name: str) -> None:
    params = make_model(name).get_params()
    usual = model_class(name)().get_params()
    changed = {key for key, value in params.items() if value != usual[key]}
    assert changed == {"standardize", "missing"} | ({"C"} if name == "pamir" else set())


def test_only_online_models_have_a_paper_s_setting() -> None:
    with pytest.raises(ValueError, match="only models that learn online have a paper's setting"):
        paper_params("boosted")


@every_learner
def test_what_was_settled_is_kept_in_files(name: str, tmp_path: Path) -> None:
    model = model_class(name)().fit(X, Y, QID)
    rw.save(model, tmp_path / "m.rw")
    again = rw.load(tmp_path / "m.rw")
    assert (again.variant, again.variant_) == (None, "averaged")
    for learner in (model, again):
        learner.partial_fit(X[:60], Y[:60], QID[:60])
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    # In the first files the parameter was told, and the attribute was not there.
    with zipfile.ZipFile(tmp_path / "m.rw") as old, zipfile.ZipFile(tmp_path / "o.rw", "w") as new:
        for entry in old.namelist():
            content = old.read(entry)
            if entry == "header.json":
                header = json.loads(content)
                del header["fitted"]["variant_"]
                header["params"]["variant"] = "averaged"
                content = json.dumps(header).encode()
            new.writestr(entry, content)
    assert rw.load(tmp_path / "o.rw").variant_ == "averaged"


def test_a_failure_settles_nothing() -> None:
    model = rw.SLAMPerceptron(update="paper")
    with pytest.raises(ValueError, match="needs radius"):
        model.partial_fit(X, Y, QID)
    model.set_params(update="misordered", variant="averaged").partial_fit(X, Y, QID)
    assert model.variant_ == "averaged"


def test_a_line_up_may_ask_for_the_paper(tmp_path: Path) -> None:
    path = tmp_path / "lineup.toml"
    path.write_text('[models.p]\nmodel = "prank"\npaper = true\nparams = { n_epochs = 3 }\n')
    (entry,) = read_lineup(path)
    params = entry.estimator.get_params()
    assert (params["variant"], params["threshold_step"], params["n_epochs"]) == ("last", 1.0, 3)
    path.write_text('[models.p]\nmodel = "boosted"\npaper = true\n')
    with pytest.raises(rw.DataError, match="only models that learn online"):
        read_lineup(path)
