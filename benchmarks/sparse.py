"""What it costs to look at the indices of a sparse matrix before compiled code follows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import THREADS, Contender, Task, run_task
from benchmarks.worker import Run, timed

N_ENTRIES = 10_000_000
QUICK_N_ENTRIES = 100_000

METHOD = """A CSR matrix of float32 with {per_row} entries a row, 50,000 columns. "rankwright" is \
rankwright.data.sparse.as_csr: are all indices inside, do columns increase. "SciPy" is what would \
do the same there: check_format(full_check=True), and has_canonical_format of a new array. \
"predict" and "one pass" include the look."""


@dataclass(frozen=True)
class Documents:
    """Which documents to make."""

    n_entries: int
    per_row: int

    def make(self) -> Any:
        """Return a matrix with distinct, sorted columns in each row."""
        rng = np.random.default_rng(0)
        n_rows = self.n_entries // self.per_row
        steps = rng.integers(1, 50_000 // self.per_row, size=(n_rows, self.per_row))
        indices = (np.cumsum(steps, axis=1, dtype=np.int32) - 1).ravel()
        indptr = np.arange(0, self.n_entries + 1, self.per_row, dtype=np.int32)
        data = rng.random(self.n_entries, dtype=np.float32)
        return sp.csr_array((data, indices, indptr), shape=(n_rows, 50_000))


def run(quick: bool = False) -> None:
    """Benchmark."""
    for per_row in (10, 100):
        documents = Documents(QUICK_N_ENTRIES if quick else N_ENTRIES, per_row)
        run_task(
            Task(
                name=f"sparse-validation-{per_row}",
                title=f"Looking at the indices of a sparse matrix, {per_row} entries a row",
                method=METHOD.format(per_row=per_row),
                amount=documents.n_entries / 1e6,
                unit="million entries",
                contenders=[
                    Contender("rankwright", partial(_look, documents), "rankwright", "as_csr(X)"),
                    Contender(
                        "SciPy", partial(_scipy, documents), "scipy", "check_format and canonical"
                    ),
                    Contender(
                        "predict",
                        partial(_predict, documents),
                        "rankwright",
                        "LinearRanker().predict(X), two threads",
                    ),
                    Contender(
                        "one pass",
                        partial(_fit, documents),
                        "rankwright",
                        "SLAMPerceptron().partial_fit, the cheapest fit there is",
                    ),
                ],
            ),
            quick,
        )


def _repeated(call: Callable[[], Any]) -> Callable[[], Run]:
    return lambda: Run({"total": timed(call)[1]})


def _look(documents: Documents) -> Callable[[], Run]:
    from rankwright.data.sparse import as_csr

    X = documents.make()
    return _repeated(lambda: as_csr(X))


def _scipy(documents: Documents) -> Callable[[], Run]:
    X = documents.make()

    def look() -> bool:
        new = sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
        new.check_format(full_check=True)
        return bool(new.has_canonical_format)

    return _repeated(look)


def _predict(documents: Documents) -> Callable[[], Run]:
    from rankwright.linear import LinearRanker

    X = documents.make()
    ranker = LinearRanker(n_jobs=THREADS, max_iter=1).fit(X[:100], np.arange(100) % 3)
    return _repeated(lambda: ranker.predict(X))


def _fit(documents: Documents) -> Callable[[], Run]:
    from rankwright.online import SLAMPerceptron

    X = documents.make()
    y, qid = np.arange(X.shape[0]) % 3, np.arange(X.shape[0]) // 100
    return _repeated(lambda: SLAMPerceptron().partial_fit(X, y, qid))
