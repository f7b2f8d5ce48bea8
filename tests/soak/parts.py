"""Data in parts that are larger than the memory to learn from them: how much is taken.

``rankwright train`` learns from so many documents with 136 features, in parts, by trees and by a
linear ranker. Memory is the sum over all its processes of their proportional shares (PSS), mapped
files and libraries included. Where the system lets us limit it (a memory cgroup), trees are grown
once more with a limit of 0.7 of the data, files that the system caches for them included.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import rankwright as rw
from rankwright.data.part_files import part_paths
from rankwright.data.part_memory import needed_memory
from tests.soak.report import Report

COUNT = 7_400_000  # documents: 4 GB
N_FEATURES, N_PARTS, DOCS = 136, 64, 100
TREES = ("--model", "boosted", "-p", "n_estimators=10")
LINEAR = ("--model", "linear")
FIXED, A_DOCUMENT, OF_RAW = 700_000_000, 260, 0.7
PROGRAMS = 1_000_000_000  # bytes that all processes take without any data
_CGROUPS = Path("/sys/fs/cgroup/memory")


@dataclass
class Watch:
    """The memory of a process and of all below it, while it runs."""

    peak: int = 0
    own: int = 0
    limit: Path | None = None

    def run(self, words: list[str]) -> tuple[int, float, str]:
        """Run a command; return how it ended, how long it took, and what it said."""
        begin = time.monotonic()
        with tempfile.TemporaryFile() as said:
            with subprocess.Popen(words, stdout=said, stderr=said, preexec_fn=self._enter) as child:
                while child.poll() is None:
                    shares = [share_of(pid) for pid in below(child.pid)]
                    self.peak, self.own = max(self.peak, sum(shares)), max(self.own, shares[0])
                    time.sleep(0.1)
            said.seek(0)
            return child.returncode, time.monotonic() - begin, said.read().decode()

    def _enter(self) -> None:
        if self.limit is not None:
            (self.limit / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def share_of(pid: int) -> int:
    """Return the bytes of a process in memory; of pages that n processes have, an nth."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:  # it has ended
        return 0
    return 1024 * int(text.partition("\nPss:")[2].split()[0]) if "\nPss:" in text else 0


def below(pid: int) -> list[int]:
    """Return a process and all that it has started."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for path in Path(f"/proc/{one}/task").glob("*/children"):
                found += map(int, path.read_text(encoding="ascii").split())
    return found


def write_parts(folder: str, n_docs: int, seed: int) -> int:
    """Write the parts; return the bytes of their features."""
    rng = np.random.default_rng(seed)
    size = max(DOCS, n_docs // N_PARTS // DOCS * DOCS)
    for i in range(N_PARTS):
        X = rng.standard_normal(size=(size, N_FEATURES), dtype=np.float32)
        y = np.clip(np.round(X[:, :5].sum(axis=1) + rng.normal(size=size)), 0, 4)
        qid = (i * size + np.arange(size)) // DOCS
        rw.write(rw.Dataset(X, y, qid), f"{folder}/{i:02d}.parquet")
    return 4 * N_FEATURES * N_PARTS * size


@contextlib.contextmanager
def limited(n_bytes: int) -> Iterator[Path | None]:
    """Make a cgroup with so much memory; None where we may not, or it would be too little."""
    place = _CGROUPS / f"rankwright-soak-{os.getpid()}"
    if n_bytes < PROGRAMS:
        yield None
        return
    try:
        place.mkdir()
        (place / "memory.limit_in_bytes").write_text(str(n_bytes), encoding="ascii")
    except OSError:
        yield None
        return
    try:
        yield place
    finally:
        place.rmdir()


def soak(count: int, seed: int) -> Report:
    """Learn from so many documents, in parts."""
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        parts = f"{folder}/parts"
        os.mkdir(parts)
        raw = write_parts(parts, count, seed)
        count = raw // (4 * N_FEATURES)
        report.facts |= {"documents": count, "bytes of features": raw}
        with limited(int(OF_RAW * raw)) as limit:
            for name, words, within in [
                ("trees", TREES, None),
                ("linear", LINEAR, None),
                ("trees within a limit", TREES, limit),
            ]:
                if name.endswith("limit") and limit is None:
                    continue
                watch = Watch(limit=within)
                model = f"{folder}/{name}.rw"
                python = [sys.executable, "-m", "rankwright", "train", f"{parts}/*.parquet"]
                ended, seconds, said = watch.run([*python, *words, "-o", model])
                report.count(name)
                promised = needed_memory(part_paths(parts), *_needs(name))
                report.facts[name] = {
                    "peak": watch.peak,
                    "peak, of the features": round(watch.peak / raw, 3),
                    "promised": int(promised.total),
                    "driver": watch.own,
                    "seconds": round(seconds, 1),
                }
                if ended != 0:
                    report.fail(f"{name}: ended with {ended}: {said[-500:]}")
                most = FIXED + A_DOCUMENT * count
                if watch.peak > most or (raw > 4e9 and watch.peak > OF_RAW * raw):
                    report.fail(f"{name}: took {watch.peak} bytes, more than {most}")
                if watch.peak > promised.total:
                    report.fail(f"{name}: took more than --max-memory goes by")
            models = [Path(f"{folder}/{name}.rw") for name in report.done if "tree" in name]
            same = {model.read_bytes() for model in models if model.exists()}
            if len(same) != 1:
                report.fail("trees within a limit are others")
    return report


def _needs(name: str) -> tuple[float, ...]:
    return (rw.LinearRanker() if name == "linear" else rw.BoostedRanker()).part_bytes
