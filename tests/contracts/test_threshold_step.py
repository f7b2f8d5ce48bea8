"""How far PRank's thresholds move, and the scale of its documents (R7)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.online import PRank
from rankwright.scaling import measured
from tests.contracts.test_guarantees import ROUNDING, random_documents
from tests.reference import online as reference


def whole_numbers(seed: int, n: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, 3)).astype(float)  # many exact ties
    return X, np.clip(np.round(X @ [1, -1, 0.5] + 3 + rng.normal(size=n)), 1, 5).astype(int)


@pytest.mark.parametrize("step", [0.25, 3.0, 64.0])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_prank_with_a_step_is_its_twin(step: float, kind: Any) -> None:
    for seed in range(10):
        X, ranks = whole_numbers(seed)
        twin = reference.prank(X, ranks, 5, step)
        for kernel in (None, "linear"):
            model = PRank.paper(threshold_step=step, classes=[1, 2, 3, 4, 5], kernel=kernel)
            model.fit(kind(X), ranks)
            np.testing.assert_allclose(model.thresholds_, twin.b, atol=1e-12)
            np.testing.assert_array_equal(model.predict(X), [twin.rank(x) for x in X])
            assert model.cumulative_loss_ == sum(twin.losses)
        mean = PRank.paper(variant="averaged", threshold_step=step, classes=[1, 2, 3, 4, 5])
        mean.fit(kind(X), ranks)
        thresholds = np.mean([b for _, b in twin.history], axis=0)
        np.testing.assert_allclose(mean.thresholds_, thresholds, atol=1e-10)


@pytest.mark.parametrize("variant", ["last", "averaged", "voted"])
@pytest.mark.parametrize("kernel", [None, "linear", "rbf", "poly"])
def test_r7_a_step_of_c_squared_is_a_scale_of_one_over_c(variant: Any, kernel: Any) -> None:
    for seed, c in enumerate((0.25, 2.0, 16.0)):  # exact
        X, ranks = whole_numbers(seed)
        more: Any = {"variant": variant, "classes": [1, 2, 3, 4, 5]}
        test = X[:50] + 1
        if kernel is None:
            scaled = PRank.paper(**more).fit(X / c, ranks)
            predicted = scaled.predict(test / c)
        else:  # documents are as long as the kernel says
            more["kernel"] = rw.online.Kernel(kernel, gamma=1.0, degree=2)
            scaled = PRank.paper(**more | {"kernel": partial(divided, more["kernel"], c**2)})
            predicted = scaled.fit(X, ranks).predict(test)
        model = PRank.paper(threshold_step=c**2, **more).fit(X, ranks)
        assert model.cumulative_loss_ == scaled.cumulative_loss_
        np.testing.assert_array_equal(model.predict(test), predicted)


def divided(kernel: Any, by: float, a: Any, b: Any) -> Any:
    return kernel(a, b) / by


def test_r7_long_documents_keep_thresholds_shut() -> None:
    """Six labels of documents a hundred times as long as a step: 1 or 6, whatever comes between."""
    rng = np.random.default_rng(0)
    X = rng.choice([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], (400, 300)) * (rng.random((400, 300)) < 0.3)
    s = X @ rng.normal(size=300) / 12 + 0.3 * rng.normal(size=400)
    y = np.digitize(s, np.quantile(s, np.arange(1, 6) / 6))
    literal = PRank.paper(classes=range(6)).partial_fit(X, y)
    opened = PRank.paper(classes=range(6), threshold_step="auto").partial_fit(X, y)
    assert opened.threshold_step_ == 256
    ends = [float(np.isin(model.predict(X), (0, 5)).mean()) for model in (literal, opened)]
    assert ends[0] > 0.7 > ends[1] + 0.1  # a third of the documents have these labels
    assert opened.cumulative_loss_ < literal.cumulative_loss_


def test_bounds_hold_for_any_step_on_random_streams() -> None:
    rng = np.random.default_rng(5)
    largest = 0.0
    for i in range(400):
        X, ranks, u, k = random_documents(rng, separable=i % 2 == 0)
        step: Any = "auto" if i % 3 == 0 else 4.0 ** rng.integers(-6, 7)
        given: Any = {"classes": list(range(k)), "threshold_step": step}
        kernel = "linear" if i % 5 == 0 and len(X) < 200 else None
        variant: Any = ("last", "averaged", "voted")[i % 3]
        model = PRank.paper(**given, variant=variant, kernel=kernel, standardize=i % 4 == 0)
        weights = model
        if kernel is not None:  # the same comparator as a sum over the documents
            weights = PRank.paper(**given, variant=variant, standardize=i % 4 == 0)
            coef = np.linalg.lstsq(X.T, u[: 1 - k], rcond=None)[0]
            bound = model.bound(np.concatenate([coef, u[1 - k :]]), X, ranks)
        else:
            bound = model.bound(u, X, ranks)
        assert bound.terms["loss"] <= bound.value * ROUNDING
        fitted = weights.fit(X, ranks)
        assert (np.diff(fitted.thresholds_) >= 0).all()
        assert bound.terms["loss"] == fitted.cumulative_loss_
        largest = max(largest, bound.terms["loss"] / bound.value)
    assert largest > 0.3


@pytest.mark.parametrize("separable", [True, False])
def test_the_bound_is_that_of_the_scaled_stream(separable: bool) -> None:
    rng = np.random.default_rng(1)
    for c in (0.125, 4.0):
        X, ranks, u, k = random_documents(rng, separable=separable)
        given: Any = {"classes": list(range(k))}
        mine = PRank.paper(threshold_step=c**2, **given).bound(u, X, ranks)
        scaled = np.concatenate([u[: 1 - k] * c, u[1 - k :]])
        theirs = PRank.paper(**given).bound(scaled, X / c, ranks)
        assert mine.value == pytest.approx(theirs.value)
        assert mine.terms == pytest.approx(theirs.terms)


def test_auto_is_measured_once_and_kept(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)) * rng.lognormal(0, 2, 20)
    y = np.digitize(X @ rng.normal(size=20), [-3, 0, 3])
    model = PRank().fit(X, y)
    Z = measured(X).scale("center").apply(X)
    assert abs(np.log2(model.threshold_step_) - np.log2((Z**2).sum(axis=1).mean())) <= 0.52
    for rows in (sp.csr_array(X), X.astype(np.float32)):
        assert PRank().fit(rows, y).threshold_step_ == model.threshold_step_
    rw.save(model, tmp_path / "m.rw")
    again = rw.load(tmp_path / "m.rw")
    for learner in (model, again):
        learner.partial_fit(1000 * X[:50], y[:50])
    assert again.threshold_step_ == model.threshold_step_
    np.testing.assert_array_equal(again.thresholds_, model.thresholds_)
    assert PRank().partial_fit(X, y).threshold_step_ == 1.0
    assert PRank.paper().fit(X, y).threshold_step_ == 1.0
    assert PRank(kernel="rbf").fit(X, y).threshold_step_ == 1.0  # K(x, x)
    assert PRank().fit(np.zeros((4, 2)), [0, 1, 0, 1]).threshold_step_ == 1.0
    with pytest.raises(ValueError, match="threshold_step must be a positive number or 'auto'"):
        PRank(threshold_step=-1.0).fit(X, y)
    model.threshold_step_ = "auto"  # type: ignore[assignment]
    with pytest.raises(rw.DataError, match="threshold_step_ must be a number"):
        model.check_state()


@pytest.mark.parametrize("standardize", [None, False])
def test_a_stream_measures_it_as_the_whole_file(standardize: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)).round(3) * [1, 10, 100, 1, 1] + [0, 5, 0, 0, 0]
    X[200:] *= 16  # the first piece is not like the others
    y, qid = np.digitize(X[:, 0], [-1, 1]), np.repeat(np.arange(80), 5)
    rw.write_letor(rw.Dataset(X, y, qid), tmp_path / "train.txt")
    ds = rw.read(tmp_path / "train.txt")
    given: Any = {"n_epochs": 2, "standardize": standardize, "classes": [0, 1, 2]}
    stream = rw.fit_stream(PRank(**given), tmp_path / "train.txt")
    whole = PRank(shuffle=False, **given).fit(ds.X, ds.y)
    assert stream.threshold_step_ == whole.threshold_step_ != 1
    np.testing.assert_array_equal(stream.thresholds_, whole.thresholds_)
    np.testing.assert_array_equal(stream.coef_, whole.coef_)
    dual = rw.fit_stream(PRank(kernel="rbf", **given), tmp_path / "train.txt")
    assert dual.threshold_step_ == 1.0  # K(x, x), however long the documents are


@pytest.mark.parametrize("step", [4, np.int64(4), np.float32(4), 4.0])
def test_a_step_of_any_type_can_be_saved(step: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = np.digitize(X[:, 0], [-1, 1])
    model = PRank(threshold_step=step).fit(X, y)
    rw.save(model, tmp_path / "m.rw")
    again = rw.load(tmp_path / "m.rw")
    assert again.threshold_step_ == 4.0
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
