"""Trees from data in parts: what a second machine gives, what it costs in quality, and peers.

T(1) is the time of a fit by one process in memory with one thread, T(2) that of two machines with
one thread each to the same documents; the share that is used of two cores is T(1) / (2 T(2)), by
the clock, and by the processor time of all processes together. Fits take turns, and seconds are per
tree, from the first tree on: bins and imports are told apart. Memory is measured by
``make soak SOAK=parts``.

Quality is NDCG@10 on queries of their own, from parts less in memory, over several draws of data.
Clusters are in :mod:`benchmarks.clusters`.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np

from benchmarks import clusters
from benchmarks.harness import QUICK_RESULTS, RESULTS
from benchmarks.worker import TICKS_PER_S

N_FEATURES = 136


@dataclass(frozen=True)
class Size:
    """How much is done."""

    n_docs: int = 300_000  # of each machine
    n_trees: int = 30
    rounds: int = 5
    seeds: int = 5
    queries: int = 1000


QUICK = Size(5_000, 5, 2, 2, 60)


@dataclass(frozen=True)
class Turn:
    """One fit: seconds until the first tree, and by the clock and processor for each later one."""

    until_first: float
    clock: float
    processor: float


def children() -> list[str]:
    """Return the processes that this one has started."""
    tasks = Path("/proc/self/task").glob("*/children")
    return " ".join(path.read_text(encoding="ascii") for path in tasks).split()


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it has started, which live."""
    total = time.process_time()
    for pid in children():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except OSError:
            continue
        total += sum(map(int, stat.rpartition(")")[2].split()[11:13])) / TICKS_PER_S
    return total


def timed(fit: Callable[..., Any], data: Any) -> Turn:
    """Return what a fit takes."""
    begin = time.perf_counter()
    seen: list[tuple[float, float]] = []
    fit(data, callback=lambda progress: seen.append((time.perf_counter(), processor_seconds())))
    clock, processor = (
        (last - first) / (len(seen) - 1) for first, last in zip(seen[0], seen[-1], strict=True)
    )
    return Turn(seen[0][0] - begin, clock, processor)


def efficiency(size: Size) -> dict[str, Any]:
    """Return what a second machine gives."""
    import rankwright as rw

    rng, n_docs = np.random.default_rng(0), 2 * size.n_docs
    options: dict[str, Any] = {"n_estimators": size.n_trees, "min_child_samples": 50}
    with tempfile.TemporaryDirectory() as folder:
        X = rng.normal(size=(n_docs, N_FEATURES)).astype(np.float32)
        y = np.clip(np.round(X[:, :5].sum(axis=1) + rng.normal(size=n_docs)), 0, 4)
        data = rw.Dataset(X, y, np.arange(n_docs) // 100)
        for i, half in enumerate(np.split(np.arange(data.n_queries), 2)):
            rw.write(data.select(half), f"{folder}/{i}.parquet")
        parts = rw.read_parts(folder)
        found: dict[str, list[Turn]] = {"one": [], "two": []}
        for n in range(size.rounds):
            found["one"].append(timed(rw.BoostedRanker(**options, n_jobs=1).fit_dataset, data))
            found["two"].append(timed(rw.BoostedRanker(**options, n_jobs=2).fit_parts, parts))
            print(f"round {n + 1}/{size.rounds}: {found['one'][-1]} {found['two'][-1]}", flush=True)
    clock, processor, first = (
        {name: median(getattr(turn, what) for turn in turns) for name, turns in found.items()}
        for what in ("clock", "processor", "until_first")
    )
    return {
        "n_docs_a_machine": size.n_docs,
        "n_features": N_FEATURES,
        "n_trees": size.n_trees,
        "turns": {name: [asdict(turn) for turn in turns] for name, turns in found.items()},
        "seconds until the first tree": first,
        "seconds a tree": clock,
        "efficiency by the clock": clock["one"] / (2 * clock["two"]),
        "efficiency by processor time": processor["one"] / processor["two"],
        "lost ms a tree": 1000 * (clock["two"] - clock["one"] / 2),
    }


def quality(size: Size) -> dict[str, Any]:
    """Return NDCG@10 from parts less that in memory, over draws of data, with a 95 % interval."""
    from scipy.stats import t

    import rankwright as rw
    from rankwright.metrics import NDCG, mean_on

    differences, levels = [], []
    for seed in range(size.seeds):
        data = rw.data.make_web_like(n_queries=2 * size.queries, random_state=seed)
        train, test = data.split((0.5, 0.5))
        with tempfile.TemporaryDirectory() as folder:
            for i, queries in enumerate(np.array_split(np.arange(train.n_queries), 4)):
                rw.write(train.select(queries), f"{folder}/{i}.parquet")
            apart = rw.BoostedRanker().fit_parts(rw.read_parts(folder))
        memory = rw.BoostedRanker().fit_dataset(train)
        parts, whole = (
            mean_on(NDCG(10), test, ranker.predict_dataset(test)) for ranker in (apart, memory)
        )
        differences.append(parts - whole)
        levels.append(whole)
        print(f"draw {seed + 1}/{size.seeds}: {parts:.4f}, {whole:.4f} in memory", flush=True)
    n = len(differences)
    half = float(t.ppf(0.975, n - 1)) * stdev(differences) / math.sqrt(n)
    return {
        "queries": size.queries,
        "ndcg@10 in memory": levels,
        "parts less memory": differences,
        "mean": mean(differences),
        "half width of the 95 % interval": half,
    }


def run(quick: bool = False) -> None:
    """Measure all, and write it down."""
    size, place = (QUICK, QUICK_RESULTS) if quick else (Size(), RESULTS)
    place.mkdir(parents=True, exist_ok=True)
    for name, step in (("trees", efficiency), ("quality", quality)):
        write(place / f"scale-{name}.json", {"name": f"scale-{name}", **step(size)})
    write(place / "scale-clusters.json", clusters.measured(quick))
    (place / "scale.md").write_text(page(place), encoding="utf-8")


def page(place: Path) -> str:
    """Return what the documentation shows of what is measured so far."""
    trees, draws = found(place, "trees"), found(place, "quality")
    seconds, n_draws = trees["seconds a tree"], len(draws["parts less memory"])
    rows = [
        ("documents, features", f"{2 * trees['n_docs_a_machine']:,}, {trees['n_features']}"),
        ("seconds a tree, in memory, one thread", f"{seconds['one']:.3f}"),
        ("seconds a tree, two machines with one thread each", f"{seconds['two']:.3f}"),
        ("share used of two cores, by the clock", f"{trees['efficiency by the clock']:.2f}"),
        ("the same by processor time", f"{trees['efficiency by processor time']:.2f}"),
        ("lost a tree", f"{trees['lost ms a tree']:.0f} ms"),
        (
            f"NDCG@10 from parts less in memory, {n_draws} draws of {draws['queries']} queries",
            f"{draws['mean']:+.4f} ± {draws['half width of the 95 % interval']:.4f}",
        ),
    ]
    lines = ["| trees from parts | |", "|---|--:|"]
    lines += [f"| {what} | {value} |" for what, value in rows]
    if (place / "scale-clusters.json").exists():
        lines += ["", clusters.table(found(place, "clusters"))]
    return "\n".join(lines).rstrip() + "\n"


def found(place: Path, name: str) -> dict[str, Any]:
    """Return figures that were written down."""
    text = (place / f"scale-{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def write(path: Path, record: dict[str, Any]) -> None:
    """Write figures, and show them."""
    text = json.dumps(record, indent=1) + "\n"
    path.write_text(text, encoding="utf-8")
    print(text, flush=True)
