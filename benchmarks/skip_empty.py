"""Queries without a relevant document: ``python -m benchmarks.skip_empty --data DIR``.

They are skipped, or learned from as the XE-NDCG paper does. DIR holds LETOR data sets as
``mq2008/Fold1/train.txt.gz`` and so on. Linear, online and boosted rankers learn from the training
parts by XE-NDCG and by ListNet; what a ranker has to choose is chosen by NDCG@10 on the validation
part. Figures are NDCG@10 of the test queries of all folds, and the difference that skipping makes
to a query, with its standard error.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import sem

from benchmarks.harness import RESULTS
from benchmarks.letor import Fold, _read

DATA_SETS = ("mq2008", "ohsumed")
LOSSES = ("xendcg", "listnet")
METRIC = "ndcg@10"


def rankers(kind: str, loss: str, skip_empty: bool) -> list[Any]:
    """Return what to choose from."""
    from rankwright import BoostedRanker, LinearRanker, OnlineRanker

    more: dict[str, Any] = {"skip_empty": skip_empty, "n_jobs": 1}
    if kind == "linear":
        alphas = (1.0, 0.1, 0.01, 1e-3, 1e-4)
        return [LinearRanker(loss, alpha=alpha, standardize=True, **more) for alpha in alphas]
    if kind == "online":
        more = {"skip_empty": skip_empty, "variant": "averaged", "n_epochs": 5, "shuffle": True}
        return [OnlineRanker(loss, eta, standardize=True, **more) for eta in (0.1, 0.01, 1e-3)]
    return [BoostedRanker(loss, num_leaves=8, early_stopping_rounds=20, **more)]


def values(kind: str, loss: str, skip_empty: bool, fold: Fold) -> Any:
    """Return NDCG@10 of each test query that has a relevant document."""
    from rankwright.metrics import parse

    metric = parse(METRIC)
    found: list[tuple[float, int, Any]] = []
    for ranker in rankers(kind, loss, skip_empty):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            more = {"valid": fold.vali} if kind == "boosted" else {}
            ranker.fit(fold.train.X, fold.train.y, fold.train.qid, **more)
        quality = metric.mean(fold.vali.y, ranker.predict(fold.vali.X), fold.vali.groups)
        found.append((quality, len(found), ranker))
    best = max(found)[2]
    measured = metric.per_query(fold.test.y, best.predict(fold.test.X), fold.test.groups)
    return measured[~np.isnan(measured)]


def share_of_empty(folds: list[Fold]) -> float:
    """Return the share of the training queries without a relevant document."""
    from rankwright.losses.loss import is_empty

    empty = [is_empty(fold.train.y, fold.train.groups) for fold in folds]
    return float(np.concatenate(empty).mean())


def main() -> None:
    """Read the command line, measure, write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.skip_empty", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    folder = parser.parse_args().data
    rows = []
    for name in DATA_SETS:
        folds = [_read(fold) for fold in sorted((folder / name).glob("Fold*"))]
        for kind, loss in product(("linear", "online", "boosted"), LOSSES):
            kept, skipped = (
                np.concatenate([values(kind, loss, skip, fold) for fold in folds])
                for skip in (False, True)
            )
            difference = skipped - kept
            rows.append(
                {
                    "data": name,
                    "share_of_empty_queries": share_of_empty(folds),
                    "model": kind,
                    "loss": loss,
                    "kept": float(kept.mean()),
                    "skipped": float(skipped.mean()),
                    "gain": float(difference.mean()),
                    "gain_standard_error": float(sem(difference)),
                    "n_test_queries": len(difference),
                }
            )
            print(rows[-1], flush=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    record = {"name": "skip-empty", "metric": METRIC, "rows": rows}
    (RESULTS / "skip-empty.json").write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / "skip-empty.md").write_text(table(rows))


def table(rows: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| data | empty training queries | ranker | loss | kept | skipped | gain, standard error |",
        "|---|--:|---|---|--:|--:|--:|",
    ]
    for row in rows:
        gain = f"{row['gain']:+.4f} ± {row['gain_standard_error']:.4f}"
        lines.append(
            f"| {row['data']} | {row['share_of_empty_queries']:.0%} | {row['model']} "
            f"| {row['loss']} | {row['kept']:.4f} | {row['skipped']:.4f} | {gain} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
