"""What holds for every metric."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from rankwright.data import Groups
from rankwright.metrics import METRICS, FunctionMetric, Metric, parse, per_query_of_all
from tests.reference import metrics as reference
from tests.strategies import RankingData, ranking_data

# Every class with every value of every convention that has few.
_CHOICES: dict[str, tuple[Any, ...]] = {
    "k": (None, 1, 3),
    "gain": ("exp2", "linear"),
    "discount": ("log2", "letor"),
    "ties": ("average", "order", "worst", "best"),
    "empty": ("skip", 0.0, 1.0),
    "short": ("keep", "zero"),
    "threshold": (1.0, 2.0),
    "variant": ("a", "b"),
    "p": (0.8, 0.5),
    "max_grade": (4, 5.5),
}
_DENOMINATORS = {"ap": ("relevant", "cutoff"), "precision": ("cutoff", "documents")}
_LABELS_ONLY = ("rank_loss", "rank_accuracy")
RANKING_METRICS = sorted(set(METRICS) - set(_LABELS_ONLY))
WITH_CUTOFF = [n for n in RANKING_METRICS if "k" in METRICS[n].__dataclass_fields__]


def choices(kind: type[Metric], field: str) -> tuple[Any, ...]:
    return _DENOMINATORS[kind.name] if field == "denominator" else _CHOICES[field]


@st.composite
def any_metric(draw: st.DrawFn, name: str) -> Metric:
    kind = METRICS[name]
    options = {
        field.name: draw(st.sampled_from(choices(kind, field.name)))
        for field in dataclasses.fields(kind)
    }
    return kind(**options)


def twin(metric: Metric, data: RankingData) -> np.ndarray[Any, Any]:
    options = {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}
    function = getattr(reference, metric.name)
    return reference.per_query(function, data.y, data.scores, data.indptr, **options)


def test_every_metric_class_is_registered() -> None:
    import rankwright.metrics as package

    classes = {
        value
        for value in vars(package).values()
        if isinstance(value, type) and issubclass(value, Metric) and value is not Metric
    } - {FunctionMetric}
    assert classes == set(METRICS.values())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_kernels_equal_their_references(data: st.DataObject) -> None:
    ranking = data.draw(ranking_data(labels=data.draw(st.sampled_from(["grades", "floats"]))))
    for name in sorted(METRICS):
        metric = data.draw(any_metric(name))
        values = metric.per_query(ranking.y, ranking.scores, Groups(ranking.indptr))
        # A rank loss may be a million, whose last bit is 1.2e-10.
        np.testing.assert_allclose(values, twin(metric, ranking), rtol=1e-15, atol=1e-10)


@pytest.mark.parametrize("name", sorted(METRICS))
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_text_reads_back(name: str, data: st.DataObject) -> None:
    metric = data.draw(any_metric(name))
    assert parse(str(metric)) == metric
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert hash(parse(str(metric))) == hash(metric)


@settings(max_examples=20, deadline=None)
@given(ranking_data(max_queries=6), st.randoms(use_true_random=False))
def test_order_of_queries_does_not_matter(ranking: RankingData, random: Any) -> None:
    groups = Groups(ranking.indptr)
    queries = list(range(groups.n_queries))
    random.shuffle(queries)
    rows = groups.rows_of(np.array(queries))
    shuffled = Groups(np.append(0, np.cumsum(groups.sizes[queries])))
    for name in RANKING_METRICS:
        note(name)
        metric = METRICS[name]()
        values = metric.per_query(ranking.y, ranking.scores, groups)
        again = metric.per_query(ranking.y[rows], ranking.scores[rows], shuffled)
        np.testing.assert_array_equal(again, values[queries])
        if not np.isnan(values).all():
            mean = metric.mean(ranking.y, ranking.scores, groups)
            assert metric.mean(ranking.y[rows], ranking.scores[rows], shuffled) == mean


@settings(max_examples=20, deadline=None)
@given(ranking_data(), st.randoms(use_true_random=False))
def test_order_of_rows_matters_only_by_wish(ranking: RankingData, random: Any) -> None:
    groups = Groups(ranking.indptr)
    rows = np.concatenate([random.sample(range(q.start, q.stop), q.stop - q.start) for q in groups])
    for name in RANKING_METRICS:
        note(name)
        metric = METRICS[name]()
        assert getattr(metric, "ties", "average") != "order"
        np.testing.assert_allclose(
            metric.per_query(ranking.y[rows], ranking.scores[rows], groups),
            metric.per_query(ranking.y, ranking.scores, groups),
            rtol=0,
            atol=1e-12,
        )


def large_data(seed: int = 0) -> tuple[Any, Any, Groups]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 400, 300)
    n = int(sizes.sum())
    scores = np.round(rng.normal(size=n), 1)  # many ties
    return rng.integers(0, 5, n).astype(float), scores, Groups(np.append(0, np.cumsum(sizes)))


@pytest.mark.parametrize("name", RANKING_METRICS)
def test_thread_count_does_not_change_a_bit(name: str) -> None:
    y, scores, groups = large_data()
    for metric in (METRICS[name](), *([parse(f"{name}@7")] if name in WITH_CUTOFF else [])):
        one = metric.per_query(y, scores, groups, n_jobs=1)
        for n_jobs in (2, 8):
            np.testing.assert_array_equal(metric.per_query(y, scores, groups, n_jobs=n_jobs), one)


# Precision divides by k, so a large one is not the same as none.
@pytest.mark.parametrize("name", [n for n in WITH_CUTOFF if n != "precision"])
def test_cutoff_at_the_end_is_no_cutoff(name: str) -> None:
    y, scores, groups = large_data()
    full = METRICS[name]().per_query(y, scores, groups)
    cut = parse(f"{name}@400").per_query(y, scores, groups)
    np.testing.assert_allclose(cut, full, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", WITH_CUTOFF)
@pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
def test_partial_sorting_equals_full_sorting(name: str, ties: str) -> None:
    y, scores, groups = large_data(1)
    metric = parse(f"{name}@5(ties={ties})")
    alone = metric.per_query(y, scores, groups)
    with_deep_one, _ = per_query_of_all([metric, parse("ap")], y, scores, groups)
    np.testing.assert_array_equal(alone, with_deep_one)


@pytest.mark.parametrize("name", RANKING_METRICS)
def test_edge_cases(name: str) -> None:
    metric = METRICS[name]()
    one = Groups.one_query(1)
    assert metric.per_query([1.0], [0.0], one).shape == (1,)
    # All tied, all labels equal, no relevant document, extreme scores.
    for y, scores in (
        ([1.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
        ([1.0, 1.0, 1.0], [0.0, 1.0, 2.0]),
        ([0.0, 0.0, 0.0], [0.0, 1.0, 2.0]),
        ([1.0, 0.0, 2.0], [1e6, -1e6, 0.0]),
        ([1.0, 0.0, 2.0], [1.7e308, -1.7e308, 5e-324]),
    ):
        value = metric.per_query(y, scores)[0]
        assert np.isnan(value) or np.isfinite(value)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="scores must be finite, but row 1 is"):
            metric.per_query([1.0, 0.0], [0.0, bad])
        with pytest.raises(ValueError, match="y must be finite, but row 0 is"):
            metric.per_query([bad, 0.0], [0.0, 1.0])
    assert metric.per_query([], [], Groups(np.array([0]))).shape == (0,)


@pytest.mark.parametrize("name", [n for n in RANKING_METRICS if n != "err"])
def test_labels_of_40(name: str) -> None:
    value = METRICS[name]().per_query([40.0, 0.0, 39.0], [3.0, 2.0, 1.0])[0]
    assert np.isfinite(value)


@pytest.mark.parametrize("name", RANKING_METRICS)
@pytest.mark.parametrize("scores", ["tied", "random"])
def test_query_of_100_000_documents(name: str, scores: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 100_000).astype(float)
    s = np.zeros(100_000) if scores == "tied" else rng.normal(size=100_000)
    value = METRICS[name]().per_query(y, s)[0]
    assert np.isfinite(value) or (name == "kendall_tau" and scores == "tied")


@pytest.mark.parametrize("name", RANKING_METRICS)
def test_perfect_and_reversed_rankings(name: str) -> None:
    y = np.array([3.0, 2.0, 1.0, 0.0])
    metric = parse(f"{name}@1") if name in WITH_CUTOFF else METRICS[name]()
    best, worst = metric.per_query(y, y)[0], metric.per_query(y, -y)[0]
    assert best > worst if metric.higher_is_better else best < worst
