"""Reading an MSLR-like LETOR file from the page cache into what each tool works on.

``python -m benchmarks.loading PYTHON`` compares with the rankwright of another interpreter instead,
such as that of an older version: on the same dense file, and on a sparse one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import DATA, THREADS, Contender, Task, run_task
from benchmarks.worker import Run, timed

N_QUERIES = 6000
QUICK_N_QUERIES = 300
MEMORY_BAR = 1.3

METHOD = """Every turn is a fresh process; the file is in the page cache; the timed call is the \
whole loading, imports excluded. {which} With one thread, every tool is pinned to one core: some \
start more threads than they are told. All MB/s are megabytes of the file with query ids over the \
seconds of the tool. Memory: resident pages sampled every 10 ms from outside, in a turn before \
those that are timed, because it slows who gets them; "added" is the peak of anonymous pages \
during the call minus those before it (imports done)."""


AGAIN = """The process loads the file twice, and the second time counts: the first one also \
pays for memory that the machine, a virtual one, has to get back from its host, which depends on \
what ran before."""
FIRST = "The process loads the file once, into memory that it has never had."


def run(quick: bool = False) -> None:
    """Benchmark."""
    path = letor_files(QUICK_N_QUERIES if quick else N_QUERIES)
    whole = "Loading a LETOR file"
    for name, title, again, contenders in (
        ("loading", whole, True, [*_pair(path, THREADS), *_others(path)]),
        ("loading-first", f"{whole}, the first time", False, _pair(path, THREADS, again=False)),
        ("loading-one-thread", f"{whole}, one thread", True, _pair(path, 1)),
    ):
        task = Task(
            name=name,
            title=title,
            method=METHOD.format(which=AGAIN if again else FIRST),
            amount=path.stat().st_size / 1e6,
            unit="MB",
            agree=["rows", "queries"],
            watch_memory=True,
            contenders=contenders,
        )
        run_task(task, quick)


def _pair(path: Path, n_threads: int, again: bool = True) -> list[Contender]:
    return [
        Contender(
            "rankwright",
            partial(_rankwright, path, n_threads, again),
            "rankwright",
            "rankwright.read: dense float32, labels, query ids, every field checked.",
        ),
        Contender(
            "XGBoost",
            partial(_xgboost, path, n_threads, again),
            "xgboost-cpu",
            'DMatrix("file?format=libsvm"): sparse rows of float32 with groups.',
            bars={"total": 6.0},
        ),
    ]


def _others(path: Path) -> list[Contender]:
    return [
        Contender(
            "LightGBM",
            partial(_lightgbm, _without_qid(path)),
            "lightgbm",
            "Dataset(file).construct(), default settings. Its parser refuses qid fields, so it "
            "gets the same lines without them and a .query file beside. Binning is included: it "
            "has no form before that.",
            bars={"total": 10.0},
        ),
        Contender(
            "CatBoost",
            partial(_catboost, path),
            "catboost",
            'Pool("libsvm://file"): columns of float32 with groups.',
        ),
        Contender(
            "scikit-learn",
            partial(_sklearn, _prefix(path)),
            "scikit-learn",
            "load_svmlight_file(file, query_id=True): CSR of float64; one thread. It reads the "
            "first tenth of the file only, in its favour: it copies all query ids at every line.",
            share=_prefix(path).stat().st_size / path.stat().st_size,
        ),
        Contender(
            "cat",
            partial(_cat, path),
            None,
            "cat FILE > /dev/null: the physical limit; memory not measured.",
        ),
    ]


def measured(
    load: Callable[[], Any], facts: Callable[[Any], dict[str, float]], again: bool = True
) -> Callable[[], Run]:
    """Return what loads and times; with ``again``, what is timed is the second time."""
    kept: list[Any] = []  # so that the memory of the result is still there when it is measured

    def run() -> Run:
        if again:
            load()
        data, seconds = timed(load)
        kept.append(data)
        return Run({"total": seconds}, facts(data))

    return run


def _pin(n_threads: int) -> None:
    if n_threads == 1:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _rankwright(path: Path, n_threads: int, again: bool) -> Callable[[], Run]:
    from rankwright import read

    _pin(n_threads)

    def facts(data: Any) -> dict[str, float]:
        arrays = (data.X, data.y, data.qid, data.order, data.groups.indptr, data.groups.ids)
        counts = _counts(data.n_docs, data.n_queries)
        return {**counts, "array_bytes": sum(array.nbytes for array in arrays)}

    return measured(partial(read, path, n_jobs=n_threads), facts, again)


def _xgboost(path: Path, n_threads: int, again: bool) -> Callable[[], Run]:
    load = import_module("xgboost").DMatrix
    _pin(n_threads)
    warnings.filterwarnings("ignore", message=r"(?s).*Text file input has been deprecated")
    return measured(
        partial(load, f"{path}?format=libsvm", nthread=n_threads),
        lambda data: _counts(data.num_row(), len(data.get_group())),
        again,
    )


def _lightgbm(path: Path) -> Callable[[], Run]:
    load = import_module("lightgbm").Dataset
    params = {"num_threads": THREADS, "verbosity": -1}
    return measured(
        lambda: load(str(path), params=params).construct(),
        lambda data: _counts(data.num_data(), len(data.get_group())),
    )


def _catboost(path: Path) -> Callable[[], Run]:
    load = import_module("catboost").Pool
    return measured(
        partial(load, f"libsvm://{path}", thread_count=THREADS),
        lambda data: {"rows": data.num_row()},  # its query ids come as a large list of texts
    )


def _sklearn(path: Path) -> Callable[[], Run]:
    load = import_module("sklearn.datasets").load_svmlight_file
    return measured(
        partial(load, str(path), query_id=True),
        lambda data: {"rows_of_prefix": data[0].shape[0]},
    )


def _counts(rows: int, queries: int) -> dict[str, float]:
    return {"rows": rows, "queries": queries}


def _cat(path: Path) -> Callable[[], Run]:
    command = ["cat", str(path)]

    def run() -> Run:
        call = partial(subprocess.run, command, stdout=subprocess.DEVNULL, check=True)
        return Run({"total": timed(call)[1]})

    return run


def letor_files(n_queries: int) -> Path:
    """Return the file, generated unless it is there; beside it the forms that some peers need."""
    path = DATA / f"mslr-like-{n_queries}.txt"
    DATA.mkdir(exist_ok=True)
    if not path.exists():
        print(f"Generating {path.name} ...", flush=True)
        generator = get_context("spawn").Process(target=_generate, args=(path, n_queries))
        generator.start()
        generator.join()
        if generator.exitcode != 0:
            raise RuntimeError(f"cannot generate {path.name}")
    if not _without_qid(path).exists():
        _strip_qid(path, _without_qid(path))
    if not _prefix(path).exists():
        _cut_prefix(path, _prefix(path))
    return path


def _without_qid(path: Path) -> Path:
    return path.with_suffix(".noqid")


def _prefix(path: Path) -> Path:
    return path.with_suffix(".prefix")


def _generate(path: Path, n_queries: int) -> None:
    from rankwright.data.letor import write_letor
    from rankwright.data.synthetic import make_mslr_like

    data = make_mslr_like(n_queries)
    data.doc_ids = None  # MSLR-WEB has no comments
    write_letor(data, path)


def _strip_qid(path: Path, target: Path) -> None:
    """Write the lines without their query ids, and the sizes of the queries to ``target.query``."""
    sizes: dict[bytes, int] = {}
    with open(path, "rb") as lines, tempfile.NamedTemporaryFile(dir=DATA, delete=False) as out:
        for line in lines:
            label, qid, rest = line.split(b" ", 2)
            sizes[qid] = sizes.get(qid, 0) + 1
            out.write(label + b" " + rest)
    query = "".join(f"{size}\n" for size in sizes.values())
    target.with_name(target.name + ".query").write_text(query)
    os.replace(out.name, target)


def _cut_prefix(path: Path, target: Path) -> None:
    """Write the first tenth of the lines, in bytes."""
    with open(path, "rb") as lines:
        head = lines.read(path.stat().st_size // 10) + lines.readline()
    target.write_bytes(head)


# ---- another version ----

ONE_READING = """
import os, sys, time
from rankwright.data.letor import read_letor

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1e3

start, busy, before = time.perf_counter(), os.times(), peak()
data = read_letor(sys.argv[1], n_jobs=int(sys.argv[2]))
seconds, after = time.perf_counter() - start, os.times()
processor = after.user + after.system - busy.user - busy.system
print(seconds, processor, peak() - before, data.n_docs, data.n_features)
"""


def compare_versions(python: str, n_rounds: int) -> None:
    """Read in turns with both interpreters; print medians and the ratios of the rounds."""
    for path in (letor_files(N_QUERIES), _sparse_file()):
        turns: dict[str, list[list[float]]] = {sys.executable: [], python: []}
        for _ in range(n_rounds + 1):
            for interpreter, rows in turns.items():
                command = [interpreter, "-c", ONE_READING, str(path), str(THREADS)]
                environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
                if interpreter == sys.executable:
                    environment = dict(os.environ)
                text = subprocess.check_output(command, text=True, env=environment)
                rows.append([float(number) for number in text.split()])
        ours, theirs = (np.array(rows[1:]) for rows in turns.values())  # the first round warms up
        if (ours[:, 3:] != theirs[:, 3:]).any():
            raise RuntimeError(f"{path.name}: the versions disagree on rows or features")
        print(f"{path.name}: {path.stat().st_size / 1e6:,.0f} MB, {n_rounds} rounds")
        for i, what in enumerate(("seconds", "processor seconds", "peak memory added, MB")):
            a, b = ours[:, i], theirs[:, i]
            print(
                f"  {what:22} here {median(a):8.3f}  there {median(b):8.3f}  "
                f"ratio of medians {median(a) / median(b):.3f}, of rounds {median(a / b):.3f}, "
                f"of the best {a.min() / b.min():.3f}"
            )


def _sparse_file() -> Path:
    """Return a file like those of text classification, generated unless it is there."""
    path = DATA / "sparse.txt"
    DATA.mkdir(exist_ok=True)
    if not path.exists():
        from scipy import sparse

        from rankwright import Dataset, write_letor

        n_docs, n_features = 300_000, 47_236
        rng = np.random.default_rng(0)
        X = sparse.random_array(
            (n_docs, n_features), density=75 / n_features, format="csr", dtype=np.float32, rng=rng
        )
        write_letor(Dataset(X, rng.integers(0, 5, n_docs), np.arange(n_docs) // 100), path)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loading", description=__doc__)
    parser.add_argument("python", help="the other interpreter")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    compare_versions(options.python, options.rounds)
