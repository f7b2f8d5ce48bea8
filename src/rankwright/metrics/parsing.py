"""What may be given for a metric: text, a metric, or a function of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from rankwright.metrics.function import FunctionMetric
from rankwright.metrics.metric import Metric, OwnFunction
from rankwright.metrics.names import parse_text

MetricLike: TypeAlias = str | Metric | OwnFunction


def parse(text: MetricLike) -> Metric:
    """Read a metric from text: ``[preset:]name[@k][(option=value,...)]``; or take a function.

    ``parse(str(metric)) == metric`` for every metric of the library. A preset stands for the
    conventions of another tool; see :mod:`rankwright.metrics.presets`.

    Examples
    --------
    >>> from rankwright.metrics import NDCG
    >>> parse("ndcg@10") == NDCG(k=10)
    True
    >>> parse("map(threshold=2,ties=worst)")
    AP(k=None, threshold=2, denominator='relevant', ties='worst', empty='skip')
    >>> parse("lightgbm:ndcg@5")
    NDCG(k=5, gain='exp2', discount='log2', ties='order', empty=1.0, short='keep')
    """
    if isinstance(text, Metric):
        return text
    if isinstance(text, str):
        return parse_text(text)
    if callable(text):
        return FunctionMetric(text)
    raise TypeError(
        "a metric must be text, a Metric, such as NDCG(k=10), or a function of labels and scores, "
        f"but is {text!r}."
    )


def named_metrics(metrics: MetricLike | Iterable[MetricLike]) -> dict[str, Metric]:
    """Return metrics by their names, as given; raise if two have the same."""
    several: Iterable[MetricLike]
    if isinstance(metrics, str | Metric) or not isinstance(metrics, Iterable):
        several = [metrics]
    else:
        several = metrics
    named: dict[str, Metric] = {}
    for given in several:
        metric = parse(given)
        name = given if isinstance(given, str) else str(metric)
        if name in named:
            raise ValueError(f"metrics must have different names, but two are called {name!r}.")
        named[name] = metric
    return named
