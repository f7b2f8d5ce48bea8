"""``rankwright predict`` with a linear model, from file to file, against reading the file alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import DATA, THREADS, Contender, Task, run_task
from benchmarks.loading import N_QUERIES, QUICK_N_QUERIES, letor_files, measured
from benchmarks.worker import Run

MODEL = DATA / "linear.rw"
SLOWEST = 1.3  # times the seconds of reading

METHOD = """Every turn is a fresh process; the file is in the page cache. Predicting is the whole \
command, imports excluded: it loads the model, reads, scores, and writes one score a line. Reading \
is rankwright.read, which ends with the whole data set in memory. Memory as for loading."""


def run(quick: bool = False) -> None:
    """Benchmark."""
    letor = letor_files(QUICK_N_QUERIES if quick else N_QUERIES)
    for path in (letor, _prepared(letor)):
        kind = path.suffix[1:].replace("txt", "letor")
        task = Task(
            name=f"predicting-{kind}",
            title=f"Scoring a file ({kind})",
            method=METHOD,
            amount=path.stat().st_size / 1e6,
            unit="MB",
            agree=["rows"],
            watch_memory=True,
            contenders=[
                Contender(
                    "rankwright predict",
                    partial(_predict, path),
                    "rankwright",
                    "Parts of bounded size; its memory does not grow with the file.",
                ),
                Contender(
                    "rankwright.read",
                    partial(_read, path),
                    "rankwright",
                    "Reading alone.",
                    bars={"total": 1 / SLOWEST},
                ),
            ],
        )
        run_task(task, quick)


def _predict(path: Path) -> Callable[[], Run]:
    from rankwright.cli.predict import predict
    from rankwright.data.columns import Columns
    from rankwright.persistence import load

    load(MODEL)  # imports what the model needs
    out = DATA / "scores.txt"
    command = partial(predict, str(MODEL), str(path), str(out), columns=Columns(), jobs=THREADS)
    return measured(command, lambda _: {"rows": out.read_bytes().count(b"\n")})


def _read(path: Path) -> Callable[[], Run]:
    from rankwright import read

    options: dict[str, Any] = {"n_jobs": THREADS} if path.suffix == ".txt" else {}
    return measured(partial(read, path, **options), lambda data: {"rows": data.n_docs})


def _prepared(letor: Path) -> Path:
    """Return the same data as Parquet; also fit the model, unless both are there."""
    import rankwright as rw

    path = letor.with_suffix(".parquet")
    if not path.exists():
        rw.data.write(rw.read(letor), path)
    if not MODEL.exists():
        few = rw.read(letor).select(range(200))
        rw.save(rw.LinearRanker("xendcg").fit_dataset(few), MODEL)
    return path
