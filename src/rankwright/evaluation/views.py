"""What was measured, as a text and as a notebook shows it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankwright.html import (
    Html,
    Number,
    bar,
    boxed,
    details,
    fixed,
    headed,
    interval_bar,
    linked,
    noted,
    span_of,
    tabled,
)
from rankwright.showing import and_more, counted, lined_up

if TYPE_CHECKING:
    from rankwright.evaluation.contest import Contest, Standing
    from rankwright.evaluation.explain import Explanation
    from rankwright.evaluation.importance import PermutationImportance
    from rankwright.evaluation.measure import Evaluation
    from rankwright.evaluation.segmented import Segment
    from rankwright.evaluation.significance import PairedComparison

_MOST = 20  # systems of a leaderboard, as text
_MOST_COLUMNS = 8  # systems beside each other


def contest_text(contest: Contest) -> str:
    """Return the leaderboard, and what failed."""
    metric = contest.metrics[0]
    rows = [["model", metric, "95 % interval", "features"]]
    for s in contest.standings[:_MOST]:
        used = "" if s.features_used is None else f"{s.features_used:g}"
        rows.append([s.name, f"{s.means[metric]:.4f}", _ends(s, metric), used])
    lines = [lined_up(rows), and_more(len(contest.standings), _MOST), *contest.troubles()]
    return "\n".join(filter(None, lines))


def _ends(s: Standing, metric: str) -> str:
    return f"[{s.low[metric]:.4f}, {s.high[metric]:.4f}]"


def contest_html(contest: Contest) -> str:
    """Return the leaderboard with bars, the verdict, and what to do."""
    standings, metric = contest.standings, contest.metrics[0]
    n = sum(test.n_queries for test in contest.tests.values())
    about = f"{counted(n, 'test query', 'test queries')}"
    if len(contest.tests) > 1:
        about += f" in {len(contest.tests)} folds"
    parts = [
        headed(counted(len(standings), "system", "systems"), f"on {about}"),
        noted(contest.verdict),
        noted(contest.advice if standings else "", strong=True),
        _leaderboard(contest) if standings else "",
        *(noted(text) for text in contest.troubles()),
    ]
    for by in dict.fromkeys(segment.column for segment in contest.segments):
        cut = [segment for segment in contest.segments if segment.column == by]
        parts.append(details(f"{metric} by {by}", _segment_rows(cut, metric)))
    if contest.page is not None:
        parts.append(noted(linked("Open the page", _address(contest.page))))
    return boxed(*parts)


def _leaderboard(contest: Contest) -> Html:
    standings, (metric, *others) = contest.standings, contest.metrics
    span = span_of([end for s in standings for end in (s.low[metric], s.high[metric])])
    held = standings[0].name if contest.reference is None else contest.reference
    heads = ["model", metric, "", "95 % interval", *others, f"minus {held}", "p"]
    sign = -1.0 if contest.reference is None else 1.0  # the leader is tested minus the others
    rows = []
    for s in standings:
        pair, mean = contest.pair(s.name), s.means[metric]
        row: list[str] = [s.name, fixed(mean)]
        row += [interval_bar(mean, s.low[metric], s.high[metric], span), Number(_ends(s, metric))]
        row += [fixed(s.means[m]) for m in others]
        row += [fixed(sign * pair.difference, sign=True), fixed(pair.p_holm)] if pair else ["", ""]
        rows.append(row)
    for head, name, digits in (("features", "features_used", 0), ("µs/doc", "score_us", 2)):
        values = [getattr(s, name) for s in standings]
        if any(value is not None for value in values):
            heads.append(head)
            for row, value in zip(rows, values, strict=True):
                row.append(fixed(value, digits))
    return tabled(heads, rows)


def _segment_rows(segments: Sequence[Segment], metric: str) -> Html:
    names = list(segments[0].means)[:_MOST_COLUMNS]
    rows = [
        [s.value, Number(s.n_queries), *(fixed(s.means[name][metric]) for name in names)]
        for s in segments
    ]
    shown = [name or metric for name in names]  # a system alone has no name
    return tabled([segments[0].column, "queries", *shown], rows)


def _address(page: str) -> str:
    """Return a page as a notebook finds it: beside itself if it is there."""
    path = Path(page).absolute()
    here = Path.cwd()
    if path.is_relative_to(here):
        return path.relative_to(here).as_posix().replace(os.sep, "/")
    return path.as_uri()


def evaluation_html(evaluation: Evaluation) -> str:
    """Return the means with bars, and those of the segments."""
    results = evaluation.results
    span = span_of([end for r in results.values() for end in (r.low, r.high)], zero=True)
    rows = [
        [
            name,
            fixed(r.mean),
            interval_bar(r.mean, r.low, r.high, span),
            Number(f"[{r.low:.4f}, {r.high:.4f}]"),
            Number(r.n_queries),
        ]
        for name, r in results.items()
    ]
    parts = [tabled(["metric", "mean", "", "95 % interval", "queries"], rows)]
    first = next(iter(results), "")
    for by in dict.fromkeys(segment.column for segment in evaluation.segments):
        cut = [segment for segment in evaluation.segments if segment.column == by]
        parts += [headed(f"{first} by {by}"), _segment_rows(cut, first)]
    return boxed(*parts)


def importance_html(found: PermutationImportance) -> str:
    """Return what each feature is worth, with bars."""
    mean, std = found.mean, found.std
    span = span_of(mean.tolist(), zero=True)
    rows = [
        [
            found.feature_names[j],
            fixed(mean[j], sign=True),
            Number(f"± {std[j]:.4f}"),
            bar(mean[j], span),
        ]
        for j in np.argsort(-mean, kind="stable").tolist()
    ]
    title = headed(
        f"{found.metric} {found.value:.4f}",
        "gets worse by, with a feature shuffled within its query:",
    )
    return boxed(title, tabled(["feature", "drop", "", ""], rows))


def explanation_html(found: Explanation) -> str:
    """Return the ranking with its largest contributions, and why the first is above the second."""
    order = found.order.tolist()
    heaviest = np.argsort(-np.abs(found.contributions).max(axis=0, initial=0.0), kind="stable")
    shown = heaviest[:5].tolist()
    heads = ["rank", "row", "score", *(found.feature_names[j] for j in shown)]
    left = found.contributions.shape[1] - len(shown)
    rows = [
        [
            Number(rank),
            Number(row),
            fixed(found.scores[row]),
            *(fixed(found.contributions[row, j], sign=True) for j in shown),
            *([fixed(np.delete(found.contributions[row], shown).sum(), sign=True)] if left else []),
        ]
        for rank, row in enumerate(order[:20], 1)
    ]
    heads += [counted(left, "other", "others")] if left else []
    parts = [
        headed(counted(len(order), "document", "documents"), "and what features add"),
        tabled(heads, rows, len(order)),
    ]
    if len(order) > 1:
        first, second = order[:2]
        reasons = found.why(first, second)[:10]
        span = span_of([reason.difference for reason in reasons], zero=True)
        why = [
            [
                r.feature,
                fixed(r.difference, sign=True),
                bar(r.difference, span),
                *(Number(f"{value:g}") for value in (r.value, r.other_value)),
            ]
            for r in reasons
        ]
        parts += [
            headed(f"Why row {first} stands before row {second}"),
            tabled(["feature", "adds", "", f"row {first}", f"row {second}"], why),
        ]
    return boxed(*parts)


def pairs_html(pairs: Sequence[PairedComparison]) -> str:
    """Return the tests with bars."""
    span = span_of([end for p in pairs for end in (p.low, p.high)], zero=True)
    rows = [
        [
            f"{p.a} - {p.b}",
            fixed(p.difference, sign=True),
            interval_bar(p.difference, p.low, p.high, span),
            Number(f"[{p.low:+.4f}, {p.high:+.4f}]"),
            fixed(p.p_holm),
            "significant" if p.significant else "",
            Number(f"{p.wins} / {p.ties} / {p.losses}"),
        ]
        for p in pairs
    ]
    heads = ["pair", "difference", "", "95 % interval", "p (Holm)", "", "won / tied / lost"]
    return boxed(tabled(heads, rows))
