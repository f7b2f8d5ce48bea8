"""Leaderboards, systems and segments on the terminal."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from rankwright.cli.terminal import print_table

if TYPE_CHECKING:
    from rankwright.comparison.result import Comparison
    from rankwright.evaluation import Contest, Segment

_FEW_SYSTEMS = 3  # whose differences find room on a line


def print_leaderboard(result: Comparison) -> None:
    """Print one line per model, best first."""
    from rankwright.comparison.tables import size_text

    main, *others = result.metrics
    p_values = {pair.b: pair.p_holm for pair in result.pairs if pair.a == result.standings[0].name}
    columns = ["model", main, "95 % interval", "p", *others]
    columns += ["train s", "µs/doc", "size", "features"]
    rows = []
    for s in result.standings:
        p = p_values.get(s.name)
        rows.append(
            [
                s.name,
                f"{s.means[main]:.4f}",
                f"[{s.low[main]:.4f}, {s.high[main]:.4f}]",
                "" if p is None else p_text(p),
                *(f"{s.means[name]:.4f}" for name in others),
                f"{s.train_seconds:.2f}",
                f"{s.score_us:.2f}",
                size_text(s.model_bytes),
                "" if s.features_used is None else f"{s.features_used:.0f}",
            ]
        )
    failed = sorted({failure.model for failure in result.failures})
    rows += [[name, "failed", *[""] * (len(columns) - 2)] for name in failed]
    least_wanted = ["µs/doc", "train s", "size", "features", *reversed(others)]
    shown, rows = _fitting(columns, rows, least_wanted)
    print_table(shown, rows)
    if hidden := [name for name in least_wanted if name not in shown]:
        typer.echo(f"Not shown, for want of room: {', '.join(hidden)}.", err=True)


def _fitting(
    columns: list[str], rows: list[list[str]], least_wanted: list[str]
) -> tuple[list[str], list[list[str]]]:
    """Leave out columns, the least wanted first, until the table fits the terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        return columns, rows
    room = shutil.get_terminal_size().columns
    for name in least_wanted:
        widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
        if sum(widths) + 2 * (len(widths) - 1) <= room:
            break
        kept = [i for i, column in enumerate(columns) if column != name]
        columns, rows = [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]
    return columns, rows


def print_systems(result: Contest, as_json: bool, *, err: bool = False) -> None:
    """Print one line per system, beside its difference from the reference."""
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2), err=err)
        return
    from rankwright.evaluation.verdicts import interval_text

    main, *others = result.metrics
    rows = []
    for s in result.standings:
        pair = result.pair(s.name)
        rows.append(
            [
                s.name,
                f"{s.means[main]:.4f}",
                f"[{s.low[main]:.4f}, {s.high[main]:.4f}]",
                "" if pair is None else f"{pair.difference:+.4f}",
                "" if pair is None else interval_text(pair.low, pair.high),
                "" if pair is None else p_text(pair.p_holm),
                *(f"{s.means[name]:.4f}" for name in others),
            ]
        )
    head = ["system", main, "95 % interval", f"vs {result.reference}", "95 % interval", "p"]
    print_table([*head, *others], rows, err=err)
    print_segments(result.segments, main, err=err)
    typer.echo(f"\n{result.verdict}\n{result.advice}", err=err)


def p_text(p: float) -> str:
    """Return a p-value as people read it.

    >>> p_text(0.00003), p_text(0.0312), p_text(1.0)
    ('<0.0001', '0.0312', '1')
    """
    return "<0.0001" if p < 0.0001 else "1" if p == 1 else f"{p:.4f}"


def print_segments(segments: Sequence[Segment], metric: str, *, err: bool = False) -> None:
    """Print the first metric of each system on each kind of queries.

    Of a few systems the differences stand beside it; of many, a line each with the means alone.
    """
    for column in dict.fromkeys(segment.column for segment in segments):
        parts = [segment for segment in segments if segment.column == column]
        typer.echo("", err=err)
        if len(parts[0].means) > _FEW_SYSTEMS:
            head = [column, *(f"{part.value} ({part.n_queries})" for part in parts)]
            rows = [
                [name, *(f"{part.means[name][metric]:.4f}" for part in parts)]
                for name in parts[0].means
            ]
        else:
            head = [column, "queries", *_columns_beside(parts[0], metric)]
            rows = [_segment_row(part, metric) for part in parts]
        print_table(head, rows, err=err)


def _columns_beside(part: Segment, metric: str) -> list[str]:
    head: list[str] = []
    for name in part.means:
        head.append(name or metric)
        if len(part.means) == 1:
            head.append("95 % interval")
        elif name in part.differences:
            head.append("difference")
    return head


def _segment_row(part: Segment, metric: str) -> list[str]:
    from rankwright.evaluation.verdicts import interval_text

    row = [part.value, str(part.n_queries)]
    for name in part.means:
        mean, low, high = (by[name][metric] for by in (part.means, part.low, part.high))
        row.append(f"{mean:.4f}")
        if len(part.means) == 1:
            row.append(f"[{low:.4f}, {high:.4f}]")
        elif name in part.differences:
            difference, *ends = part.differences[name]
            row.append(f"{difference:+.4f} {interval_text(*ends)}")
    return row
