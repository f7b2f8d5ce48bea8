"""Generate a data set, examine it and measure two rankings; ``make demo`` runs this.

The rankings are a least-squares fit to half of the queries, used on the other half, and random
numbers. Everything is written to ``./demo``.
"""

# ruff: noqa: T201 (printing is the point)

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import rankwright as rw

FOLDER = Path("demo")
N_QUERIES = 400


@contextmanager
def step(title: str) -> Iterator[None]:
    """Say what is being done, then how long it took."""
    print(f"\n{title}", flush=True)
    begin = time.perf_counter()
    yield
    print(f"  ({time.perf_counter() - begin:.1f} s)", flush=True)


def shell(*arguments: str) -> None:
    """Run the command line as a person would, and show the command."""
    print(f"  $ {shlex.join(['rankwright', *arguments])}", flush=True)
    program = Path(sys.executable).with_name("rankwright")
    done = subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        print(f"    {line}")


def fit(train: rw.Dataset) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the weights that fit the labels best in the sense of least squares."""
    weights, *_ = np.linalg.lstsq(train.X.astype(np.float64), train.y, rcond=None)
    return np.asarray(weights, dtype=np.float64)


def main() -> None:
    """Run all steps."""
    data, fitted, random = FOLDER / "test.txt", FOLDER / "fitted.txt", FOLDER / "random.txt"
    FOLDER.mkdir(exist_ok=True)
    begin = time.perf_counter()

    with step(f"Generate {N_QUERIES} queries in the manner of MSLR-WEB; write half as LETOR text"):
        train, test = rw.data.make_mslr_like(N_QUERIES, random_state=1).split((0.5, 0.5))
        rw.write_letor(test, data)
        print(f"  {data}: {test}, {data.stat().st_size / 1e6:.0f} MB")

    with step("Score it twice: by a linear fit to the other half, and at random"):
        np.savetxt(fitted, test.restore(test.X @ fit(train)))
        np.savetxt(random, np.random.default_rng(0).normal(size=test.n_docs))
        print(f"  {fitted}, {random}: one score a line")

    with step("Examine the data"):
        shell("info", str(data))

    metrics = ("-m", "ndcg@5", "-m", "ndcg@10", "-m", "map")
    for title, scores in (("linear fit", fitted), ("random scores", random)):
        with step(f"Measure the {title}"):
            shell("evaluate", str(data), str(scores), *metrics)

    print(f"\nDone in {time.perf_counter() - begin:.1f} s. The files are in {FOLDER.resolve()}.")


if __name__ == "__main__":
    main()
