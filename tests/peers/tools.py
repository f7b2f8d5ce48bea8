"""The ranking metrics of other tools, computed by the tools themselves, query by query."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import pairwise

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Metric = Callable[[FloatArray, FloatArray, IntArray], FloatArray]

CUTOFFS = (1, 3, 5, 10)

# The part of a key before the colon, and the modules that its functions import.
MODULES: dict[str, tuple[str, ...]] = {
    "lightgbm": ("lightgbm",),
    "xgboost": ("xgboost",),
    "catboost": ("catboost",),
    "sklearn": ("sklearn",),
    "trec": ("pytrec_eval",),
    "gdeval": ("ir_measures",),
    "msmarco": ("ir_measures",),
    "cwl": ("ir_measures", "cwl"),
    "trectools": ("ir_measures", "trectools"),
    "ir_measures": ("ir_measures", "pytrec_eval"),
    "ranx": ("ranx",),
}


def _slices(indptr: IntArray) -> Iterator[slice]:
    for start, stop in pairwise(indptr.tolist()):
        yield slice(start, stop)


def lightgbm(
    y: FloatArray, scores: FloatArray, indptr: IntArray, *, metric: str, k: int
) -> FloatArray:
    """
    Evaluate a LightGBM metric on a booster without trees whose initial scores are the scores.

    Parameters
    ----------
    y, scores, indptr : ndarray
        Labels, scores and bounds of the queries.
    metric : {"ndcg", "map"}
        LightGBM's name of the metric.
    k : int
        Cutoff; LightGBM has no metric without one.

    Returns
    -------
    ndarray
        One value per query.
    """
    lib = import_module("lightgbm")
    # A data set of one query needs the size checks off.
    params = {
        "objective": "none",
        "metric": metric,
        "eval_at": [k],
        "verbosity": -1,
        "num_threads": 1,
        "min_data_in_leaf": 1,
        "feature_pre_filter": False,
    }
    values = []
    for part in _slices(indptr):
        size = part.stop - part.start
        data = lib.Dataset(
            np.zeros((size, 1)), y[part], group=[size], init_score=scores[part], params=params
        )
        values.append(lib.Booster(params=params, train_set=data).eval_train()[0][2])
    return np.array(values, dtype=np.float64)


def xgboost(
    y: FloatArray,
    scores: FloatArray,
    indptr: IntArray,
    *,
    metric: str,
    exp_gain: bool = True,
) -> FloatArray:
    """
    Evaluate an XGBoost metric on a booster without trees whose base margin are the scores.

    Parameters
    ----------
    y, scores, indptr : ndarray
        Labels, scores and bounds of the queries.
    metric : str
        XGBoost's metric text, for example ``"ndcg@5-"``; without a cutoff XGBoost takes 32.
    exp_gain : bool, default=True
        XGBoost's parameter ``ndcg_exp_gain``.

    Returns
    -------
    ndarray
        One value per query.
    """
    lib = import_module("xgboost")
    params = {
        "objective": "rank:ndcg",
        "ndcg_exp_gain": exp_gain,
        "eval_metric": metric,
        # An estimated base score would shift the margins, and round them.
        "base_score": 0.0,
        "nthread": 1,
    }
    values = []
    for part in _slices(indptr):
        size = part.stop - part.start
        data = lib.DMatrix(np.zeros((size, 1)), label=y[part], base_margin=scores[part])
        data.set_group([size])
        text: str = lib.Booster(params, [data]).eval(data)
        values.append(float(text.rpartition(":")[2]))
    return np.array(values, dtype=np.float64)


def catboost(y: FloatArray, scores: FloatArray, indptr: IntArray, *, metric: str) -> FloatArray:
    """
    Evaluate a CatBoost metric with ``catboost.utils.eval_metric``.

    Parameters
    ----------
    y, scores, indptr : ndarray
        Labels, scores and bounds of the queries.
    metric : str
        CatBoost's metric text, for example ``"NDCG:top=5;type=Exp"``.

    Returns
    -------
    ndarray
        One value per query.
    """
    evaluate = import_module("catboost.utils").eval_metric
    values = [
        evaluate(
            y[part],
            scores[part],
            metric,
            group_id=np.zeros(part.stop - part.start, dtype=np.int64),
            thread_count=1,
        )[0]
        for part in _slices(indptr)
    ]
    return np.array(values, dtype=np.float64)


def catboost_err(y: FloatArray, scores: FloatArray, indptr: IntArray, *, k: int) -> FloatArray:
    """
    Evaluate CatBoost's ERR on the stop probabilities ``(2**y - 1) / 16``.

    CatBoost takes the labels themselves for the probabilities and does not check their range, so
    grades have to be mapped before.

    Parameters
    ----------
    y, scores, indptr : ndarray
        Labels in 0..4, scores and bounds of the queries.
    k : int
        Cutoff; -1 for none.

    Returns
    -------
    ndarray
        One value per query.
    """
    return catboost((2.0**y - 1.0) / 16.0, scores, indptr, metric=f"ERR:top={k}")


def sklearn(
    y: FloatArray, scores: FloatArray, indptr: IntArray, *, metric: str, k: int | None
) -> FloatArray:
    """
    Evaluate ``dcg_score`` or ``ndcg_score`` of scikit-learn.

    Parameters
    ----------
    y, scores, indptr : ndarray
        Labels, scores and bounds of the queries.
    metric : {"dcg", "ndcg"}
        Which of the two functions.
    k : int or None
        Cutoff.

    Returns
    -------
    ndarray
        One value per query; NaN where scikit-learn refuses the query.
    """
    evaluate = getattr(import_module("sklearn.metrics"), f"{metric}_score")
    values = []
    for part in _slices(indptr):
        try:
            values.append(evaluate(y[part][None, :], scores[part][None, :], k=k))
        except ValueError:
            # Queries of one document are refused.
            values.append(np.nan)
    return np.array(values, dtype=np.float64)


def _ids(size: int, *, descending: bool) -> list[str]:
    # Tools that order tied documents by id compare the ids as text: equal widths keep the order
    # of the numbers, and the direction makes the rule "the earlier row first".
    return [f"{10**6 - i if descending else i:07d}" for i in range(size)]


def _runs(
    y: FloatArray, scores: FloatArray, indptr: IntArray, *, descending: bool
) -> tuple[list[str], dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    queries = [f"{i:06d}" for i in range(1, len(indptr))]
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query, part in zip(queries, _slices(indptr), strict=True):
        ids = _ids(part.stop - part.start, descending=descending)
        qrels[query] = {doc: int(label) for doc, label in zip(ids, y[part], strict=True)}
        run[query] = {doc: float(score) for doc, score in zip(ids, scores[part], strict=True)}
    return queries, qrels, run


def trec(y: FloatArray, scores: FloatArray, indptr: IntArray, *, metric: str) -> FloatArray:
    """
    Evaluate a measure of trec_eval through pytrec_eval.

    trec_eval puts the larger document id first among tied scores; the ids are chosen so that this
    is the earlier row.

    Parameters
    ----------
    y, scores, indptr : ndarray
        Labels, scores and bounds of the queries.
    metric : str
        trec_eval's name of the measure, for example ``"ndcg_cut_5"``.

    Returns
    -------
    ndarray
        One value per query.
    """
    queries, qrels, run = _runs(y, scores, indptr, descending=True)
    evaluator = import_module("pytrec_eval").RelevanceEvaluator(qrels, {metric})
    found = evaluator.evaluate(run)
    return np.array([found.get(query, {}).get(metric, np.nan) for query in queries])


def ir_measures(
    y: FloatArray,
    scores: FloatArray,
    indptr: IntArray,
    *,
    metric: str,
    provider: str | None = None,
    descending: bool = True,
    apart: bool = False,
) -> FloatArray:
    """
    Evaluate a measure of ir_measures.

    Parameters
    ----------
    y, scores, indptr : ndarray
        Labels, scores and bounds of the queries.
    metric : str
        ir_measures' text of the measure, for example ``"ERR@5"``.
    provider : str or None, default=None
        Name of the provider that computes it; None lets ir_measures choose.
    descending : bool, default=True
        Whether document ids fall along the rows: the direction in which the provider takes the
        earlier row first among tied scores.
    apart : bool, default=False
        Whether to hand over one query at a time.

    Returns
    -------
    ndarray
        One value per query.
    """
    lib = import_module("ir_measures")
    queries, qrels, run = _runs(y, scores, indptr, descending=descending)
    measure = lib.parse_measure(metric)
    source = lib if provider is None else lib.providers.registry[provider]
    batches = [[query] for query in queries] if apart else [queries]
    found: dict[str, float] = {}
    with warnings.catch_warnings():
        # The provider for trectools calls pandas in a deprecated way.
        warnings.simplefilter("ignore")
        for batch in batches:
            part = ({q: qrels[q] for q in batch}, {q: run[q] for q in batch})
            found.update((row.query_id, row.value) for row in source.iter_calc([measure], *part))
    return np.array([found.get(query, np.nan) for query in queries], dtype=np.float64)


def ranx(y: FloatArray, scores: FloatArray, indptr: IntArray, *, metric: str) -> FloatArray:
    """
    Evaluate a metric of ranx.

    ranx sorts by quicksort: tied documents keep the row order in queries of at most 15 documents
    only.

    Parameters
    ----------
    y, scores, indptr : ndarray
        Labels, scores and bounds of the queries.
    metric : str
        ranx's metric text, for example ``"ndcg_burges@5"``.

    Returns
    -------
    ndarray
        One value per query.
    """
    lib = import_module("ranx")
    _, qrels, run = _runs(y, scores, indptr, descending=False)
    # ranx orders the queries by id, which is their order here.
    values = lib.evaluate(lib.Qrels(qrels), lib.Run(run), metric, return_mean=False)
    return np.array(values, dtype=np.float64)


def _tools() -> dict[str, Metric]:
    tools: dict[str, Metric] = {}
    for k in CUTOFFS:
        for name in ("ndcg", "map"):
            tools[f"lightgbm:{name}@{k}"] = partial(lightgbm, metric=name, k=k)
    for at in ("", *(f"@{k}" for k in CUTOFFS)):
        for name in ("ndcg", "map"):
            for minus in ("", "-"):
                tools[f"xgboost:{name}{at}{minus}"] = partial(xgboost, metric=f"{name}{at}{minus}")
        tools[f"xgboost:pre{at}"] = partial(xgboost, metric=f"pre{at}")
        tools[f"xgboost:ndcg{at} with ndcg_exp_gain=false"] = partial(
            xgboost, metric=f"ndcg{at}", exp_gain=False
        )
    for k in (-1, *CUTOFFS):
        at = f"@{k}" if k > 0 else ""
        for name in ("NDCG", "DCG"):
            for option in ("", "type=Exp", "denominator=Position"):
                key = f"catboost:{name.lower()}{at}" + (f" with {option}" if option else "")
                tools[key] = partial(
                    catboost, metric=f"{name}:top={k}" + (f";{option}" if option else "")
                )
        for name, text in (
            ("map", "MAP"),
            ("mrr", "MRR"),
            ("precision", "PrecisionAt"),
            ("recall", "RecallAt"),
        ):
            tools[f"catboost:{name}{at}"] = partial(catboost, metric=f"{text}:top={k}")
        tools[f"catboost:err{at}"] = partial(catboost_err, k=k)
    for cutoff in (None, *CUTOFFS):
        at = f"@{cutoff}" if cutoff is not None else ""
        for name in ("ndcg", "dcg"):
            tools[f"sklearn:{name}{at}"] = partial(sklearn, metric=name, k=cutoff)
    for name, text in (
        ("ndcg", "ndcg"),
        ("map", "map"),
        ("rr", "recip_rank"),
        ("rprec", "Rprec"),
        ("bpref", "bpref"),
    ):
        tools[f"trec:{name}"] = partial(trec, metric=text)
    tools["ranx:r_precision"] = partial(ranx, metric="r-precision")
    for k in CUTOFFS:
        for name, text, other in (
            ("ndcg", "ndcg_cut", "nDCG"),
            ("map", "map_cut", "AP"),
            ("p", "P", "P"),
            ("recall", "recall", "R"),
            ("success", "success", "Success"),
        ):
            tools[f"trec:{name}@{k}"] = partial(trec, metric=f"{text}_{k}")
            tools[f"ir_measures:{other}@{k}"] = partial(
                ir_measures, metric=f"{other}@{k}", provider="pytrec_eval"
            )
        # gdeval prints five decimals.
        tools[f"gdeval:err@{k}"] = partial(ir_measures, metric=f"ERR@{k}", provider="gdeval")
        tools[f"gdeval:ndcg@{k}"] = partial(
            ir_measures, metric=f"nDCG(dcg='exp-log2')@{k}", provider="gdeval"
        )
        tools[f"msmarco:rr@{k}"] = partial(
            ir_measures, metric=f"RR@{k}", provider="msmarco", descending=False
        )
    for other in ("nDCG", "AP", "RR"):
        tools[f"ir_measures:{other}"] = partial(ir_measures, metric=other, provider="pytrec_eval")
    for p in ("0.5", "0.8", "0.95"):
        tools[f"cwl:rbp({p})"] = partial(
            ir_measures, metric=f"RBP(rel=1,p={p})", provider="cwl_eval"
        )
        # trectools lets a tie run over from the last document of a query to the first of the next.
        tools[f"trectools:rbp({p})"] = partial(
            ir_measures, metric=f"RBP(p={p})", provider="trectools", apart=True
        )
        tools[f"ranx:rbp.{p[2:]}"] = partial(ranx, metric=f"rbp.{p[2:]}")
    for at in ("", *(f"@{k}" for k in CUTOFFS)):
        for name in (
            "ndcg",
            "ndcg_burges",
            "dcg",
            "dcg_burges",
            "map",
            "mrr",
            "precision",
            "recall",
            "f1",
            "hit_rate",
        ):
            tools[f"ranx:{name}{at}"] = partial(ranx, metric=f"{name}{at}")
    return tools


TOOLS: dict[str, Metric] = _tools()
