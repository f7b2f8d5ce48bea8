"""Learning from more than memory holds: a process whose memory is limited to less than the data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw

N_PARTS, QUERIES, DOCS, FEATURES = 24, 700, 50, 160
LIMIT = 450_000_000
# Anonymous memory alone is limited: mapped files are the system's to give back.
CHILD = """
import json, resource, sys
import numpy as np
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[3]), int(sys.argv[3])))
import rankwright as rw
if sys.argv[1] == "memory":
    data = rw.read(sys.argv[2])
else:
    data = rw.read_parts(sys.argv[2], spool=sys.argv[4])
    ranker = rw.LinearRanker("xendcg", n_jobs=1).fit_parts(data)
    print(json.dumps([float(w).hex() for w in ranker.coef_]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "web"
    folder.mkdir()
    rng, n = np.random.default_rng(0), QUERIES * DOCS
    for i in range(N_PARTS):
        X = rng.normal(size=(n, FEATURES)).astype(np.float32)
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(FEATURES)])
        frame["qid"] = np.repeat(np.arange(i * QUERIES, (i + 1) * QUERIES), DOCS)
        frame["label"] = np.clip(np.round(X[:, 0] + rng.normal(size=n)), 0, 4)
        frame.to_parquet(folder / f"{i:02d}.parquet", index=False)
    return folder


def child(*words: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CHILD, *map(str, words)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


def test_parts_are_learned_from_in_less_memory_than_they_have(folder: Path, tmp_path: Path) -> None:
    raw = N_PARTS * QUERIES * DOCS * FEATURES * 4
    assert raw > 1.15 * LIMIT
    in_memory = child("memory", folder, LIMIT)
    assert in_memory.returncode != 0  # there is not enough
    parts = child("parts", folder, LIMIT, tmp_path)
    assert parts.returncode == 0, parts.stderr
    found = np.array([float.fromhex(text) for text in json.loads(parts.stdout)])
    everything = rw.read_parts(folder, spool=tmp_path)
    unlimited = rw.LinearRanker("xendcg", n_jobs=1).fit_parts(everything)
    np.testing.assert_array_equal(found, unlimited.coef_)
