"""Generate data, compare rankers on it, and write the report; ``make demo`` runs this.

Everything is written to ``./demo``; the last line is the path of the report.
"""

# ruff: noqa: T201 (printing is the point)

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path

import rankwright as rw

FOLDER = Path("demo")
N_QUERIES = 300


def shell(*arguments: str) -> None:
    """Run the command line as a person would, and show the command."""
    print(f"\n$ {shlex.join(['rankwright', *arguments])}", flush=True)
    program = Path(sys.executable).with_name("rankwright")
    subprocess.run([program, *arguments], check=True)


def main() -> None:
    """Run all steps."""
    begin = time.perf_counter()
    FOLDER.mkdir(exist_ok=True)
    data = FOLDER / "web.txt"
    print(f"Generating {N_QUERIES} queries in the manner of MSLR-WEB: {data}", flush=True)
    rw.write_letor(rw.data.make_web_like(N_QUERIES, mean_docs=30, random_state=1), data)
    shell("info", str(data))
    shell("compare", str(data), "--trials", "4", "--out", str(FOLDER / "comparison"))
    report = (FOLDER / "comparison" / "report.html").resolve()
    print(f"\nDone in {time.perf_counter() - begin:.0f} s. Open the report:\n{report}")


if __name__ == "__main__":
    main()
