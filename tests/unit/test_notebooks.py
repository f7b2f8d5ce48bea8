"""What a notebook shows of results, and what of them it can take as data frames."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright import html
from rankwright.comparison import Comparison, Range, noise_study, tune
from rankwright.data import framing
from rankwright.data.framing import frame_of
from rankwright.evaluation import explain, permutation_importance
from rankwright.exceptions import DataError, DataWarning
from rankwright.report.report import write_report
from tests.comparison_sample import HOSTILE, make_comparison

VOID = {"line", "rect", "br"}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return make_comparison()


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    made = rw.data.make_mslr_like(n_queries=60, n_features=30, mean_docs=15)
    names = [HOSTILE, *(f"name {j}" for j in range(1, 30))]
    country = np.where(np.arange(made.n_docs) % 2, HOSTILE, "de")
    docs = [f"d{i}{HOSTILE}" for i in range(made.n_docs)]
    return rw.Dataset(made.X, made.y, made.qid, names, docs, kept={"country": country})


@pytest.fixture(scope="module")
def shown(comparison: Comparison, data: rw.Dataset) -> dict[str, Any]:
    ranker = rw.LinearRanker("listnet", standardize=True).fit(data, data.y, data.qid)
    systems = {f"system {HOSTILE} {j}": data.X[:, j] for j in range(25)}
    return {
        "comparison": comparison,
        "contest": rw.evaluate(systems, data, segments=["list-length"]),
        "evaluation": rw.evaluate(ranker, data, segments=["list-length"]),
        "pairs": comparison.pairs,
        "importance": permutation_importance(ranker, data, n_repeats=1),
        "explanation": explain(ranker, data.select([0])),
        "dataset": data,
        "sparse": rw.Dataset(sp.csr_array(data.X), data.y, data.qid),
        "description": data.describe(),
        "study": tune(rw.LinearRanker("listnet"), data, {"alpha": Range(0.01, 1.0)}, n_trials=3),
        "noise": noise_study(
            data, "labels", {"a": rw.LinearRanker("listnet")}, levels=[0, 0.5], n_trials=2
        ),
    }


class Tags(HTMLParser):
    """Checks that tags are closed in their order; collects them with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


NAMES = "comparison contest evaluation pairs importance explanation dataset sparse description"


@pytest.mark.parametrize("name", [*NAMES.split(), "study", "noise"])
def test_what_a_notebook_shows_is_whole_and_harmless(name: str, shown: dict[str, Any]) -> None:
    text = shown[name]._repr_html_()
    found = Tags(text).tags
    allowed = "div b span table thead tbody tr th td svg line rect details summary a"
    assert {tag for tag, _ in found} <= set(allowed.split())
    for _, attributes in found:
        # No events, no ids and classes that a page may know, nothing from elsewhere.
        assert not [n for n in attributes if n.startswith("on") or n in ("id", "class", "src")]
        assert "url(" not in (attributes.get("style") or "")
        # Colours are those of the theme, or a grey that is seen on both.
        colours = re.findall(r"#[0-9a-f]{3,6}|rgb[^)]*\)", str(attributes))
        assert set(colours) <= {"rgba(128, 128, 128, 0.5)"}
        assert attributes.get("fill", "currentColor") == "currentColor"
    assert text.count("<tr>") <= 4 * 22
    assert len(text) < 60_000


def test_a_leaderboard_says_it_all(comparison: Comparison, tmp_path: Path) -> None:
    text = comparison._repr_html_()
    for standing in comparison.standings:
        assert f">{standing.name}</td>" in text
        assert f">{standing.means['ndcg@10']:.4f}</td>" in text
    assert html.escaped(comparison.verdict) in text
    assert html.escaped(comparison.advice) in text
    assert "broken failed on Fold1, Fold2, Fold3: " in text
    assert "45 test queries in 3 folds" in text
    assert "<a " not in text
    write_report(comparison, tmp_path / "my page.html")
    try:
        assert f'href="{(tmp_path / "my page.html").as_uri()}"' in comparison._repr_html_()
    finally:
        comparison.page = None


def test_a_page_is_found_beside_the_notebook(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "page", "there/report.html")
    assert 'href="there/report.html"' in comparison._repr_html_()


def test_differences_have_the_sign_that_they_are_called_by(shown: dict[str, Any]) -> None:
    contest, comparison = shown["contest"], shown["comparison"]
    for result in (contest, comparison):
        held = result.reference or result.best
        means = {s.name: s.means["ndcg@10"] for s in result.standings}
        text = result._repr_html_()
        for s in result.standings[:20]:
            if s.name != held:
                assert f">{means[s.name] - means[held]:+.4f}</td>" in text


def test_many_rows_are_cut(shown: dict[str, Any]) -> None:
    assert "... and 5 more" in shown["contest"]._repr_html_()
    assert "... and 10 more" in shown["importance"]._repr_html_()
    assert f"... and {shown['dataset'].n_docs - 5} more" in shown["dataset"]._repr_html_()


def test_the_most_frequent_labels_are_shown_with_their_shares() -> None:
    y = np.repeat(np.arange(14.0), [1, 1, *[3] * 11, 5])
    text = rw.Dataset(np.zeros((len(y), 1)), y)._repr_html_()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", text)
    at = cells.index("13")
    assert cells[at : at + 3] == ["13", "5", "12.5%"]
    assert cells[0] == "2"  # 0 and 1 are the rarest
    assert "... and 2 more" in text


def test_bars_have_the_length_of_their_values() -> None:
    def numbers(text: str, name: str) -> list[float]:
        return [float(v) for v in re.findall(rf' {name}="([-0-9.]+)"', text)]

    one, half = (html.bar(v, (0.0, 1.0)) for v in (1.0, 0.5))
    assert numbers(one, "width")[1] == pytest.approx(2 * numbers(half, "width")[1], abs=0.1)
    minus = html.bar(-0.5, (-1.0, 1.0))
    assert numbers(minus, "x")[0] + numbers(minus, "width")[1] == pytest.approx(70)
    both = html.interval_bar(0.5, 0.25, 0.75, (0.0, 1.0))
    assert numbers(both, "width")[1] == pytest.approx(69)
    assert html.bar(np.nan, (0.0, 1.0)) == html.interval_bar(0.5, -np.inf, 1.0, (0, 1)) == ""


def test_nothing_is_shown_of_every_model_failed(comparison: Comparison) -> None:
    from rankwright.comparison import Entry, compare

    data = comparison.folds[0].test
    failed = compare(data, [Entry("bad", rw.LinearRanker(HOSTILE))])
    assert "Every model failed." in failed._repr_html_()
    assert "bad failed on split" in repr(failed)


# ---- data frames ----

FRAMES = [
    ("contest", "leaderboard", 25),
    ("contest", "pairs", 24),
    ("contest", "queries", 25 * 4 * 60),
    ("contest", "segments", None),
    ("comparison", "leaderboard", 6),
    ("comparison", "queries", 6 * 4 * 45),
    ("comparison", "segments", 0),
    ("evaluation", "metrics", 4),
    ("evaluation", "queries", 60),
    ("evaluation", "segments", None),
    ("noise", "curves", 2),
    ("noise", "fits", 4),
    ("importance", None, 30),
    ("explanation", None, None),
    ("study", None, 3),
    ("dataset", None, None),
    ("sparse", None, None),
]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(("name", "table", "n"), FRAMES, ids=str)
def test_results_are_data_frames(
    name: str, table: str | None, n: int | None, backend: str, shown: dict[str, Any]
) -> None:
    this = shown[name]
    which = () if table is None else (table,)
    frame = this.to_frame(*which, backend=backend)
    assert type(frame).__module__.partition(".")[0] == backend
    if n is not None:
        assert frame.shape[0] == n
    first = this.to_frame(*which)
    assert type(first).__module__.startswith("pandas")
    assert list(first.columns) == list(getattr(frame, "column_names", frame.columns))


def test_frames_have_the_numbers(shown: dict[str, Any]) -> None:
    contest, evaluation = shown["contest"], shown["evaluation"]
    board = contest.to_frame().set_index("name")
    for s in contest.standings:
        assert board.loc[s.name, "ndcg@10"] == s.means["ndcg@10"]
        assert board.loc[s.name, "ndcg@10 low"] == s.low["ndcg@10"]
        pair = contest.pair(s.name)
        assert np.isnan(board.loc[s.name, "p"]) if pair is None else (
            board.loc[s.name, "p"] == pair.p_holm
        )  # fmt: skip
    means = contest.to_frame("queries").groupby(["name", "metric"])["value"].mean()
    assert means[contest.best, "ap"] == pytest.approx(contest.standings[0].means["ap"])
    assert evaluation.to_frame().set_index("metric").loc["rr", "mean"] == evaluation["rr"]
    by_query = evaluation.to_frame("queries")
    assert by_query["qid"].tolist() == evaluation.query_ids.tolist()
    np.testing.assert_array_equal(by_query["ap"], evaluation.results["ap"].per_query)
    explained = shown["explanation"].to_frame()
    one = explained[explained["rank"] == 1]
    assert one["contribution"].sum() + shown["explanation"].start == pytest.approx(
        one["score"].iloc[0]
    )
    study = shown["study"]
    assert study.to_frame()["ndcg@10"].tolist() == [t.value for t in study.trials]
    noise = shown["noise"]
    curve = noise.to_frame("fits").groupby("level")["value"].mean()
    assert noise.to_frame()["mean"].tolist() == pytest.approx(curve.tolist())


def same(a: rw.Dataset, b: rw.Dataset) -> None:
    np.testing.assert_array_equal(a.X, b.X)
    assert a.X.dtype == b.X.dtype
    np.testing.assert_array_equal(a.y, b.y)
    assert a.qid.tolist() == b.qid.tolist()
    assert a.order.tolist() == b.order.tolist()
    assert a.feature_names == b.feature_names
    assert a.features.categories == b.features.categories
    assert (a.doc_ids is None) == (b.doc_ids is None)
    assert a.doc_ids is None or (b.doc_ids is not None and a.doc_ids.tolist() == b.doc_ids.tolist())
    assert {k: v.tolist() for k, v in a.kept.items()} == {k: v.tolist() for k, v in b.kept.items()}


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", ["plain", "float32", "strings"])
def test_a_data_set_comes_back_from_its_frame(kind: str, backend: Any) -> None:
    import polars as pl

    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "qid": ["b", "a", "b", "c", "a"] if kind == "strings" else [2, 1, 2, 3, 1],
            "label": [0, 1, 2, 0, 1],
            "doc_id": list("vwxyz"),
            "price": rng.normal(size=5).astype(np.float32 if kind == "float32" else np.float64),
            "colour": ["red", "blue", None, "red", "green"],
            "country": ["de", "us", "de", "", "us"],
            "searches": [3, 4, 3, 5, 4],
        }
    )
    if kind == "float32":
        frame = frame.drop("searches", "colour")
    categorical = [] if kind == "float32" else ["colour"]
    keep = ["country"] if kind == "float32" else ["country", "searches"]
    ds = rw.from_frame(frame, categorical=categorical, keep=keep, allow_nan=True)
    again = rw.from_frame(
        ds.to_frame(backend=backend),
        categorical=list(ds.features.categories),
        keep=list(ds.kept),
        allow_nan=True,
    )
    same(ds, again)
    plain = rw.Dataset(ds.X[:, :1], ds.y, ds.qid)
    assert rw.from_frame(plain.to_frame(backend=backend)).feature_names == ["f1"]


def test_frames_that_cannot_be_are_told(
    shown: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="backend must be one of pandas, polars, pyarrow"):
        shown["dataset"].to_frame(backend="excel")
    with pytest.raises(ValueError, match="table must be one of leaderboard, pairs"):
        shown["contest"].to_frame("nothing")
    with pytest.raises(DataError, match="features must not be named 'label'"):
        rw.Dataset([[1.0]], [0], feature_names=["label"]).to_frame()
    there = {"polars"}
    monkeypatch.setattr(framing, "find_spec", lambda name: name if name in there else None)
    assert type(frame_of({"a": [1]})).__module__.startswith("polars")
    with pytest.raises(ImportError, match=r"backend='pandas' needs it. .* pip install pandas"):
        frame_of({"a": [1]}, "pandas")
    there.clear()
    assert type(frame_of({"a": [1]})).__module__.startswith("pyarrow")  # what the extra installs


# ---- progress ----


def test_progress_is_shown_when_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwright.progress._BETWEEN_LINES", 0.0)
    ds = rw.data.make_mslr_like(n_queries=20, n_features=5, mean_docs=10)
    ranker = rw.LinearRanker("listnet")
    work: dict[str, Callable[..., Any]] = {
        "compare": lambda **how: rw.compare(ds, ["best-feature"], n_trials=1, **how),
        "tune": lambda **how: tune(ranker, ds, {"alpha": Range(0.1, 1.0)}, n_trials=2, **how),
        "noise": lambda **how: noise_study(
            ds, "labels", {"a": ranker}, levels=[0.5], n_trials=2, **how
        ),
        "linear": lambda **how: ranker.fit(ds.X, ds.y, ds.qid, **how),
        "trees": lambda **how: rw.BoostedRanker(n_estimators=3).fit(ds.X, ds.y, ds.qid, **how),
    }
    starts = {
        "compare": "best-feature split: 0.",
        "tune": "trial 0: alpha=0.001: ndcg@10 0.",
        "noise": "1/2 trial 0, level 0.5: a 0.",
        "linear": "iteration 1: objective ",
        "trees": "tree 1 of 3, ",
    }
    for name, run in work.items():
        heard: list[Any] = []
        run(callback=lambda *told, heard=heard: heard.append(told))
        assert capsys.readouterr() == ("", ""), name
        again: list[Any] = []
        run(verbose=True, callback=lambda *told, again=again: again.append(told))
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(starts[name]), err
        assert len(again) == len(heard) > 0


def test_a_callback_still_stops_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ds = rw.data.make_mslr_like(n_queries=20, n_features=5, mean_docs=10)
    ranker = rw.BoostedRanker(n_estimators=9)
    ranker.fit(ds.X, ds.y, ds.qid, verbose=True, callback=lambda told: told.iteration == 2)
    assert (ranker.n_iter_, ranker.stop_) == (2, "interrupted")


# ---- a forgotten qid ----

RANKERS = [
    rw.LinearRanker("listnet"),
    rw.BoostedRanker(n_estimators=1),
    rw.PAMIR(n_epochs=1),
    rw.SLAMPerceptron(n_epochs=1),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: type(r).__name__)
def test_a_forgotten_qid_is_told(ranker: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2001, 3)), rng.integers(0, 2, 2001)
    with pytest.warns(DataWarning, match="all 2001 rows are taken as one query") as caught:
        ranker.fit(X, y)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        ranker.fit(X[:2000], y[:2000])
        ranker.fit(X, y, np.zeros(2001, int))  # it is one, as the caller says
        rw.PRank(n_epochs=1).fit(X, y)  # which knows no queries
