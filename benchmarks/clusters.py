"""Trees on a Dask cluster: rankwright, DaskLGBMRanker and DaskXGBRanker on the same parts.

Two workers with one thread each, trees of the same size, each library with its own default loss.
Asked of each: how long a fit takes once the workers have the data, NDCG@10 on queries of their own,
whether three fits give the same model, and what happens when a worker is killed (``kill -9``) in
the middle of a fourth. Every question has a process and a cluster of its own: some of the answers
never come.

``python -m benchmarks.clusters CONTENDER QUESTION FOLDER TREES`` answers one.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

N_PARTS, RUNS, PATIENCE = 8, 3, 120.0  # seconds
FULL, QUICK = (1_000, 50), (60, 5)  # queries of each side, and trees
CONTENDERS = ("rankwright", "DaskLGBMRanker", "DaskXGBRanker")
PACKAGES = ("rankwright", "lightgbm", "xgboost-cpu", "dask", "distributed")
LEAVES, RATE, BINS, FEWEST = 31, 0.1, 255, 50


# ---- contenders: data on the workers, then a fit that returns (bytes of the model, scores) ----


def rankwright(client: Any, folder: str, trees: int) -> Any:
    import rankwright as rw

    parts = rw.dask.DaskParts(client, f"{folder}/*.parquet")

    def fit(test: Any) -> tuple[bytes, Any]:
        ranker = rw.BoostedRanker(
            n_estimators=trees, num_leaves=LEAVES, min_child_samples=FEWEST
        ).fit_parts(parts)
        return ranker.model_text_.encode(), ranker.predict_dataset(test)

    return fit


def lightgbm(client: Any, folder: str, trees: int) -> Any:
    from lightgbm import DaskLGBMRanker

    X, y, sizes = arrays(client, folder)

    def fit(test: Any) -> tuple[bytes, Any]:
        ranker = DaskLGBMRanker(
            client=client,
            n_estimators=trees,
            num_leaves=LEAVES,
            learning_rate=RATE,
            min_child_samples=FEWEST,
            max_bin=BINS,
            verbosity=-1,
        ).fit(X, y, group=sizes)
        # What follows the trees are parameters, ports among them.
        text = ranker.booster_.model_to_string().partition("\nparameters:")[0]
        return text.encode(), ranker.booster_.predict(test.X)

    return fit


def xgboost(client: Any, folder: str, trees: int) -> Any:
    from xgboost import DMatrix
    from xgboost.dask import DaskXGBRanker

    X, y, qid = frames(client, folder)

    def fit(test: Any) -> tuple[bytes, Any]:
        ranker = DaskXGBRanker(
            n_estimators=trees,
            max_leaves=LEAVES,
            max_depth=0,
            grow_policy="lossguide",
            tree_method="hist",
            learning_rate=RATE,
            max_bin=BINS,
            objective="rank:ndcg",
        )
        ranker.client = client
        ranker.fit(X, y, qid=qid)
        booster = ranker.get_booster()
        names = booster.feature_names
        return bytes(booster.save_raw("json")), booster.predict(
            DMatrix(test.X, feature_names=names)
        )

    return fit


FITS = dict(zip(CONTENDERS, (rankwright, lightgbm, xgboost), strict=True))


def arrays(client: Any, folder: str) -> list[Any]:
    """Return features, labels and sizes of queries as arrays on the workers."""
    from distributed import wait

    import rankwright as rw

    da: Any = import_module("dask.array")
    columns: list[list[Any]] = [[], [], []]
    for path in sorted(Path(folder).glob("*.parquet")):
        part = rw.read(path)
        for column, values in zip(columns, (part.X, part.y, part.groups.sizes), strict=True):
            column.append(da.from_array(np.asarray(values), chunks=values.shape))
    whole = [client.persist(da.concatenate(column)) for column in columns]
    wait(whole)
    return whole


def frames(client: Any, folder: str) -> list[Any]:
    """Return features, labels and query ids as frames on the workers."""
    from distributed import wait

    whole = client.persist(import_module("dask.dataframe").read_parquet(f"{folder}/*.parquet"))
    wait(whole)
    features = [name for name in whole.columns if whole[name].dtype == np.float32]
    return [whole[which] for which in (features, "label", "qid")]


# ---- questions ----


def ask_runs(fit: Any, test: Any, client: Any) -> dict[str, Any]:
    """Fit several times: how long it takes, how good it is, and whether it is the same."""
    from rankwright.metrics import NDCG, mean_on

    seconds, models, qualities = [], [], []
    for _ in range(RUNS):
        begin = time.perf_counter()
        model, scores = fit(test)
        seconds.append(time.perf_counter() - begin)
        models.append(hashlib.sha256(model).hexdigest()[:16])
        qualities.append(mean_on(NDCG(10), test, np.asarray(scores, dtype=np.float64)))
    return {"seconds": seconds, "models": models, "ndcg@10": qualities}


def ask_kill(fit: Any, test: Any, client: Any) -> dict[str, Any]:
    """Fit, then fit again while a worker is killed in the middle."""
    fit(test)  # the first takes longer
    begin = time.perf_counter()
    expected, _ = fit(test)
    undisturbed = time.perf_counter() - begin
    pids = list(client.run(os.getpid).values())
    threading.Timer(undisturbed / 2, os.kill, (pids[0], signal.SIGKILL)).start()
    outcome = [f"still waits after {PATIENCE:.0f} s"]

    def go_on() -> None:
        try:
            model, _ = fit(test)
            outcome.append("the same model" if model == expected else "another model")
        except Exception as error:
            outcome.append(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")

    begin = time.perf_counter()
    fitting = threading.Thread(target=go_on, daemon=True)
    fitting.start()
    fitting.join(PATIENCE)
    seconds = time.perf_counter() - begin
    return {"outcome": outcome[-1], "seconds": seconds, "undisturbed": undisturbed}


QUESTIONS = {"runs": ask_runs, "kill": ask_kill}


def answer(contender: str, question: str, folder: str, trees: int) -> None:
    """Start a cluster, ask, and print what comes."""
    from distributed import Client, LocalCluster

    import rankwright as rw

    test = rw.read(f"{folder}/test/test.parquet")
    size = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0}
    with LocalCluster(**size, dashboard_address=":0") as cluster, Client(cluster) as client:
        fit = FITS[contender](client, folder, trees)
        print(json.dumps(QUESTIONS[question](fit, test, client)), flush=True)


def asked(contender: str, question: str, folder: str, trees: int) -> dict[str, Any]:
    """Return the answer of a process; one that does not come in time is one, too."""
    words = [sys.executable, "-m", "benchmarks.clusters", contender, question, folder, str(trees)]
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=complaints, start_new_session=True
        )
        try:
            said: Any = child.stdout  # libraries say things, too
            found: list[bytes] = []
            reader = threading.Thread(
                target=lambda: found.append(next((one for one in said if one[:1] == b"{"), b""))
            )
            reader.start()
            reader.join(5 * PATIENCE)
            if found and found[0]:
                return dict(json.loads(found[0]))
            if found:
                complaints.seek(0)
                last = complaints.read().decode(errors="replace").strip().splitlines()[-1:]
                return {"outcome": f"ended: {' '.join(last)[:200]}"}
            waited = time.perf_counter() - begin
            return {"outcome": f"still waits after {waited:.0f} s", "seconds": waited}
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def measured(quick: bool) -> dict[str, Any]:
    """Ask all contenders everything."""
    import rankwright as rw

    queries, trees = QUICK if quick else FULL
    train, test = rw.data.make_web_like(n_queries=2 * queries, random_state=0).split((0.5, 0.5))
    record: dict[str, Any] = {
        "name": "scale-clusters",
        "documents": train.n_docs,
        "trees": trees,
        "versions": {name: metadata.version(name) for name in PACKAGES},
    }
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/test")
        rw.write(test, f"{folder}/test/test.parquet")
        for i, own in enumerate(np.array_split(np.arange(train.n_queries), N_PARTS)):
            rw.write(train.select(own), f"{folder}/{i}.parquet")
        for contender in CONTENDERS:
            record[contender] = {}
            for question in QUESTIONS:
                record[contender][question] = asked(contender, question, folder, trees)
                print(contender, question, record[contender][question], flush=True)
    return record


def table(found: dict[str, Any]) -> str:
    """Return the table of the documentation."""
    about = f"{found['documents']:,} documents, {found['trees']} trees, " + ", ".join(
        f"{name} {version}" for name, version in found["versions"].items()
    )
    lines = [
        f"On a Dask cluster ({about}):",
        "",
        "| two workers, one thread each | seconds a fit | NDCG@10 | three fits | "
        "a worker is killed in the middle |",
        "|---|--:|--:|---|---|",
    ]
    for contender in CONTENDERS:
        runs, kill = found[contender]["runs"], found[contender]["kill"]
        if "models" not in runs:
            lines.append(f"| {contender} | – | – | {runs['outcome']} | {kill['outcome']} |")
            continue
        n = len(set(runs["models"]))
        same = "one model" if n == 1 else f"{n} different models"
        quality = ", ".join(sorted({f"{value:.4f}" for value in runs["ndcg@10"]}))
        seconds = f"{min(runs['seconds']):.1f}–{max(runs['seconds']):.1f}"
        outcome = kill["outcome"]
        if "model" in outcome:
            outcome += f", {kill['seconds']:.0f} s in place of {kill['undisturbed']:.0f}"
        lines.append(f"| {contender} | {seconds} | {quality} | {same} | {outcome} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _, one, what, place, n_trees = sys.argv
    answer(one, what, place, int(n_trees))
