"""A name with a slip gets the nearest one that is known, wherever names are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rankwright as rw
from rankwright.comparison import Entry, Range, lineup
from rankwright.data.benchmarks import find_benchmark
from rankwright.models import make_model
from rankwright.suggestions import meant

SLIPS: dict[str, tuple[Callable[[], Any], str]] = {
    "metric": (lambda: rw.metrics.parse("ndgc@10"), "ndcg"),
    "alias of a metric": (lambda: rw.metrics.parse("mrrr"), "mrr"),
    "preset": (lambda: rw.metrics.parse("lightgmb:ndcg@5"), "lightgbm"),
    "metric of a preset": (lambda: rw.metrics.parse("lightgbm:ndgc@5"), "ndcg"),
    "option": (lambda: rw.metrics.parse("ap(threshhhold=2)"), "threshold"),
    "loss": (lambda: rw.LinearRanker("xedncg").check_params(), "xendcg"),
    "loss of trees": (lambda: rw.BoostedRanker("lamdarank").check_params(), "lambdarank"),
    "model": (lambda: make_model("boostd"), "boosted"),
    "parameter": (lambda: make_model("linear", alfa=1.0), "alpha"),
    "entry": (lambda: lineup(["xendgc-linear"]), "xendcg-linear"),
    "parameter to search": (
        lambda: Entry("a", rw.LinearRanker(), {"alfa": Range(0.1, 1.0)}),
        "alpha",
    ),
    "data set": (lambda: find_benchmark("MQ-2008"), "mq2008"),
    "parameter of LightGBM": (
        lambda: rw.BoostedRanker(lightgbm_params={"lamda_l1": 1}).check_params(),
        "lambda_l1",
    ),
}


@pytest.mark.parametrize("what", SLIPS)
def test_the_nearest_name_is_told(what: str) -> None:
    call, name = SLIPS[what]
    with pytest.raises(ValueError, match=rf" Did you mean '{name}'\?$"):
        call()


def test_columns_too() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"labell": [1, 0], "qid": [1, 1], "x": [1.0, 2.0]})
    with pytest.raises(rw.DataError, match=r" Did you mean 'labell'\? Name the right one: label="):
        rw.from_frame(frame)


def test_what_is_like_nothing_gets_no_advice() -> None:
    assert meant("zebra", ["ndcg", "ap"]) == ""
    assert meant("", ["ndcg", "ap"]) == ""
    assert meant("NDCG", ["ndcg", "ap"]) == " Did you mean 'ndcg'?"
    assert meant("x" * 10**6, ["x" * 90]) != ""  # in no time
