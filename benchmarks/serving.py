"""``python -m benchmarks serving``: from the start of a process to its first prediction.

Each turn is a process of its own: it imports rankwright, loads a model file and predicts ten
documents of 136 features. Python keeps compiled modules, as it does of what is installed. "Scorer"
loads with ``scorer=True``, "estimator" without, "NumPy" only imports NumPy, and "Python" does
nothing. Seconds are by one clock of the whole machine, from before the process is started to when
the prediction is there; the processor's own seconds, which a busy machine does not lengthen as
much, are those of the whole process. In every round each has its turn, and round 0 warms up. The
bar: a first prediction within 0.4 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import DATA, ENVIRONMENT, QUICK_RESULTS, RESULTS

ROUNDS, QUICK_ROUNDS = 7, 2
BAR = 0.4
SCRIPT = """
import sys, time
if sys.argv[1] != "Python":
    import numpy as np
if sys.argv[1] in ("Scorer", "estimator"):
    import rankwright as rw
    model = rw.load(sys.argv[2], scorer=sys.argv[1] == "Scorer")
    model.predict(np.full((10, 136), 0.5, dtype=np.float32))
print(time.monotonic())
"""
MODELS = {
    "linear": "LinearRanker",
    "ordinal": "PRank, 5 labels",
    "trees": "BoostedRanker, 500 trees of 64 leaves",
}


def run(quick: bool = False) -> None:
    """Measure every model through both doors, and write what came out."""
    paths = _models(quick)
    alone = [("Python", ""), ("NumPy", "")]
    turns = {turn: list[dict[str, float]]() for turn in alone}
    turns |= {(door, name): [] for name in paths for door in ("Scorer", "estimator")}
    for n in range((QUICK_ROUNDS if quick else ROUNDS) + 1):
        for (door, name), measured in turns.items():
            turn = _process(door, str(paths.get(name, "")))
            if n > 0:
                measured.append(turn)
    rows = [
        {
            "door": door,
            "model": MODELS.get(name, ""),
            "file_bytes": paths[name].stat().st_size if name else 0,
            "median_s": median(turn["seconds"] for turn in measured),
            "least_s": min(turn["seconds"] for turn in measured),
            "median_cpu_s": median(turn["cpu_s"] for turn in measured),
            "turns": measured,
        }
        for (door, name), measured in turns.items()
    ]
    folder = QUICK_RESULTS if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    record = {"name": "serving", "method": __doc__, "quick": quick, "bar_s": BAR, "rows": rows}
    (folder / "serving.json").write_text(json.dumps(record, indent=1) + "\n")
    text = table(rows)
    (folder / "serving.md").write_text(text)
    print(text)


def table(rows: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| process | model | to the first prediction, median | least | processor | within 0.4 s |",
        "|---|---|--:|--:|--:|---|",
    ]
    for row in rows:
        verdict = ""
        if row["door"] == "Scorer":
            verdict = "yes" if row["median_s"] <= BAR else "no"
        lines.append(
            f"| {row['door']} | {row['model']} | {row['median_s']:.3f} s | {row['least_s']:.3f} s "
            f"| {row['median_cpu_s']:.3f} s | {verdict} |"
        )
    load, cores = median(turn["load"] for row in rows for turn in row["turns"]), os.cpu_count() or 1
    busy = " **The machine was not quiet: rely on the processor's seconds alone.**"
    text = f"Load average of the machine meanwhile: {load:.1f}, on {cores} cores."
    lines += ["", text + (busy if load > cores / 2 else "")]
    return "\n".join(lines) + "\n"


def _process(door: str, path: str) -> dict[str, float]:
    load = os.getloadavg()[0]
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, door, path],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": ""},
    )
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{door} {path} ended with status {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return {"seconds": float(printed) - begin, "cpu_s": cpu, "load": load}


def _models(quick: bool) -> dict[str, Path]:
    """Return the files of the models, made unless they are there."""
    import rankwright as rw

    DATA.mkdir(exist_ok=True)
    size = "quick" if quick else "full"
    paths = {name: DATA / f"serving-{name}-{size}.rw" for name in MODELS}
    if all(path.exists() for path in paths.values()):
        return paths
    n_queries, n_trees = (20, 20) if quick else (40, 500)
    ds = rw.data.make_mslr_like(n_queries=n_queries, mean_docs=50)
    trees = rw.BoostedRanker(
        "listnet", n_estimators=n_trees, num_leaves=64, min_child_samples=1, max_bin=63, n_jobs=1
    )
    fitted = {
        "linear": rw.LinearRanker(standardize=True).fit(ds.X, ds.y, ds.qid),
        "ordinal": rw.PRank().fit(ds.X, ds.y),
        "trees": trees.fit(ds.X, ds.y, ds.qid),
    }
    for name, model in fitted.items():
        rw.save(model, paths[name])
    return paths
