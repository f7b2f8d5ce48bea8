"""``python -m benchmarks serve``: the service beside a bare server of its own stack.

The bare server (``benchmarks.bare_server``) decodes the same body into the same structure and
answers stored bytes. A body is one query of 100 documents with 136 features, as .npy (float32) or
as JSON; the load comes over 8 open connections from a process of its own. In every round each has
its turn; ratios are taken over the same rounds. Times of requests are taken at 70 % of the most
that the service can do, the bare server's at the same rate, sent at fixed times: waiting in line
counts. Server and load share the cores of the machine.

Feedback brings 10 documents with 20 features; it is answered when it is on the disk, whose fsync is
timed beside it. Learning is asked to keep up with 2,000 such events a second.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import ENVIRONMENT, QUICK_RESULTS, RESULTS
from benchmarks.http_load import PLACE, Plan
from benchmarks.http_load import run as send

ROUNDS, QUICK_ROUNDS = 3, 1
SECONDS, QUICK_SECONDS = 2.0, 1.0
N_DOCS, N_FEATURES = 100, 136
PAUSE = 1e-4  # seconds between two scorings, as between two requests
SHARE = 0.7  # of the most, at which times are taken
BAR_RATE, BAR_P99 = 0.6, 3.0
BAR_BATCHES, BAR_SINGLE, BAR_LEARNING = 2000.0, 300.0, 2000.0
NPY, JSON = "application/x-npy", "application/json"
MODES = ("none", "ids", "features")  # what is logged


def run(quick: bool = False) -> None:
    """Measure all, and write what came out."""
    n_rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if quick else (ROUNDS, SECONDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = make_models(folder)
        record = {
            "name": "serve",
            "method": __doc__,
            "quick": quick,
            "cores": os.cpu_count(),
            "fsync_s": fsync_seconds(folder),
            "ranking": ranking(folder, models, n_rounds, seconds),
            "trees": trees(folder, models, n_rounds, seconds),
            "feedback": feedback(folder, models, n_rounds, seconds),
            "learning": learning(folder, models, 5 * seconds),
            "fsync_after_s": fsync_seconds(folder),
        }
    out = QUICK_RESULTS if quick else RESULTS
    out.mkdir(parents=True, exist_ok=True)
    (out / "serve.json").write_text(json.dumps(record, indent=1) + "\n")
    text = table(record)
    (out / "serve.md").write_text(text)
    print(text)


# ---- what is measured ----


def make_models(folder: Path) -> dict[str, Path]:
    """Fit and save a linear model, trees and a learner."""
    import rankwright as rw

    wide = rw.data.make_mslr_like(n_queries=40, mean_docs=50, n_features=N_FEATURES)
    narrow = rw.data.make_mslr_like(n_queries=40, mean_docs=20, n_features=20)
    fitted = {
        "linear": rw.LinearRanker(standardize=True).fit(wide.X, wide.y, wide.qid),
        "trees": rw.BoostedRanker(
            "listnet", n_estimators=300, num_leaves=31, min_child_samples=1, n_jobs=1
        ).fit(wide.X, wide.y, wide.qid),
        "learner": rw.SLAMPerceptron().fit(narrow.X, narrow.y, narrow.qid),
    }
    paths = {name: folder / f"{name}.rw" for name in fitted}
    for name, model in fitted.items():
        rw.save(model, paths[name])
    return paths


def bodies(kind: str) -> list[bytes]:
    """Return a few bodies of one kind."""
    import io

    made = []
    for seed in range(8):
        X = np.random.default_rng(seed).normal(size=(N_DOCS, N_FEATURES)).astype(np.float32)
        if kind == NPY:
            buffer = io.BytesIO()
            np.save(buffer, X)
            made.append(buffer.getvalue())
        else:
            rows = [[float(str(value)) for value in row] for row in X]  # as few digits as tell it
            documents = [{"id": str(i), "features": row} for i, row in enumerate(rows)]
            made.append(json.dumps({"query": f"q{seed}", "documents": documents}).encode())
    return made


def ranking(
    folder: Path, models: dict[str, Path], n_rounds: int, seconds: float
) -> list[dict[str, Any]]:
    """Compare requests a second, and times at 70 % of the most, with the bare server."""
    rows = []
    with contextlib.ExitStack() as stack:
        ports = {"bare": stack.enter_context(bare())}
        for mode in MODES:
            store = folder / f"rank-{mode}.db"
            ports[mode] = stack.enter_context(
                service(models["linear"], store, "--log", mode, cwd=folder)
            )
        for kind in (NPY, JSON):
            path = "/v1/rank?query=q" if kind == NPY else "/v1/rank"
            plans = {
                name: Plan(port, path, bodies(kind), kind, seconds) for name, port in ports.items()
            }
            most = in_turn({name: partial(send, p) for name, p in plans.items()}, n_rounds)
            paced = {}
            for mode in MODES:
                rate = SHARE * median(turn["per_second"] for turn in most[mode])
                for name in (mode, f"bare beside {mode}"):
                    port = ports["bare" if name != mode else mode]
                    paced[name] = Plan(port, path, bodies(kind), kind, seconds, 16, rate)
            times = in_turn({name: partial(send, p) for name, p in paced.items()}, n_rounds)
            rows += [_ranking_row(kind, mode, most, times) for mode in MODES]
    return rows


def _ranking_row(
    kind: str, mode: str, most: dict[str, list[Any]], times: dict[str, list[Any]]
) -> dict[str, Any]:
    shares = _ratios(most[mode], most["bare"], "per_second")
    bare = times[f"bare beside {mode}"]
    slower = _ratios(times[mode], bare, "p99_s")
    return {
        "body": kind,
        "log": mode,
        "per_second": median(turn["per_second"] for turn in most[mode]),
        "bare_per_second": median(turn["per_second"] for turn in most["bare"]),
        "share": median(shares),
        "shares": shares,
        "p50_s": median(turn["p50_s"] for turn in times[mode]),
        "p99_s": median(turn["p99_s"] for turn in times[mode]),
        "bare_p99_s": median(turn["p99_s"] for turn in bare),
        "p99_ratio": median(slower),
        "p99_ratios": slower,
        "load": median(turn["load"] for turn in most[mode]),
        "statuses": [turn["statuses"] for turn in (*most[mode], *times[mode])],
    }


def _ratios(ours: list[Any], others: list[Any], what: str) -> list[float]:
    return [mine[what] / other[what] for mine, other in zip(ours, others, strict=True)]


def trees(folder: Path, models: dict[str, Path], n_rounds: int, seconds: float) -> dict[str, float]:
    """Compare what 300 trees add to a request with what they take by themselves."""
    import rankwright as rw

    X = np.random.default_rng(0).normal(size=(N_DOCS, N_FEATURES)).astype(np.float32)
    own = {}
    for name in ("linear", "trees"):
        scorer = rw.load(models[name], scorer=True)
        for pause in (0.0, PAUSE):
            spent = []
            for _ in range(300):
                time.sleep(pause)
                begin = time.perf_counter()
                scorer.predict(X)
                spent.append(time.perf_counter() - begin)
            own[name, pause] = median(spent)
    with contextlib.ExitStack() as stack:
        plans = {
            name: Plan(
                stack.enter_context(
                    service(models[name], folder / f"{name}.db", "--log", "none", cwd=folder)
                ),
                "/v1/rank?query=q",
                bodies(NPY),
                NPY,
                seconds,
                1,  # one after the other: nothing waits in line
            )
            for name in ("linear", "trees")
        }
        turns = in_turn({name: partial(send, p) for name, p in plans.items()}, n_rounds)
    p50 = {name: median(turn["p50_s"] for turn in found) for name, found in turns.items()}
    return {
        "linear_p50_s": p50["linear"],
        "trees_p50_s": p50["trees"],
        "added_s": p50["trees"] - p50["linear"],
        "scoring_s": own["trees", 0.0] - own["linear", 0.0],
        "scoring_after_pause_s": own["trees", PAUSE] - own["linear", PAUSE],
    }


def feedback(
    folder: Path, models: dict[str, Path], n_rounds: int, seconds: float
) -> list[dict[str, Any]]:
    """Count durable events a second: in batches of 10, and one by one from 16 callers."""
    rows = []
    for name, size, connections, bar in (
        ("batches of 10", 10, 4, BAR_BATCHES),
        ("single events, 16 callers", 1, 16, BAR_SINGLE),
    ):
        turns = []
        for n in range(n_rounds):
            store = folder / f"feedback-{size}-{n}.db"
            with service(models["learner"], store, cwd=folder) as port:
                sent = event_bodies(size)
                plan = Plan(port, "/v1/feedback", sent, JSON, seconds, connections)
                turns.append(send(plan))
        rate = [turn["per_second"] * size for turn in turns]
        rows.append(
            {"what": name, "events_per_second": median(rate), "turns": rate, "bar": bar}
            | {"p99_s": median(turn["p99_s"] for turn in turns)}
            | {"statuses": [turn["statuses"] for turn in turns]}
        )
    return rows


def event_bodies(size: int) -> list[bytes]:
    """Return bodies of so many events each, whose ids are made when they are sent."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(50):
        events = []
        for place in range(size):
            X = rng.normal(size=(10, 20)).round(4)
            documents = [
                {"id": str(i), "features": row.tolist(), "label": float(row[0] > 0)}
                for i, row in enumerate(X)
            ]
            event_id = f"{PLACE.decode()}-{place}"
            events.append({"event_id": event_id, "query": event_id, "documents": documents})
        made.append(json.dumps(events if size > 1 else events[0]).encode())
    return made


def learning(folder: Path, models: dict[str, Path], seconds: float) -> dict[str, Any]:
    """Send 2,000 events a second and look how far behind the learner is."""
    size, store = 20, folder / "learning.db"
    with service(models["learner"], store, cwd=folder) as port:
        rate = BAR_LEARNING / size
        turn = send(Plan(port, "/v1/feedback", event_bodies(size), JSON, seconds, 8, rate))
        state = ask(port, "/v1/state")
        begin = time.monotonic()
        while ask(port, "/v1/state")["behind"] and time.monotonic() < begin + 60:
            time.sleep(0.02)
        caught_up = time.monotonic() - begin
        end = ask(port, "/v1/state")
    n_bytes = sum(path.stat().st_size for path in folder.glob("learning.db*"))
    return {
        "events": end["events"],
        "events_per_second": turn["per_second"] * size,
        "unsent": turn["unsent"],
        "behind_at_the_end": state["behind"],
        "caught_up_after_s": caught_up,
        "loss": end["cumulative_loss"],
        "bound": end["bound"],
        "bytes_per_event": n_bytes / max(end["events"], 1),
        "statuses": turn["statuses"],
    }


def fsync_seconds(folder: Path) -> float:
    """Return how long the disk takes to keep 4 kB."""
    spent = []
    with open(folder / "fsync", "wb", buffering=0) as file:
        for _ in range(100):
            file.write(b"x" * 4096)
            begin = time.perf_counter()
            os.fsync(file.fileno())
            spent.append(time.perf_counter() - begin)
    return median(spent)


# ---- processes ----


@contextlib.contextmanager
def service(model: Path, store: Path, *options: str, cwd: Path) -> Iterator[int]:
    """Run ``rankwright serve``; give its port."""
    words = ["-m", "rankwright", "serve", str(model), "--store", str(store), *options]
    with _process([*words, "--port"], cwd) as port:
        ask(port, "/readyz")  # answered by a worker, when there is one
        yield port


@contextlib.contextmanager
def bare() -> Iterator[int]:
    """Run the bare server; give its port."""
    with _process(["-m", "benchmarks.bare_server"], None) as port:
        yield port


@contextlib.contextmanager
def _process(words: list[str], cwd: Path | None) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, *words, str(port)],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **ENVIRONMENT, "RANKWRIGHT_NUM_THREADS": "1"},
    )
    try:
        _wait(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with status {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens on port {port}")


def ask(port: int, path: str) -> Any:
    """Return the JSON of an address."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return json.load(answer)


def in_turn(
    contenders: dict[str, Callable[[], dict[str, Any]]], n_rounds: int
) -> dict[str, list[dict[str, Any]]]:
    """Let each have its turn, round after round; the first warms up and does not count."""
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders}
    for n in range(n_rounds + 1):
        for name, act in contenders.items():
            turn = act()
            if n > 0:
                turns[name].append(turn)
    return turns


# ---- the table ----


def table(record: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| `rank`, 100 x 136, linear model | log | requests/s | bare server | share (bar .6) | p99 "
        "at 70 % | bare | ratio (bar 3) |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in record["ranking"]:
        body = ".npy" if row["body"] == NPY else "JSON"
        lines.append(
            f"| {body} | {row['log']} | {row['per_second']:,.0f} | {row['bare_per_second']:,.0f} | "
            f"{row['share']:.2f} [{min(row['shares']):.2f}, {max(row['shares']):.2f}] | "
            f"{1e3 * row['p99_s']:.2f} ms | {1e3 * row['bare_p99_s']:.2f} ms | "
            f"{row['p99_ratio']:.2f} [{min(row['p99_ratios']):.2f}, {max(row['p99_ratios']):.2f}] |"
        )
    added = record["trees"]
    lines += [
        "",
        f"300 trees of 31 leaves add {1e6 * added['added_s']:.0f} µs to a request; scoring takes "
        f"them {1e6 * added['scoring_s']:.0f} µs in a loop, and "
        f"{1e6 * added['scoring_after_pause_s']:.0f} µs after pauses as between requests.",
        "",
        "| durable feedback, SQLite | events/s | bar | p99 |",
        "|---|--:|--:|--:|",
    ]
    lines += [
        f"| {row['what']} | {row['events_per_second']:,.0f} [{min(row['turns']):,.0f}, "
        f"{max(row['turns']):,.0f}] | {row['bar']:,.0f} | {1e3 * row['p99_s']:.1f} ms |"
        for row in record["feedback"]
    ]
    found = record["learning"]
    load = median(row["load"] for row in record["ranking"])
    lines += [
        "",
        f"Learning at {found['events_per_second']:,.0f} events a second: "
        f"{found['behind_at_the_end']} of {found['events']:,} behind when the last was answered, "
        f"none {found['caught_up_after_s']:.2f} s later; {found['bytes_per_event']:,.0f} bytes of "
        f"disk an event. An fsync of the disk takes {1e3 * record['fsync_s']:.2f} ms. "
        f"Load average while ranking: {load:.1f}, on {record['cores']} cores.",
    ]
    return "\n".join(lines) + "\n"
