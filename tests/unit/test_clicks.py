"""Click models against their closed forms and against enumeration; simulated logs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwright.data import (
    Cascade,
    ClickLog,
    ClickModel,
    Dataset,
    Groups,
    PositionBased,
    UserBrowsing,
    make_mslr_like,
    simulate_clicks,
)
from tests.reference import clicks as reference

TABLE = ((1.0,), (0.9, 0.5), (1.0, 0.4, 0.3), (0.8, 0.4, 0.2, 0.1))
MODELS: dict[str, tuple[ClickModel, reference.Examined]] = {
    "cascade": (Cascade(), reference.cascade),
    "position": (PositionBased(), reference.position_based(1.0)),
    "position, eta 0.5": (PositionBased(examination=0.5), reference.position_based(0.5)),
    "position, table": (
        PositionBased(examination=(1.0, 0.5, 0.25)),
        lambda r, above: (1.0, 0.5, 0.25, 0, 0, 0)[r - 1],
    ),
    "browsing": (UserBrowsing(), reference.user_browsing(1.0)),
    "browsing, eta 2": (UserBrowsing(examination=2.0), reference.user_browsing(2.0)),
    "browsing, table": (
        UserBrowsing(examination=TABLE),
        lambda r, above: 0.0 if r > 4 else TABLE[r - 1][r - (above[-1] if above else 0) - 1],
    ),
}
LISTS = ([0, 0, 2, 1, 4, 0], [4, 3, 0, 0, 1, 2], [1], [0, 0, 0])


def copies(lists: Sequence[list[int]], n: int) -> Dataset:
    labels = np.concatenate(list(lists) * n)
    sizes = [len(one) for one in lists] * n
    qid = np.repeat(np.arange(len(sizes)), sizes)
    return Dataset(np.zeros((len(labels), 1)), labels, qid)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("labels", LISTS)
def test_closed_forms_are_those_of_enumeration(name: str, labels: list[int]) -> None:
    model, examined = MODELS[name]
    attraction = [model.clicks[label] for label in labels]
    expected = reference.click_probabilities(attraction, examined)
    np.testing.assert_allclose(model.probabilities(labels), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_simulated_clicks_have_the_closed_form_probabilities(name: str) -> None:
    model, _ = MODELS[name]
    data, n = copies(LISTS, 500), 20_000
    log = simulate_clicks(data, model, scores=-np.arange(data.n_docs), impressions=n // 500)
    rates = log.click_rates(weighted=False).reshape(500, -1).mean(axis=0)
    p = np.concatenate([model.probabilities(labels) for labels in LISTS])
    assert (np.abs(rates - p) <= 5 * np.sqrt(p * (1 - p) / n)).all()


@pytest.mark.parametrize("name", ["position", "browsing", "position, eta 0.5"])
def test_clicks_over_propensities_have_the_attraction_as_their_mean(name: str) -> None:
    model, _ = MODELS[name]
    labels = [0, 3, 1, 4, 0, 2]
    data, n = copies([labels], 500), 20_000
    log = simulate_clicks(data, model, scores=-np.arange(data.n_docs), impressions=n // 500)
    rates = log.click_rates().reshape(500, -1).mean(axis=0)
    # A weighted click is at most 6, so its variance is at most 6 a.
    a = model.attraction(labels)
    assert (np.abs(rates - a) < 5 * np.sqrt(6 * a / n)).all()
    # Without weights the lower ranks seem worse than they are.
    assert log.click_rates(weighted=False).reshape(500, -1).mean(axis=0)[5] < 0.7 * a[5]
    clipped = log.click_rates(max_weight=1.3)
    assert (clipped <= log.click_rates() + 1e-12).all()
    assert clipped.sum() < log.click_rates().sum()


def test_x11_a_cascade_ends_at_the_first_click() -> None:
    data = make_mslr_like(n_queries=50, n_features=3, mean_docs=8)
    log = simulate_clicks(data)
    whole = simulate_clicks(data, cut=False)
    assert log.n_impressions == whole.n_impressions == 500
    for shown, rows in zip(log.lists, whole.lists, strict=True):
        clicked, before = log.clicked[shown], whole.clicked[rows]
        assert clicked.sum() == before.sum() <= 1
        assert not clicked[:-1].any()
        # Without a click the whole list stays (X11).
        assert clicked[-1] or len(clicked) == len(before)
        np.testing.assert_array_equal(log.rows[shown], whole.rows[rows][: len(clicked)])
        end = len(clicked)
        assert (log.propensity[shown] == 1).all()
        assert (whole.propensity[rows][end:] == 0).all()
    impressions = log.impressions()
    assert impressions.n_queries == 500
    assert set(impressions.y) == {0.0, 1.0}
    np.testing.assert_array_equal(impressions.X, data.X[log.rows])
    # Query 7's impressions are 70, ..., 79.
    assert impressions.groups.ids is not None
    assert impressions.groups.ids[60:70].tolist() == list(range(70, 80))


def test_every_order_is_shown_equally_often() -> None:
    data, n = copies([[0, 0, 0]], 600), 6000
    log = simulate_clicks(data, PositionBased(), impressions=n // 600)
    orders, counts = np.unique(log.rows.reshape(n, 3) % 3, axis=0, return_counts=True)
    assert len(orders) == 6
    assert (np.abs(counts - n / 6) < 5 * np.sqrt(n * 5 / 36)).all()


def test_scores_decide_the_order_and_top_the_length() -> None:
    data = Dataset(np.zeros((5, 1)), [0, 1, 2, 0, 4], qid=[1, 1, 1, 2, 2])
    log = simulate_clicks(data, PositionBased(), scores=[1, 3, 2, 5, 5], impressions=2, top=2)
    assert log.rows.tolist() == [1, 2, 1, 2, 3, 4, 3, 4]
    assert log.rank.tolist() == [1, 2] * 4
    assert log.propensity.tolist() == [1, 0.5] * 4
    assert log.query.tolist() == [0, 0, 1, 1]


def of_queries(log: ClickLog) -> dict[Any, list[Any]]:
    assert log.lists.ids is not None
    X = log.dataset.X[log.rows, 0]
    return {
        name: [X[rows].tolist(), log.clicked[rows].tolist(), log.propensity[rows].tolist()]
        for name, rows in zip(log.lists.ids.tolist(), log.lists, strict=True)
    }


@pytest.mark.parametrize("name", ["cascade", "position", "browsing"])
def test_it_does_not_depend_on_the_order_of_the_file(name: str) -> None:
    model, _ = MODELS[name]
    data = make_mslr_like(n_queries=30, n_features=5, mean_docs=8)
    order = np.random.default_rng(0).permutation(30)
    whole = of_queries(simulate_clicks(data, model, random_state=4))
    assert of_queries(simulate_clicks(data.select(order), model, random_state=4)) == whole
    part = of_queries(simulate_clicks(data.select(order[:9]), model, random_state=4))
    assert len(part) == 90
    assert all(whole[name] == value for name, value in part.items())
    assert of_queries(simulate_clicks(data, model, random_state=5)) != whole


def test_more_noise_only_adds_clicks_that_could_come() -> None:
    data = make_mslr_like(n_queries=30, n_features=2, mean_docs=8)
    few = simulate_clicks(data, PositionBased())
    many = simulate_clicks(data, PositionBased().with_noise(0.4))
    np.testing.assert_array_equal(few.rows, many.rows)
    assert (few.clicked <= many.clicked).all()
    assert many.clicked.sum() > few.clicked.sum()
    assert (data.y[many.rows[many.clicked & ~few.clicked]] == 0).all()


def test_names_of_impressions_are_distinct() -> None:
    for qid, names in (
        (["a", "b"], ["a.0", "a.1", "b.0", "b.1"]),
        ([-1, 3], [-2, -1, 6, 7]),
        ([2**62, -(2**63)], ["4611686018427387904.0", "4611686018427387904.1"]),
    ):
        data = Dataset(np.zeros((2, 1)), [1, 0], qid)
        ids = simulate_clicks(data, impressions=2).impressions().groups.ids
        assert ids is not None
        assert ids.tolist()[: len(names)] == names
        assert len(set(ids.tolist())) == 4


def test_weights_are_for_the_rows_of_the_impressions() -> None:
    data = make_mslr_like(n_queries=20, n_features=2, mean_docs=8)
    log = simulate_clicks(data, PositionBased(), impressions=3)
    shown, weights = log.impressions(), log.inverse_propensities()
    np.testing.assert_array_equal(weights, np.where(shown.y == 1, 1 / log.propensity, 1.0))
    np.testing.assert_array_equal(log.inverse_propensities(2.0), np.minimum(weights, 2.0))


def test_a_log_can_be_written(tmp_path: Path) -> None:
    data = Dataset(np.zeros((3, 1)), [4, 0, 4], qid=["b", "a", "b"])
    log = simulate_clicks(
        data, PositionBased((0.0, 1, 1, 1, 1), (1.0, 1.0)), scores=[1, 2, 3], impressions=2
    )
    log.write(tmp_path / "log.tsv")
    assert (tmp_path / "log.tsv").read_text(encoding="utf-8").splitlines() == [
        "qid\timpression\trank\trow\tclicked\tpropensity",
        "b\t0\t1\t2\t1\t1",
        "b\t0\t2\t0\t1\t1",
        "b\t1\t1\t2\t1\t1",
        "b\t1\t2\t0\t1\t1",
        "a\t0\t1\t1\t0\t1",
        "a\t1\t1\t1\t0\t1",
    ]


def test_a_model_can_be_drawn_on_no_list() -> None:
    nothing = np.empty(0)
    for model, _ in MODELS.values():
        clicked, propensity = model.draw(nothing, nothing, Groups(np.array([0])))
        assert len(clicked) == len(propensity) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda ds: Cascade((0.1, 1.2)),
            "clicks must be probabilities, one for each label 0, 1, ..., but are (0.1, 1.2).",
        ),
        (
            lambda ds: Cascade().with_noise(-1),
            "clicks must be probabilities, one for each label 0, 1, ..., but are "
            "(-1, 0.3, 0.5, 0.7, 0.95).",
        ),
        (
            lambda ds: PositionBased(examination=-1.0),
            "examination must be an exponent >= 0, or probabilities, one for each rank, "
            "but is -1.0.",
        ),
        (
            lambda ds: PositionBased(examination=(0.5, 2.0)),
            "examination must be an exponent >= 0, or probabilities, one for each rank, "
            "but is (0.5, 2.0).",
        ),
        (
            lambda ds: UserBrowsing(examination=((1.0,), (1.0,))),
            "examination must be an exponent >= 0, or probabilities, r of them in row r = 1, 2, "
            "..., but is ((1.0,), (1.0,)).",
        ),
        (
            lambda ds: simulate_clicks(ds, Cascade((0.1, 0.2))),
            "labels must be whole numbers from 0 to 1, one for each click probability, but row 1 "
            "has 2. Pass a probability for each label.",
        ),
        (
            lambda ds: simulate_clicks(ds.with_labels([0, 1.5])),
            "labels must be whole numbers from 0 to 4, one for each click probability, but row 1 "
            "has 1.5. Pass a probability for each label.",
        ),
        (
            lambda ds: simulate_clicks(ds, impressions=0),
            "impressions must be a positive integer, but is 0.",
        ),
        (lambda ds: simulate_clicks(ds, top=0), "top must be a positive integer, but is 0."),
        (
            lambda ds: simulate_clicks(ds, scores=[1.0]),
            "scores must have 2 values, one per row, but has 1.",
        ),
    ],
)
def test_what_cannot_be_done_is_said(call: Any, message: str) -> None:
    ds = Dataset(np.zeros((2, 1)), [0, 2])
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call(ds)
