"""What an engine logged, beside the model: which scores agree, and why others do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import rankwright as rw
from rankwright.exports import Verification
from rankwright.exports.grid import place
from rankwright.exports.production import on_grid, tree_tolerance
from rankwright.exports.rules import rules_of
from tests.contracts.test_export_bits import ranker

Array = NDArray[Any]
N_ROWS, NAMES = 1500, ["title", "price", "age", "clicks", "bm25", "length"]


def _rows() -> Array:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, len(NAMES))) * [1, 40, 3, 1, 2, 9] + [0, 90, 3, 0, 1, 20]
    X[:, 3] = rng.integers(0, 9, N_ROWS)
    X[rng.random(N_ROWS) < 0.3, 2] = np.nan
    X[rng.random(N_ROWS) < 0.2, 4] = np.nan
    return X.astype(np.float32)


ROWS = _rows()
MEAN, DEVIATION = np.nanmean(ROWS, axis=0), np.nanstd(ROWS, axis=0)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    z = np.nan_to_num((ROWS - MEAN) / DEVIATION)
    y = np.digitize(z[:, :5].sum(axis=1) + np.isnan(ROWS[:, 2]), [-2, 0, 2])
    data = rw.Dataset(ROWS, y, np.arange(N_ROWS) // 10, feature_names=NAMES, allow_nan=True)
    trees = rw.BoostedRanker("xendcg", n_estimators=40, num_leaves=15, n_jobs=1).fit_dataset(data)
    linear = rw.LinearRanker("listnet", missing="median", standardize=True).fit_dataset(data)
    path = tmp_path_factory.mktemp("grid") / "m.json"
    rw.export(trees, "elasticsearch", path, probes=100)
    return {"trees": trees, "linear": linear, "grid": rw.load(path.with_name("m.grid.rw"))}


def logged(path: Path, X: Array, scores: Array, names: list[str] = NAMES) -> Path:
    """Write a log, numbers as their shortest texts."""
    lines = ["\t".join(["query", "doc", "score", *names])]
    for i, row in enumerate(X):
        values = ["" if x != x else str(x) for x in row]
        lines.append("\t".join([f"q{i // 10}", f"d{i}", str(np.float32(scores[i])), *values]))
    path.write_text("\n".join(lines) + "\n")
    return path


def verified(path: Path, model: Any, seen: Callable[[Array], Array], offset: float = 0) -> Any:
    """Compare a log of an engine that sees other features with the model."""
    scores = model.predict(seen(ROWS.copy())) + offset
    found = rw.verify(model, log=logged(path / "log.tsv", ROWS, scores))
    assert isinstance(found, Verification)
    return found


def cell(j: int, change: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def changed(X: Array) -> Array:
        X[:, j] = change(X[:, j])
        return X

    return changed


def order(*columns: int) -> Callable[[Array], Array]:
    return lambda X: np.ascontiguousarray(X[:, columns])


@pytest.mark.parametrize("name", ["trees", "linear", "grid"])
def test_scores_that_agree(name: str, models: dict[str, Any], tmp_path: Path) -> None:
    found = verified(tmp_path, models[name], lambda X: X)
    assert found.passed
    assert found.lines[-1] == "all scores agree"
    assert found.facts["differ"] == 0


# What the engine sees, and what is found: kind, features.
CASES: dict[str, tuple[Callable[[Array], Array], str, set[str]]] = {
    "missing as 0": (np.nan_to_num, "missing as 0", {"age", "bm25"}),
    "one missing as 0": (cell(2, np.nan_to_num), "missing as 0", {"age"}),
    "0 as missing": (lambda X: np.where(X == 0, np.nan, X), "0 as missing", {"clicks"}),
    "scaled": (cell(1, lambda x: (x - MEAN[1]) / DEVIATION[1]), "scaled twice", {"price"}),
    "two exchanged": (order(1, 0, 2, 3, 4, 5), "wrong order", {"title", "price"}),
    "three moved": (order(1, 3, 2, 0, 4, 5), "wrong order", {"title", "price", "clicks"}),
    "sorted": (order(*np.argsort(NAMES).tolist()), "wrong order", set(NAMES)),
}


@pytest.mark.parametrize("name", ["trees", "linear", "grid"])
@pytest.mark.parametrize("case", sorted(CASES))
def test_the_cause_is_found(name: str, case: str, models: dict[str, Any], tmp_path: Path) -> None:
    seen, kind, features = CASES[case]
    if case == "0 as missing" and name != "linear":
        pytest.skip("no tree has a missing number of clicks")
    found = verified(tmp_path, models[name], seen)
    assert not found.passed
    (cause,) = found.facts["causes"]
    assert (cause["kind"], set(cause["features"])) == (kind, features)
    assert found.facts["lost"] == 0 or case == "scaled"
    if case != "scaled":  # of trees, means of the log are not those of the engine to the last bit
        assert found.facts["explained"] == found.facts["differ"]
    assert found.facts["explained"] > 0.9 * found.facts["differ"]
    assert found.lines[-2] == f"why: {cause['text']}"


@pytest.mark.parametrize("name", ["trees", "linear", "grid"])
def test_all_scaled_twice(name: str, models: dict[str, Any], tmp_path: Path) -> None:
    found = verified(tmp_path, models[name], lambda X: (X - MEAN) / DEVIATION)
    (cause,) = found.facts["causes"]
    assert cause["kind"] == "scaled twice"
    assert len(cause["features"]) >= 4
    assert found.facts["nearer"] > 0.95


@pytest.mark.parametrize("name", ["trees", "linear", "grid"])
def test_off_by_a_constant_and_more(name: str, models: dict[str, Any], tmp_path: Path) -> None:
    found = verified(tmp_path, models[name], lambda X: X, offset=2.5)
    (cause,) = found.facts["causes"]
    assert (cause["kind"], cause["features"]) == ("off by a constant", [])
    assert cause["text"].endswith("the engine's scores are the model's +2.5")
    found = verified(tmp_path, models[name], np.nan_to_num, offset=2.5)
    kinds = {cause["kind"] for cause in found.facts["causes"]}
    assert kinds == {"off by a constant", "missing as 0"}
    assert found.facts["explained"] == N_ROWS


def test_a_feature_off_by_one(models: dict[str, Any], tmp_path: Path) -> None:
    found = verified(tmp_path, models["grid"], cell(3, lambda x: x + 1))
    (cause,) = found.facts["causes"]
    assert (cause["kind"], cause["features"]) == ("off by a constant", ["clicks"])
    assert cause["text"].endswith("the engine's values are the logged ones +1")


def test_doubles_that_float32_rounds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + rng.integers(0, 500, 900), rng.normal(size=900)])
    y = (X[:, 0] > 1.7e9 + 250) * 1 + (X[:, 1] > 0)
    model = rw.BoostedRanker("xendcg", n_estimators=9, num_leaves=7, n_jobs=1)
    model.fit(X, y, np.arange(900) // 10)
    scores = model.predict(X.astype(np.float32))
    path = logged(tmp_path / "log.tsv", X, scores, ["f1", "f2"])
    found = rw.verify(model, log=path)
    (cause,) = found.facts["causes"]
    assert (cause["kind"], cause["features"]) == ("float32", ["f1"])
    assert found.facts["explained"] == found.facts["differ"] > 100
    # As doubles, the engine is right.
    assert rw.verify(model, log=logged(path, X, model.predict(X), ["f1", "f2"])).passed


def test_no_cause_is_made_up(models: dict[str, Any], tmp_path: Path) -> None:
    for model in models.values():
        found = verified(tmp_path, model, lambda X: X[::-1].copy())
        assert found.facts["causes"] == []
        assert found.lines[-1] == "why: no single cause gives the engine's scores"


def test_one_score_that_differs(models: dict[str, Any], tmp_path: Path) -> None:
    """By one unit of the last place of float32: a grid model's bits are the engine's."""
    scores = models["grid"].predict(ROWS).astype(np.float32)
    scores[7] = np.nextafter(scores[7], np.float32(9))
    path = logged(tmp_path / "log.tsv", ROWS, scores)
    found = rw.verify(models["grid"], log=path)
    assert [row["line"] for row in found.facts["differing"]] == [9]
    assert found.facts["differing"][0]["doc"] == "d7"
    assert found.facts["differing"][0]["query"] == "q0"


def test_float32_sums_are_within_the_tolerance(models: dict[str, Any]) -> None:
    """Engines that add leaves rounded to float32, and grid models, agree with the model."""
    trees = rules_of(models["trees"]).trees
    assert trees is not None
    most = tree_tolerance(trees)
    assert 1e-8 < most < 1e-3
    assert not on_grid(trees)
    total = np.zeros(N_ROWS, dtype=np.float32)
    for k in range(trees.n_trees):
        before = models["trees"].predict(ROWS, n_trees=k) if k else 0.0
        leaf = models["trees"].predict(ROWS, n_trees=k + 1) - before
        total += leaf.astype(np.float32)
    off = np.abs(total - models["trees"].predict(ROWS))
    assert 0 < off.max() <= most
    grid = rules_of(models["grid"]).trees
    assert grid is not None
    assert on_grid(grid)


@pytest.mark.parametrize(
    ("leaves", "is_exact"),
    [
        ((1.0, 0.5 + 2.0**-23), True),
        ((1.0, 0.5 + 2.0**-24), False),  # 1.5 + 2^-24 is no float32
        ((0.5, -0.5 + 2.0**-24), True),
        ((0.5 + 2.0**-24, 0.5 - 2.0**-24), True),  # at most 1, of which float32 has 2^24 parts
        ((0.5 + 2.0**-24, 0.5), False),
        ((0.0, 0.0), True),
    ],
)
def test_a_grid_is_told_by_its_leaves(leaves: tuple[float, ...], is_exact: bool) -> None:
    trees = rules_of(ranker([*leaves])).trees
    assert trees is not None
    assert on_grid(trees) == is_exact


def test_a_log_of_several_scores_is_refused(tmp_path: Path) -> None:
    y = np.arange(N_ROWS) % 3
    model = rw.PredtronOrdinal().fit(np.nan_to_num(ROWS), y)
    path = logged(tmp_path / "log.tsv", ROWS, y)
    with pytest.raises(rw.DataError, match="a log has one score for each document"):
        rw.verify(model, log=path, names=NAMES)


@pytest.mark.parametrize("kind", ["trees", "linear"])
def test_scores_may_differ_by_what_is_stated_and_no_more(
    kind: str, models: dict[str, Any], tmp_path: Path
) -> None:
    """A tenth less than the room agrees; twice the room does not."""
    model = models[kind]
    scores = np.asarray(model.predict(ROWS))
    unit = 2.0**-24
    if kind == "trees":
        trees = rules_of(model).trees
        assert trees is not None
        bounds = [place(trees, "grid", True).bound, place(trees, "nearest", False).bound]
        room = np.full(N_ROWS, max(bounds))
    else:
        terms = np.where(np.isnan(ROWS), model.fill_, ROWS).astype(np.float64)
        n = len(NAMES) + 2
        room = (np.abs(terms) @ np.abs(model.coef_)) * n * unit / (1 - n * unit)
    room = room + unit * np.abs(scores)
    for times, passes in ((0.9, True), (2.0, False)):
        path = tmp_path / f"{times}.tsv"
        lines = ["\t".join(["query", "doc", "score", *NAMES])]
        for i, row in enumerate(ROWS):
            values = ["" if x != x else str(x) for x in row]
            score = repr(float(scores[i] + times * room[i]))
            lines.append("\t".join([f"q{i}", f"d{i}", score, *values]))
        path.write_text("\n".join(lines) + "\n")
        assert rw.verify(model, log=path).passed == passes
