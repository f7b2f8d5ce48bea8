"""Data in parts, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rankwright as rw
from rankwright.data import Dataset, make_mslr_like
from rankwright.data.parts import LocalParts
from rankwright.trees import BoostingProgress

FEW: dict[str, Any] = {"n_estimators": 6, "num_leaves": 6, "min_child_samples": 5, "n_jobs": 1}


def sample(n_queries: int = 60, seed: int = 4) -> Dataset:
    """Return data whose columns ``w`` and ``v`` are weights of documents and of queries."""
    data = make_mslr_like(n_queries=n_queries, n_features=8, mean_docs=15, random_state=seed)
    rng = np.random.default_rng(seed)
    of_query = np.repeat(rng.uniform(0.5, 2, data.n_queries), data.groups.sizes)
    kept = {"w": rng.uniform(0.5, 2, data.n_docs).round(3), "v": of_query.round(3)}
    return Dataset(data.X, data.y, data.qid, kept=kept)


def cut(data: Dataset, sizes: Sequence[int], folder: Path, seed: int = 0) -> LocalParts:
    """Write parts of so many queries each, in some order, and read them again."""
    folder.mkdir()
    order = np.random.default_rng(seed).permutation(data.n_queries)
    for i, queries in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        part = data.select(queries)
        table = pd.DataFrame(part.X, columns=[f"f{j + 1}" for j in range(part.n_features)])
        numbers = {name: column.astype(float) for name, column in part.kept.items()}
        table.assign(label=part.y, qid=part.qid, **numbers).to_parquet(folder / f"{i}.parquet")
    return rw.read_parts(folder, keep=["w", "v"], ignore=["w", "v"], allow_nan=True)


def write_parts(folder: Path, **options: Any) -> list[Path]:
    """Write parts of whole queries; some are much larger than others."""
    data = make_mslr_like(**{"n_queries": 60, "n_features": 8, "mean_docs": 12, **options})
    shares = (0.4, 0.05, 0.3, 0.1, 0.15)
    paths = []
    for i, part in enumerate(data.split(shares, 1)):
        paths.append(folder / f"part-{i}.txt")
        rw.write(part, paths[-1])
    return paths


def at_tree(number: int, do: Callable[[], Any]) -> Callable[[BoostingProgress], None]:
    """Return a callback that does something once, after a tree."""
    done: list[int] = []

    def callback(progress: BoostingProgress) -> None:
        if progress.iteration == number and not done:
            done.append(number)
            do()

    return callback
