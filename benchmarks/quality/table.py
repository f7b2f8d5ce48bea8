"""The figures as Markdown, for the page of benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.quality.contenders import PATIENCE, TREES
from benchmarks.quality.laboratory import CHOICE, LETOR, ranks

# The best published means over the folds of these sets, by LETOR's conventions.
PUBLISHED: dict[str, dict[str, float]] = {
    "ohsumed": {"letor:ndcg@5": 0.4759, "letor:ndcg@10": 0.4542},
    "mq2008": {"letor:ndcg@5": 0.4821, "letor:ndcg@10": 0.2307, "letor:map": 0.4824},
}


def markdown(record: Mapping[str, Any]) -> str:
    """Return all tables."""
    if not record["sets"]:
        return "No set is finished yet.\n"
    parts = [_means(record), _choices(record), _published(record), _footer(record)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _means(record: Mapping[str, Any]) -> str:
    sets, places = record["sets"], ranks(record)
    heads = [f"{name} ({len(found['folds'])})" for name, found in sets.items()]
    order = sorted(
        {name for found in sets.values() for name in found["contenders"]},
        key=lambda name: (name not in places, places.get(name, {}).get("rank", 0.0), name),
    )
    rows = []
    for name in order:
        cells = [_cell(found, name) for found in sets.values()]
        known = [
            found["contenders"][name] for found in sets.values() if name in found["contenders"]
        ]
        seconds = sum(one["seconds"] for one in known)
        place = places.get(name)
        told = ["", ""] if place is None else [f"{place['rank']:.1f}", f"{place['mean']:.4f}"]
        rows.append([name, *cells, *told, f"{seconds:.0f}"])
    return _table(["NDCG@10 (folds or draws)", *heads, "mean rank", "mean", "seconds"], rows)


def _cell(found: Mapping[str, Any], name: str) -> str:
    if name not in found["contenders"]:
        return ""
    text = f"{found['contenders'][name][CHOICE]['mean']:.4f}"
    if name == found["order"][0]:
        return f"**{text}**"
    return text + "†" * any(p["b"] == name and p["significant"] for p in found["pairs"])


def _choices(record: Mapping[str, Any]) -> str:
    """Return what a user of each library would get, and whether ours is better."""
    names = list(dict.fromkeys(n for f in record["sets"].values() for n in f["chosen"]))
    rows = []
    for name in names:
        cells = []
        for found in record["sets"].values():
            if name not in found["chosen"]:
                cells.append("")
                continue
            cell = f"{found['chosen'][name][CHOICE]['mean']:.4f}"
            for pair in found["ours_against_peers"]:
                if pair["b"] == f"{name}-chosen":
                    cell += f" ({_difference(pair)})"
            cells.append(cell)
        rows.append([name, *cells])
    return _table(["library, chosen on validation (ours minus theirs)", *record["sets"]], rows)


def _difference(pair: Mapping[str, Any]) -> str:
    low, high = pair["low"], pair["high"]
    interval = "" if low is None or high is None else f" [{low:+.4f}, {high:+.4f}]"
    return f"{pair['difference']:+.4f}{interval}{'*' * bool(pair['significant'])}"


def _published(record: Mapping[str, Any]) -> str:
    rows = []
    for name, found in record["sets"].items():
        if name not in PUBLISHED:
            continue
        for metric in LETOR:
            best = PUBLISHED[name].get(metric)
            row = [f"{name}, `{metric}`", "" if best is None else f"{best:.4f}"]
            for chosen in found["chosen"].values():
                value = chosen[metric]
                told = "" if best is None else _beside(value, best)
                span = f"[{value['low']:.4f}, {value['high']:.4f}]"
                row.append(f"{value['mean_of_folds']:.4f} {span}{told}")
            rows.append(row)
    names = list(dict.fromkeys(n for f in record["sets"].values() for n in f["chosen"]))
    return _table(["mean of folds [95 %]", "published best", *names], rows) if rows else ""


def _beside(value: Mapping[str, float], best: float) -> str:
    if value["mean_of_folds"] >= best:
        return ", at or above"
    return ", cannot tell" if value["low"] <= best <= value["high"] else ", below"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---|" + "--:|" * (len(heads) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _footer(record: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    failures = [line for found in record["sets"].values() for line in found["failures"]]
    queries = ", ".join(f"{name} {f['n_queries']:,}" for name, f in record["sets"].items())
    budgets = "; ".join(dict.fromkeys(found["budget"] for found in record["sets"].values()))
    return (
        f"{versions}. Each contender, on each fold: {budgets}, at most {TREES} trees, stopped "
        f"after {PATIENCE} without an improvement. Bold: the best mean. †: worse than it beyond "
        "chance; *: ours differs from theirs beyond chance (paired randomisation over the test "
        f"queries of all folds, p < 0.05 after Holm's correction). Test queries: {queries}. "
        "Seconds: of all searches, one thread each, beside whatever else ran: for orientation."
        + "".join(f" {line}." for line in failures)
    )
