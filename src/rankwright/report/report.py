"""The report: one HTML file with everything in it, readable without a network."""

from __future__ import annotations

import base64
import gzip
import json
import math
from importlib import resources
from typing import Any

import numpy as np

from rankwright.comparison.result import Comparison
from rankwright.comparison.tables import size_text
from rankwright.data.files import PathLike
from rankwright.data.writing import write_text
from rankwright.evaluation.contest import Standing
from rankwright.evaluation.folds import Fold
from rankwright.extras import load_extra
from rankwright.report.inline import script_hash

MOST_RANKS = 100  # documents of a list that are kept
BUDGET = 2_200_000  # ranks and half the letters of names, which keeps the page below 5 MB
_MOST_NAME = 48  # characters of a document's name
_MOST_POINTS = 400  # of a curve


def write_report(comparison: Comparison, path: PathLike, title: str = "") -> None:
    """Write a comparison as one self-contained HTML page.

    Parameters
    ----------
    comparison : Comparison
        What :func:`rankwright.compare` returns.
    path : str or path-like
        Usually ``report.html``.
    title : str, optional
        Heading of the page.
    """
    write_text(path, report_html(comparison, title))
    comparison.page = str(path)


def report_html(comparison: Comparison, title: str = "") -> str:
    """Return the page as text; see :func:`write_report`."""
    page = resources.files("rankwright.report") / "page"
    parts = {
        name: (page / name).read_text(encoding="utf-8") for name in ("report.css", "report.js")
    }
    data = json.dumps(payload(comparison), separators=(",", ":"), allow_nan=False)
    packed = base64.b64encode(gzip.compress(data.encode(), 9, mtime=0)).decode()
    template = _environment().from_string((page / "report.html.jinja").read_text(encoding="utf-8"))
    text: str = template.render(
        title=title or "Which ranker is best?",
        c=comparison,
        css=parts["report.css"],
        js=parts["report.js"],
        script_hash=script_hash(parts["report.js"]),
        data=packed,
        board=_board(comparison),
        pairs=_pairs(comparison),
        descriptions=_descriptions(comparison),
        lists_kept=sum(1 for kept in _with_lists(comparison) if kept),
        n_queries=sum(fold.test.n_queries for fold in comparison.folds),
    )
    return text


def _environment() -> Any:
    jinja2 = load_extra("jinja2", "report", "the report needs")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = _number_text
    environment.filters["size"] = size_text
    return environment


# ---- tables ----


def _board(comparison: Comparison) -> list[dict[str, Any]]:
    """Return what the leaderboard shows, one entry a model."""
    standings = comparison.standings
    if not standings:
        return []
    main = comparison.metrics[0]
    # Around the best: a weak baseline would push all others together. What lies outside is clipped.
    best = standings[0]
    reach = 2.5 * (best.high[main] - best.low[main]) or 1.0
    low = max(min(s.low[main] for s in standings), best.means[main] - reach)
    high = min(max(s.high[main] for s in standings), best.means[main] + reach)
    width = high - low or 1.0
    beaten = {pair.b: pair for pair in comparison.pairs if pair.a == comparison.best}

    def place(value: float) -> float:
        return round(8 + 104 * min(max((value - low) / width, 0.0), 1.0), 1)

    return [
        {
            "s": s,
            "x": (place(s.low[main]), place(s.means[main]), place(s.high[main])),
            "outside": -1 if s.means[main] < low else 1 if s.means[main] > high else 0,
            "pair": beaten.get(s.name),
            "params": _params(s),
            "notes": _notes(comparison, s.name),
        }
        for s in standings
    ]


def _params(standing: Standing) -> list[str]:
    """Return the chosen parameters, one line a fold."""
    lines = [", ".join(f"{k}={_number_text(v)}" for k, v in p.items()) for p in standing.params]
    return [line or "nothing to choose" for line in dict.fromkeys(lines)]


def _notes(comparison: Comparison, name: str) -> list[str]:
    """Return what the chosen fits of a model warned of, each once."""
    notes: list[str] = []
    for fold in comparison.folds:
        facts = comparison.outcomes[name, fold.name].facts
        if facts.get("features_used") == 0:
            notes.append("All weights are 0: it ranks nothing.")
        if facts.get("trials"):
            notes += facts["trials"][facts["trial"]].get("warnings") or []
    return list(dict.fromkeys(notes))


def _pairs(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the pairs, those of the best first."""
    return [{"p": pair, "certain": pair.significant} for pair in comparison.pairs]


def _descriptions(comparison: Comparison) -> list[tuple[str, Any]]:
    fold = comparison.folds[0]
    name = "" if len(comparison.folds) == 1 else f" of {fold.name}"
    return [
        (f"Training queries{name}", fold.train.describe()),
        (f"Test queries{name}", fold.test.describe()),
    ]


def _number_text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return "" if value is None else str(value)


# ---- data of the pictures ----


def payload(comparison: Comparison) -> dict[str, Any]:
    """Return what the page's script draws, ready for JSON."""
    names = [s.name for s in comparison.standings]
    first = comparison.folds[0].name
    facts = {name: comparison.outcomes[name, first].facts for name in names}
    return {
        "metrics": comparison.metrics,
        "models": [{"name": s.name, "family": s.family} for s in comparison.standings],
        "folds": [fold.name for fold in comparison.folds],
        "fold": [i for i, f in enumerate(comparison.folds) for _ in range(f.test.n_queries)],
        "queries": [
            str(qid) for fold in comparison.folds for qid in fold.test.groups.names.tolist()
        ],
        "values": {
            metric: [_rounded(s.per_query[metric]) for s in comparison.standings]
            for metric in comparison.metrics
        },
        "lists": _lists(comparison),
        "curves": {n: _thinned(f["curves"]) for n, f in facts.items() if f.get("curves")},
        "paths": {n: f["path"] for n, f in facts.items() if f.get("path")},
        "noise": [
            {
                "what": study.corruption.level,
                "name": study.corruption.name,
                "metric": str(study.metric),
                "trials": study.n_trials,
                "levels": list(study.levels),
                "means": {m: _rounded(study.curve(m)[0]) for m in study.models},
            }
            for study in comparison.noise
        ],
        "guarantees": {
            n: _few_digits(f["guarantee"]) for n, f in facts.items() if f.get("guarantee")
        },
    }


def _rounded(values: Any) -> list[float | None]:
    return [None if math.isnan(v) else round(v, 4) for v in values.tolist()]


def _few_digits(guarantee: dict[str, Any]) -> dict[str, Any]:
    few = {key: [float(f"{v:.4g}") for v in guarantee[key]] for key in ("loss", "bound")}
    return {**guarantee, **few}


def _thinned(curves: dict[str, list[float]]) -> dict[str, Any]:
    thinned = {}
    for name, values in curves.items():
        kept = np.unique(
            np.linspace(0, len(values) - 1, min(len(values), _MOST_POINTS)).astype(int)
        ).tolist()
        thinned[name] = {"x": kept, "y": [float(f"{values[i]:.6g}") for i in kept]}
    return thinned


def _with_lists(comparison: Comparison) -> list[bool]:
    """Tell which queries have their lists in the page: where the rankers disagree most."""
    sizes = np.concatenate([fold.test.groups.sizes for fold in comparison.folds])
    if not comparison.standings:
        return [False] * len(sizes)
    ranks = np.minimum(sizes, MOST_RANKS)
    named = np.repeat(
        [_name_length(fold) for fold in comparison.folds],
        [fold.test.n_queries for fold in comparison.folds],
    )
    cost = ranks * (len(comparison.standings) + named / 2)
    values = np.vstack([s.per_query[comparison.metrics[0]] for s in comparison.standings])
    spread = np.nan_to_num(values.max(axis=0) - values.min(axis=0))
    order = np.argsort(-spread, kind="stable")
    inside = np.zeros(len(sizes), dtype=bool)
    inside[order] = np.cumsum(cost[order]) <= BUDGET
    return [bool(kept) for kept in inside]


def _name_length(fold: Fold) -> float:
    """Return how long the names of documents are, roughly."""
    if fold.test.doc_ids is None:
        return 0.0
    return float(np.mean([min(len(str(name)), _MOST_NAME) for name in fold.test.doc_ids[:1000]]))


def _lists(comparison: Comparison) -> list[dict[str, Any] | None]:
    """Return for each query the labels and names of its documents, and each model's order."""
    kept = iter(_with_lists(comparison))
    lists: list[dict[str, Any] | None] = []
    for fold in comparison.folds:
        scores = [comparison.outcomes[s.name, fold.name].scores for s in comparison.standings]
        lists += [
            _ranked_list(fold, rows, scores) if next(kept) else None for rows in fold.test.groups
        ]
    return lists


def _ranked_list(fold: Fold, rows: slice, scores: list[Any]) -> dict[str, Any]:
    # Ties in the order of the rows. What no model puts among its first is left out.
    orders = [np.argsort(-s[rows], kind="stable")[:MOST_RANKS] for s in scores]
    shown = np.unique(np.concatenate(orders))
    place = np.full(rows.stop - rows.start, -1)
    place[shown] = np.arange(len(shown))
    labels = fold.test.y[rows][shown]
    found: dict[str, Any] = {
        "n": rows.stop - rows.start,
        "y": [int(v) if v == int(v) else v for v in labels.tolist()],
        "o": [place[order].tolist() for order in orders],
    }
    ids = fold.test.doc_ids
    if ids is not None and any(str(name) for name in ids[rows][:1]):
        found["d"] = [str(name)[:_MOST_NAME] for name in ids[rows][shown]]
    else:
        found["r"] = (shown + 1).tolist()
    return found
