"""Online learners: documents per second of one pass, beside river, Vowpal Wabbit and the memory.

One thread for every tool; Vowpal Wabbit has a second one that reads its cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.harness import DATA, Contender, Task, run_task
from benchmarks.worker import Run, timed

N_QUERIES = 8000
QUICK_N_QUERIES = 300
RIVER_DOCS = 20_000  # of all; a document costs it a dictionary of 136 numbers

METHOD = """One pass over {n:,} documents of 136 dense float32 features in memory, about 120 a \
query, by {learner}, checks of the input included. river learns the first {river:,} from \
dictionaries made beforehand. Vowpal Wabbit reads the same documents from its own binary cache, \
made beforehand, and learns a linear regression of the label. "memory" is the sum of all bytes of \
the same features as 64-bit integers by numpy: what reading them costs at least."""


@dataclass(frozen=True)
class Documents:
    """Which documents to make."""

    n_queries: int

    def make(self) -> Any:
        """Return features, standardised, with labels and query ids."""
        from rankwright.data import Dataset, make_mslr_like

        data = make_mslr_like(n_queries=self.n_queries, mean_docs=120)
        scale = data.X.std(axis=0)
        X = np.ascontiguousarray((data.X / np.where(scale > 0, scale, 1)).astype(np.float32))
        return Dataset(X, data.y, data.qid)


def run(quick: bool = False) -> None:
    """Benchmark."""
    documents = Documents(QUICK_N_QUERIES if quick else N_QUERIES)
    n_docs = documents.make().n_docs
    for name, learner, bars in (
        ("slam-perceptron", "SLAMPerceptron", {"river": 10.0, "vw": 3.0}),
        ("ranker", "OnlineRanker", {"river": 10.0, "vw": 3.0}),
        ("prank", "PRank", {"river": 20.0}),
        ("multiclass-perceptron", "MulticlassPerceptron", {"river": 20.0}),
    ):
        run_task(_task(name, learner, documents, n_docs, bars), quick)


def _task(
    name: str, learner: str, documents: Documents, n_docs: int, bars: dict[str, float]
) -> Task:
    n_river = min(RIVER_DOCS, n_docs)
    return Task(
        name=f"online-{name}",
        title=f"{learner}, one pass",
        method=METHOD.format(n=n_docs, learner=learner, river=n_river),
        amount=n_docs,
        unit="documents",
        contenders=[
            Contender(
                "rankwright",
                partial(_ours, learner, documents),
                "rankwright",
                f"{learner}().partial_fit",
            ),
            Contender(
                "memory",
                partial(_memory, documents),
                "numpy",
                "The sum of the features' bytes: one read of the memory.",
            ),
            Contender(
                "river",
                partial(_river, documents, n_river),
                "river",
                "linear_model.Perceptron().learn_one(x, y), relevant or not.",
                bars={"total": bars["river"]},
                share=n_river / n_docs,
            ),
            Contender(
                "Vowpal Wabbit",
                partial(_vowpal_wabbit, documents),
                "vowpalwabbit",
                "A pass from the cache, squared loss.",
                bars={"total": bars.get("vw")},
            ),
        ],
    )


def _ours(learner: str, documents: Documents) -> Callable[[], Run]:
    import rankwright as rw

    data = documents.make()
    kind = getattr(rw, learner)

    def run() -> Run:
        start = time.thread_time()
        _, seconds = timed(lambda: kind().partial_fit(data.X, data.y, data.qid))
        # One thread: the processor's own seconds tell the same on a busy machine.
        busy = time.thread_time() - start
        facts = {
            "gigabytes_per_second": data.X.nbytes / seconds / 1e9,
            "documents_per_processor_second": data.n_docs / busy,
        }
        return Run({"total": seconds}, facts)

    return run


def _memory(documents: Documents) -> Callable[[], Run]:
    X = documents.make().X
    words = X.ravel().view(np.uint8)[: X.nbytes // 8 * 8].view(np.int64)

    def run() -> Run:
        _, seconds = timed(words.sum)
        return Run({"total": seconds}, {"gigabytes_per_second": X.nbytes / seconds / 1e9})

    return run


def _river(documents: Documents, n_docs: int) -> Callable[[], Run]:
    linear_model = import_module("river.linear_model")
    data = documents.make()
    rows = [dict(enumerate(row)) for row in data.X[:n_docs].tolist()]
    labels = (data.y[:n_docs] >= 1).tolist()

    def learn() -> None:
        model = linear_model.Perceptron()
        for row, label in zip(rows, labels, strict=True):
            model.learn_one(row, label)

    def run() -> Run:
        return Run({"total": timed(learn)[1]})

    return run


def _vowpal_wabbit(documents: Documents) -> Callable[[], Run]:
    Workspace = import_module("vowpalwabbit").Workspace
    data = documents.make()
    DATA.mkdir(exist_ok=True)
    text = DATA / f"online-{documents.n_queries}.vw"
    cache = text.with_suffix(".cache")
    if not text.exists():
        with open(text, "w") as out:
            for label, row in zip(data.y.tolist(), data.X.tolist(), strict=True):
                features = " ".join(f"{j}:{value:.7g}" for j, value in enumerate(row))
                out.write(f"{label:g} | {features}\n")
    command = f"-d {text} --cache_file {cache} --quiet"

    def learn() -> float:
        model = Workspace(command)
        n_examples = float(model.get_weighted_examples())
        model.finish()
        return n_examples

    if learn() != data.n_docs:  # the first pass makes the cache
        raise RuntimeError("Vowpal Wabbit did not learn from all documents.")

    def run() -> Run:
        return Run({"total": timed(learn)[1]})

    return run
