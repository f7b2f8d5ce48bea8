"""Studies of robustness: protocol, statistics, resuming."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rankwright.comparison import Entry, Fit, NoiseStudy, noise_study
from rankwright.comparison.noise_study import fits_csv
from rankwright.data import (
    Augmentation,
    Cascade,
    Clicks,
    Corruption,
    Dataset,
    LabelNoise,
    augment,
    make_mslr_like,
    perturb_labels,
    simulate_clicks,
)
from rankwright.data.corruptions import CORRUPTIONS, find_corruption
from rankwright.exceptions import DataError
from rankwright.linear import LinearRanker
from rankwright.metrics import NDCG

SEEN: list[dict[str, Any]] = []


class Spy:
    """A ranker that remembers what it was fitted to, and ranks by one feature."""

    def __init__(self, feature: int = 0, fail_at: int | None = None) -> None:
        self.feature = feature
        self.fail_at = fail_at

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"feature": self.feature, "fail_at": self.fail_at}

    def fit(self, X: Any, y: Any, qid: Any, valid: Dataset) -> Spy:
        if self.fail_at is not None and len(SEEN) >= self.fail_at:
            raise ValueError("enough")
        SEEN.append({"X": X, "y": y, "qid": qid, "valid": valid})
        return self

    def predict(self, X: Any) -> Any:
        return X[:, self.feature]


@pytest.fixture
def ds() -> Dataset:
    SEEN.clear()
    return make_mslr_like(n_queries=40, n_features=6, mean_docs=10)


def linear(**losses: str) -> dict[str, Any]:
    return {name: LinearRanker(loss, standardize=True) for name, loss in losses.items()}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_models_see_the_same_corruption_and_are_measured_without(name: str, ds: Dataset) -> None:
    level, seed = 0.2, 5
    models = {"a": Spy(0), "b": Spy(4)}
    study = noise_study(ds, name, models, levels=[level], n_trials=2, random_state=seed)
    what = find_corruption(name)
    for trial in range(2):
        train, valid, test = ds.split((0.6, 0.2, 0.2), seed + trial)
        expected = what.apply(train, level, seed + trial)
        for seen in SEEN[2 * trial : 2 * trial + 2]:
            np.testing.assert_array_equal(seen["X"], expected.X)
            np.testing.assert_array_equal(seen["y"], expected.y)
            np.testing.assert_array_equal(seen["qid"], expected.qid)
            # Only clicks replace the validation labels.
            watched = what.apply(valid, level, seed + trial) if what.of_validation else valid
            np.testing.assert_array_equal(seen["valid"].y, watched.y)
        for i, feature in enumerate((0, 4)):
            assert study.values[i, 0, trial] == NDCG(k=5).mean(
                test.y, test.X[:, feature], test.groups
            )


def test_corruptions_are_those_of_the_data_package(ds: Dataset) -> None:
    same = np.testing.assert_array_equal
    same(LabelNoise((0.5, 0.5)).apply(ds, 0.3, 2).y, perturb_labels(ds, 0.3, (0.5, 0.5), 2).y)
    same(Augmentation().apply(ds, 0.3, 2).X, augment(ds, 0.3, 2).X)
    log = simulate_clicks(ds, Cascade().with_noise(0.3), impressions=4, random_state=2)
    same(Clicks(impressions=4).apply(ds, 0.3, 2).y, log.impressions().y)
    assert find_corruption("cascade").levels == (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    with pytest.raises(ValueError, match=r"^noise must be one of labels, augment, .* is 'dust'\.$"):
        find_corruption("dust")


def test_random_labels_are_those_that_the_data_has(ds: Dataset) -> None:
    binary = ds.with_labels((ds.y > 1).astype(float))
    noise_study(binary, "labels", {"a": Spy()}, levels=[1.0], n_trials=2)
    assert set(SEEN[0]["y"]) == {0.0, 1.0}
    noise_study(binary, LabelNoise(), {"a": Spy()}, levels=[1.0], n_trials=2)
    assert set(SEEN[2]["y"]) == {0.0, 1.0, 2.0, 3.0, 4.0}


def study_of(values: Any) -> NoiseStudy:
    array = np.asarray(values, dtype=np.float64)
    names = tuple("abc"[: len(array)])
    levels = tuple(0.1 * i for i in range(array.shape[1]))
    return NoiseStudy(LabelNoise(), NDCG(k=5), names, levels, array)


def test_intervals_are_those_of_student() -> None:
    values = np.random.default_rng(0).normal(size=(3, 4, 6))
    study = study_of(values)
    assert study.n_trials == 6
    for i, name in enumerate(study.models):
        mean, low, high = study.curve(name)
        for j in range(4):
            one = values[i, j]
            expected = stats.t.interval(0.95, 5, one.mean(), stats.sem(one))
            assert mean[j] == pytest.approx(one.mean())
            assert (low[j], high[j]) == pytest.approx(expected)
    found = study.differences()
    assert [(d.a, d.b) for d in found] == [("a", "b")] * 4 + [("a", "c")] * 4
    for d, (i, j) in zip(found, [(i, j) for i in (1, 2) for j in range(4)], strict=True):
        assert d.mean == pytest.approx((values[0, j] - values[i, j]).mean())
        assert d.p == pytest.approx(stats.ttest_rel(values[0, j], values[i, j]).pvalue)
        assert d.p_holm >= d.p
    smallest = min(found, key=lambda d: d.p)
    assert smallest.p_holm == pytest.approx(min(1.0, 8 * smallest.p))
    other = study.differences("b")
    assert [(d.a, d.b) for d in other[:1]] == [("b", "a")]
    assert other[0].mean == pytest.approx(-found[0].mean)


def test_the_table_has_every_level_and_model() -> None:
    better = [[0.8, 0.81, 0.79], [0.7, 0.71, 0.69]]
    worse = [[0.5, 0.511, 0.49], [0.4, 0.41, 0.391]]
    study = study_of([better, worse])
    rows = list(csv.DictReader(study.to_csv().splitlines()))
    assert [(row["model"], row["level"]) for row in rows] == [
        ("a", "0.0"),
        ("a", "0.1"),
        ("b", "0.0"),
        ("b", "0.1"),
    ]
    assert rows[0]["mean"] == "0.800000"
    assert rows[0]["first_minus_this"] == ""
    assert float(rows[2]["first_minus_this"]) == pytest.approx(0.3 - 1e-3 / 3, abs=1e-6)
    assert float(rows[2]["p_holm"]) < 0.05
    assert all(d.significant for d in study.differences())


def test_a_chart_shows_curves_and_differences(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    from rankwright.report.charts import save_chart

    values = np.random.default_rng(0).uniform(size=(3, 4, 3))
    save_chart(study_of(values).chart(), tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert "a minus the others" in text
    assert "share of documents with a random label" in text
    save_chart(study_of(values[:1]).chart(), tmp_path / "one.svg")
    assert "minus" not in (tmp_path / "one.svg").read_text(encoding="utf-8")


def test_a_study_goes_on_where_it_stopped(ds: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "fits.jsonl"
    arguments: Any = {"levels": [0.0, 0.5], "n_trials": 3}
    whole = noise_study(ds, "labels", {"a": Spy(0), "b": Spy(4)}, **arguments)
    SEEN.clear()
    message = "b at level 0, trial 1: enough"
    models = {"a": Spy(0), "b": Spy(4, fail_at=5)}
    with pytest.raises(ValueError, match=f"^{message}$"):
        noise_study(ds, "labels", models, path=path, **arguments)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + 5
    # Parameters are part of what is kept: of b, with others, nothing is.
    SEEN.clear()
    fits: list[Fit] = []
    models = {"a": Spy(0), "b": Spy(4)}

    def note(fit: Fit, done: int, total: int) -> None:
        fits.append(fit)
        assert (done, total) == (len(fits), 12)

    again = noise_study(ds, "labels", models, path=path, callback=note, **arguments)
    np.testing.assert_array_equal(again.values, whole.values)
    assert [fit.model for fit in fits if fit.kept] == ["a", "a", "a"]
    assert len(SEEN) == 9
    SEEN.clear()
    third = noise_study(ds, "labels", models, path=path, **arguments)
    np.testing.assert_array_equal(third.values, whole.values)
    assert SEEN == []
    # One more level, or trial, needs only that.
    noise_study(ds, "labels", models, path=path, levels=[0.0, 0.5, 0.7], n_trials=3)
    assert len(SEEN) == 6
    # Other data, noise, metric or seed share nothing.
    SEEN.clear()
    noise_study(ds.select(np.arange(39)), "labels", models, path=path, **arguments)
    noise_study(ds, "augment", models, path=path, **arguments)
    noise_study(ds, "labels", models, path=path, metric="ap", **arguments)
    assert len(SEEN) == 36


def test_a_study_within_another_has_its_own_data(ds: Dataset) -> None:
    other = make_mslr_like(n_queries=30, n_features=6, mean_docs=10, random_state=1)
    arguments: Any = {"levels": [0.4], "n_trials": 2}
    expected = noise_study(other, "labels", {"b": Spy(4)}, **arguments).values
    found = []

    def inner(fit: Fit, done: int, total: int) -> None:
        found.append(noise_study(other, "labels", {"b": Spy(4)}, **arguments).values)

    noise_study(ds, "labels", {"a": Spy(4)}, callback=inner, **arguments)
    for values in found:
        np.testing.assert_array_equal(values, expected)


def test_the_order_of_the_file_does_not_matter(ds: Dataset) -> None:
    models = linear(x="xendcg", l="listnet")
    arguments: Any = {"levels": [0.4], "n_trials": 2}
    one = noise_study(ds, "cascade", models, **arguments)
    other = ds.select(np.random.default_rng(0).permutation(ds.n_queries))
    np.testing.assert_allclose(
        one.values, noise_study(other, "cascade", models, **arguments).values, atol=1e-6
    )


def test_noise_makes_rankers_worse() -> None:
    data = make_mslr_like(n_queries=150, n_features=12, mean_docs=15)
    study = noise_study(data, "labels", linear(x="xendcg"), levels=[0, 0.9], n_trials=3)
    mean, _, high = study.curve("x")
    assert high[1] < mean[0]


def test_the_default_models_run(ds: Dataset) -> None:
    study = noise_study(ds, "cascade", levels=[0.1], n_trials=2, n_jobs=1)
    trees = ("xendcg-trees", "lambdarank-trees", "listnet-trees")
    assert study.models == (*trees, "xendcg-linear", "domination-rank")
    assert ((study.values > 0.3) & (study.values < 1)).all()


def test_entries_and_names_can_be_mixed(ds: Dataset) -> None:
    mine = Entry("mine", LinearRanker("listnet", standardize=True))
    study = noise_study(ds, "labels", ["best-feature", mine], levels=[0], n_trials=2)
    assert study.models == ("best-feature", "mine")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda ds: noise_study(ds, "labels", {"a": Spy()}, n_trials=1),
            "n_trials must be an integer of at least 2, but is 1.",
        ),
        (
            lambda ds: noise_study(ds, "labels", {"a": Spy()}, levels=[]),
            "levels must be different numbers, at least one, but are [].",
        ),
        (
            lambda ds: noise_study(ds, "labels", {"a": Spy()}, levels=[0.1, 0.1]),
            "levels must be different numbers, at least one, but are [0.1, 0.1].",
        ),
        (
            lambda ds: noise_study(ds, "labels", {}),
            "there must be at least one model to compare.",
        ),
        (
            lambda ds: noise_study(ds, "labels", ["nix"]),
            "model must be one of linear, ",
        ),
        (
            lambda ds: noise_study(ds, "labels", {"a": Spy()}, levels=[2]),
            "share must be a number from 0 to 1, but is 2.0.",
        ),
    ],
)
def test_what_cannot_be_done_is_said(call: Any, message: str, ds: Dataset) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        call(ds)


def test_a_name_is_no_list_of_names(ds: Dataset) -> None:
    with pytest.raises(TypeError, match=r"^models must be a sequence of names or entries"):
        noise_study(ds, "labels", "linear-xendcg")


@pytest.mark.parametrize("text", ["a,b\n1,2\n", '{"rankwright": 1}\n', "\n"])
def test_other_files_are_refused(text: str, ds: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "fits.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=r"must be a study of format 2|is not a study"):
        noise_study(ds, "labels", {"a": Spy()}, path=path)
    assert path.read_text(encoding="utf-8") == text
    assert SEEN == []


def test_fits_are_the_same_in_other_processes(ds: Dataset, tmp_path: Path) -> None:
    models = linear(x="xendcg", l="listnet")
    arguments: Any = {"levels": [0.1, 0.3], "n_trials": 2}
    here = noise_study(ds, "cascade", models, **arguments)
    there = noise_study(ds, "cascade", models, n_jobs=2, path=tmp_path / "fits.jsonl", **arguments)
    np.testing.assert_array_equal(here.values, there.values)
    rows = list(csv.DictReader(fits_csv(tmp_path / "fits.jsonl").splitlines()))
    assert len(rows) == 8
    for row in rows:
        place = "xl".index(row["model"]), [0.1, 0.3].index(float(row["level"])), int(row["trial"])
        assert float(row["value"]) == here.values[place]
        assert (row["noise"], row["metric"]) == ("cascade", "ndcg@5")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_that_fails_is_named_wherever_it_runs(n_jobs: int, ds: Dataset) -> None:
    models = {"good": LinearRanker("listnet"), "bad": LinearRanker("nope")}
    with pytest.raises(ValueError, match=r"^bad at level 0, trial \d: loss must be one of "):
        noise_study(ds, "labels", models, levels=[0], n_trials=2, n_jobs=n_jobs)


def test_every_corruption_has_what_a_study_needs() -> None:
    for name, what in CORRUPTIONS.items():
        assert isinstance(what, Corruption)
        assert what.level
        assert len(what.levels) >= 2, name
