"""The records as one Markdown table; six of its rows, and how many bars are met, in the README."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import noise, sparse_races
from benchmarks.harness import FOLDER, QUICK_RESULTS, QUIET_CORES, RESULTS
from benchmarks.loading import MEMORY_BAR

README = FOLDER.parent / "README.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
TASKS = (
    "loading",
    "loading-first",
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
    *(problem.name for problem in sparse_races.problems(quick=False)),
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


# Kinds of tasks by how their names begin, for the README: the first six with a row to show.
KINDS = ("loading", "metrics", "dense", "trees", "scoring", "contributions", "online")
SHOWN = 6
HEADING = [
    "| Task | rankwright | Peer | Its result | Ratio (95 % interval) | Bar |",
    "|---|--:|---|--:|--:|---|",
]


@dataclass(frozen=True)
class Line:
    """One row of the table; ``verdict`` is empty where there is no bar."""

    cells: tuple[str, ...]
    ratio: float
    bar: str = ""
    verdict: str = ""

    def __str__(self) -> str:
        return f"| {' | '.join(self.cells)} | {self.bar}{': ' if self.bar else ''}{self.verdict} |"


def run(quick: bool = False) -> None:
    """Write ``table.md`` and, from full results only, the README's part."""
    folder = QUICK_RESULTS if quick else RESULTS
    paths = {name: folder / f"{name}.json" for name in TASKS}
    records = {name: json.loads(p.read_text()) for name, p in paths.items() if p.exists()}
    if not records:
        raise SystemExit(f"There are no results in {folder.name}/ yet.")
    text = _table(list(records.values()))
    (folder / "table.md").write_text(text)
    print(text)
    if not quick and README.exists():
        _replace_part(README, headlines(records))


def _replace_part(path: Path, text: str) -> None:
    readme = path.read_text()
    if BEGIN in readme and END in readme:
        before, _, rest = readme.partition(BEGIN)
        after = rest.partition(END)[2]
        path.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


def _table(records: list[dict[str, Any]]) -> str:
    rows = [str(line) for record in records for line in _lines(record)]
    return "\n".join([*HEADING, *rows, "", _footer(records)]) + "\n"


def headlines(records: dict[str, dict[str, Any]]) -> str:
    """Return the README's part: one row for each kind of task, then how many bars are met.

    A kind is shown by its first task that was measured on a quiet machine and meets all of its
    bars, beside the peer that comes nearest of those with a bar.
    """
    rows = []
    for kind in KINDS:
        tasks = [records[n] for n in records if n.startswith(kind) and _quiet(records[n])]
        met = [record for record in tasks if _all_met(_lines(record))]
        rows += [_nearest(_speed_lines(record)) for record in met][:1]
    counts = Counter(line.verdict for record in records.values() for line in _lines(record))
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("met", "missed", "unclear"))
    first = next(iter(records.values()))
    line = (
        f"Measured {_dates(list(records.values()))} on {first['machine']['cpu']}, "
        f"{_threads(first)} (`make bench`). Bars in [all rows](docs/benchmarks.md): {told}."
    )
    return "\n".join([*HEADING, *map(str, rows[:SHOWN]), "", line]) + "\n"


def _all_met(lines: list[Line]) -> bool:
    return {line.verdict for line in lines if line.verdict} == {"met"}


def _nearest(lines: list[Line]) -> Line:
    return min((line for line in lines if line.verdict), key=lambda line: line.ratio)


def _quiet(record: dict[str, Any]) -> bool:
    return bool(record["foreign_cores"] <= QUIET_CORES)


def _lines(record: dict[str, Any]) -> list[Line]:
    return _speed_lines(record) + _memory_lines(record)


def _speed_lines(record: dict[str, Any]) -> list[Line]:
    ours, *peers = record["contenders"]
    lines = []
    for peer in peers:
        for part, ratio in peer["speed_ours_over_theirs"].items():
            low, high = ratio["interval"]
            cells = (
                record["title"],
                _speed(ours["per_second"]["total"], record["unit"]),
                _named(peer) + _which_part(peer, part),
                _speed(peer["per_second"][part], record["unit"]),
                f"{_number(ratio['ratio'])}× ({_number(low)}–{_number(high)})",
            )
            bar, verdict = _verdict(ratio["bar"], low, high)
            lines.append(Line(cells, ratio["ratio"], bar, verdict))
    return lines


def _memory_lines(record: dict[str, Any]) -> list[Line]:
    whole = [c for c in record["contenders"] if c["share"] == 1]
    measured = [c for c in whole if "memory" in c and c["version"]]
    if not measured:
        return []
    ours, *peers = measured
    added = ours["memory"]["anonymous_added_bytes"]
    share = ours["memory"]["anonymous_added_over_arrays"]
    title = f"{record['title']}, peak memory"
    arrays = _size(ours["memory"]["array_bytes"])
    cells = (title, _size(added), "the arrays that result", arrays, f"{share:.2f}×")
    verdict = "met" if share <= MEMORY_BAR else "missed"
    lines = [Line(cells, share, f"≤ {MEMORY_BAR}×", verdict)]
    for peer in peers:
        theirs = peer["memory"]["anonymous_added_bytes"]
        ratio = added / theirs
        cells = (title, _size(added), _named(peer), _size(theirs), f"{ratio:.2f}×")
        lines.append(Line(cells, ratio))
    return lines


def _footer(records: list[dict[str, Any]]) -> str:
    machine = records[0]["machine"]
    busy = [record for record in records if not _quiet(record)]
    disturbed = ", ".join(f"{r['title']} ({r['foreign_cores']:.2f} cores)" for r in busy)
    return (
        f"{_dates(records)}; {machine['cpu']}, {_threads(records[0])}; "
        f"Python {machine['python']}; medians of {records[0]['rounds']} interleaved rounds, ratios "
        "with a bootstrap interval over the rounds. "
        + (f"**Other processes disturbed these, do not rely on them:** {disturbed}. " * bool(busy))
        + "Methods and all rounds: `benchmarks/results/`."
    )


def _threads(record: dict[str, Any]) -> str:
    """Say how many threads there were: a task may use fewer, which its method tells."""
    return f"the same number of threads for each tool, at most {record['threads']}"


def _dates(records: list[dict[str, Any]]) -> str:
    dates = [record["date"] for record in records]
    return " to ".join(dict.fromkeys((min(dates), max(dates))))


def _named(contender: dict[str, Any]) -> str:
    return " ".join(filter(None, (contender["name"], contender["version"])))


def _which_part(contender: dict[str, Any], part: str) -> str:
    if "convert" not in contender["median_seconds"]:
        return ""
    return ", evaluation alone" if part == "evaluate" else ", with conversion"


def _verdict(bar: float | None, low: float, high: float) -> tuple[str, str]:
    """Return the bar, and whether the whole interval is on one side of it."""
    if bar is None:
        return "", ""
    return f"≥ {bar:.2g}×", "met" if low >= bar else "missed" if high < bar else "unclear"


def _speed(value: float, unit: str) -> str:
    match unit:
        case "MB":
            return f"{value:,.0f} MB/s"
        case "fits":
            return f"{1 / value:.2f} s"
        case "documents":
            return f"{value / 1e6:.2f} M docs/s" if value >= 1e5 else f"{value:,.0f} docs/s"
    return f"{value:,.0f} {unit}/s" if value >= 100 else f"{value:.2f} {unit}/s"


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:,.0f} MB"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
