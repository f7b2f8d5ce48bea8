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
from rankwright.metrics.metric import COLUMNS, fields_of
from tests.reference import metrics as reference
from tests.reference import row_metrics
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
    "alpha": (0.5, 0.2, 0.0, 1.0),
    "target": ("documents", "relevance"),
    "subtopics": ("subtopics",),
    "group": ("group",),
    "duplicates": ("doc_id", "sku"),
}
_DENOMINATORS = {
    "ap": ("relevant", "cutoff"),
    "precision": ("cutoff", "documents"),
    "err_ia": ("subtopics", "full"),
}
_LABELS_ONLY = ("rank_loss", "rank_accuracy")
_ANY_ORDER = ("judged", "exposure_disparity")  # labels do not say which ranking is better
RANKING_METRICS = sorted(set(METRICS) - set(_LABELS_ONLY))
WITH_CUTOFF = [n for n in RANKING_METRICS if "k" in METRICS[n].__dataclass_fields__]


def choices(kind: type[Metric], field: str) -> tuple[Any, ...]:
    if field == "ties":
        return kind.tie_rules
    return _DENOMINATORS[kind.name] if field == "denominator" else _CHOICES[field]


def some_columns(n: int, seed: int = 0) -> dict[str, Any]:
    """Columns for every metric that needs one, with few values, so that they repeat."""
    rng = np.random.default_rng(seed)
    texts = np.array(["", "a", "b", "a b", "c", "b c", "a b c"], dtype=object)
    most = {"subtopics": 7, "group": 3, "doc_id": 5, "sku": 2}
    return {name: texts[rng.integers(0, m, n)] for name, m in most.items()}


def moved(columns: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: values[rows] for name, values in columns.items()}


@st.composite
def any_metric(draw: st.DrawFn, name: str) -> Metric:
    kind = METRICS[name]
    options = {
        field.name: draw(st.sampled_from(choices(kind, field.name)))
        for field in dataclasses.fields(kind)
    }
    return kind(**options)


def twin(metric: Metric, data: RankingData, columns: dict[str, Any]) -> np.ndarray[Any, Any]:
    options = fields_of(metric)
    roles = {role: columns[options.pop(role)] for role in COLUMNS if role in options}
    if not roles:
        function = getattr(reference, metric.name)
        return reference.per_query(function, data.y, data.scores, data.indptr, **options)
    function = getattr(row_metrics, metric.name)
    values = []
    for rows in Groups(data.indptr):
        own = {role: column[rows].tolist() for role, column in roles.items()}
        values.append(function(data.y[rows], data.scores[rows], **options, **own))
    return np.array(values)


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
        note(repr(metric))
        columns = some_columns(len(ranking.y), data.draw(st.integers(0, 5)))
        groups = Groups(ranking.indptr)
        values = metric.per_query(ranking.y, ranking.scores, groups, columns=columns)
        # A rank loss may be a million, whose last bit is 1.2e-10.
        np.testing.assert_allclose(values, twin(metric, ranking, columns), rtol=1e-15, atol=1e-10)


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
    columns = some_columns(len(ranking.y))
    for name in RANKING_METRICS:
        note(name)
        metric = METRICS[name]()
        values = metric.per_query(ranking.y, ranking.scores, groups, columns=columns)
        other = ranking.y[rows], ranking.scores[rows], shuffled
        again = metric.per_query(*other, columns=moved(columns, rows))
        np.testing.assert_array_equal(again, values[queries])
        if not np.isnan(values).all():
            mean = metric.mean(ranking.y, ranking.scores, groups, columns=columns)
            assert metric.mean(*other, columns=moved(columns, rows)) == mean


@settings(max_examples=20, deadline=None)
@given(ranking_data(), st.randoms(use_true_random=False))
def test_order_of_rows_matters_only_by_wish(ranking: RankingData, random: Any) -> None:
    groups = Groups(ranking.indptr)
    rows = np.concatenate([random.sample(range(q.start, q.stop), q.stop - q.start) for q in groups])
    columns = some_columns(len(ranking.y))
    for name in RANKING_METRICS:
        note(name)
        metric = METRICS[name]()
        assert fields_of(metric).get("ties", "average") != "order"
        other = ranking.y[rows], ranking.scores[rows], groups
        np.testing.assert_allclose(
            metric.per_query(*other, columns=moved(columns, rows)),
            metric.per_query(ranking.y, ranking.scores, groups, columns=columns),
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
        columns = some_columns(len(y))
        one = metric.per_query(y, scores, groups, columns=columns, n_jobs=1)
        for n_jobs in (2, 8):
            again = metric.per_query(y, scores, groups, columns=columns, n_jobs=n_jobs)
            np.testing.assert_array_equal(again, one)


# Precision divides by k, so a large one is not the same as none.
@pytest.mark.parametrize("name", [n for n in WITH_CUTOFF if n not in ("precision", "f1")])
def test_cutoff_at_the_end_is_no_cutoff(name: str) -> None:
    y, scores, groups = large_data()
    columns = some_columns(len(y))
    full = METRICS[name]().per_query(y, scores, groups, columns=columns)
    cut = parse(f"{name}@400").per_query(y, scores, groups, columns=columns)
    np.testing.assert_allclose(cut, full, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", WITH_CUTOFF)
@pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
def test_partial_sorting_equals_full_sorting(name: str, ties: str) -> None:
    y, scores, groups = large_data(1)
    columns = some_columns(len(y))
    if ties not in METRICS[name].tie_rules:
        with pytest.raises(ValueError, match=r"ties of .* must be one of 'average', 'order', but"):
            parse(f"{name}@5(ties={ties})")
        return
    metric = parse(f"{name}@5(ties={ties})")
    alone = metric.per_query(y, scores, groups, columns=columns)
    both = [metric, parse("ap")]
    with_deep_one, _ = per_query_of_all(both, y, scores, groups, columns=columns)
    np.testing.assert_array_equal(alone, with_deep_one)


@pytest.mark.parametrize("name", RANKING_METRICS)
def test_edge_cases(name: str) -> None:
    metric = METRICS[name]()
    columns = some_columns(3)
    one = Groups.one_query(1)
    alone, two = moved(columns, slice(1)), moved(columns, slice(2))
    assert metric.per_query([1.0], [0.0], one, columns=alone).shape == (1,)
    # All tied, all labels equal, no relevant document, extreme scores.
    for y, scores in (
        ([1.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
        ([1.0, 1.0, 1.0], [0.0, 1.0, 2.0]),
        ([0.0, 0.0, 0.0], [0.0, 1.0, 2.0]),
        ([1.0, 0.0, 2.0], [1e6, -1e6, 0.0]),
        ([1.0, 0.0, 2.0], [1.7e308, -1.7e308, 5e-324]),
    ):
        value = metric.per_query(y, scores, columns=columns)[0]
        assert np.isnan(value) or np.isfinite(value)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="scores must be finite, but row 1 is"):
            metric.per_query([1.0, 0.0], [0.0, bad], columns=two)
        if name == "judged" and np.isnan(bad):
            continue  # which is not judged
        with pytest.raises(ValueError, match="y must be finite, but row 0 is"):
            metric.per_query([bad, 0.0], [0.0, 1.0], columns=two)
    none = moved(columns, slice(0))
    assert metric.per_query([], [], Groups(np.array([0])), columns=none).shape == (0,)


@pytest.mark.parametrize("name", [n for n in RANKING_METRICS if n != "err"])
def test_labels_of_40(name: str) -> None:
    columns = some_columns(3, seed=4)
    value = METRICS[name]().per_query([40.0, 0.0, 39.0], [3.0, 2.0, 1.0], columns=columns)[0]
    assert np.isfinite(value)


@pytest.mark.parametrize("name", RANKING_METRICS)
@pytest.mark.parametrize("scores", ["tied", "random"])
def test_query_of_100_000_documents(name: str, scores: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 100_000).astype(float)
    s = np.zeros(100_000) if scores == "tied" else rng.normal(size=100_000)
    value = METRICS[name]().per_query(y, s, columns=some_columns(len(y)))[0]
    assert np.isfinite(value) or (name == "kendall_tau" and scores == "tied")


@pytest.mark.parametrize("name", [n for n in RANKING_METRICS if n not in _ANY_ORDER])
def test_perfect_and_reversed_rankings(name: str) -> None:
    y = np.array([3.0, 2.0, 1.0, 0.0])
    metric = parse(f"{name}@1") if name in WITH_CUTOFF else METRICS[name]()
    own = np.array(["a", "b", "c", "d"], dtype=object)
    columns: dict[str, Any] = {"subtopics": own, "doc_id": own}
    best = metric.per_query(y, y, columns=columns)[0]
    worst = metric.per_query(y, -y, columns=columns)[0]
    assert best > worst if metric.higher_is_better else best < worst


NEEDY = [name for name in RANKING_METRICS if METRICS[name]().needs]


@pytest.mark.parametrize("name", NEEDY)
def test_a_column_that_is_not_there_is_told_in_one_line(name: str) -> None:
    metric = METRICS[name]()
    (column,) = metric.needs
    message = f"^{name} needs a column '{column}', but the data keeps none: read it with keep="
    with pytest.raises(ValueError, match=message):
        metric.per_query([1.0, 0.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="must have one value per row, 2 in all, but has 1"):
        metric.per_query([1.0, 0.0], [1.0, 0.0], columns={column: np.array(["a"])})
    (role,) = (role for role in COLUMNS if role in fields_of(metric))
    assert parse(f"{name}({role}=other column)").needs == ("other column",)
    make: Any = METRICS[name]
    for bad in (3, "", "a,b", "a ", "(a"):
        with pytest.raises(ValueError, match=f"{role} of .* must be the name of a column"):
            make(**{role: bad})
