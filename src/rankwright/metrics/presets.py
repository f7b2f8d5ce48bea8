"""The conventions of other tools: the metric that gives the tool's own value, under its name.

Found by running the tools on data with ties, empty queries and short queries; ``make test-peers``
runs them again and compares.

``lightgbm:``
    LightGBM 4: ``ndcg``, ``map``.
``xgboost:``
    XGBoost 3: ``ndcg``, ``map``, ``pre``, and with a minus (``ndcg@5-``) 0 for empty queries.
    Without a cutoff it takes 32. It rounds scores to float32 first.
``catboost:``
    CatBoost 1.2: ``ndcg`` (``ndcg(gain=exp2)`` is its ``type=Exp``), ``dcg``, ``map``, ``mrr``,
    ``precision``, ``recall``.
``sklearn:``
    scikit-learn 1: ``ndcg``, ``dcg``. It refuses queries of one document.
``trec:``
    trec_eval, hence pytrec_eval and ir_measures: ``ndcg``, ``map``, ``rr``, ``p``, ``recall``,
    ``success``, ``rprec``, ``bpref``. It rounds scores to float32 and orders ties by document id,
    larger first: sort the rows of a query so.
``ndeval:``
    NIST's ndeval, hence pyndeval and ir_measures: ``alpha_ndcg``, ``err_ia``. Of documents
    that would add the same to the ideal list it takes the larger id: sort the rows of a query so.
    It does not divide ERR-IA at rank 1.
``ranx:``
    ranx 0.3: ``ndcg``, ``ndcg_burges``, ``dcg``, ``dcg_burges``, ``map``, ``mrr``, ``precision``,
    ``recall``, ``f1``, ``r_precision``, ``hit_rate``. With more than 15 documents its order of ties
    follows no rule. Its bpref is right only if every query has a relevant and an irrelevant
    document: ``bpref(ties=order)``.
``letor:``
    Microsoft's LETOR 3 and 4 script, behind all published LETOR figures: ``ndcg``, ``map``, ``p``.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from rankwright.metrics.binary import AP, F1, RR, HitRate, Precision, Recall, RPrecision
from rankwright.metrics.dcg import DCG, NDCG
from rankwright.metrics.diversity import ERRIA, AlphaNDCG
from rankwright.metrics.judged import Bpref
from rankwright.metrics.metric import Metric

Preset: TypeAlias = dict[str, tuple[type[Metric], dict[str, Any]]]

_ABOVE_HALF = math.nextafter(0.5, 1.0)  # "label > 0.5" as a threshold

# Most tools count a query without relevant documents as 0 or as 1, where ours leave it out, and
# keep ties in row order or take the worst one, where ours average.
_ORDER_0 = {"ties": "order", "empty": 0.0}
_ORDER_1 = {"ties": "order", "empty": 1.0}
_WORST_0 = {"ties": "worst", "empty": 0.0}
_WORST_1 = {"ties": "worst", "empty": 1.0}

PRESETS: dict[str, Preset] = {
    "lightgbm": {
        "ndcg": (NDCG, _ORDER_1),
        "map": (AP, {"threshold": _ABOVE_HALF, "denominator": "cutoff", **_ORDER_1}),
    },
    "xgboost": {
        "ndcg": (NDCG, {"k": 32, **_ORDER_1}),
        "ndcg-": (NDCG, {"k": 32, **_ORDER_0}),
        "map": (AP, {"k": 32, "denominator": "cutoff", **_ORDER_1}),
        "map-": (AP, {"k": 32, "denominator": "cutoff", **_ORDER_0}),
        "pre": (Precision, {"k": 32, "denominator": "documents", **_ORDER_0}),
    },
    "catboost": {
        "ndcg": (NDCG, {"gain": "linear", **_WORST_1}),
        "dcg": (DCG, {"gain": "linear", "ties": "worst"}),
        "map": (AP, {"threshold": _ABOVE_HALF, "denominator": "cutoff", **_WORST_0}),
        "mrr": (RR, {"threshold": _ABOVE_HALF, **_WORST_0}),
        "precision": (
            Precision,
            {"threshold": _ABOVE_HALF, "denominator": "documents", **_WORST_0},
        ),
        "recall": (Recall, {"threshold": _ABOVE_HALF, **_WORST_1}),
    },
    "sklearn": {
        "ndcg": (NDCG, {"gain": "linear", "empty": 0.0}),
        "dcg": (DCG, {"gain": "linear"}),
    },
    "trec": {
        "ndcg": (NDCG, {"gain": "linear", **_ORDER_0}),
        "map": (AP, _ORDER_0),
        "rr": (RR, _ORDER_0),
        "p": (Precision, _ORDER_0),
        "recall": (Recall, _ORDER_0),
        "success": (HitRate, _ORDER_0),
        "rprec": (RPrecision, _ORDER_0),
        "bpref": (Bpref, _ORDER_0),
    },
    "ndeval": {
        "alpha_ndcg": (AlphaNDCG, _ORDER_0),
        "err_ia": (ERRIA, {"denominator": "full", **_ORDER_0}),
    },
    "ranx": {
        "ndcg": (NDCG, {"gain": "linear", **_ORDER_0}),
        "ndcg_burges": (NDCG, _ORDER_0),
        "dcg": (DCG, {"gain": "linear", "ties": "order"}),
        "dcg_burges": (DCG, {"ties": "order"}),
        "map": (AP, _ORDER_0),
        "mrr": (RR, _ORDER_0),
        "precision": (Precision, _ORDER_0),
        "recall": (Recall, _ORDER_0),
        "f1": (F1, _ORDER_0),
        "r_precision": (RPrecision, _ORDER_0),
        "hit_rate": (HitRate, _ORDER_0),
    },
    "letor": {
        "ndcg": (NDCG, {"discount": "letor", "short": "zero", **_ORDER_0}),
        "map": (AP, _ORDER_0),
        "p": (Precision, _ORDER_0),
    },
}
