"""The leaderboard and the tests of the best: rows, and axes that their intervals are drawn on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankwright.comparison.tables import csv_text
from rankwright.data.spreadsheets import as_cell
from rankwright.evaluation.segmented import Segment
from rankwright.report.content import Content, System

_WIDTH = 150.0  # of a drawn interval, in pixels
_EDGE = 10.0  # room for the arrow of what lies outside


@dataclass(frozen=True)
class DrawnAxis:
    """Values as places on a drawn axis; what lies outside is clipped.

    >>> DrawnAxis(0.0, 1.0).place(0.5)
    75.0
    """

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return where a value lies, in pixels."""
        share = (value - self.low) / (self.high - self.low or 1.0)
        return round(_EDGE + (_WIDTH - 2 * _EDGE) * min(max(share, 0.0), 1.0), 1)

    def outside(self, value: float) -> int:
        """Return -1 if a value lies left of the axis, 1 if right of it, else 0."""
        return (value > self.high) - (value < self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return two or three round values with their places."""
        return [(self.place(v), text) for v, text in round_values(self.low, self.high)]


def round_values(low: float, high: float) -> list[tuple[float, str]]:
    """Return two to four round values between two ends, each with its text.

    >>> round_values(0.812, 0.893)
    [(0.82, '0.82'), (0.84, '0.84'), (0.86, '0.86'), (0.88, '0.88')]
    """
    if not high > low:
        return [(low, f"{low:.4g}")]
    power = math.floor(math.log10(high - low))
    steps = [(m * 10.0**p, max(0, -p)) for p in (power, power - 1) for m in (5, 2, 1)]
    step, digits = next(
        (step, digits)
        for step, digits in steps
        if math.floor(high / step + 1e-9) > math.ceil(low / step - 1e-9)
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(round(i * step, 12), f"{i * step:.{digits}f}") for i in range(first, last + 1)]


def scale_around(rows: list[tuple[float, float, float]]) -> DrawnAxis:
    """Return a scale for intervals (low, value, high) around the first of them.

    A weak system would push all others together: what lies far off is clipped.
    """
    rows = [row for row in rows if all(map(math.isfinite, row))] or [(0.0, 0.0, 0.0)]
    low, value, high = rows[0]
    reach = 6.0 * (high - low) or 1.0
    return DrawnAxis(
        max(min(row[0] for row in rows), value - reach),
        min(max(row[2] for row in rows), value + reach),
    )


def drawn(scale: DrawnAxis, low: float, value: float, high: float) -> dict[str, Any]:
    """Return an interval as the page draws it."""
    return {
        "x": (scale.place(low), scale.place(value), scale.place(high)),
        "outside": scale.outside(value),
        "low": low,
        "high": high,
    }


def board(content: Content) -> dict[str, Any]:
    """Return the leaderboard: its axis, and groups of rows, models before baselines."""
    if not content.systems:
        return {"groups": [], "ticks": [], "known": set(), "tradeoff": False}
    main = content.main
    models = [s for s in content.systems if not s.is_baseline] or content.systems
    scale = scale_around([(s.low[main], s.means[main], s.high[main]) for s in models])
    rows: list[dict[str, Any]] = [
        {
            "s": s,
            "interval": drawn(scale, s.low[main], s.means[main], s.high[main]),
            "test": content.tests.get(s.name),
        }
        for s in content.systems
    ]
    groups = [
        ("", [row for row in rows if not row["s"].is_baseline]),
        ("Baselines", [row for row in rows if row["s"].is_baseline]),
    ]
    return {
        "groups": [(name, group) for name, group in groups if group],
        "ticks": scale.ticks(),
        "known": known_costs(content.systems),
        "tradeoff": sum(bool(s.score_us) for s in content.systems) > 1,
    }


def known_costs(systems: list[System]) -> set[str]:
    """Return which costs any of the systems tells."""
    asked: dict[str, Callable[[System], Any]] = {
        "train": lambda s: s.train_seconds,
        "score": lambda s: s.score_us,
        "size": lambda s: s.model_bytes,
        "features": lambda s: s.features_used,
    }
    return {name for name, ask in asked.items() if any(ask(s) is not None for s in systems)}


def leaderboard_csv(content: Content) -> str:
    """Return the leaderboard as CSV."""
    ends = [f"{content.main} {end}" for end in ("low", "high")]
    costs = ["p", "train_seconds", "score_us", "model_bytes", "features_used"]
    rows: list[list[Any]] = [["model", "family", *content.metrics, *ends, *costs]]
    for s in content.systems:
        test = content.tests.get(s.name)
        p = None if test is None else test.p_holm
        known = [p, s.train_seconds, s.score_us, s.model_bytes, s.features_used]
        means = [s.means[metric] for metric in content.metrics]
        row = [s.name, s.family, *means, s.low[content.main], s.high[content.main], *known]
        rows.append(["" if value is None else as_cell(value) for value in row])
    return csv_text(rows)


def downloads(content: Content) -> list[tuple[str, str, str]]:
    """Return files that the page offers: name, kind, text."""
    return [
        ("leaderboard.csv", "text/csv", leaderboard_csv(content)),
        ("leaderboard.tex", "application/x-tex", content.latex),
    ]


def held_tests(content: Content) -> dict[str, Any]:
    """Return the tests against the best, or the reference, and the axis of their intervals."""
    if not content.tests:
        return {"rows": [], "ticks": [], "zero": 0.0}
    apart = {s.name for s in content.systems if s.is_baseline}
    near = [p for name, p in content.tests.items() if name not in apart]
    shown = near or list(content.tests.values())
    scale = scale_around([(min(0.0, p.low), p.difference, max(0.0, p.high)) for p in shown])
    rows = [
        {
            "name": name,
            "p": p,
            "interval": drawn(scale, p.low, p.difference, p.high),
            "baseline": name in apart,
        }
        for name, p in content.tests.items()
    ]
    rows.sort(key=lambda row: bool(row["baseline"]))
    return {"rows": rows, "ticks": scale.ticks(), "zero": scale.place(0.0)}


def segment_tables(content: Content) -> list[dict[str, Any]]:
    """Return a table for each way in which the queries were cut: systems by segment."""
    tables: dict[str, list[Any]] = {}
    for segment in content.segments:
        tables.setdefault(segment.column, []).append(segment)
    shown = [s for s in content.systems if s.name == content.held]
    shown += [s for s in content.systems if s.name != content.held and not s.is_baseline]
    return [
        {
            "column": column,
            "systems": [s.name for s in shown],
            "rows": [(segment, [_in_segment(segment, s.name) for s in shown]) for segment in rows],
        }
        for column, rows in tables.items()
        if len(rows) > 1
    ]


def _in_segment(segment: Segment, name: str) -> dict[str, Any]:
    """Return a system's mean, and its difference from what it is held against, if it is not it."""
    difference = segment.differences.get(name)
    parted = difference is not None and (difference[1] > 0 or difference[2] < 0)
    mean = next(iter(segment.means[name].values()))
    return {"mean": mean, "difference": difference, "parted": parted}
