"""Packages that need their docstrings have them under ``python -OO``."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import numpy as np, sys
import rankwright as rw
model = rw.BoostedRanker(n_estimators=2, min_child_samples=1)
model.fit(np.arange(4.0)[:, None], [0, 1, 0, 1], [1, 1, 2, 2])
from rankwright.extras import load_extra
altair = load_extra("altair", "report", "charts need")
sys.exit(not (sys.flags.optimize == 2 and rw.__doc__ is None and altair.Chart.__doc__))
"""


def test_trees_and_charts_work_without_docstrings() -> None:
    done = subprocess.run(
        [sys.executable, "-OO", "-c", SCRIPT], capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
