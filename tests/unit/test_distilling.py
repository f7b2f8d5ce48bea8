"""Simple models in the place of large ones, and what they lose."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.data import Groups, make_mslr_like
from rankwright.distilling import Distillation, _correlation, _soft_labels, distill
from rankwright.evaluation import compare_pairs
from rankwright.metrics import NDCG
from tests.interfaces.conftest import Cli, run

__all__ = ["run"]
NAMES = [f"f{j}" for j in range(8)]
Parts = tuple[rw.Dataset, ...]


@pytest.fixture(scope="module")
def parts() -> Parts:
    data = make_mslr_like(n_queries=80, n_features=8, mean_docs=10, random_state=2)
    return data.with_features(data.X, NAMES).split((0.7, 0.3))


@pytest.fixture(scope="module")
def teacher(parts: Parts) -> Any:
    return rw.BoostedRanker(n_estimators=30, num_leaves=7, n_jobs=1).fit_dataset(parts[0])


def test_a_linear_teacher_is_found_again(parts: Parts) -> None:
    train, test = parts
    linear = rw.LinearRanker("listnet", alpha=0.01).fit_dataset(train)
    found = distill(linear, train, valid=test)
    assert isinstance(found.model, rw.LinearRanker)
    assert found.correlation > 0.999
    assert abs(found.loss.difference) < 0.01
    assert found.model.feature_names() == NAMES
    # Another scale of the teacher's scores is nothing to the student.
    linear.coef_ = 7.0 * linear.coef_
    again = distill(linear, train, valid=test)
    np.testing.assert_allclose(again.model.coef_, found.model.coef_, rtol=1e-4, atol=1e-6)


def test_labels_are_not_learned(parts: Parts, teacher: Any) -> None:
    train, test = parts
    blind = train.with_labels(np.zeros(train.n_docs))
    found, same = (distill(teacher, data, valid=test) for data in (train, blind))
    np.testing.assert_array_equal(found.model.coef_, same.model.coef_)


def test_what_is_lost_is_a_paired_comparison_on_held_out_queries(
    parts: Parts, teacher: Any
) -> None:
    train, test = parts
    found = distill(teacher, train, into="trees", n_trees=5, valid=test, metric="ndcg@5")
    values = {
        name: NDCG(k=5).per_query(test.y, model.predict_dataset(test), test.groups)
        for name, model in (("teacher", teacher), ("student", found.model))
    }
    assert found.loss == compare_pairs(values)[0]
    means = [np.nanmean(v) for v in values.values()]
    np.testing.assert_allclose([found.teacher, found.student], means, rtol=1e-14)
    correlations = [
        np.corrcoef(teacher.predict(test.X[rows]), found.model.predict(test.X[rows]))[0, 1]
        for rows in test.groups
        if np.ptp(teacher.predict(test.X[rows])) > 0
        and np.ptp(found.model.predict(test.X[rows])) > 0
    ]
    assert found.correlation == pytest.approx(np.mean(correlations))
    assert str(found).startswith(
        f"ndcg@5 {found.student:.4f}, the teacher's is {found.teacher:.4f}"
    )
    assert "\n" not in repr(found)
    assert len(repr(found)) < 300
    assert json.loads(json.dumps(found.to_dict()))["loss"]["n_queries"] == found.loss.n_queries


def test_what_is_gained_is_told_as_such(parts: Parts, teacher: Any) -> None:
    found = distill(teacher, parts[0], into="trees", n_trees=5, valid=parts[1])
    loss = replace(found.loss, difference=0.25, low=-0.5, high=1.0, higher_is_better=True)
    ends = {
        (0.25, True): "0.2500 lost [-0.5000, +1.0000]",
        (-0.25, True): "0.2500 gained [-1.0000, +0.5000]",
        (0.0, True): "0.0000 lost [-0.5000, +1.0000]",
        (0.25, False): "0.2500 gained [-0.5000, +1.0000]",
        (-0.25, False): "0.2500 lost [-1.0000, +0.5000]",
    }
    for (difference, higher), text in ends.items():
        told = replace(loss, difference=difference, higher_is_better=higher)
        assert text in str(replace(found, loss=told))


def test_a_fifth_is_held_out_by_query_id(parts: Parts, teacher: Any) -> None:
    data = parts[0]
    found = distill(teacher, data, random_state=3)
    learn, held_out = data.split((0.8, 0.2), 3)
    assert found.n_queries == learn.n_queries
    same = distill(teacher, learn, valid=held_out, random_state=3)
    np.testing.assert_array_equal(found.model.coef_, same.model.coef_)
    assert found.student == same.student


@pytest.mark.parametrize("n", [1, 3, 8])
def test_a_sparse_student_has_so_many_features_at_most(n: int, parts: Parts, teacher: Any) -> None:
    train, test = parts
    found = distill(teacher, train, into="sparse", n_features=n, valid=test)
    assert 1 <= np.count_nonzero(found.model.coef_) <= n
    assert found.model.relax


def test_a_sparse_student_has_the_least_penalty_that_will_do(parts: Parts, teacher: Any) -> None:
    train, test = parts
    found = distill(teacher, train, into="sparse", n_features=3, valid=test).model
    scores = teacher.predict_dataset(train)
    learn = train.with_labels(_soft_labels(scores, train.groups))
    n_used = [
        np.count_nonzero(clone(found).set_params(**p).fit_dataset(learn).coef_)
        for p in ({"relax": False}, {"relax": False, "alpha": 0.98 * found.alpha})
    ]
    assert n_used[0] <= 3 < n_used[1]


def test_losses_of_which_less_is_better(parts: Parts, teacher: Any) -> None:
    train, test = parts
    found = distill(
        teacher, train, into="trees", n_trees=5, valid=test, metric="pairwise_error", random_state=3
    )
    metric = rw.metrics.PairwiseError()
    values = {
        name: metric.per_query(test.y, model.predict_dataset(test), test.groups)
        for name, model in (("teacher", teacher), ("student", found.model))
    }
    expected, other = (
        compare_pairs(values, random_state=seed, higher_is_better=False)[0] for seed in (3, 0)
    )
    assert found.loss == expected != other
    assert found.model.random_state == 3


def test_queries_of_one_score_have_no_correlation() -> None:
    groups = Groups(np.array([0, 2, 4, 5]))
    scores = np.array([1.0, 2.0, 3.0, 3.0, 4.0])
    assert _correlation(scores, -scores, groups) == pytest.approx(-1.0)
    assert np.isnan(_correlation(scores, np.zeros(5), groups))


def test_trees_are_so_many(parts: Parts, teacher: Any) -> None:
    train, test = parts
    few = distill(teacher, train, into="trees", n_trees=3, valid=test)
    many = distill(teacher, train, into="trees", n_trees=80, valid=test)
    assert (few.model.n_iter_, many.model.n_iter_) == (3, 80)
    assert many.correlation > few.correlation
    assert (few.model.learning_rate, many.model.learning_rate) == (0.2, 0.125)


def test_averages_kernels_and_pipelines_are_teachers(parts: Parts) -> None:
    train, test = parts
    average = rw.EnsembleRanker([rw.LinearRanker(), rw.PAMIR(n_triplets=50)], 2)
    kernel = rw.SLAMPerceptron(kernel="rbf")
    pipeline = make_pipeline(StandardScaler(), rw.LinearRanker(alpha=0.01))
    pipeline.fit(train.X, train.y, linearranker__qid=train.qid)
    for model in (average.fit_dataset(train), kernel.fit_dataset(train), pipeline):
        found = distill(model, train, valid=test)
        assert isinstance(found, Distillation)
        assert found.correlation > 0.3


def test_missing_values_and_columns_in_another_order(parts: Parts, teacher: Any) -> None:
    train, test = parts
    X = train.X.copy()
    X[::5, 1] = np.nan
    gaps = train.with_features(X)
    for into in ("linear", "trees"):
        found = distill(teacher, gaps, into=into, valid=test)
        assert np.isfinite(found.model.predict(gaps.X)).all()
    moved = train.with_features(train.X[:, ::-1].copy(), NAMES[::-1])
    one, two = (distill(teacher, data, valid=test) for data in (train, moved))
    assert two.model.feature_names() == NAMES
    np.testing.assert_array_equal(one.model.coef_, two.model.coef_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"into": "tree"}, "into must be one of linear, sparse, trees, but is 'tree'."),
        ({"n_features": 3}, "n_features is for into='sparse', but into is 'linear'."),
        ({"into": "sparse", "n_trees": 3}, "n_trees is for into='trees', but into is 'sparse'."),
        ({"into": "trees", "n_trees": 0}, "n_trees must be a positive integer or None, but is 0."),
    ],
)
def test_what_cannot_be(options: Any, message: str, parts: Parts, teacher: Any) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        distill(teacher, parts[0], **options)


class Endless:
    """A teacher that is no ranker of the library, and gives one document too much."""

    def predict(self, X: Any) -> Any:
        return np.where(np.arange(len(X)) == 3, np.inf, X[:, 0])


def test_teachers_that_cannot_be(parts: Parts) -> None:
    train = parts[0]
    flat = rw.LinearRanker().fit_dataset(train)
    flat.coef_ = np.zeros(8)
    with pytest.raises(ValueError, match=r"^model must rank something, but gives the documents of"):
        distill(flat, train)
    with pytest.raises(ValueError, match=r"^the scores of model must be finite, but are not\.$"):
        distill(Endless(), rw.Dataset(train.X, train.y, train.qid))
    many = rw.PredtronLabelRanker().fit(train.X, np.column_stack([train.y, 4 - train.y]))
    with pytest.raises(TypeError, match=r"^model must give each document a score, but Predtron"):
        distill(many, rw.Dataset(train.X, train.y, train.qid))


def test_features_that_come_together() -> None:
    rng = np.random.default_rng(0)
    column = rng.normal(size=(60, 1))
    data = rw.Dataset(np.hstack([column, rng.normal(size=(60, 1))]), column[:, 0] > 0, [0] * 60)
    model = rw.LinearRanker().fit_dataset(data)
    found = distill(model, data, into="sparse", n_features=1, valid=data)
    assert np.flatnonzero(found.model.coef_).tolist() == [0]


def test_the_command_line(parts: Parts, teacher: Any, run: Cli, tmp_path: Path) -> None:
    train, test = parts
    rw.save(teacher, "big.rw")
    for name, part in (("train.csv", train), ("test.csv", test)):
        rw.write(part, name)
    words = ["distill", "big.rw", "train.csv", "--into", "sparse", "--n-features", "3"]
    code, out, err = run(*words, "--valid", "test.csv", "-o", "small.rw")
    assert (code, err) == (0, "")
    found = distill(teacher, rw.read("train.csv"), into="sparse", n_features=3,
                    valid=rw.read("test.csv"))  # fmt: skip
    assert out == f"small.rw: LinearRanker, {found}\n"
    np.testing.assert_array_equal(rw.load("small.rw").coef_, found.model.coef_)
    code, out, _ = run("distill", "big.rw", "train.csv", "--into", "trees", "--n-trees", "4",
                       "-m", "ndcg@5", "--json", "-o", "trees.rw")  # fmt: skip
    assert code == 0
    facts = json.loads(out)
    assert (facts["class"], facts["metric"]) == ("BoostedRanker", "ndcg@5")
    assert rw.load("trees.rw").n_iter_ == 4
    code, _, err = run(*words[:3], "--into", "bush", "-o", "x.rw")
    assert code == 2
    assert err == "rankwright: --into must be one of linear, sparse, trees, but is 'bush'.\n"
    code, _, err = run(*words[:3], "-o", "train.csv")
    assert code == 2
    assert err.count("\n") == 1


def test_features_that_come_at_once_are_not_left_out() -> None:
    # Of two equal columns l1 takes both or neither: no penalty leaves one, and none is no student.
    x = np.random.default_rng(0).normal(size=300)
    data = rw.Dataset(np.c_[x, x], (x > 0).astype(int), np.repeat(np.arange(30), 10))
    teacher = rw.LinearRanker("xendcg").fit(data.X, data.y, data.qid)
    with pytest.raises(ValueError, match="no penalty leaves 1 to 1 features"):
        rw.distill(teacher, data, into="sparse", n_features=1)
