"""The report without a browser: what is in the page, and what is not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import Comparison, Entry, compare
from rankwright.comparison.trial import Outcome
from rankwright.evaluation import Fold
from rankwright.evaluation.explain import explain
from rankwright.report import reasons as reasons_module
from rankwright.report.content import content_of
from rankwright.report.payload import payload
from rankwright.report.rankings import ranked_lists
from rankwright.report.reasons import N_REASONS, Reasons, importances, reasons_of
from rankwright.report.report import report_html, write_report
from rankwright.report.samples import drifts, histogram
from tests.comparison_sample import HOSTILE, make_comparison


@pytest.fixture(scope="module")
def result() -> Comparison:
    return make_comparison()


@pytest.fixture(scope="module")
def page_file(result: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(result, path, title="Demo <b>&</b>")
    return path


def data_of(result: Any) -> dict[str, Any]:
    content = content_of(result)
    lists = ranked_lists(content)
    return payload(content, lists, reasons_of(content, lists))


def test_the_page_is_alone(page_file: Path) -> None:
    text = page_file.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=[\"']?(https?:|//)", text)
    assert "@import" not in text
    assert "url(" not in text
    assert HOSTILE not in text
    assert "Demo &lt;b&gt;&amp;&lt;/b&gt;" in text


def test_the_first_lines_say_what_to_do(result: Comparison) -> None:
    result.card["files"] = ["a/train.csv", "b/test.csv"]
    text = report_html(result, "Shoes & coats")
    assert "<h1>Shoes &amp; coats</h1>" in text
    assert re.search(
        rf'<p class="eyebrow">{result.card["finished"]} .*a/train.csv.*b/test.csv', text
    )
    first, second = text.index('class="verdict'), text.index('class="advice"')
    assert first < second < text.index('id="leaderboard"')
    assert result.advice.replace("'", "&#39;") in text
    few = compare(rw.data.make_mslr_like(n_queries=20, n_features=4), ["best-feature", "random"])
    assert '<p class="verdict doubt">Too few queries to tell' in report_html(few)


def test_numbers_are_written_as_people_read_them(page_file: Path) -> None:
    text = page_file.read_text(encoding="utf-8")
    body = re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.S)
    shown = re.sub(r"<[^>]*>", " ", body)
    assert not re.search(r"-0\.0+(?!\d)", shown)
    cells = re.findall(r'<td class="n p"[^>]*>(.*?)</td>', body)
    assert len(cells) == 10  # of the leaderboard and of the tests
    for cell in cells:
        said = re.sub(r"<[^>]*>", "", cell)
        assert re.fullmatch(
            r"(<0\.0001|0\.0[0-4]\d\d)\*|n\.s\. (0\.\d\d|>0\.99)",
            said.replace("&lt;", "<").replace("&gt;", ">"),
        ), said
    assert "p (rand. test)" in shown
    assert "from the best model, " in shown


def test_the_lists_are_the_rankings(result: Comparison) -> None:
    data = data_of(result)
    names = [s.name for s in result.standings]
    position = 0
    for fold in result.folds:
        for q, rows in enumerate(fold.test.groups):
            found = data["lists"][position + q]
            labels = fold.test.y[rows]
            for k, name in enumerate(names):
                scores = result.outcomes[name, fold.name].scores[rows]
                order = np.argsort(-scores, kind="stable")
                assert [found["y"][d] for d in found["o"][k]] == labels[order].tolist()
                assert fold.test.doc_ids is not None
                shown = [found["d"][d] for d in found["o"][k]]
                assert shown == [n[:48] for n in fold.test.doc_ids[rows][order].tolist()]
        position += fold.test.n_queries
    assert data["guarantees"]["smooth-slam-linear"]["holds"]
    assert data["paths"]["sparse"][0]["n_features"] == 0
    assert "valid ndcg@10" in data["curves"]["xendcg-trees"]


# ---- why ----


def unpacked(
    found: Reasons, query: int, document: int, system: int
) -> tuple[float, dict[str, float]]:
    """Read the bytes as the page does."""
    begins = np.cumsum([0, *(len(d) for d in found.documents.values())])
    total = int(begins[-1]) * len(found.systems)
    begin = int(begins[list(found.documents).index(query)])
    record = (begin + found.documents[query].tolist().index(document)) * len(found.systems)
    record += found.systems.index(system)
    raw = np.frombuffer(found.packed, dtype=np.uint8)
    values = raw.view(np.int8)[total * (1 + N_REASONS) :].reshape(total, N_REASONS)[record] / 20
    features = raw[total : total * (1 + N_REASONS)].reshape(total, N_REASONS)[record]
    names = found.features[found.systems.index(system)]
    return raw.view(np.int8)[record] / 20, {
        names[j]: float(v) for j, v in zip(features.tolist(), values, strict=True) if j < 255
    }


def test_reasons_are_what_explain_says(result: Comparison) -> None:
    content = content_of(result)
    lists = ranked_lists(content)
    found = reasons_of(content, lists)
    asked = [content.systems[i].name for i in found.systems]
    assert asked == [s.name for s in result.standings if s.name != "random"]  # which has none
    checked = 0
    for query, documents in list(found.documents.items())[::7]:
        one = lists[query]
        assert one is not None
        part = content.parts[one.part]
        before = sum(earlier.test.n_queries for earlier in content.parts[: one.part])
        alone = part.test.select(np.array([query - before]))
        for system in found.systems:
            model = result.model(content.systems[system].name, part.name)
            told = explain(model, alone, alone.feature_names)
            z = told.contributions - told.contributions.mean(axis=0)
            z /= told.scores.std() or 1.0
            for document in documents.tolist():
                row = z[one.shown[document]]
                total, reasons = unpacked(found, query, document, system)
                assert total == pytest.approx(np.clip(row.sum(), -6.35, 6.35), abs=0.0251)
                largest = np.sort(np.abs(row))[::-1][:N_REASONS]
                assert sorted(map(abs, reasons.values()), reverse=True) == pytest.approx(
                    np.minimum(largest, 6.35), abs=0.0251
                )
                for name, value in reasons.items():
                    j = told.feature_names.index(name)
                    assert value == pytest.approx(np.clip(row[j], -6.35, 6.35), abs=0.0251)
                checked += 1
    assert checked > 100


def test_every_model_knows_the_names_of_its_features(result: Comparison) -> None:
    for name, fold in result.outcomes:
        model = result.model(name, fold)
        assert model.feature_names_in_.tolist() == result.folds[0].train.feature_names


def test_the_first_documents_of_every_list_have_reasons(result: Comparison) -> None:
    content = content_of(result)
    lists = ranked_lists(content)
    found = reasons_of(content, lists)
    assert list(found.documents) == list(range(content.n_queries))
    for query, documents in found.documents.items():
        one = lists[query]
        assert one is not None
        first = {d for i in found.systems for d in one.orders[i][:10].tolist()}
        assert set(documents.tolist()) <= first
        assert len(documents) == min(20, len(first))


def test_reasons_end_when_their_time_is_over(
    result: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reasons_module, "SECONDS", -1.0)
    content = content_of(result)
    found = reasons_of(content, ranked_lists(content))
    n = sum(len(d) for d in found.documents.values()) * len(found.systems)
    assert set(found.packed[:n]) == {128}  # nothing is known, and the page says so


def test_importance_names_the_features_that_count(result: Comparison) -> None:
    content = content_of(result)
    by_name = {content.systems[one["system"]].name: one["rows"] for one in importances(content)}
    assert "random" not in by_name  # which has no features
    model = result.model("best-feature")
    names = model.feature_names_in_.tolist()
    assert by_name["best-feature"][0]["feature"] == names[int(np.argmax(model.coef_ != 0))]
    for rows in by_name.values():
        drops = [row["drop"] for row in rows]
        assert drops == sorted(drops, reverse=True)
        assert len(rows) <= 10


# ---- data ----


def test_histograms_have_shares_that_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    columns = [np.append(rng.integers(3, 110, 500), 400), rng.integers(3, 90, 70)]
    bars = histogram(columns)
    assert len(bars) <= 12
    assert np.array([shares for _, shares in bars]).sum(axis=0) == pytest.approx([1.0, 1.0])
    edge = float(bars[1][0].partition("–")[0])
    assert bars[0][1][0] == pytest.approx(np.mean(columns[0] < edge))
    assert bars[-1][0].endswith("+")


@pytest.mark.parametrize("sparse", [False, True])
def test_the_feature_that_moved_most_is_first(sparse: bool) -> None:
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(400, 3)), rng.integers(0, 2, 400), np.repeat(np.arange(40), 10)
    moved = X + np.array([0.0, 2.0, -0.5])
    kind = sp.csr_array if sparse else np.asarray
    names = ["stays", "up", "down"]
    train, test = (rw.Dataset(kind(x), y, qid, feature_names=names) for x in (X, moved))
    first, second, *_ = drifts(train, test)
    assert (first.feature, second.feature) == ("up", "down")
    assert first.difference == pytest.approx(2.0 / X[:, 1].std(), rel=1e-6)


# ---- sizes ----


class Sum:
    """A model whose reasons take no time: the features are what they add."""

    def __init__(self, weights: Any) -> None:
        self.coef_ = weights
        self.n_features_in_ = len(weights)

    def predict(self, X: Any) -> Any:
        return np.asarray(X) @ self.coef_


def synthetic(
    n_queries: int, n_docs: int, n_models: int, name: str, n_features: int = 2
) -> Comparison:
    rng = np.random.default_rng(0)
    rows = n_queries * n_docs
    y = rng.integers(0, 5, rows).astype(float)
    ids = np.array([f"{name}{rng.integers(10**8):08d}" for _ in range(rows)])
    qid = np.repeat(np.arange(10_000, 10_000 + n_queries), n_docs)
    data = rw.Dataset(rng.normal(size=(rows, n_features)), y, qid, doc_ids=ids)
    few = data.select(np.arange(5))
    curve = {"valid ndcg@10": np.linspace(0.2, 0.6, 300).tolist()}
    values = rng.random(1000).tolist()
    guarantee = {
        "promise": "1 - ndcg",
        "mean_loss": 1.0,
        "mean_bound": 0.5,
        "holds": True,
        "loss": values,
        "bound": values,
        "queries": [str(i) for i in range(1000)],
    }
    facts = {
        "train_seconds": 1.0,
        "search_seconds": 1.0,
        "score_us": 1.0,
        "model_bytes": 1000,
        "features_used": 2,
        "params": {"alpha": 0.1},
        "curves": curve,
        "guarantee": guarantee,
    }
    entries = [Entry(f"model-{i}", rw.LinearRanker(), {}, "linear") for i in range(n_models)]
    models = [Sum(rng.normal(size=n_features)) for _ in entries]
    outcomes = {
        (entry.name, "split"): Outcome(facts, model.predict(data.X) + y, model)
        for entry, model in zip(entries, models, strict=True)
    }
    return Comparison.build(
        entries,
        [Fold("split", few, few, data)],
        ["ndcg@10", "ndcg@5", "ap", "rr"],
        outcomes,
        [],
        settings={"trials": 8, "random_state": 0, "processes": 1},
        seconds=1.0,
    )


def test_a_large_comparison_stays_below_4_mb_with_its_reasons() -> None:
    result = synthetic(1000, 100, 10, "GX001-02-", n_features=136)
    text = report_html(result)
    assert len(text.encode()) < 4e6
    content = content_of(result)
    lists = ranked_lists(content)
    assert all(lists)
    found = reasons_of(content, lists)
    assert len(found.systems) == 10
    assert len(found.documents) == 1000  # of every query, its first documents
    assert min(map(len, found.documents.values())) >= 8


def test_of_a_larger_one_the_most_different_queries_are_kept() -> None:
    result = synthetic(3000, 40, 2, "a-very-long-name-of-a-document-in-a-collection-")
    text = report_html(result)
    assert len(text.encode()) < 4e6
    kept = np.array([found is not None for found in data_of(result)["lists"]])
    assert 0 < kept.sum() < 3000
    a, b = (s.per_query["ndcg@10"] for s in result.standings)
    assert np.abs(a - b)[kept].min() >= np.abs(a - b)[~kept].max()
    assert f"of {kept.sum():,} of 3,000 queries" in text


def test_a_hundred_thousand_queries_stay_readable() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200_000).astype(float)
    data = rw.Dataset(rng.random((200_000, 1)), y, np.repeat(np.arange(100_000), 2))
    both = rw.evaluate({"a": y + rng.normal(size=200_000), "b": y + rng.normal(size=200_000)}, data)
    text = report_html(both)
    assert len(text.encode()) < 4e6
    assert "This section shows 5,000 of 100,000 queries" in text
    shown = data_of(both)
    queries = np.array(shown["queries"], dtype=int)
    assert len(np.unique(queries)) == 5000
    values = {s.name: s.per_query["ndcg@10"] for s in both.standings}
    gaps = np.nan_to_num(np.abs(values["a"] - values["b"]))
    assert gaps[queries].max() == gaps.max()
    for k, standing in enumerate(both.standings):
        found = np.array(shown["values"]["ndcg@10"][k], dtype=float)
        assert found == pytest.approx(standing.per_query["ndcg@10"][queries], abs=6e-5, nan_ok=True)


# ---- what may be missing ----


def test_one_model_and_none() -> None:
    data = rw.data.make_mslr_like(n_queries=15, n_features=4, mean_docs=8)
    assert "there is nothing to compare it with" in report_html(compare(data, ["random"]))
    broken = Entry("broken", rw.LinearRanker("no loss"))
    assert "Every model failed." in report_html(compare(data, [broken]))


def test_scores_from_elsewhere_make_a_page_too() -> None:
    data = rw.data.make_mslr_like(n_queries=60, n_features=6, mean_docs=12)
    train, test = data.split((0.5, 0.5))
    model = rw.LinearRanker("listnet", standardize=True).fit(train.X, train.y, train.qid)
    contest = rw.evaluate({"prod": test.X[:, 0], "new": model}, test, ["ndcg@10", "rr"])
    text = report_html(contest)
    assert "<h1>Against prod</h1>" in text
    assert "the reference, prod" in text
    assert ">reference</span>" in text
    content = content_of(contest)
    found = reasons_of(content, ranked_lists(content))
    assert [content.systems[i].name for i in found.systems] == ["new"]
    assert data_of(contest)["start"] == [[s.name for s in contest.standings].index("prod"), 0]


def test_a_metric_of_ones_own_is_shown_and_explained() -> None:
    def first_label(y: Any, scores: Any) -> float:
        return float(y[np.argmax(scores)])

    data = rw.data.make_mslr_like(n_queries=40, n_features=6, mean_docs=12)
    model = rw.LinearRanker("listnet", standardize=True).fit(data.X, data.y, data.qid)
    contest = rw.evaluate({"prod": data.X[:, 0], "new": model}, data, [first_label])
    content = content_of(contest)
    assert content.metrics == ["first_label"]
    (one,) = importances(content)
    assert one["rows"][0]["drop"] > 0
    assert "first_label" in report_html(contest)


def test_segments_are_in_the_page() -> None:
    data = rw.data.make_mslr_like(n_queries=60, n_features=6, mean_docs=12)
    country = np.where(np.asarray(data.qid) % 2, "fr", "de")
    data = rw.Dataset(data.X, data.y, data.qid, kept={"country": country})
    result = compare(data, ["best-feature", "random"], segments=["country"])
    segments = data_of(result)["segments"]
    assert set(segments) == {"country", "list-length"}
    of = [segments["country"]["names"][i] for i in segments["country"]["of"]]
    queries = result.folds[0].test.groups.names
    assert of == np.where(queries % 2, "fr", "de").tolist()
    text = report_html(result)
    for segment in result.segments:
        assert f'<th scope="row">{segment.value}</th><td class="n">{segment.n_queries}</td>' in text
    both = rw.evaluate({"one": data.X[:, 0], "other": data.X[:, 1]}, data, segments=["country"])
    ends = [s.differences["other"] for s in content_of(both).segments]
    assert report_html(both).count('<b class="gap"') == sum(e[1] > 0 or e[2] < 0 for e in ends)


# ---- tables for other papers and pages ----


def test_the_leaderboard_is_a_latex_table(result: Comparison, tmp_path: Path) -> None:
    text = result.to_latex()
    result.write(tmp_path)
    assert (tmp_path / "leaderboard.tex").read_text("utf-8") == text
    lines = text.splitlines()
    assert lines[1:4] == [
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"Model & ndcg@10 & ndcg@5 & ap & rr \\",
    ]
    first = result.standings[0]
    assert lines[5].startswith(rf"{first.name} & \textbf{{{first.means['ndcg@10']:.4f}}}")
    worse = [pair.b for pair in result.pairs if pair.significant]
    assert worse
    for pair in result.pairs:
        assert (
            any(line.startswith(rf"{pair.b}$^{{\dagger}}$ &") for line in lines) == pair.significant
        )
    rule = [i for i, line in enumerate(lines) if line == r"\midrule"][1]
    assert {line.partition("$")[0] for line in lines[rule + 1 : rule + 3]} == {
        "best-feature",
        "random",
    }
