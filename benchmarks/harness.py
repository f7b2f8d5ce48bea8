"""Runs several implementations of one task in turn and writes what came out.

Round after round every contender has its turn (a, b, c; a, b, c; ...), so that slow changes of the
machine meet all of them; ratios are taken over the same rounds. Every contender has its own process
and two threads.

That does not make a busy machine fair: a tool that splits its work in advance waits for the thread
whose core is taken, and one that hands out small pieces, as rankwright does, waits less. No
interval shows that, so every turn records how many cores other processes used meanwhile.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.worker import TICKS_PER_S, Make, Run, Worker

FOLDER = Path(__file__).parent
DATA = FOLDER / "data"
RESULTS = FOLDER / "results"
QUICK_RESULTS = DATA / "quick"

THREADS = 2
ENVIRONMENT = {
    "OMP_WAIT_POLICY": "passive",
    "OMP_NUM_THREADS": str(THREADS),
    "OPENBLAS_NUM_THREADS": str(THREADS),
    "NUMBA_NUM_THREADS": str(THREADS),
    "RANKWRIGHT_NUM_THREADS": str(THREADS),
}
ROUNDS = 5
QUICK_ROUNDS = 2
# A short task is repeated within its turn; the median counts.
TURN_S = 0.5
MAX_REPEATS = 100
# Above this many cores taken by others, the results are marked as not from a quiet machine.
QUIET_CORES = 0.1
RESAMPLES = 10_000
# Means of metrics and counts of rows must agree; some tools compute in float32.
RELATIVE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Contender:
    """An implementation; the first of a task is ours."""

    name: str
    make: Make
    package: str | None  # whose version to record
    note: str
    # Parts of the time to compare with ours, each with how many times as fast we mean to be.
    bars: dict[str, float | None] = field(default_factory=lambda: {"total": None})
    share: float = 1.0  # of the task's amount; a slow peer may do a part


@dataclass(frozen=True)
class Task:
    """What is to be done, and by whom."""

    name: str
    title: str
    method: str
    amount: float
    unit: str
    contenders: Sequence[Contender]
    agree: Sequence[str] = ()  # facts that must be the same for all who report them
    watch_memory: bool = False  # in round 0; a fresh process for every turn


def run_task(task: Task, quick: bool = False) -> dict[str, Any]:
    """Run all rounds; write and return the record."""
    os.environ.update(ENVIRONMENT)
    n_rounds = QUICK_ROUNDS if quick else ROUNDS
    turns: dict[str, list[dict[str, Any]]] = {c.name: [] for c in task.contenders}
    workers: dict[str, Worker] = {}
    memory: dict[str, Any] = {}
    print(f"{task.title}: {task.amount:,.1f} {task.unit}", flush=True)
    try:
        for n in range(n_rounds + 1):  # round 0 warms up
            for contender in task.contenders:
                if not task.watch_memory:
                    turn = _turn(contender, workers)
                elif n == 0:  # who is watched is slower: his pages are counted while he gets them
                    memory[contender.name] = _fresh_turn(contender, watched=True)["memory"]
                    continue
                else:
                    turn = {**_fresh_turn(contender), "memory": memory[contender.name]}
                if n > 0:
                    turns[contender.name].append({"round": n, "load": os.getloadavg()[0], **turn})
                    seconds = ", ".join(f"{k} {v:.4f} s" for k, v in turn["seconds"].items())
                    print(f"  round {n}/{n_rounds}  {contender.name:20} {seconds}", flush=True)
    finally:
        for worker in workers.values():
            worker.close()
    _require_agreement(task, turns)
    record = {
        "name": task.name,
        "title": task.title,
        "method": task.method,
        "quick": quick,
        "date": datetime.date.today().isoformat(),
        "machine": _machine(),
        "threads": THREADS,
        "environment": ENVIRONMENT,
        "rounds": n_rounds,
        "foreign_cores": _mean_foreign([turn for rows in turns.values() for turn in rows]),
        "amount": task.amount,
        "unit": task.unit,
        "contenders": [_summary(task, c, turns) for c in task.contenders],
    }
    folder = QUICK_RESULTS if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / f"{task.name}.json").write_text(text + "\n")
    return record


def _turn(contender: Contender, workers: dict[str, Worker]) -> dict[str, Any]:
    if contender.name not in workers:
        workers[contender.name] = Worker(contender.make)
    worker = workers[contender.name]
    others = _Others(worker)
    runs: list[Run] = []
    while len(runs) < MAX_REPEATS and sum(r.seconds["total"] for r in runs) < TURN_S:
        runs.append(worker.run())
    foreign = others.seconds()
    seconds = {part: median(run.seconds[part] for run in runs) for part in runs[0].seconds}
    facts = runs[-1].facts
    return {"seconds": seconds, "repeats": len(runs), "facts": facts, **foreign}


def _fresh_turn(contender: Contender, watched: bool = False) -> dict[str, Any]:
    worker = Worker(contender.make)
    try:
        others = _Others(worker)
        run, memory = worker.run_and_watch() if watched else (worker.run(), None)
        foreign = others.seconds()
    finally:
        worker.close()
    sizes = {} if memory is None else {"memory": asdict(memory)}
    return {"seconds": run.seconds, "facts": run.facts, **sizes, **foreign}


class _Others:
    """Processor time that is neither the worker's nor this process's, in coarse clock ticks."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._start, self._busy = time.perf_counter(), self._foreign_seconds()

    def seconds(self) -> dict[str, float]:
        """Return their processor time and the time on the clock since the start."""
        foreign = self._foreign_seconds() - self._busy
        return {"foreign_s": foreign, "clock_s": time.perf_counter() - self._start}

    def _foreign_seconds(self) -> float:
        user, nice, system, _, _, irq, softirq, steal = map(
            int, Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
        )
        here = os.times()
        ours = self._worker.cpu_seconds() + here.user + here.system
        return (user + nice + system + irq + softirq + steal) / TICKS_PER_S - ours


def _require_agreement(task: Task, turns: dict[str, list[dict[str, Any]]]) -> None:
    for fact in task.agree:
        found = {
            name: turn["facts"][fact]
            for name, rows in turns.items()
            for turn in rows
            if fact in turn["facts"]
        }
        values = list(found.values())
        if not np.allclose(values, values[0], rtol=RELATIVE_TOLERANCE, atol=0):
            raise RuntimeError(f"{task.name}: the contenders disagree on {fact}: {found}")


def _summary(
    task: Task, contender: Contender, turns: dict[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    ours, rows = turns[task.contenders[0].name], turns[contender.name]
    medians = {p: median(row["seconds"][p] for row in rows) for p in rows[0]["seconds"]}
    summary: dict[str, Any] = {
        "name": contender.name,
        "version": contender.package and metadata.version(contender.package),
        "note": contender.note,
        "median_seconds": medians,
        "share": contender.share,
        "per_second": {
            part: task.amount * contender.share / seconds for part, seconds in medians.items()
        },
        "turns": rows,
    }
    if task.watch_memory:
        summary["memory"] = _memory(rows)
    if contender is not task.contenders[0]:
        summary["speed_ours_over_theirs"] = {
            part: {"bar": bar, **_ratio(ours, rows, part, contender.share)}
            for part, bar in contender.bars.items()
        }
    return summary


def _memory(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return medians over the turns: what the call added to the imports, and the whole process."""
    samples = [row["memory"] for row in rows]
    added = [sample["anonymous_peak"] - sample["anonymous_before"] for sample in samples]
    memory = {
        "anonymous_added_bytes": median(added),
        "file_peak_bytes": median(sample["file_peak"] for sample in samples),
        "total_peak_bytes": median(sample["total_peak"] for sample in samples),
    }
    if "array_bytes" in rows[0]["facts"]:
        arrays = rows[0]["facts"]["array_bytes"]
        memory["array_bytes"] = arrays
        memory["anonymous_added_over_arrays"] = median(added) / arrays
    return memory


def _ratio(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]], part: str, share: float
) -> dict[str, Any]:
    """Return the ratio of medians with a 95 % bootstrap interval over the rounds."""
    a = np.array([row["seconds"][part] / share for row in theirs])
    b = np.array([row["seconds"]["total"] for row in ours])
    rounds = np.random.default_rng(0).integers(len(a), size=(RESAMPLES, len(a)))
    ratios = np.median(a[rounds], axis=1) / np.median(b[rounds], axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    ratio = float(np.median(a) / np.median(b))
    return {"ratio": ratio, "interval": [float(low), float(high)]}


def _mean_foreign(turns: list[dict[str, Any]]) -> float:
    """Return the cores that others used, over the time of all turns."""
    foreign = sum(turn["foreign_s"] for turn in turns)
    return max(0.0, float(foreign / sum(turn["clock_s"] for turn in turns)))


def _machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "load_average": list(os.getloadavg()),
    }
