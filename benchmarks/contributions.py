"""What features add to the scores of trees (SHAP values): our kernel against LightGBM's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import DATA, Contender, Task, run_task
from benchmarks.worker import Run, timed

SIZES = {"large": (500, 64), "small": (300, 31)}  # trees, leaves
QUICK_SIZES = {"large": (20, 16), "small": (20, 8)}
N_DOCS = 512
PEER_DOCS = 64  # LightGBM takes milliseconds for a document
CHECKED_DOCS = 16
MOST_AWAY = 1e-9  # of the sum of a document's contributions

METHOD = f"""MSLR-like documents with 136 features, float32, and the same trees for both. Timed is \
the call that a user makes, from an array in memory to contributions. LightGBM explains \
{PEER_DOCS} of the {N_DOCS} documents. "away" is how far ours are at most from LightGBM's, as a \
share of the sum of a document's contributions, and "away from shap" from those that the package \
shap computes itself, where it is installed."""


def run(quick: bool = False) -> None:
    """Benchmark."""
    for name, (trees, leaves) in (QUICK_SIZES if quick else SIZES).items():
        folder = make_model(trees, leaves, quick)
        for threads in (1, 2):
            run_task(_race(name, trees, leaves, folder, threads), quick)


def make_model(trees: int, leaves: int, quick: bool) -> Path:
    """Write documents and trees to a folder, once."""
    from rankwright import BoostedRanker, save
    from rankwright.data import make_mslr_like

    folder = DATA / f"contributions-{trees}-{leaves}"
    if not (folder / "model.rw").exists():
        folder.mkdir(parents=True, exist_ok=True)
        train = make_mslr_like(n_queries=20 if quick else 200)
        np.save(folder / "X.npy", np.ascontiguousarray(train.X[:N_DOCS], dtype=np.float32))
        ranker = BoostedRanker(n_estimators=trees, num_leaves=leaves, learning_rate=0.05)
        save(ranker.fit_dataset(train), folder / "model.rw")
    return folder


def _race(name: str, trees: int, leaves: int, folder: Path, threads: int) -> Task:
    with_threads = "one thread" if threads == 1 else f"{threads} threads"
    return Task(
        name=f"contributions-{name}-{threads}",
        title=f"SHAP values, {trees} trees of {leaves} leaves, {with_threads}",
        method=METHOD,
        amount=N_DOCS,
        unit="documents",
        contenders=[
            Contender(
                "rankwright",
                partial(_rankwright, folder, threads),
                "rankwright",
                "BoostedRanker.contributions.",
            ),
            Contender(
                "LightGBM",
                partial(_lightgbm, folder, threads),
                "lightgbm",
                "Booster.predict(pred_contrib=True).",
                bars={"total": 2.0},
                share=PEER_DOCS / N_DOCS,
            ),
        ],
    )


def _load(folder: Path, threads: int) -> tuple[Any, Any]:
    from rankwright import load

    ranker = load(folder / "model.rw")
    ranker.n_jobs = threads
    return ranker, np.load(folder / "X.npy")


def _rankwright(folder: Path, threads: int) -> Callable[[], Run]:
    ranker, X = _load(folder, threads)
    facts = _facts(ranker, X[:CHECKED_DOCS])

    def run() -> Run:
        _, seconds = timed(lambda: ranker.contributions(X))
        return Run({"total": seconds}, facts)

    return run


def _lightgbm(folder: Path, threads: int) -> Callable[[], Run]:
    ranker, X = _load(folder, threads)
    explain = partial(
        import_module("lightgbm").Booster(model_str=ranker.model_text_).predict,
        pred_contrib=True,
        num_threads=threads,
    )
    return lambda: Run({"total": timed(lambda: explain(X[:PEER_DOCS]))[1]})


def _facts(ranker: Any, X: Any) -> dict[str, float]:
    """Say how far we are from others; raise if that is more than rounding."""
    values, start = ranker.contributions(X)
    found = np.column_stack([values, np.full(len(X), start)])
    booster = import_module("lightgbm").Booster(model_str=ranker.model_text_)
    facts = {"away": _away(found, booster.predict(X, pred_contrib=True))}
    shap = _shap(ranker, X)
    if shap is not None:
        facts["away from shap"] = _away(values, shap)
    if max(facts.values()) > MOST_AWAY:
        raise RuntimeError(f"contributions are not what others have: {facts}")
    return facts


def _away(found: Any, expected: Any) -> float:
    return float(np.max(np.abs(found - expected) / np.abs(expected).sum(axis=1, keepdims=True)))


def _shap(ranker: Any, X: Any) -> Any:
    """Return shap's own values; of LightGBM's models it would ask LightGBM."""
    try:
        shap = import_module("shap")
    except ImportError:
        return None
    forest = ranker._scorer().forest
    trees = [_shap_tree(forest, t) for t in range(forest.n_trees)]
    return shap.TreeExplainer({"trees": trees}).shap_values(X.astype(np.float64))


def _shap_tree(forest: Any, t: int) -> dict[str, Any]:
    """Return a tree with its leaves behind its nodes; the documents have no missing value."""
    nodes = slice(forest.node_begin[t], forest.node_begin[t + 1])
    leaves = slice(forest.leaf_begin[t], forest.leaf_begin[t + 1])
    n, at_leaves = len(forest.feature[nodes]), np.full(len(forest.leaf_value[leaves]), -1)

    def children(side: Any) -> Any:
        return np.concatenate([np.where(side < 0, n + ~side, side), at_leaves])

    left, right = children(forest.left[nodes]), children(forest.right[nodes])
    return {
        "children_left": left,
        "children_right": right,
        "children_default": left,
        "features": np.concatenate([forest.feature[nodes], at_leaves]),
        "thresholds": np.concatenate([forest.threshold[nodes], at_leaves]),
        "values": np.concatenate([np.zeros(n), forest.leaf_value[leaves]])[:, None],
        "node_sample_weight": np.concatenate(
            [forest.node_count[nodes], forest.leaf_count[leaves]]
        ).astype(np.float64),
    }
