"""``python -m benchmarks.csv_info``: ``rankwright info`` on a CSV file of 200 MB, beside pyarrow.

In every round each command has its turn, as a process of its own whose peak of resident memory is
the kernel's. "pyarrow" starts Python, imports pyarrow.csv and reads the file; "pyarrow, reading" is
the call alone. The bars: at most 3 times pyarrow's time, and at most twice the features as float32
plus 300 MB. Rows of a query are adjacent in one file, and shuffled in the other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import DATA, ENVIRONMENT, QUICK_RESULTS, RESULTS

N_ROWS, QUICK_N_ROWS, N_FEATURES = 930_000, 50_000, 24
ROUNDS, QUICK_ROUNDS = 7, 2
TIME_BAR = 3.0
MEMORY_BAR = 300e6  # bytes beside twice the features as float32

PYARROW = """
import sys, time
import pyarrow.csv
begin = time.perf_counter()
table = pyarrow.csv.read_csv(sys.argv[1])
print(time.perf_counter() - begin)
"""


def run(quick: bool = False) -> None:
    """Measure both files and write what came out."""
    n_rows, rounds = (QUICK_N_ROWS, QUICK_ROUNDS) if quick else (N_ROWS, ROUNDS)
    records = {form: _measure(form, n_rows, rounds) for form in ("adjacent", "shuffled")}
    folder = QUICK_RESULTS if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"name": "csv-info", "method": __doc__, "quick": quick, **records}, indent=1)
    (folder / "csv-info.json").write_text(text + "\n")


def _measure(form: str, n_rows: int, rounds: int) -> dict[str, Any]:
    path = _file(form, n_rows)
    commands = {
        "info": [sys.executable, "-m", "rankwright", "info", str(path)],
        "pyarrow": [sys.executable, "-c", PYARROW, str(path)],
    }
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for n in range(rounds + 1):  # round 0 warms up
        for name, command in commands.items():
            turn = _child(command)
            if name == "pyarrow":
                turn["reading_s"] = float(turn.pop("printed"))
            turn.pop("printed", None)
            if n > 0:
                turns[name].append({"load": os.getloadavg()[0], **turn})
    info, arrow = (median(turn["seconds"] for turn in turns[name]) for name in commands)
    reading = median(turn["reading_s"] for turn in turns["pyarrow"])
    peak = max(turn["peak_bytes"] for turn in turns["info"])
    most = 2 * 4 * n_rows * N_FEATURES + MEMORY_BAR
    record: dict[str, Any] = {
        "file_bytes": path.stat().st_size,
        "rows": n_rows,
        "features": N_FEATURES,
        "info_s": info,
        "pyarrow_s": arrow,
        "pyarrow_reading_s": reading,
        "times_pyarrow": info / arrow,
        "times_pyarrow_reading": info / reading,
        "time_bar": TIME_BAR,
        "info_peak_bytes": peak,
        "pyarrow_peak_bytes": max(turn["peak_bytes"] for turn in turns["pyarrow"]),
        "memory_bar_bytes": most,
        "turns": turns,
    }
    print(
        f"{form}: info {info:.2f} s, pyarrow {arrow:.2f} s (reading {reading:.2f} s): "
        f"{info / arrow:.2f} times ({info / reading:.2f}), bar {TIME_BAR:g}; peak "
        f"{peak / 1e6:.0f} MB, bar {most / 1e6:.0f} MB",
        flush=True,
    )
    return record


def _child(command: list[str]) -> dict[str, Any]:
    """Run a command; return its seconds, its peak of memory, and the last line it printed."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT}
    )
    assert process.stdout is not None
    printed = process.stdout.read().split("\n")[-2]
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[:4]} ended with status {process.returncode}")
    seconds = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
        "printed": printed,
    }


def _file(form: str, n_rows: int) -> Path:
    """Return the file, generated unless it is there: a third of the features are whole numbers."""
    path = DATA / f"csv-info-{form}-{n_rows}.csv"
    DATA.mkdir(exist_ok=True)
    if path.exists():
        return path
    print(f"Generating {path.name} ...", flush=True)
    # Elsewhere: a child's peak of memory is at least that of the process that starts it.
    generator = get_context("spawn").Process(target=_generate, args=(path, form, n_rows))
    generator.start()
    generator.join()
    if generator.exitcode != 0:
        raise RuntimeError(f"cannot generate {path.name}")
    return path


def _generate(path: Path, form: str, n_rows: int) -> None:
    from pyarrow import csv, table

    rng = np.random.default_rng(0)
    rows = np.arange(n_rows) if form == "adjacent" else rng.permutation(n_rows)
    columns: dict[str, Any] = {
        "label": rng.integers(0, 5, n_rows),
        "qid": [f"q{row // 40:06d}" for row in rows.tolist()],
        "doc_id": [f"d{row:08d}" for row in rows.tolist()],
    }
    for j in range(N_FEATURES):
        real = np.round(rng.normal(size=n_rows) * 10.0 ** rng.integers(0, 3), 6)
        columns[f"signal_{j}"] = real if j % 3 else rng.integers(0, 1000, n_rows)
    csv.write_csv(table(columns), path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.csv_info", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data and two rounds")
    run(parser.parse_args().quick)
