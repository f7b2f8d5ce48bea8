"""``python -m benchmarks.quality --data DIR``: all contenders on all sets, and the tables."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import FOLDER, RESULTS
from benchmarks.quality.contenders import contenders
from benchmarks.quality.laboratory import OutOfTimeError, run_set
from benchmarks.quality.peers import installed
from benchmarks.quality.sets import sets
from benchmarks.quality.table import markdown
from rankwright.data.writing import write_text

KEPT = FOLDER.parent / "build" / "quality"
LONGEST = 180  # minutes
PACKAGES = ("lightgbm", "xgboost", "catboost", "scikit-learn", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of what takes part."""
    found = {name: installed(name) for name in PACKAGES}
    return {"Python": platform.python_version()} | {n: v for n, v in found.items() if v is not None}


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=f"{__doc__} Killed and run again, it does what is missing.",
    )
    parser.add_argument(
        "--data", type=Path, action="append", default=[],
        help="a folder with Fold1 ..., a folder of such folders, or a file; repeatable",
    )  # fmt: skip
    parser.add_argument("--sets", nargs="+", help="names of sets; all by default")
    parser.add_argument("--contenders", nargs="+", help="names of contenders; all by default")
    parser.add_argument(
        "--out", type=Path, default=RESULTS / "quality.json",
        help="the record; the tables stand beside it as *.md",
    )  # fmt: skip
    parser.add_argument("--minutes", type=float, default=LONGEST, help="begin nothing after these")
    parser.add_argument("--table", action="store_true", help="write the tables again, nothing else")
    return parser.parse_args()


def read_record(path: Path) -> dict[str, Any]:
    """Return what was finished before; sets that are done again are replaced."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"sets": {}}
    return found


def write_record(record: dict[str, Any], path: Path) -> None:
    """Write the record and its tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(record, indent=1, allow_nan=False) + "\n")
    write_text(path.with_suffix(".md"), markdown(record))


def main() -> None:
    """Run what is asked for."""
    given = options()
    deadline = time.monotonic() + 60 * given.minutes
    # One thread a contender; what waits must not spin.
    os.environ.update(OMP_WAIT_POLICY="passive", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    record = read_record(given.out)
    if not given.table:
        record["versions"] = versions()
        print(", ".join(f"{name} {version}" for name, version in versions().items()), flush=True)
        entries = contenders(given.contenders)
        # Our trees are LightGBM's: results of another version of it are others.
        folder = KEPT / f"lightgbm-{installed('lightgbm')}"
        try:
            for sealed in sets(given.data, given.sets):
                found = run_set(
                    sealed, entries, folder, deadline=deadline, told=lambda t: print(t, flush=True)
                )
                record["sets"][sealed.name] = found
                write_record(record, given.out)
        except OutOfTimeError:
            print("The time is over. Run it again: only what is missing is done.")
    write_record(record, given.out)
    print(markdown(record))


if __name__ == "__main__":
    main()
