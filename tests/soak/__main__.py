"""``python -m tests.soak NAME --count N --seed S``: the long form of tests of endurance.

Each NAME is a module of this package with ``COUNT``, how many are enough, and
``soak(count, seed) -> Report``; without one, all are run. Each report goes to
``benchmarks/results/soak-NAME.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def names() -> list[str]:
    """Return the names of all soaks."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    return [path.stem for path in paths if "\nCOUNT = " in path.read_text(encoding="utf-8")]


def run(name: str, count: int | None, seed: int, folder: Path) -> bool:
    """Run one soak, write its report and print one line; return if all went well."""
    module = import_module(f"tests.soak.{name}")
    begin = time.monotonic()
    report = module.soak(count or module.COUNT, seed)
    facts = {
        "soak": name,
        "seed": seed,
        "count": sum(report.done.values()),
        "done": dict(report.done),
        "failures": report.failures,
        **report.facts,
        "seconds": round(time.monotonic() - begin, 1),
        "cores": os.cpu_count(),
    }
    path = folder / f"soak-{name}.json"
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    for failure in report.failures:
        print(failure, file=sys.stderr)
    each = ", ".join(f"{what} {n}" for what, n in report.done.items())
    n_failed = len(report.failures)
    print(f"{name}: {facts['count']} in {facts['seconds']} s, {n_failed} failed ({each})")
    return not report.failures


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("names", nargs="*", choices=[*names(), []], metavar="NAME", default=names())
    parser.add_argument("--count", type=int, help="how many; by default as many as are enough")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the reports")
    asked = parser.parse_args()
    passed = [run(name, asked.count, asked.seed, asked.out) for name in asked.names]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
