"""Tools that compute several metrics at once. Each function prepares and returns what to time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import TypeAlias

from benchmarks.harness import THREADS
from benchmarks.scored import Scored, Shape
from benchmarks.worker import Run, timed

Nested: TypeAlias = dict[str, dict[str, float]]


def rankwright(shape: Shape) -> Callable[[], Run]:
    """Four metrics from arrays, sorted once."""
    from rankwright import metrics
    from rankwright.data.groups import Groups

    data = shape.make()
    groups = Groups(data.indptr)
    wanted = [metrics.NDCG(k=10), metrics.AP(), metrics.RR(), metrics.ERR()]

    def run() -> Run:
        values, seconds = timed(
            lambda: metrics.per_query_of_all(wanted, data.y, data.scores, groups, n_jobs=THREADS)
        )
        names = ("ndcg@10", "ap", "rr", "err")
        facts = {name: float(of.mean()) for name, of in zip(names, values, strict=True)}
        return Run({"total": seconds}, facts)

    return run


def pytrec_eval(shape: Shape) -> Callable[[], Run]:
    """Three metrics from dictionaries."""
    make_evaluator = import_module("pytrec_eval").RelevanceEvaluator
    dicts = _Dicts(shape.make())
    measures = {"ndcg_cut.10", "map", "recip_rank"}

    def run() -> Run:
        (evaluator, scores), convert = timed(
            lambda: (make_evaluator(dicts.qrels(), measures), dicts.run())
        )
        values, evaluate = timed(partial(evaluator.evaluate, scores))
        facts = {
            "ndcg@10": _mean(of["ndcg_cut_10"] for of in values.values()),
            "ap": _mean(of["map"] for of in values.values()),
            "rr": _mean(of["recip_rank"] for of in values.values()),
        }
        return _run(convert, evaluate, facts)

    return run


def ir_measures(shape: Shape) -> Callable[[], Run]:
    """Three metrics from dictionaries."""
    module = import_module("ir_measures")
    dicts = _Dicts(shape.make())
    wanted = {"ndcg@10": module.nDCG @ 10, "ap": module.AP, "rr": module.RR}

    def run() -> Run:
        (evaluator, scores), convert = timed(
            lambda: (module.evaluator(list(wanted.values()), dicts.qrels()), dicts.run())
        )
        values, evaluate = timed(partial(evaluator.calc_aggregate, scores))
        return _run(convert, evaluate, {name: values[of] for name, of in wanted.items()})

    return run


def ranx(shape: Shape) -> Callable[[], Run]:
    """Three metrics from its own structures, which sort when they are made."""
    module = import_module("ranx")
    warnings.filterwarnings("ignore", message=".*unsafe cast from uint64")
    dicts = _Dicts(shape.make())
    wanted = {"ndcg@10": "ndcg@10", "ap": "map", "rr": "mrr"}

    def run() -> Run:
        (qrels, scores), convert = timed(
            lambda: (module.Qrels(dicts.qrels()), module.Run(dicts.run()))
        )
        values, evaluate = timed(
            lambda: module.evaluate(
                qrels, scores, list(wanted.values()), threads=THREADS, save_results_in_run=False
            )
        )
        return _run(convert, evaluate, {name: float(values[of]) for name, of in wanted.items()})

    return run


class _Dicts:
    """Arrays to dictionaries by query and document; the names are there beforehand."""

    def __init__(self, data: Scored) -> None:
        self.data = data
        self.queries = [f"q{q}" for q in range(len(data.sizes))]
        self.documents = [f"d{row}" for row in range(len(data.y))]

    def qrels(self) -> Nested:
        return self._nested(self.data.gains.astype(int).tolist())

    def run(self) -> Nested:
        return self._nested(self.data.scores.tolist())

    def _nested(self, values: list[float]) -> Nested:
        bounds = self.data.indptr.tolist()
        return {
            query: dict(zip(self.documents[begin:end], values[begin:end], strict=True))
            for query, begin, end in zip(self.queries, bounds[:-1], bounds[1:], strict=True)
        }


def _run(convert: float, evaluate: float, facts: dict[str, float]) -> Run:
    seconds = {"convert": convert, "evaluate": evaluate, "total": convert + evaluate}
    return Run(seconds, facts)


def _mean(values: Iterable[float]) -> float:
    kept = list(values)
    return sum(kept) / len(kept)
