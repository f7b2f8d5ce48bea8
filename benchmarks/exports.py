"""``python -m benchmarks exports``: how long a proof takes, and how much memory.

Each turn is a process of its own, from its start to its end, as on the command line: the export of
500 trees of 64 leaves on 136 features (the model of ``contributions``) to Elasticsearch with all
probes and with 50,000; and ``verify --log`` of 1,000,000 rows of 20 features, of an engine that
takes missing values for 0. The log is in the page cache. Seconds are by the clock, the processor's
are of all threads. The bars: 30 s and 1 GB, 10 s, and 20 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contributions import make_model
from benchmarks.harness import DATA, ENVIRONMENT, QUICK_RESULTS, RESULTS

ROUNDS, QUICK_ROUNDS = 3, 1
N_ROWS, QUICK_N_ROWS = 1_000_000, 20_000
N_FEATURES = 20
SIZE, QUICK_SIZE = (500, 64), (20, 8)  # trees and leaves


def run(quick: bool = False) -> None:
    """Measure, and write what came out."""
    model = make_model(*(QUICK_SIZE if quick else SIZE), quick) / "model.rw"
    grid, log = _log(quick)
    with tempfile.TemporaryDirectory() as folder:
        export = ["export", str(model), "--to", "elasticsearch", "--force", "--json"]
        export += ["-o", f"{folder}/model.json"]
        tasks: dict[str, tuple[list[str], dict[str, float]]] = {
            "export, all probes": (export, {"seconds": 30.0, "peak_mb": 1000.0}),
            "export, 50,000 probes": ([*export, "--probes", "50000"], {"seconds": 10.0}),
            "verify --log": (["verify", str(grid), "--log", str(log), "--json"], {"seconds": 20.0}),
        }
        turns: dict[str, list[dict[str, Any]]] = {name: [] for name in tasks}
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            for name, (words, _) in tasks.items():
                turns[name].append(_process(words))
    rows = [
        {
            "task": name,
            **{key: median(turn[key] for turn in turns[name]) for key in ("seconds", "peak_mb")},
            "bars": bars,
            "met": all(median(t[key] for t in turns[name]) <= bar for key, bar in bars.items()),
            "turns": turns[name],
        }
        for name, (_, bars) in tasks.items()
    ]
    folder_of = QUICK_RESULTS if quick else RESULTS
    folder_of.mkdir(parents=True, exist_ok=True)
    record = {"name": "exports", "method": __doc__, "quick": quick, "rows": rows}
    (folder_of / "exports.json").write_text(json.dumps(record, indent=1) + "\n")
    text = table(rows)
    (folder_of / "exports.md").write_text(text)
    print(text)


def table(rows: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    lines = ["| task | median | processor | peak memory | bar | met |", "|---|--:|--:|--:|---|---|"]
    for row in rows:
        bars = row["bars"]
        bar = f"{bars['seconds']:.0f} s" + (", 1 GB" if "peak_mb" in bars else "")
        lines.append(
            f"| {row['task']} | {row['seconds']:.1f} s "
            f"| {median(turn['cpu_s'] for turn in row['turns']):.1f} s | {row['peak_mb']:.0f} MB "
            f"| {bar} | {'yes' if row['met'] else 'no'} |"
        )
    load, cores = median(turn["load"] for row in rows for turn in row["turns"]), os.cpu_count() or 1
    busy = " **The machine was not quiet: rely on the processor's seconds alone.**"
    text = f"Load average of the machine meanwhile: {load:.1f}, on {cores} cores."
    lines += ["", text + (busy if load > cores / 2 else "")]
    return "\n".join(lines) + "\n"


def _process(words: list[str]) -> dict[str, Any]:
    load, begin = os.getloadavg()[0], time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "rankwright", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT},
    )
    assert process.stdout is not None
    said = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    facts = {
        key: said[key] for key in ("size", "outcome", "probes", "differ", "causes") if key in said
    }
    return {
        "seconds": time.monotonic() - begin,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
        "load": load,
        "facts": facts,
    }


def _log(quick: bool) -> tuple[Path, Path]:
    """Return a grid model and a log of an engine with it, made unless they are there."""
    import numpy as np
    import pyarrow as arrow
    from pyarrow import csv

    import rankwright as rw

    n_rows = QUICK_N_ROWS if quick else N_ROWS
    DATA.mkdir(exist_ok=True)
    grid, log = DATA / f"log-{n_rows}.grid.rw", DATA / f"log-{n_rows}.tsv"
    if grid.exists() and log.exists():
        return grid, log
    rng = np.random.default_rng(0)

    def drawn(n: int) -> Any:
        X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
        X[rng.random(n) < 0.3, 4] = np.nan
        X[rng.random(n) < 0.2, 5] = np.nan
        return X

    X = drawn(20_000)
    names = [f"feature{j}" for j in range(N_FEATURES)]
    signal = np.nan_to_num(X)[:, :8].sum(axis=1) + np.isnan(X[:, 4]) + np.isnan(X[:, 5])
    data = rw.Dataset(
        X,
        np.digitize(signal, [-2, 0, 2]),
        np.arange(len(X)) // 20,
        feature_names=names,
        allow_nan=True,
    )
    ranker = rw.BoostedRanker("xendcg", n_estimators=300, num_leaves=31).fit_dataset(data)
    rw.export(ranker, "elasticsearch", DATA / f"log-{n_rows}.json", probes=1000, overwrite=True)
    X = drawn(n_rows)
    scores = rw.load(grid).predict(np.nan_to_num(X)).astype(np.float32)
    ids = {"query": [f"q{i // 20}" for i in range(n_rows)], "doc": np.arange(n_rows)}
    columns = {name: arrow.array(X[:, j], from_pandas=True) for j, name in enumerate(names)}
    table = arrow.table({**ids, "score": scores, **columns})
    csv.write_csv(table, log, csv.WriteOptions(delimiter="\t", quoting_style="none"))
    return grid, log
