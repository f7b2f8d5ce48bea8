"""Systems on the same queries: who is held against whom, segments, verdict and advice."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.data import Run
from rankwright.evaluation import Contest, compare_pairs
from rankwright.evaluation.contest import Standing, held_against, means_of, ranked
from rankwright.evaluation.randomization import sign_tests
from rankwright.evaluation.segments import parts_of_queries
from rankwright.evaluation.systems import timed_scores
from rankwright.evaluation.verdicts import advice, verdict
from rankwright.exceptions import DataError, DataWarning


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    ds = rw.data.make_mslr_like(n_queries=60, n_features=8, mean_docs=10)
    land = np.array(["de", "us", ""])[ds.qid % 3]
    docs = [f"d{i}" for i in range(ds.n_docs)]
    kept = {"land": land, "searches": ds.qid**2, "doc": docs}
    return rw.Dataset(ds.X, ds.y, ds.qid, doc_ids=docs, kept=kept)


@pytest.fixture(scope="module")
def both(data: rw.Dataset) -> Contest:
    new = rw.LinearRanker(alpha=0.01).fit(data.X, data.y, data.qid)
    systems: dict[str, object] = {"prod": data.X[:, 1], "new": new}
    return rw.evaluate(systems, data, ["ndcg@5", "ap"], segments=["land", "list-length"])


def test_each_is_what_it_is_alone(data: rw.Dataset, both: Contest) -> None:
    alone = rw.evaluate(data.X[:, 1], data, ["ndcg@5", "ap"])
    prod = next(s for s in both.standings if s.name == "prod")
    assert dict(alone) == prod.means
    assert alone.results["ap"].low == prod.low["ap"]
    assert [s.name for s in both.standings] == ["new", "prod"]
    assert both.best == "new"
    (pair,) = both.pairs
    values = {s.name: s.per_query["ndcg@5"] for s in both.standings}
    assert [pair] == compare_pairs(values, families=[[("new", "prod")]])
    assert both.pair("new") == pair
    assert both.pair("prod") is None
    assert prod.score_us is None
    assert both.standings[0].features_used == 8


def test_scores_frames_and_runs_are_found_by_ids(data: rw.Dataset) -> None:
    scores = data.X[:, 2].astype(np.float64)
    assert data.doc_ids is not None
    frame = pd.DataFrame({"qid": data.qid, "doc_id": data.doc_ids, "score": scores})
    frame = frame.sample(frac=1, random_state=0)
    run = Run(frame.qid.astype(str).to_numpy(), frame.doc_id.to_numpy(), frame.score.to_numpy())
    three = rw.evaluate({"a": scores, "b": frame, "c": run}, data, "ndcg@10")
    values = [s.per_query["ndcg@10"] for s in three.standings]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-12)
    np.testing.assert_allclose(values[2], values[0], rtol=1e-12)
    assert (three.scores["b", "split"] == scores).all()
    assert (three.scores["c", "split"] == scores).all()
    assert dict(rw.evaluate(frame, data, "ndcg@10")) == pytest.approx(three.standings[0].means)
    assert three.verdict.count("the same ndcg@10 on every query") == 2
    lacking = frame[frame.doc_id != "d3"]
    with pytest.raises(DataError, match=r"^b: there must be a score for each of the \d+ documents"):
        rw.evaluate({"a": scores, "b": lacking}, data)


def test_what_a_contest_cannot_be(data: rw.Dataset) -> None:
    with pytest.raises(ValueError, match="at least two systems"):
        rw.evaluate({"a": data.X[:, 0]}, data)
    with pytest.raises(ValueError, match=r"reference must be one of \['a', 'b'\], but is 'c'"):
        rw.evaluate({"a": data.X[:, 0], "b": data.X[:, 0]}, data, reference="c")
    with pytest.raises(ValueError, match="reference is for several systems"):
        rw.evaluate(data.X[:, 0], data, reference="a")
    with pytest.raises(DataError, match=r"^a, qid: there must be one column 'qid'"):
        rw.evaluate({"a": pd.DataFrame({"score": [1.0]}), "b": data.X[:, 0]}, data)


def test_plain_values_for_json(both: Contest) -> None:
    facts = both.to_dict()
    assert [s["system"] for s in facts["systems"]] == ["new", "prod"]
    assert facts["pairs"][0]["a"] == "new"
    assert facts["segments"][0]["systems"]["new"]["difference"][0] == pytest.approx(
        both.segments[0].differences["new"][0]
    )


# ---- segments ----


def test_segments_are_means_over_their_queries(data: rw.Dataset, both: Contest) -> None:
    lands = {s.value: s for s in both.segments if s.column == "land"}
    assert sorted(lands) == ["(missing)", "de", "us"]
    first = data.kept["land"][data.groups.indptr[:-1]]
    for s in both.standings:
        values = s.per_query["ap"][first == "de"]
        assert lands["de"].means[s.name]["ap"] == pytest.approx(np.nanmean(values))
    new, prod = (s.per_query["ndcg@5"][first == "us"] for s in both.standings)
    gap = (new - prod)[~np.isnan(new - prod)]
    (test,) = sign_tests([gap], n_resamples=2000)
    assert lands["us"].differences["new"] == (gap.mean(), *test.interval(0.05))
    assert sum(s.n_queries for s in lands.values()) == data.n_queries
    lengths = [s for s in both.segments if s.column == "list-length"]
    assert sum(s.n_queries for s in lengths) == data.n_queries
    assert len(lengths) == 4


def test_the_best_of_some_calls_is_the_time_of_a_document(
    data: rw.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = rw.LinearRanker(alpha=0.01).fit(data.X, data.y, data.qid)
    clock = iter([0.0, 0.1, 1.0, 1.05, 2.0, 2.2])  # calls of 0.1, 0.05 and 0.2 seconds
    told = SimpleNamespace(perf_counter=lambda: next(clock))
    monkeypatch.setattr("rankwright.evaluation.systems.time", told)
    scores, microseconds = timed_scores(model, data)
    assert (scores == model.predict(data.X)).all()
    assert microseconds == pytest.approx(50_000 / data.n_docs)


def test_only_features_with_a_weight_are_used(data: rw.Dataset) -> None:
    X = data.X.copy()
    X[:, 3] = 0.0
    ds = rw.Dataset(X, data.y, data.qid)
    model = rw.LinearRanker(alpha=0.01).fit(X, data.y, data.qid)
    found = rw.evaluate({"model": model, "scores": X[:, 1]}, ds, "ndcg@5")
    (costs,) = [s for s in found.standings if s.name == "model"]
    assert (costs.features_used, costs.n_features) == (7, 8)


def test_means_of_folds() -> None:
    folds = [{"ap": np.array([0.2, 0.4])}, {"ap": np.array([0.9, math.nan, 0.7])}]
    found = means_of({"a": folds})["a"]
    assert found["fold_means"]["ap"] == pytest.approx([0.3, 0.8])
    assert found["means"]["ap"] == pytest.approx(0.55)


def test_ends_of_segments_are_values_that_a_mean_can_have(both: Contest) -> None:
    for segment in both.segments:
        for name, ends in segment.low.items():
            for metric, low in ends.items():
                assert 0 <= low <= segment.means[name][metric] <= segment.high[name][metric] <= 1


def test_one_system_has_segments_too(data: rw.Dataset) -> None:
    found = rw.evaluate(data.X[:, 1], data, "ndcg@5", segments=["land"])
    assert [s.value for s in found.segments] == ["de", "us", "(missing)"]
    assert found.segments[0].differences == {}


def test_ways_to_cut_queries(data: rw.Dataset) -> None:
    head, tail = parts_of_queries("head:searches", [data])
    traffic = np.array([int(text) for text in data.kept["searches"][data.groups.indptr[:-1]]])
    assert (head.value, tail.value) == ("head", "tail")
    assert traffic[head.queries].min() >= traffic[tail.queries].max()
    assert traffic[head.queries].sum() >= traffic.sum() / 2
    assert np.sort(traffic[head.queries])[1:].sum() < traffic.sum() / 2  # and not one more
    parts = parts_of_queries("searches", [data])  # many numbers become four parts
    assert len(parts) == 4
    assert (np.sum([part.queries for part in parts], axis=0) == 1).all()
    low, _, high = parts[1].value.split()
    inside = traffic[parts[1].queries]
    assert (float(low), float(high)) == (inside.min(), inside.max())
    two = parts_of_queries("land", [data, data])
    assert len(two[0].queries) == 2 * data.n_queries


def cut(values: list[Any], text: str = "column") -> dict[str, list[int]]:
    n = len(values)
    ds = rw.Dataset(np.zeros((n, 1)), np.zeros(n), np.arange(n), kept={"column": values})
    return {p.value: np.flatnonzero(p.queries).tolist() for p in parts_of_queries(text, [ds])}


def test_where_queries_are_cut() -> None:
    assert cut([1, 2, 1], "head:column") == {"head": [1], "tail": [0, 2]}  # half is enough
    with pytest.raises(DataError, match="a number of at least 0"):
        cut([3, -1], "head:column")
    assert len(cut(list(range(12)))) == 12
    quarters = cut([*range(1, 14), None])
    assert list(quarters) == ["1 to 4", "5 to 7", "8 to 10", "11 to 13", "(missing)"]
    assert quarters["(missing)"] == [13]
    assert quarters["1 to 4"] == [0, 1, 2, 3]


def test_rare_values_are_taken_together() -> None:
    names = np.repeat([f"n{i}" for i in range(30)], np.arange(30, 0, -1))
    n = len(names)
    ds = rw.Dataset(np.zeros((n, 1)), np.zeros(n), np.arange(n), kept={"brand": names})
    parts = parts_of_queries("brand", [ds])
    assert [part.value for part in parts[:2]] == ["n0", "n1"]
    assert (len(parts), parts[-1].value) == (20, "(others)")
    assert sum(part.n_queries for part in parts) == n


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("doc", "'doc' must have one value a query to cut queries by, but query "),
        ("nothing", "must keep the column 'nothing'"),
        ("lnd", "Did you mean 'land'"),
        ("head:land", "'land' must be the traffic of each query"),
        ("head:", "a segment must be a column, list-length or head:COLUMN"),
        ("", "a segment must be a column"),
    ],
)
def test_ways_that_do_not_cut(data: rw.Dataset, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parts_of_queries(text, [data])


# ---- verdict and advice ----


def standing(name: str, values: Any, family: str = "", **costs: Any) -> Standing:
    column = np.asarray(values, dtype=np.float64)
    means = {"ndcg@10": float(np.nanmean(column))}
    return Standing(
        name=name,
        family=family,
        means=means,
        low=means,
        high=means,
        per_query={"ndcg@10": column},
        fold_means={"ndcg@10": [means["ndcg@10"]]},
        **costs,
    )


def told(*standings: Standing, reference: str | None = None) -> tuple[str, str]:
    order = sorted(standings, key=lambda s: -s.means["ndcg@10"])
    pairs = held_against(order, "ndcg@10", reference)
    return verdict(order, pairs, "ndcg@10", reference), advice(order, pairs, reference)


@pytest.fixture
def base() -> Any:
    return np.random.default_rng(0).uniform(0.3, 0.7, 100)


def noise(size: float, seed: int = 1, n: int = 100) -> Any:
    return np.random.default_rng(seed).normal(0, size, n)


def test_a_clear_winner(base: Any) -> None:
    others = [standing(f"m{i}", base - 0.05 + noise(0.02, i)) for i in range(3)]
    says, do = told(standing("best", base), *others)
    assert says.endswith("significantly better than each of the 3 others (p < 0.05, Holm).")
    assert do == "Take best."
    says, do = told(standing("best", base), others[0])
    assert "significantly better than m0 (p" in says


def test_as_good_and_cheaper(base: Any) -> None:
    best = standing("best", base, score_us=6.0, features_used=100.0, n_features=136)
    cheap = standing(
        "cheap", base - 0.001 + noise(0.05), score_us=0.1, features_used=38.0, n_features=136
    )
    says, do = told(best, cheap)
    assert "but not significantly better than cheap (p >= 0.05, Holm); these queries show" in says
    assert do.startswith("Take cheap: as good as best within noise (at most 0.0")
    assert do.endswith("worse), 38 of 136 features, 60 times cheaper to score.")
    # Fewer features at ten times the cost is no bargain, and neither is half a microsecond.
    dear = standing(
        "dear", base - 0.001 + noise(0.05), score_us=60.0, features_used=3.0, n_features=136
    )
    assert told(best, dear)[1] == "Take best: none that is as good is simpler or much cheaper."
    same = standing(
        "same", base - 0.001 + noise(0.05), score_us=4.0, features_used=100.0, n_features=136
    )
    assert told(best, same)[1] == "Take best: none that is as good is simpler or much cheaper."
    nothing = standing(
        "nothing", base - 0.001 + noise(0.05), score_us=0.1, features_used=0.0, n_features=136
    )
    assert told(best, nothing)[1] == "Take best: none that is as good is simpler or much cheaper."


def test_baselines_are_tested_by_themselves(base: Any) -> None:
    rival = standing("rival", base - 0.008 + noise(0.03))
    chance = [standing(f"r{i}", noise(0.1, i), "baseline") for i in range(20)]
    alone = held_against([standing("best", base), rival], "ndcg@10")
    among = held_against([standing("best", base), rival, *chance], "ndcg@10")
    assert alone[0] == among[0]
    spread = noise(0.02, 7)
    close = standing("close", base - 0.0005 + spread - spread.mean(), "baseline")
    says, _ = told(standing("best", base), rival, close)
    assert says.endswith("It is not shown to be better than the baseline close.")
    assert told(standing("best", base), chance[0])[0].endswith(
        "significantly better than r0 (p < 0.05, Holm)."
    )


def test_too_few_queries_come_first(base: Any) -> None:
    few = base[:12]
    says, do = told(standing("a", few), standing("b", few - 0.01 + noise(0.05, n=12)))
    assert says.startswith("Too few queries to tell: 12 with a defined ndcg@10")
    assert do.startswith("Do not choose yet: label more queries. About ")
    says, do = told(
        standing("new", few), standing("prod", few - 0.01 + noise(0.05, n=12)), reference="prod"
    )
    assert says.startswith("Too few queries to tell")
    assert do.startswith("Keep prod for now: label more queries.")
    undefined = np.where(np.arange(100) < 80, math.nan, base)
    assert told(standing("a", undefined), standing("b", undefined - 0.1))[0].startswith(
        "Too few queries to tell: 20 "
    )


def test_against_what_runs_today(base: Any) -> None:
    prod, new = standing("prod", base), standing("new", base + 0.02 + noise(0.02))
    says, do = told(prod, new, reference="prod")
    assert says.startswith("new is better than prod: ndcg@10 0.5")
    assert do == "Take new."
    says, do = told(prod, new, reference="new")
    assert says.startswith("prod is worse than new: ")
    assert do == "Keep new."
    tie = standing("tie", base + noise(0.05))
    says, do = told(prod, tie, reference="prod")
    assert says.startswith("tie is not shown to differ from prod: ")
    assert do.startswith("Keep prod, or measure on more queries. About ")


def test_of_several_one_thing_to_do(base: Any) -> None:
    prod, new = standing("prod", base), standing("new", base + 0.02 + noise(0.02))
    newer = standing("newer", base + 0.04 + noise(0.02, 2))
    worse = standing("worse", base - 0.05 + noise(0.02, 3))
    assert told(prod, new, newer, worse, reference="prod")[1] == "Take newer."
    assert told(prod, worse, reference="prod")[1] == "Keep prod."
    tie = standing("tie", base + noise(0.05))
    assert told(prod, tie, worse, reference="prod")[1].startswith("Keep prod, or measure on more")


def test_thirty_queries_are_enough_on_every_pair(base: Any) -> None:
    thirty = base[:30]
    rival = standing("b", thirty - 0.01 + noise(0.05, n=30))
    says, do = told(standing("a", thirty), rival)
    assert says.startswith("a is best")
    assert do.startswith("Take a")
    hidden = standing("c", np.where(np.arange(30) < 5, math.nan, thirty - 0.2))
    says, do = told(standing("a", thirty), rival, hidden)
    assert says.startswith("Too few queries to tell: 25 ")
    assert do.startswith("Do not choose yet")


def test_numbers_in_the_verdict_are_those_of_the_pairs(base: Any) -> None:
    best = standing("best", base)
    others = [standing(f"m{i}", base - 0.001 * i + noise(0.03 * i, i)) for i in range(1, 5)]
    order = ranked([best, *others], "ndcg@10")
    pairs = held_against(order, "ndcg@10")
    assert not any(pair.significant for pair in pairs)
    says, _ = told(*order)
    assert f"a difference of {max(pair.detectable for pair in pairs):.4f} with" in says
    names = [pair.b for pair in pairs]
    assert f"better than {', '.join(names[:3])} and {names[3]} (p" in says
    few = standing("few", base[:12]), standing("many", base[:12] - 0.01 + noise(0.05, n=12))
    (pair,) = held_against(ranked(few, "ndcg@10"), "ndcg@10")
    needed = math.ceil(12 * (pair.detectable / pair.difference) ** 2)
    assert told(*few)[1].startswith(f"Do not choose yet: label more queries. About {needed:,} ")


def test_the_cheapest_of_those_as_good(base: Any) -> None:
    best = standing("best", base, score_us=6.0, features_used=100.0, n_features=136)
    some = [
        standing(name, base - 0.001 + noise(0.05, seed), score_us=us)
        for seed, (name, us) in enumerate({"dear": 2.0, "cheap": 0.5, "mid": 1.0}.items(), 1)
    ]
    assert told(best, *some)[1].startswith("Take cheap: ")
    half = standing("half", base - 0.001 + noise(0.05), features_used=50.0, n_features=136)
    assert told(best, half)[1].endswith("worse), 50 of 136 features.")


def even(seed: int) -> Any:
    spread = noise(0.05, seed)
    return spread - spread.mean()


def test_the_simpler_of_those_as_good(base: Any) -> None:
    """Weighted sums, one forest, a forest on a sum, several models: in this order."""
    families = ("linear", "trees", "graft", "ensemble")
    models = {
        name: standing(name, base - 0.001 * i + even(4 - i), name, score_us=1.0)
        for i, name in enumerate(reversed(families))
    }
    ensemble, graft, trees, linear = models.values()
    best = standing("best", base + 0.002, "ensemble", score_us=1.0)
    words = {
        "linear": "a weighted sum",
        "trees": "one forest",
        "graft": "one forest on a weighted sum",
    }
    for others in ([ensemble, graft, trees, linear], [ensemble, graft, trees], [ensemble, graft]):
        take = others[-1].name
        do = told(best, *others)[1]
        assert do.startswith(f"Take {take}: as good as best within noise (at most 0.0")
        assert do.endswith(f"worse), {words[take]}.")
    assert told(best, ensemble)[1] == "Take best: none that is as good is simpler or much cheaper."
    # What is less simple is not taken for being cheaper, and what is worse is not as good.
    winner = standing("winner", base + 0.002, "linear", score_us=9.0)
    assert told(winner, trees)[1].startswith("Take winner: none")
    poor = standing("poor", base - 0.1 + noise(0.02), "linear", score_us=0.1)
    assert told(best, poor, trees)[1].startswith("Take trees: ")
    # A family of one's own is neither simpler nor less simple than any.
    own = standing("own", base - 0.001 + even(1), "mine", score_us=0.1)
    assert told(best, own)[1].endswith("worse), 10 times cheaper to score.")
    assert told(best, own, linear)[1].startswith("Take linear: ")
    # Weighted sums that were learned online are as simple as others.
    online = standing("online", base + even(2), "online", score_us=0.1)
    assert told(winner, online)[1].startswith("Take online: ")


def test_of_equally_simple_and_cheap_ones_the_better(base: Any) -> None:
    best = standing("best", base + 0.002, "trees", score_us=9.0)
    good = standing("good", base + even(1), "linear", score_us=0.11)
    less = standing("less", base - 0.001 + even(2), "linear", score_us=0.1)
    assert told(best, good, less)[1].startswith("Take good: ")
    dear = standing("dear", base + 0.001 + even(3), "linear", score_us=1.0)
    assert told(best, dear, less)[1].startswith("Take less: ")


def test_how_much_worse_where_less_is_better(base: Any) -> None:
    best = standing("best", base, score_us=6.0)
    cheap = standing("cheap", base + 0.001 + noise(0.05), score_us=0.1)
    pairs = held_against([best, cheap], "ndcg@10", measure=rw.metrics.parse("pairwise_error"))
    assert not pairs[0].higher_is_better
    assert f"(at most {-pairs[0].low:.4f} worse)" in advice([best, cheap], pairs)


def test_what_is_shown_goes_before_what_is_open(base: Any) -> None:
    prod, new = standing("prod", base), standing("new", base + 0.02 + noise(0.02))
    spread = noise(0.5, 4)
    wild = standing("wild", base + 0.03 + spread - spread.mean())
    assert told(prod, new, wild, reference="prod")[1] == "Take new."


def test_the_order_of_systems_and_pairs(base: Any) -> None:
    best, weak = standing("best", base), standing("weak", base - 0.2 + noise(0.02))
    chance = standing("chance", base - 0.1 + noise(0.02, 2), "baseline")
    undefined = standing("undefined", base - 0.3)
    undefined.means["ndcg@10"] = math.nan
    order = ranked([undefined, weak, chance, best], "ndcg@10")
    assert [s.name for s in order] == ["best", "chance", "weak", "undefined"]
    pairs = held_against(order[:3], "ndcg@10")
    assert [pair.b for pair in pairs] == ["chance", "weak"]  # that of the leaderboard
    pairs = held_against(order[:3], "ndcg@10", "best")
    assert [(pair.a, pair.b) for pair in pairs] == [("chance", "best"), ("weak", "best")]


def test_as_good_as_the_best_is_said_of_tests_of_the_best(data: rw.Dataset) -> None:
    rng = np.random.default_rng(0)
    scores = {name: rng.normal(size=data.n_docs) for name in "abc"}
    found = rw.evaluate(scores, data, "ndcg@5", reference="a")
    assert not any(pair.significant for pair in found.pairs)
    held = [pair.b for pair in found.pairs if pair.a == found.best]
    assert found.as_good == held  # others are not held against it


def test_fewer_errors_are_better(base: Any) -> None:
    ds = rw.data.make_mslr_like(n_queries=60, n_features=4, mean_docs=10)
    good = rw.LinearRanker(alpha=0.01).fit(ds.X, ds.y, ds.qid)
    found = rw.evaluate({"bad": -good.predict(ds.X), "good": good}, ds, "pairwise_error")
    assert found.best == "good"
    assert found.pairs[0].difference < 0
    assert found.verdict.startswith("good is better than bad")
    assert found.advice == "Take good."


def test_a_metric_without_a_mean_is_told_where_it_was_asked_for() -> None:
    ds = rw.Dataset([[0.0], [1.0]], [0, 0])
    with pytest.warns(DataWarning, match="ap is undefined on every query") as caught:
        rw.evaluate({"a": [1.0, 2.0], "b": [2.0, 1.0]}, ds, "ap")
    assert caught[0].filename == __file__


def test_a_clear_difference_of_few_queries_asks_for_more_than_there_are(base: Any) -> None:
    few = base[:12]
    _, do = told(standing("a", few), standing("b", few - 0.3 + noise(0.01, n=12)))
    assert do == "Do not choose yet: label more queries. At least 30 are needed."


def test_a_metric_that_no_query_has_is_not_the_same_everywhere(data: rw.Dataset) -> None:
    systems = {"prod": data.X[:, 1], "new": data.X[:, 2]}
    with pytest.warns(UserWarning, match="undefined on every query"):
        result = rw.evaluate(systems, data, "ap(threshold=9)")
    assert result.verdict.endswith("ap(threshold=9) of both new and prod is defined on no query.")
    assert result.advice == "Keep prod for now: label more queries."


def test_one_segment_is_a_text_and_none_is_told_twice(data: rw.Dataset) -> None:
    systems = {"a": data.X[:, 1], "b": data.X[:, 2]}
    once = rw.evaluate(systems, data, segments=["land"]).segments
    assert len(once) == 3
    ways: list[Any] = ["land", ["land", "land"]]
    for way in ways:
        assert [s.value for s in rw.evaluate(systems, data, segments=way).segments] == [
            s.value for s in once
        ]
        assert len(rw.evaluate(data.X[:, 1], data, segments=way).segments) == 3


def test_names_of_systems_are_texts(data: rw.Dataset) -> None:
    systems: Any = {1: data.X[:, 1], 2: data.X[:, 2]}
    with pytest.raises(TypeError, match="names of systems must be texts, but one is 1"):
        rw.evaluate(systems, data)
