"""A comparison as tables in files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.data.files import PathLike
from rankwright.data.spreadsheets import as_cell
from rankwright.data.writing import make_folder, write_text

if TYPE_CHECKING:
    from rankwright.comparison.result import Comparison


def csv_text(rows: list[list[Any]]) -> str:
    """Return rows as CSV."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def size_text(n_bytes: float | None) -> str:
    """Return a number of bytes as people read it.

    >>> size_text(999), size_text(942_000), size_text(None)
    ('999 B', '942.0 kB', '')
    """
    if n_bytes is None:
        return ""
    for unit, digits in (("B", 0), ("kB", 1), ("MB", 1)):
        text = f"{n_bytes:.{digits}f}"
        if float(text) < 1000:  # as rounded: 999,999 is 1.0 MB, not 1000.0 kB
            return f"{text} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"


def metrics_csv(comparison: Comparison) -> str:
    """Return all means as CSV; equal for equal seeds, models and data."""
    rows: list[list[Any]] = [["model", "fold", "metric", "mean", "low", "high", "queries"]]
    for s in comparison.standings:
        for m in comparison.metrics:
            n = int(np.count_nonzero(~np.isnan(s.per_query[m])))
            rows.append([s.name, "all", m, s.means[m], s.low[m], s.high[m], n])
            if len(comparison.folds) > 1:
                for fold, mean in zip(comparison.folds, s.fold_means[m], strict=True):
                    rows.append([s.name, fold.name, m, mean, "", "", fold.test.n_queries])
    return csv_text(rows)


def models_csv(comparison: Comparison) -> str:
    """Return what the search chose as CSV; equal for equal seeds, models and data."""
    rows: list[list[Any]] = [["model", "fold", "params", "trial", "valid", "features_used"]]
    for (name, fold), outcome in comparison.outcomes.items():
        facts = outcome.facts
        params = json.dumps(facts["params"])
        rows.append([name, fold, params, facts["trial"], facts["valid"], facts["features_used"]])
    return csv_text(rows)


def timings_csv(comparison: Comparison) -> str:
    """Return what depends on the machine as CSV."""
    rows: list[list[Any]] = [
        ["model", "fold", "train_seconds", "search_seconds", "score_us", "model_bytes"]
    ]
    for (name, fold), outcome in comparison.outcomes.items():
        facts = outcome.facts
        rows.append([name, fold, *(facts[key] for key in rows[0][2:5]), facts["model_bytes"]])
    return csv_text(rows)


def pairs_csv(comparison: Comparison) -> str:
    """Return the significance tests as CSV."""
    if not comparison.pairs:
        return ""
    rows = [pair.to_dict() for pair in comparison.pairs]
    return csv_text([list(rows[0]), *(list(row.values()) for row in rows)])


def per_query_csv(comparison: Comparison, *, spreadsheet_safe: bool = False) -> str:
    """Return each metric of each model by query as CSV.

    With ``spreadsheet_safe``, ids that a spreadsheet would take for formulas get an apostrophe.
    """
    names = [s.name for s in comparison.standings]
    rows: list[list[Any]] = [["fold", "qid", "metric", *names]]
    position = 0
    for fold in comparison.folds:
        for q, qid in enumerate(fold.test.groups.names.tolist()):
            for m in comparison.metrics:
                values = [s.per_query[m][position + q] for s in comparison.standings]
                rows.append([fold.name, qid, m, *("" if np.isnan(v) else v for v in values)])
        position += fold.test.n_queries
    if spreadsheet_safe:
        rows = [[as_cell(value) for value in row] for row in rows]
    return csv_text(rows)


def write_tables(
    comparison: Comparison, folder: PathLike, *, spreadsheet_safe: bool = False
) -> list[Path]:
    """Write the tables into a folder; return the files. See :func:`per_query_csv`."""
    place = Path(folder)
    make_folder(place)
    files = {
        "metrics.csv": metrics_csv(comparison),
        "models.csv": models_csv(comparison),
        "timings.csv": timings_csv(comparison),
        "pairs.csv": pairs_csv(comparison),
        "per_query.csv": per_query_csv(comparison, spreadsheet_safe=spreadsheet_safe),
        "leaderboard.tex": comparison.to_latex(),
        "comparison.json": json.dumps(comparison.to_dict(), indent=1) + "\n",
    }
    files |= {f"noise-{study.corruption.name}.csv": study.to_csv() for study in comparison.noise}
    for name, text in files.items():
        write_text(place / name, text)
    return [place / name for name in files]
