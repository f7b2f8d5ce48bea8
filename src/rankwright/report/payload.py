"""What the page's script draws, ready for JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankwright.report.content import Content
from rankwright.report.rankings import RankedList, list_data, shown_queries
from rankwright.report.reasons import N_REASONS, Reasons

_MOST_POINTS = 400  # of a curve


def payload(content: Content, lists: list[RankedList | None], reasons: Reasons) -> dict[str, Any]:
    """Return the data of plots, lists and filters."""
    main, shown = content.main, shown_queries(content).tolist()
    place = {q: i for i, q in enumerate(shown)}

    def of_shown(values: list[Any]) -> list[Any]:
        return [values[q] for q in shown]

    tests = [part.test for part in content.parts]
    facts = {s.name: s.facts for s in content.systems}
    return {
        "metrics": content.metrics,
        "higher": content.higher_is_better,
        "start": _start(content),
        "segments": _segments(content, place),
        "models": [
            {
                "name": s.name,
                "family": s.family,
                "us": s.score_us,
                "at": _rounded(np.array([s.low[main], s.means[main], s.high[main]])),
            }
            for s in content.systems
        ],
        "folds": [part.name for part in content.parts],
        "fold": of_shown([i for i, test in enumerate(tests) for _ in range(test.n_queries)]),
        "queries": of_shown([str(qid) for test in tests for qid in test.groups.names.tolist()]),
        "lengths": of_shown([n for test in tests for n in test.groups.sizes.tolist()]),
        "values": {
            metric: [of_shown(_rounded(s.per_query[metric])) for s in content.systems]
            for metric in content.metrics
        },
        "lists": [None if (one := lists[q]) is None else list_data(content, one) for q in shown],
        "why": {
            "n": N_REASONS,
            "systems": reasons.systems,
            "features": reasons.features,
            "docs": {str(place[q]): found.tolist() for q, found in reasons.documents.items()},
        },
        "curves": {n: _thinned(f["curves"]) for n, f in facts.items() if f.get("curves")},
        "paths": {n: f["path"] for n, f in facts.items() if f.get("path")},
        "noise": [_noise(study) for study in content.noise],
        "guarantees": {
            n: _few_digits(f["guarantee"]) for n, f in facts.items() if f.get("guarantee")
        },
    }


def _start(content: Content) -> list[int]:
    """Return the two systems to begin with: the best, and what it is tested against or beats."""
    names = [s.name for s in content.systems]
    held = names.index(content.held) if names else 0
    return [held or min(1, len(names) - 1), 0]


def _segments(content: Content, place: dict[int, int]) -> dict[str, Any]:
    """Return by column the names of the segments, and the number of each query's."""
    found: dict[str, Any] = {}
    for part in content.cuts:
        column = found.setdefault(part.column, {"names": [], "of": [-1] * len(place)})
        for query in np.flatnonzero(part.queries).tolist():
            if query in place:
                column["of"][place[query]] = len(column["names"])
        column["names"].append(part.value)
    return found


def _noise(study: Any) -> dict[str, Any]:
    curves = {model: study.curve(model) for model in study.models}
    return {
        "what": study.corruption.level,
        "name": study.corruption.name,
        "metric": str(study.metric),
        "trials": study.n_trials,
        "levels": list(study.levels),
        "curves": {model: [_rounded(ends) for ends in found] for model, found in curves.items()},
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
