"""What holds of every target: one of four outcomes for each model, and the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exports import Refusal
from rankwright.exports.targets.registry import TARGETS
from tests.contracts.exported_models import FILLED, LABELS, MODELS, QID, ROWS

pytestmark = pytest.mark.usefixtures("quick_engines")
POSSIBLE = ("exact", "exact outside gaps", "bounded")
# Of every target and model: "exact", "exact outside gaps", "bounded", or the code of the refusal.
_TREES = dict.fromkeys(("trees", "one tree", "stump", "infinite threshold"), "exact")
_TREES |= {"zero as missing": "zero_as_missing"}
_LINEAR = ("linear", "linear with bias", "linear with imputation", "prank")
_BOUNDED = dict.fromkeys(_LINEAR, "bounded") | {"linear with imputation": "imputation"}
_LOST = dict.fromkeys(("trees", "one tree", "infinite threshold"), "missing")
_NO_MISSING = ("linear", "linear with bias", "prank", "sum")
_SUMS = dict.fromkeys(("sum", "sum with imputation", "average"), "exact")
_NO_SUMS = dict.fromkeys(_SUMS, "mixture")
OUTCOMES: dict[str, dict[str, str]] = {
    "c": _TREES | dict.fromkeys(_LINEAR, "exact") | _SUMS,
    "java": _TREES | dict.fromkeys(_LINEAR, "exact") | _SUMS,
    "lightgbm": _TREES | dict.fromkeys(_LINEAR, "linear") | _NO_SUMS,
    "elasticsearch": _TREES | _BOUNDED | _NO_SUMS,
    "opensearch": _TREES | _BOUNDED | _NO_SUMS,
    "elastic": _TREES | dict.fromkeys(_LINEAR, "linear") | _NO_SUMS,
    "ranklib": _TREES | _BOUNDED | _LOST | _NO_SUMS,
    "solr": _TREES | _BOUNDED | {"trees": "exact outside gaps"} | _NO_SUMS,
    "vespa": _TREES | dict.fromkeys(_LINEAR, "exact") | _SUMS,
    "onnx": _TREES | dict.fromkeys(_LINEAR, "exact") | _SUMS,
    "xgboost": _TREES | dict.fromkeys(_LINEAR, "linear") | _NO_SUMS,
    "sql": _TREES | dict.fromkeys(_LINEAR, "exact") | _SUMS,
}


@pytest.fixture(scope="module", params=sorted(MODELS))
def named_model(request: Any) -> tuple[str, Any]:
    return request.param, MODELS[request.param]()


def test_the_table_is_complete() -> None:
    assert OUTCOMES.keys() == set(TARGETS)
    assert all(row.keys() == MODELS.keys() for row in OUTCOMES.values())


@pytest.mark.parametrize("target", TARGETS)
def test_outcomes(target: str, named_model: tuple[str, Any], tmp_path: Path) -> None:
    name, model = named_model
    path = tmp_path / "model.out"
    data = FILLED if name in _NO_MISSING else ROWS
    expected = OUTCOMES[target][name]
    if expected not in POSSIBLE:
        with pytest.raises(Refusal) as refused:
            rw.export(model, target, path, data=data)
        assert refused.value.code == expected
        assert list(tmp_path.iterdir()) == []
        return
    certificate = rw.export(model, target, path, data=data, probes=3000)
    assert certificate.outcome == expected
    assert rw.verify(tmp_path / "model.cert.json").passed
    grid = rw.load(tmp_path / "model.grid.rw")
    if certificate.outcome == "bounded" and name == "linear":
        terms = np.abs(data.astype(np.float64) * model.coef_).sum(axis=1)
        apart = np.abs(grid.predict(data) - model.predict(data))
        assert (apart <= certificate.bound * terms).all()
        assert apart.max() > 0
    if certificate.exact and isinstance(model, rw.BoostedRanker | rw.EnsembleRanker):
        moved = np.abs(grid.predict(data) - certificate.shift - model.predict(data))
        assert moved.max() <= certificate.bound


@pytest.mark.parametrize("target", TARGETS)
def test_leaves_that_are_rounded_alone_are_bounded(target: str, tmp_path: Path) -> None:
    """Engines with doubles give the bits of the rounded leaves; float32 sums are near them."""
    # Without missing values, which some engines take for zeros.
    model = rw.BoostedRanker("xendcg", n_estimators=40, n_jobs=1).fit(FILLED, LABELS, QID)
    path = tmp_path / "model.out"
    certificate = rw.export(model, target, path, data=FILLED, leaves="nearest", probes=2000)
    assert certificate.outcome == "bounded"
    assert 0 < certificate.bound < 1e-3
    assert certificate.data["largest_change"] <= certificate.bound
    assert rw.verify(tmp_path / "model.cert.json").passed
    assert "within" in certificate.text()
