"""Tools that compute the mean of NDCG@10. Each function prepares and returns what to time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

import numpy as np

from benchmarks.harness import THREADS
from benchmarks.scored import Array, Scored, Shape
from benchmarks.worker import Run, timed


def rankwright(shape: Shape) -> Callable[[], Run]:
    """From arrays."""
    from rankwright import metrics
    from rankwright.data.groups import Groups

    data = shape.make()
    groups = Groups(data.indptr)
    ndcg = metrics.NDCG(k=10)

    def run() -> Run:
        call = partial(ndcg.mean, data.y, data.scores, groups, n_jobs=THREADS)
        value, seconds = timed(call)
        return Run({"total": seconds}, {"ndcg@10": value})

    return run


def lightgbm(shape: Shape) -> Callable[[], Run]:
    """Evaluate before the first tree: the scores are the init_score."""
    module = import_module("lightgbm")
    data = shape.make()
    params = {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "num_threads": THREADS,
        "verbosity": -1,
    }
    dataset = module.Dataset(
        _noise(data), data.y, group=data.sizes, init_score=data.scores, params=params
    )
    booster = module.Booster(params, dataset)

    def run() -> Run:
        result, seconds = timed(booster.eval_train)
        return Run({"total": seconds}, {"ndcg@10": float(result[0][2])})

    return run


def xgboost(shape: Shape) -> Callable[[], Run]:
    """Evaluate before the first tree: the scores are the base_margin."""
    module = import_module("xgboost")
    data = shape.make()
    matrix = module.DMatrix(
        _noise(data), data.y, group=data.sizes, base_margin=data.scores, nthread=THREADS
    )
    params = {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "nthread": THREADS}
    booster = module.Booster(params, cache=[matrix])

    def run() -> Run:
        _, copying = timed(partial(booster.predict, matrix, output_margin=True))
        text, seconds = timed(partial(booster.eval, matrix))
        parts = {"total": seconds - copying, "eval": seconds, "predict": copying}
        return Run(parts, {"ndcg@10": float(text.rsplit(":", 1)[1])})

    return run


def sklearn(shape: Shape) -> Callable[[], Run]:
    """Query by query."""
    ndcg_score = import_module("sklearn.metrics").ndcg_score
    data = shape.make()
    gains, scores = data.gains[None, :], data.scores[None, :]
    bounds = list(zip(data.indptr[:-1].tolist(), data.indptr[1:].tolist(), strict=True))

    def loop() -> float:
        values = [ndcg_score(gains[:, a:b], scores[:, a:b], k=10) for a, b in bounds]
        return float(np.mean(values))

    def run() -> Run:
        value, seconds = timed(loop)
        return Run({"total": seconds}, {"ndcg@10": value})

    return run


def _noise(data: Scored) -> Array:
    """One feature, which nothing looks at."""
    return np.random.default_rng(2).normal(size=(len(data.y), 1))
