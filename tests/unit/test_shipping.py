"""The best model of a comparison that a target can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import rankwright as rw
from rankwright.baselines import RandomRanker
from rankwright.comparison import Comparison, Entry
from rankwright.comparison.shipping import NothingHeldError, export_best
from rankwright.exports import Refusal
from rankwright.exports.exporting import check_holds
from tests.contracts.exported_sums import added, partly_linear
from tests.reference.forest import NAN, NONE, Split

pytestmark = pytest.mark.usefixtures("quick_engines")


@pytest.fixture(scope="module")
def result() -> Comparison:
    """Compare a sum, which is best, with trees, a foreign estimator and a baseline."""
    few: Any = {"n_jobs": 1, "random_state": 0}
    grafted = rw.BoostedRanker(n_estimators=10, num_leaves=4, base="linear", **few)
    entries = [
        Entry("sum", grafted),
        Entry("foreign", Ridge()),
        Entry("trees", rw.BoostedRanker(n_estimators=1, num_leaves=3, **few)),
        Entry("random", RandomRanker()),
    ]
    return rw.compare(partly_linear(), entries, n_jobs=1)


def test_the_best_that_can_be_held(result: Comparison, tmp_path: Path) -> None:
    order = [standing.name for standing in result.standings]
    assert order.index("sum") < order.index("trees")
    done = export_best(result, "elasticsearch", tmp_path / "model.json")
    assert done.name == "trees"
    assert list(done.passed_over) == order[: order.index("trees")]
    assert "rankwright.distill(model, data)" in done.passed_over["sum"]
    assert "Ridge is no model of rankwright" in done.passed_over["foreign"]
    assert done.certificate.data["rows"] == result.folds[0].test.n_docs
    # It was fitted to all queries.
    again = result.refit("trees")
    X = result.folds[0].test.X
    np.testing.assert_array_equal(done.model.predict(X), again.predict(X))


def test_what_holds_it_gets_it(result: Comparison, tmp_path: Path) -> None:
    best = result.refit()
    done = export_best(result, "sql", tmp_path / "model.sql", refitted={result.best: best})
    assert (done.name, done.passed_over) == ("sum", {})
    assert done.model is best


def test_what_is_asked_for_decides(result: Comparison, tmp_path: Path) -> None:
    """Options go to every model, and a name that none can have is a refusal of all."""
    with pytest.raises(NothingHeldError, match="c can hold no model that was compared") as none:
        export_best(result, "c", tmp_path / "model.h", name="int main")
    assert list(none.value.passed_over) == [standing.name for standing in result.standings]
    assert "in c a model is called by ASCII letters" in str(none.value)
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_asked_before_it_is_fitted_again(
    result: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = []
    refit = Comparison.refit

    def told(self: Comparison, name: str | None = None, dataset: Any = None) -> Any:
        fitted.append(name)
        return refit(self, name, dataset)

    monkeypatch.setattr(Comparison, "refit", told)
    export_best(result, "lightgbm", tmp_path / "model.txt")
    assert fitted == ["trees"]


def test_whether_a_target_holds_a_model() -> None:
    stump = [Split(0, 0.5, NAN, True, 0.25, -0.5)]
    model = added(stump, [1.0, 2.0, 3.0, 4.0], 0.0, None)
    check_holds(model, "onnx")
    with pytest.raises(Refusal) as refused:
        check_holds(model, "xgboost")
    assert refused.value.code == "mixture"
    with pytest.raises(Refusal, match="Ridge is no model of rankwright"):
        check_holds(Ridge().fit(np.eye(2), [0, 1]), "c")
    with pytest.raises(ValueError, match="must be fitted"):
        check_holds(rw.BoostedRanker(), "c")
    plain = added([Split(0, 0.5, NONE, True, 0.25, -0.5)], [0.0] * 4, 0.0, None)
    with pytest.raises(Refusal) as refused:  # weights of 0 are weights
        check_holds(plain, "solr")
    assert refused.value.code == "mixture"
