"""The data section: histograms, and how training and test queries differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import feature_name
from rankwright.evaluation.drift import feature_moments, mean_shift
from rankwright.report.content import Examined

_MOST_BARS = 12
_MOST_BINS = 8  # whose names are longer
_MOST_SHOWN = 8  # features
_NOTABLE = 0.1  # standard deviations; less is what chance does to a few hundred documents


@dataclass(frozen=True)
class Drift:
    """A feature whose distribution differs between training and test queries.

    ``difference`` is that of the means over the pooled standard deviation.
    """

    feature: str
    train: float
    test: float
    difference: float


def data_section(parts: list[Examined]) -> dict[str, Any]:
    """Return what the page tells of the data of the first part."""
    part = parts[0]
    samples = (
        {"test": part.test} if part.train is None else {"train": part.train} | {"test": part.test}
    )
    return {
        "name": "" if len(parts) == 1 else part.name,
        "descriptions": {name: sample.describe() for name, sample in samples.items()},
        "labels": histogram([sample.y for sample in samples.values()]),
        "lengths": histogram([sample.groups.sizes for sample in samples.values()]),
        "kinds": list(samples),
        "drifts": [] if part.train is None else drifts(part.train, part.test),
        "notable": _NOTABLE,
    }


def histogram(columns: list[Any]) -> list[tuple[str, list[float]]]:
    """Return bars with their names: the share of each column in it.

    >>> histogram([[0, 0, 1], [1, 1, 1]])
    [('0', [0.6666666666666666, 0.0]), ('1', [0.3333333333333333, 1.0])]
    """
    columns = [np.asarray(column, dtype=np.float64) for column in columns]
    values = np.unique(np.concatenate(columns))
    if len(values) <= _MOST_BARS:
        return [
            (f"{value:g}", [float(np.mean(column == value)) for column in columns])
            for value in values.tolist()
        ]
    # Equal bins of a round width, up to where the tail begins; the last one has no end.
    low, end = values[0], float(np.quantile(np.concatenate(columns), 0.98))
    raw = (end - low) / (_MOST_BINS - 1) or 1.0
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * 0.999)
    first = np.floor(low / step)
    n_bins = min(_MOST_BINS, int(np.floor(values[-1] / step) - first) + 1)
    edges = (first + np.arange(n_bins)) * step
    shares = []
    for column in columns:
        at = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, n_bins - 1)
        shares.append(np.bincount(at, minlength=n_bins) / max(1, len(column)))
    whole = bool((values == np.floor(values)).all())
    last = step - 1 if whole and step >= 1 else step
    names = [f"{edge:g}–{edge + last:g}" for edge in edges.tolist()]
    if values[-1] >= edges[-1] + step:
        names[-1] = f"{edges[-1]:g}+"
    return list(zip(names, np.transpose(shares).tolist(), strict=True))


def drifts(train: Dataset, test: Dataset) -> list[Drift]:
    """Return the features whose means differ most (:mod:`rankwright.evaluation.drift`)."""
    first, second = feature_moments(train.X), feature_moments(test.X)
    difference = mean_shift(first, second)
    order = np.argsort(-np.abs(difference), kind="stable")[:_MOST_SHOWN]
    return [
        Drift(
            feature_name(train.feature_names, j),
            float(first[0][j]),
            float(second[0][j]),
            float(difference[j]),
        )
        for j in order.tolist()
        if difference[j] != 0
    ]
