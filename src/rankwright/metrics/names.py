"""Metrics as text: ``"ndcg@10"``, ``"ap(threshold=2)"``, ``"lightgbm:ndcg@5"``."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from rankwright.metrics.binary import AP, F1, RBP, RR, HitRate, Precision, Recall, RPrecision
from rankwright.metrics.dcg import DCG, NDCG
from rankwright.metrics.diversity import ERRIA, AlphaNDCG
from rankwright.metrics.domination import DominatedError, DominationError
from rankwright.metrics.duplicates import UniqueNDCG
from rankwright.metrics.err import ERR
from rankwright.metrics.exposure import ExposureDisparity
from rankwright.metrics.judged import Bpref, Judged
from rankwright.metrics.metric import Metric
from rankwright.metrics.ordinal import RankAccuracy, RankLoss
from rankwright.metrics.pairs import KendallTau, PairwiseError
from rankwright.metrics.presets import PRESETS
from rankwright.suggestions import meant

METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (
        NDCG,
        DCG,
        AP,
        RR,
        ERR,
        Precision,
        Recall,
        F1,
        RPrecision,
        HitRate,
        RBP,
        Bpref,
        Judged,
        PairwiseError,
        KendallTau,
        DominationError,
        DominatedError,
        AlphaNDCG,
        ERRIA,
        UniqueNDCG,
        ExposureDisparity,
        RankLoss,
        RankAccuracy,
    )
}
ALIASES = {
    "map": "ap",
    "mrr": "rr",
    "p": "precision",
    "success": "hit_rate",
    "rprec": "r_precision",
}

# A negative k passes here so that the metric itself says what k must be; the minus behind k is
# XGBoost's own spelling, "ndcg@5-".
_TEXT = re.compile(
    r"(?:(?P<preset>\w+):)?(?P<name>[A-Za-z]\w*)(?:@(?P<k>-?\d+))?(?P<minus>-)?"
    r"(?:\((?P<options>[^()]*)\))?"
)


def is_metric(text: str) -> bool:
    """Tell whether a text is a metric of the library."""
    try:
        parse_text(text)
    except ValueError:
        return False
    return True


def parse_text(text: str) -> Metric:
    """Read a metric from text: ``[preset:]name[@k][(option=value,...)]``."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            "a metric must look like 'ndcg@10', 'ap(threshold=2)' or 'lightgbm:ndcg@5', but is "
            f"{text!r}."
        )
    preset, name = match["preset"], match["name"].lower() + (match["minus"] or "")
    if preset is None:
        kind = METRICS.get(ALIASES.get(name, name))
        if kind is None:
            raise ValueError(
                f"there is no metric {name!r}. There are {', '.join(sorted(METRICS))}."
                f"{meant(name, [*METRICS, *ALIASES])}"
            )
        conventions: dict[str, Any] = {}
    else:
        kind, conventions = _from_preset(preset.lower(), name)
    options = dict(conventions)
    given = set()  # what the text itself says: it may override a preset, but not itself
    if match["k"] is not None:
        given.add("k")
        options["k"] = int(match["k"])
    names = [field.name for field in dataclasses.fields(kind)]
    for option in filter(None, (match["options"] or "").split(",")):
        key, equals, value = (part.strip() for part in option.partition("="))
        if not equals:
            raise ValueError(f"options must look like name=value, but {text!r} has {option!r}.")
        if key in given:
            raise ValueError(f"{key} must be given once, but {text!r} has it twice.")
        given.add(key)
        options[key] = _parse_value(value)
    for key in options:
        if key not in names:
            known = f"It has {', '.join(names)}." if names else "It has none."
            raise ValueError(f"{kind.name} has no option {key!r}. {known}{meant(key, names)}")
    return kind(**options)


def _from_preset(preset: str, name: str) -> tuple[type[Metric], dict[str, Any]]:
    if preset not in PRESETS:
        raise ValueError(
            f"there is no preset {preset!r}. There are {', '.join(sorted(PRESETS))}."
            f"{meant(preset, PRESETS)}"
        )
    metrics = PRESETS[preset]
    if name not in metrics:
        raise ValueError(
            f"preset {preset!r} has no {name!r}. It has {', '.join(metrics)}.{meant(name, metrics)}"
        )
    return metrics[name]


def _parse_value(text: str) -> Any:
    # int first: "10" must not become 10.0, which is no cutoff.
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None if text == "None" else text
