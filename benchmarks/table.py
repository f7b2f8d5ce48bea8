"""The records as one Markdown table, also within the README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import noise
from benchmarks.harness import FOLDER, QUICK_RESULTS, QUIET_CORES, RESULTS
from benchmarks.loading import MEMORY_BAR

README = FOLDER.parent / "README.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
TASKS = (
    "loading",
    "loading-one-thread",
    "metrics",
    "metrics-ties",
    "ndcg",
    "ndcg-ties",
    "slam",
    *(
        f"dense-{loss}-{alpha}"
        for loss in ("listnet", "xendcg", "domination")
        for alpha in (0.01, 0.0001)
    ),
    "dense-independent",
    "sparse-l2",
    "sparse-l1",
    "trees-xendcg",
    "trees-lambdarank",
    *(f"scoring-{what}" for what in (100, 1000, 100_000, "float64", "threads")),
    *(f"contributions-{size}-{threads}" for size in ("large", "small") for threads in (1, 2)),
    "online-slam-perceptron",
    "online-ranker",
    "online-prank",
    "online-multiclass-perceptron",
    *(f"noise-{name}" for name in noise.TASKS),
    "predtron-classes",
    "predtron-ranker",
    "predtron-argmax-discount",
    "predtron-argmax-two-grades",
    "predtron-argmax-two-grades-linear",
    "predtron-argmax-grades",
    "predtron-argmax-reciprocal",
)


def run(quick: bool = False) -> None:
    """Write ``table.md`` and, from full results only, the README's part."""
    folder = QUICK_RESULTS if quick else RESULTS
    paths = [folder / f"{name}.json" for name in TASKS]
    records = [json.loads(path.read_text()) for path in paths if path.exists()]
    if not records:
        raise SystemExit(f"There are no results in {folder.name}/ yet.")
    text = _table(records)
    (folder / "table.md").write_text(text)
    print(text)
    if not quick and README.exists():
        _replace_part(README, _table(records, only_bars=True))


def _replace_part(path: Path, text: str) -> None:
    readme = path.read_text()
    if BEGIN in readme and END in readme:
        before, _, rest = readme.partition(BEGIN)
        after = rest.partition(END)[2]
        path.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


def _table(records: list[dict[str, Any]], *, only_bars: bool = False) -> str:
    """Make the table; ``only_bars`` leaves out the rows that have nothing to reach."""
    rows = [
        "| Task | rankwright | Peer | Its result | Ratio (95 % interval) | Bar |",
        "|---|--:|---|--:|--:|---|",
    ]
    for record in records:
        found = _speed_rows(record) + _memory_rows(record)
        rows += [row for row in found if not (only_bars and row.endswith("|  |"))]
    return "\n".join([*rows, "", *_footer(records)]) + "\n"


def _speed_rows(record: dict[str, Any]) -> list[str]:
    ours, *peers = record["contenders"]
    rows = []
    for peer in peers:
        for part, ratio in peer["speed_ours_over_theirs"].items():
            low, high = ratio["interval"]
            cells = [
                record["title"],
                _speed(ours["per_second"]["total"], record["unit"]),
                _named(peer) + _which_part(peer, part),
                _speed(peer["per_second"][part], record["unit"]),
                f"{_number(ratio['ratio'])}× ({_number(low)}–{_number(high)})",
                _verdict(ratio["bar"], low, high),
            ]
            rows.append(_row(cells))
    return rows


def _memory_rows(record: dict[str, Any]) -> list[str]:
    whole = [c for c in record["contenders"] if c["share"] == 1]
    measured = [c for c in whole if "memory" in c and c["version"]]
    if not measured:
        return []
    ours, *peers = measured
    added = ours["memory"]["anonymous_added_bytes"]
    share = ours["memory"]["anonymous_added_over_arrays"]
    title = f"{record['title']}, peak memory"
    arrays = _size(ours["memory"]["array_bytes"])
    verdict = f"≤ {MEMORY_BAR}×: {'met' if share <= MEMORY_BAR else 'missed'}"
    rows = [_row([title, _size(added), "the arrays that result", arrays, f"{share:.2f}×", verdict])]
    for peer in peers:
        theirs = peer["memory"]["anonymous_added_bytes"]
        rows.append(
            _row([title, _size(added), _named(peer), _size(theirs), f"{added / theirs:.2f}×", ""])
        )
    return rows


def _footer(records: list[dict[str, Any]]) -> list[str]:
    machine = records[0]["machine"]
    dates = sorted({record["date"] for record in records})
    foreign = max(record["foreign_cores"] for record in records)
    busy = " **The machine was not quiet: do not rely on these figures.**"
    return [
        f"{' to '.join(dates)}; {machine['cpu']}, {records[0]['threads']} threads for every tool; "
        f"Python {machine['python']}; medians of {records[0]['rounds']} interleaved rounds, ratios "
        f"with a bootstrap interval over the rounds. Other processes used {foreign:.2f} cores on "
        "average in the task they disturbed most."
        f"{busy if foreign > QUIET_CORES else ''} Methods and all rounds: "
        "`benchmarks/results/`."
    ]


def _named(contender: dict[str, Any]) -> str:
    return " ".join(filter(None, (contender["name"], contender["version"])))


def _which_part(contender: dict[str, Any], part: str) -> str:
    if "convert" not in contender["median_seconds"]:
        return ""
    return ", evaluation alone" if part == "evaluate" else ", with conversion"


def _verdict(bar: float | None, low: float, high: float) -> str:
    """Say whether the whole interval is on one side of the bar."""
    if bar is None:
        return ""
    verdict = "met" if low >= bar else "missed" if high < bar else "unclear"
    return f"≥ {bar:g}×: {verdict}"


def _speed(value: float, unit: str) -> str:
    match unit:
        case "MB":
            return f"{value:,.0f} MB/s"
        case "fits":
            return f"{1 / value:.2f} s"
        case "documents":
            digits = 2 if value >= 1e4 else 5
            return f"{value / 1e6:.{digits}f} M docs/s"
    return f"{value:,.0f} {unit}/s" if value >= 100 else f"{value:.2f} {unit}/s"


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:,.0f} MB"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
