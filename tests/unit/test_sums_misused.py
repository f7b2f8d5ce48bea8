"""Bases, averages and students in the hands of someone in a hurry."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.data import make_mslr_like
from rankwright.exceptions import DataError, DataWarning
from rankwright.persistence import packed
from rankwright.refitting import EndedEarly
from rankwright.trees.grafting_memory import GraftInMemory
from tests.interfaces.conftest import Cli, run
from tests.signals import default_handlers

__all__ = ["run"]
FEW: dict[str, Any] = {"n_estimators": 6, "num_leaves": 4, "min_child_samples": 3, "n_jobs": 1}
NAMES = ["a", "b", "c", "d"]
Parts = tuple[rw.Dataset, ...]


@pytest.fixture(autouse=True)
def foreground() -> Iterator[None]:
    """Hear SIGINT, also where the tests run in the background."""
    with default_handlers():
        yield


@pytest.fixture(scope="module")
def parts() -> Parts:
    data = make_mslr_like(n_queries=40, n_features=4, mean_docs=9, random_state=3)
    return data.with_features(data.X, NAMES).split((0.6, 0.4))


def auto(**params: Any) -> rw.BoostedRanker:
    return rw.BoostedRanker(**{**FEW, "base": "auto", **params})


def with_levels(data: rw.Dataset, levels: list[str]) -> rw.Dataset:
    frame = pd.DataFrame(data.X[:, :2], columns=["a", "b"])
    kinds = np.array(levels)[(data.X[:, 2] > np.median(data.X[:, 2])).astype(int)]
    return rw.from_frame(frame.assign(kind=kinds, label=data.y, qid=data.qid), categorical=["kind"])


# ---- auto ----


@pytest.mark.parametrize("params", [{"n_estimators": 0}, {"min_child_samples": 10_000}])
def test_auto_is_linear_where_no_tree_can_be(params: dict[str, Any], parts: Parts) -> None:
    train, valid = parts
    found = auto(**params).fit_dataset(train, valid=valid)
    assert found.n_iter_ == 0
    np.testing.assert_array_equal(
        found.predict_dataset(valid),
        rw.BoostedRanker(**{**FEW, **params, "base": "linear"})
        .fit_dataset(train, valid=valid)
        .predict_dataset(valid),
    )


def test_a_true_answer_ends_both_runs_of_auto(parts: Parts) -> None:
    train, valid = parts
    told: list[Any] = []

    def enough(progress: Any) -> bool:
        told.append(progress)
        return len(told) == 2  # once: the run to come is not asked

    found = auto().fit_dataset(train, enough, valid=valid)
    assert (len(told), found.stop_) == (2, "interrupted")
    assert not hasattr(found, "linear_coef_")


@pytest.mark.parametrize("metric", ["ndcg@10", "rank_loss"])
def test_no_interrupt_of_auto_is_swallowed(metric: str, parts: Parts) -> None:
    train, valid = parts
    for round_of_all in range(1, 13):  # six trees of each run
        told: list[Any] = []

        def interrupt(progress: Any, told: list[Any] = told, at: int = round_of_all) -> None:
            told.append(progress)
            if len(told) == at:
                signal.raise_signal(signal.SIGINT)

        found = auto(eval_metric=metric)
        with pytest.raises(EndedEarly):
            found.fit_dataset(train, interrupt, valid=valid)
        assert (found.stop_, len(told)) == ("interrupted", round_of_all)
        assert np.ptp(found.predict_dataset(valid)) > 0


def test_an_interrupt_of_the_base_keeps_the_trees(parts: Parts, monkeypatch: Any) -> None:
    train, valid = parts

    def interrupted(*_: Any) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(GraftInMemory, "alpha_of", interrupted)
    found = auto()
    with pytest.raises(EndedEarly):
        found.fit_dataset(train, valid=valid)
    trees = auto(base=None).fit_dataset(train, valid=valid)
    assert (found.stop_, found.model_text_) == ("interrupted", trees.model_text_)


def test_the_base_sees_what_the_metric_looks_at(parts: Parts) -> None:
    train, valid = (
        rw.Dataset(part.X, part.y, part.qid, NAMES, [f"d{j % 5}" for j in range(part.n_docs)])
        for part in parts
    )
    by_folds = rw.BoostedRanker(base="linear", eval_metric="unique_ndcg@10", **FEW)
    assert by_folds.fit_dataset(train).base_alpha_ > 0
    watched = auto(eval_metric="unique_ndcg@10").fit_dataset(train, valid=valid)
    assert 0 < watched.best_score_ <= 1


# ---- what is told ----


def test_one_warning_each_where_no_query_counts(parts: Parts) -> None:
    train = parts[0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rw.BoostedRanker(base="linear", **FEW).fit(train.X, 0 * train.y, train.qid)
    assert ["ranks nothing" in str(warning.message) for warning in told] == [True, True]
    assert {Path(warning.filename).name for warning in told} == {Path(__file__).name}


def test_scores_from_outside_that_no_tree_betters(parts: Parts) -> None:
    train, valid = parts
    ideal: Any = {"init_score": 9 * train.y, "valid": valid, "valid_init_score": 9 * valid.y}
    with pytest.warns(DataWarning, match="no tree betters the scores that boosting began with"):
        rw.BoostedRanker(**FEW).fit(train, train.y, train.qid, **ideal)


def test_validation_queries_are_a_data_set(parts: Parts) -> None:
    train = parts[0]
    given: Any = {"init_score": train.y, "valid_init_score": train.y, "valid": (train.X, train.y)}
    with pytest.raises(TypeError, match=r"valid must be a Dataset, but is a tuple\. Make one"):
        rw.BoostedRanker(**FEW).fit(train.X, train.y, train.qid, **given)


# ---- fitted members ----


def test_members_fitted_to_other_columns_are_refused(parts: Parts) -> None:
    train = parts[0]
    turned = train.with_features(train.X[:, ::-1], NAMES[::-1])
    other = rw.LinearRanker().fit_dataset(turned)
    with pytest.raises(ValueError, match="member 'LinearRanker' must have been fitted to the feat"):
        rw.EnsembleRanker([other], n_models=1).fit_dataset(train)
    same = rw.LinearRanker().fit_dataset(train)
    found = rw.EnsembleRanker([same], n_models=1, n_jobs=1).fit_dataset(train)
    wanted = same.predict_dataset(train) / found.member_scales_[0]
    np.testing.assert_allclose(found.predict_dataset(train), wanted, rtol=1e-12)


def test_members_fitted_to_other_categories_are_refused(parts: Parts) -> None:
    train = with_levels(parts[0], ["low", "high"])
    other = rw.BoostedRanker(**FEW).fit_dataset(with_levels(parts[0], ["low", "middle"]))
    with pytest.raises(ValueError, match="to the categories of X, but knows others of 'kind'"):
        rw.EnsembleRanker([other], n_models=1, n_jobs=1).fit_dataset(train)
    same = rw.BoostedRanker(**FEW).fit_dataset(train)
    found = rw.EnsembleRanker([same], n_models=1, n_jobs=1).fit_dataset(train)
    assert found.n_iter_ == same.n_iter_


def test_a_class_is_no_member() -> None:
    with pytest.raises(TypeError, match=r"but one is <class 'rankwright.*BoostedRanker'>"):
        rw.EnsembleRanker(rw.BoostedRanker).check_params()


def test_pipelines_are_refused_in_one_line() -> None:
    line = make_pipeline(StandardScaler(), rw.LinearRanker("listnet", alpha=0.5, standardize=True))
    assert "\n" in repr(line)
    given: Any = line
    with pytest.raises(ValueError, match=r"^base must be None, .* but is Pipeline") as of_base:
        rw.BoostedRanker(base=given).check_params()
    with pytest.raises(
        TypeError, match=r"^members must be rankers .* one is Pipeline"
    ) as of_member:
        rw.EnsembleRanker(given).check_params()
    assert "\n" not in f"{of_base.value}{of_member.value}"


def test_an_interrupt_between_members_keeps_them(parts: Parts) -> None:
    def interrupt(progress: Any) -> None:
        if progress.detail is None:  # a member is fitted
            signal.raise_signal(signal.SIGINT)

    found = rw.EnsembleRanker(rw.BoostedRanker(**FEW), n_models=3, n_jobs=1)
    with pytest.raises(EndedEarly):
        found.fit_dataset(parts[0], interrupt)
    assert (found.stop_, found.member_names_) == ("interrupted", ["BoostedRanker 1"])


# ---- files ----


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("base_n_iter_", 99, "base_n_iter_ must be a number of trees up to 6"),
        ("base_n_iter_", "x", "base_n_iter_ must be a number of trees up to 6"),
        ("base_scale_", [1.0], "base_scale_ must be a number >= 0"),
        ("base_alpha_", float("inf"), "base_alpha_ must be a number >= 0"),
        ("linear_spread_", -np.ones(4), "linear_spread_ must be numbers >= 0"),
    ],
)
def test_files_of_grafts_that_cannot_be(name: str, value: Any, message: str, parts: Parts) -> None:
    found = rw.BoostedRanker(base="linear", **FEW).fit_dataset(parts[0])
    setattr(found, name, value)
    with pytest.raises(DataError, match=message):
        packed(found)


# ---- students ----


@pytest.mark.parametrize("model", [None, "model.rw", rw.BoostedRanker, np.mean])
def test_what_is_no_teacher(model: Any, parts: Parts) -> None:
    with pytest.raises(TypeError, match="model must be a fitted model with predict, but is"):
        rw.distill(model, parts[0])


def test_a_teacher_must_be_fitted_and_data_a_data_set(parts: Parts) -> None:
    with pytest.raises(NotFittedError):
        rw.distill(rw.BoostedRanker(), parts[0])
    teacher: Any = rw.LinearRanker().fit_dataset(parts[0])
    given: Any = (parts[0].X, parts[0].y)
    with pytest.raises(TypeError, match="data must be a Dataset, but is a tuple"):
        rw.distill(teacher, given)
    with pytest.raises(TypeError, match="valid must be a Dataset, but is a tuple"):
        rw.distill(teacher, parts[0], valid=given)


def test_students_are_measured_on_queries_that_count(parts: Parts) -> None:
    teacher = rw.LinearRanker().fit_dataset(parts[0])
    unjudged = parts[0].with_labels(0 * parts[0].y)
    with pytest.raises(ValueError, match="a fifth of data must have a query that counts in ndcg"):
        rw.distill(teacher, unjudged)
    with pytest.raises(ValueError, match="valid must have a query that counts in ndcg@10"):
        rw.distill(teacher, parts[0], valid=unjudged)
    assert rw.distill(teacher, unjudged, valid=parts[1]).correlation > 0.9


# ---- the command line ----


@pytest.mark.filterwarnings("ignore:weights='valid' follows the noise")
@pytest.mark.parametrize(
    "options",
    [["boosted", "-p", "base=auto", "-p", "n_estimators=4"], ["ensemble", "-p", "weights=valid"]],
)
def test_queries_are_put_aside_for_every_choice(
    options: list[str], parts: Parts, run: Cli, tmp_path: Path
) -> None:
    rw.write(parts[0], tmp_path / "train.csv")
    given = [*options, "-p", "n_models=1"] if options[0] == "ensemble" else options
    code, _, err = run("train", "train.csv", "-o", "model.rw", "--model", *given)
    assert code == 0
    assert "of 24 queries are put aside to choose by; --valid names others." in err
