"""Ranking metrics of labelled, scored documents: four metrics at once, and NDCG@10 alone."""

from __future__ import annotations

from functools import partial

from benchmarks import metric_tools as tools
from benchmarks import ndcg_tools
from benchmarks.harness import Contender, Task, run_task
from benchmarks.scored import Shape

N_QUERIES = 6000
QUICK_N_QUERIES = 300

ALL_METHOD = """Labels 0..4, about 120 documents a query. Ours: per_query_of_all of NDCG@10, AP, \
RR and ERR. None of the peers has ERR (ir_measures only through an external Perl script), so \
they compute three metrics where we compute four. Peers get the gains 2^y - 1 as labels, which \
makes their linear NDCG the same number as ours; relevant is label >= 1. "convert" is the way \
from arrays to what the tool takes, with the names of queries and documents made beforehand; \
"evaluate" is the tool's own call; "total" is both. Calls are repeated until a turn has taken \
half a second, at most 100 times, and the median is taken. With tied scores the tools follow \
different rules: ours averages."""

NDCG_METHOD = """Labels 0..4, about 120 documents a query; the mean of NDCG@10, ties averaged in \
ours. LightGBM and XGBoost are timed by their own evaluation of a booster without trees whose \
predictions are given (init_score, base_margin), so that nothing but the metric runs; building \
their data sets is set-up and not counted, nor is their ideal DCG, which both compute once and \
keep. Ours computes it in every call. Calls are repeated until a turn has taken half a second, \
at most 100 times, and the median is taken."""


def run(quick: bool = False) -> None:
    """Benchmark."""
    n_queries = QUICK_N_QUERIES if quick else N_QUERIES
    for ties in (False, True):
        run_task(_all_metrics(Shape(n_queries, ties)), quick)
        run_task(_ndcg(Shape(n_queries, ties)), quick)


def _all_metrics(shape: Shape) -> Task:
    return Task(
        name="metrics-ties" if shape.ties else "metrics",
        title=f"NDCG@10, AP, RR, ERR{_suffix(shape)}",
        method=ALL_METHOD,
        amount=shape.n_docs(),
        unit="documents",
        agree=_agree(shape, "ndcg@10", "ap", "rr"),
        contenders=[
            Contender("rankwright", partial(tools.rankwright, shape), "rankwright", "From arrays."),
            Contender(
                "pytrec_eval",
                partial(tools.pytrec_eval, shape),
                "pytrec_eval-terrier",
                "RelevanceEvaluator(...).evaluate(run): ndcg_cut_10, map, recip_rank; no ERR. One "
                "thread. Ties by document name, backwards.",
                # Ties are averaged exactly here and not there: no bar.
                bars={"evaluate": None if shape.ties else 20.0, "total": None},
            ),
            Contender(
                "ir_measures",
                partial(tools.ir_measures, shape),
                "ir_measures",
                "evaluator(...).calc_aggregate(run): nDCG@10, AP, RR, through pytrec_eval. One "
                "thread.",
                bars={"evaluate": None, "total": None},
            ),
            Contender(
                "ranx",
                partial(tools.ranx, shape),
                "ranx",
                "evaluate(qrels, run): ndcg@10, map, mrr; no ERR. Compiled beforehand; its "
                "documents are sorted by the conversion.",
                bars={"evaluate": None, "total": None},
            ),
        ],
    )


def _ndcg(shape: Shape) -> Task:
    return Task(
        name="ndcg-ties" if shape.ties else "ndcg",
        title=f"NDCG@10{_suffix(shape)}",
        method=NDCG_METHOD,
        amount=shape.n_docs(),
        unit="documents",
        agree=_agree(shape, "ndcg@10"),
        contenders=[
            Contender("rankwright", partial(ndcg_tools.rankwright, shape), "rankwright", "Arrays."),
            Contender(
                "LightGBM",
                partial(ndcg_tools.lightgbm, shape),
                "lightgbm",
                "Booster.eval_train() before the first tree, scores as init_score. Ties by row.",
                bars={"total": 1.0},
            ),
            Contender(
                "XGBoost",
                partial(ndcg_tools.xgboost, shape),
                "xgboost-cpu",
                "Booster.eval() before the first tree, scores as base_margin, less the time of "
                "Booster.predict(), which is the copy of the scores that eval() makes first. Ties "
                "by row.",
                bars={"total": 1.0},
            ),
            Contender(
                "scikit-learn",
                partial(ndcg_tools.sklearn, shape),
                "scikit-learn",
                "ndcg_score(k=10) in a loop over the queries. One thread. Ties averaged.",
            ),
        ],
    )


def _suffix(shape: Shape) -> str:
    return ", tied scores" if shape.ties else ""


def _agree(shape: Shape, *facts: str) -> tuple[str, ...]:
    """Return the means that must agree: with ties, none."""
    return () if shape.ties else facts
