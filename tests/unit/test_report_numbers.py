"""The numbers of the page, against what they are numbers of."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest

import rankwright as rw
from rankwright.evaluation import Contest
from rankwright.evaluation.segmented import segmented
from rankwright.evaluation.segments import parts_of_queries
from rankwright.report.board import (
    DrawnAxis,
    board,
    held_tests,
    leaderboard_csv,
    scale_around,
    segment_tables,
)
from rankwright.report.content import content_of
from rankwright.report.payload import payload
from rankwright.report.rankings import by_disagreement, ranked_lists
from rankwright.report.reasons import reasons_of


@pytest.fixture(scope="module")
def contest() -> Contest:
    ds = rw.data.make_mslr_like(n_queries=40, n_features=6, mean_docs=8)
    land = np.array(["de", "us"])[ds.qid % 2]
    ds = rw.Dataset(ds.X, ds.y, ds.qid, kept={"land": land})
    systems: dict[str, object] = {"weak": -ds.X[:, 1], "rank": ds.X[:, 2] + ds.X[:, 1]}
    systems["best"] = rw.LinearRanker(alpha=0.01).fit(ds.X, ds.y, ds.qid)
    return rw.evaluate(systems, ds, ["ndcg@5", "ap"], segments=["land"], reference="rank")


def test_what_lies_outside_an_axis_points_there() -> None:
    axis = DrawnAxis(0.2, 0.4)
    assert [axis.outside(value) for value in (0.1, 0.2, 0.3, 0.4, 0.5)] == [-1, 0, 0, 0, 1]
    assert axis.place(0.1) == axis.place(0.2) < axis.place(0.3) < axis.place(0.4) == axis.place(9)


def test_an_axis_reaches_six_intervals_around_the_first() -> None:
    rows = [(0.79, 0.80, 0.81), (0.70, 0.71, 0.72), (0.1, 0.1, 0.1), (0.9, 0.95, 1.0)]
    axis = scale_around(rows)
    assert (axis.low, axis.high) == pytest.approx((0.68, 0.92))
    near = scale_around([*rows[:2], (math.nan,) * 3])
    assert (near.low, near.high) == (0.70, 0.81)


def test_the_leaderboard_as_csv(contest: Contest) -> None:
    rows = list(csv.DictReader(io.StringIO(leaderboard_csv(content_of(contest)))))
    for row, s in zip(rows, contest.standings, strict=True):
        pair = contest.pair(s.name)
        assert row["model"] == s.name
        assert float(row["ap"]) == pytest.approx(s.means["ap"])
        ends = float(row["ndcg@5 low"]), float(row["ndcg@5 high"])
        assert ends == pytest.approx((s.low["ndcg@5"], s.high["ndcg@5"]))
        assert row["p"] == ("" if pair is None else str(pair.p_holm))


def test_systems_are_held_against_the_reference(contest: Contest) -> None:
    content = content_of(contest)
    assert (content.held, content.led) == ("rank", False)
    assert list(content.tests) == [s.name for s in contest.standings if s.name != "rank"]
    rows = held_tests(content)["rows"]
    assert [row["p"] for row in rows] == list(content.tests.values())
    ((_, lines),) = board(content)["groups"]
    assert [line["test"] for line in lines] == [contest.pair(s.name) for s in contest.standings]
    (dataset,) = contest.tests.values()
    lengths = segmented(
        contest.standings, parts_of_queries("list-length", [dataset]), contest.metrics, "rank"
    )
    shown = [segment for segment in content.segments if segment.column == "list-length"]
    assert [s.differences for s in shown] == [s.differences for s in lengths]


def test_segments_have_the_first_metric(contest: Contest) -> None:
    tables = {table["column"]: table for table in segment_tables(content_of(contest))}
    land = tables["land"]
    assert land["systems"][0] == "rank"
    for segment, cells in land["rows"]:
        for name, cell in zip(land["systems"], cells, strict=True):
            assert cell["mean"] == segment.means[name]["ndcg@5"]
            ends = segment.differences.get(name)
            assert cell["parted"] == (ends is not None and not ends[1] <= 0 <= ends[2])
    assert any(cell["parted"] for _, cells in land["rows"] for cell in cells)


def test_plots_have_the_values_of_their_metric(contest: Contest) -> None:
    content = content_of(contest)
    lists = ranked_lists(content)
    (scores,) = content.systems[0].scores
    for found in lists:
        assert found is not None
        order = found.shown[found.orders[0]]
        assert (np.diff(scores[found.rows][order]) <= 0).all()  # best first
    data = payload(content, lists, reasons_of(content, lists))
    names = [model["name"] for model in data["models"]]
    for metric in contest.metrics:
        for values, s in zip(data["values"][metric], contest.standings, strict=True):
            known = [None if math.isnan(v) else round(v, 4) for v in s.per_query[metric].tolist()]
            assert values == known
    x, y = (names[i] for i in data["start"])
    assert (x, y) == ("rank", "best")
    columns = np.vstack([s.per_query["ndcg@5"] for s in contest.standings])
    spread = np.nan_to_num(np.ptp(columns, axis=0))[by_disagreement(content)]
    assert (np.diff(spread) <= 0).all()
    assert data["lists"][0]["r"] == [i + 1 for i in range(len(data["lists"][0]["y"]))]
