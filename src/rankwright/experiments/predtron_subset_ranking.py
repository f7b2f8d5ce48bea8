"""Figure 1: representations of rankings, and norms of margins, on generated queries.

The paper omits the centres and the spread of its Gaussians. Ours: p = 20 features, a unit vector w*
drawn at random, and document i centred at (1/i + 1/(i + 1))/2 w*, the middle of the i-th bin of
<x, w*>, with standard deviation SPREAD in every direction. Thresholds are the paper's, 1/j.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import (
    Curve,
    Figure,
    Findings,
    Panel,
    difference_row,
)
from rankwright.metrics import parse
from rankwright.predtron import PredtronRanker

REPRESENTATIONS = ("1/i", "-i^1.1", "-i^2")
N_FEATURES, SPREAD, N_TEST = 20, 0.3, 200


def sample_queries(rng: np.random.Generator, w: Floats, n: int, m: int) -> Dataset:
    """Return n queries of m documents."""
    i = np.arange(1, m + 1)
    centres = (1 / i + 1 / (i + 1)) / 2
    X = centres[:, None] * w + SPREAD * rng.normal(size=(n, m, len(w)))
    return _labelled(X, w, m)


def _labelled(X: Floats, w: Floats, m: int) -> Dataset:
    """Give label m - j to documents whose <x, w> lies between 1/(j + 1) and 1/j (P7)."""
    scores = X @ w
    thresholds = 1 / np.arange(2, m + 1)[::-1]  # rising
    y = np.searchsorted(thresholds, scores).astype(np.float64)
    n = len(X)
    return Dataset(X.reshape(n * m, -1), y.ravel(), np.repeat(np.arange(n), m))


def _loss(learner: Any, train: Dataset, test: Dataset) -> float:
    learner.fit(train.X, train.y, train.qid)
    return 1 - float(parse("ndcg").mean(test.y, learner.predict(test.X), test.groups))


def _trial_queries(name: str, n: int, m: int, seed: int) -> float:
    rng = np.random.default_rng([seed, n, m])
    w = rng.normal(size=N_FEATURES)
    w /= np.linalg.norm(w)
    train, test = sample_queries(rng, w, n, m), sample_queries(rng, w, N_TEST, m)
    return _loss(PredtronRanker.paper(representation=name, mode="predicted"), train, test)


def _trial_norms(name: str, p: int, n: int, seed: int) -> float:
    """Features uniform in [-1, 1], a vector with five entries."""
    rng = np.random.default_rng([seed, n, p])
    w = np.zeros(p)
    w[:5] = rng.choice([-1, 1], 5)
    w /= np.linalg.norm(w)
    train, test = (_labelled(rng.uniform(-1, 1, (count, 10, p)), w, 10) for count in (n, N_TEST))
    norm: Any = name
    return _loss(PredtronRanker.paper(mode="predicted", norm=norm), train, test)


def _sweep_sizes(
    context: Context,
    what: str,
    names: Sequence[str],
    values: Sequence[int],
    trial: Any,
    repeats: int,
) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for value in context.each(what, values):
        for name in names:
            key = {"what": f"predtron-{what}", "name": name, "value": value, "repeats": repeats}
            key |= {"spread": SPREAD}
            found[name].append(context.once(key, _repeated, trial, name, value, repeats))
    return found


def _repeated(trial: Any, name: str, value: int, repeats: int) -> list[float]:
    return [trial(name, value, seed=seed) for seed in range(repeats)]


def _curves(values: Sequence[int], found: dict[str, list[list[float]]]) -> dict[str, Curve]:
    return {name: Curve.of_repeats(values, repeats) for name, repeats in found.items()}


def run(context: Context) -> Findings:
    """Draw the three panels of Figure 1 and test what the paper says of them."""
    repeats = context.pick(6, 50)
    queries = context.pick((10, 60), (5, 10, 20, 30, 40, 60, 80, 100))
    sizes = context.pick((5, 15), (5, 8, 10, 15, 20, 30))
    widths = context.pick((20, 160), (10, 20, 40, 80, 160, 320))
    a = _sweep_sizes(context, "n", REPRESENTATIONS, queries, partial(_trial_queries, m=10), repeats)
    b = _sweep_sizes(context, "m", REPRESENTATIONS, sizes, _by_size, repeats)
    c = _sweep_sizes(context, "p", ("l2", "l1"), widths, partial(_trial_norms, n=30), repeats)
    y = "1 - NDCG on test queries"
    panels = {
        "(a) training queries": Panel(_curves(queries, a), "n", y),
        "(b) documents, n = 30": Panel(_curves(sizes, b), "m", y),
        "(c) features, five of them telling": Panel(_curves(widths, c), "p", y, log_x=True),
    }
    settings = {"features": N_FEATURES, "spread": SPREAD, "repeats": repeats}
    result = Findings(settings=settings | {"documents in (a)": 10})
    result.figures.append(Figure("figure1", "L_NDCG after one pass", panels))
    for panel, values, found in (("(a), n", queries, a), ("(b), m", sizes, b)):
        for i, value in enumerate(values):
            for name in REPRESENTATIONS[1:]:
                what = f"{panel} = {value}: loss with 1/i less that with {name}"
                differences = np.subtract(found["1/i"][i], found[name][i])
                result.rows.append(difference_row("Figure 1", what, differences))
    for i, value in enumerate(widths):
        what = f"(c), p = {value}: loss with l2 less that with l1"
        result.rows.append(difference_row("Figure 1", what, np.subtract(c["l2"][i], c["l1"][i])))
    growth = np.subtract(c["l2"][-1], c["l2"][0]) - np.subtract(c["l1"][-1], c["l1"][0])
    what = f"(c): growth of the loss from p = {widths[0]} to {widths[-1]}, l2 less l1"
    result.rows.append(difference_row("Figure 1", what, growth))
    return result


def _by_size(name: str, m: int, seed: int) -> float:
    return _trial_queries(name, 30, m, seed)


FIGURE1 = Experiment("predtron", "figure1", "Figure 1", "representations and norms", run)
