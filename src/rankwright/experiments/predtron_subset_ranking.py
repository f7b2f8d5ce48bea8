"""Figure 1: representations of rankings, and norms of margins, on generated queries.

The paper omits the centres and the spread of its Gaussians. Ours: p = 20 features, a unit vector w*
drawn at random, and documents around centres along w* (see CENTRES) with the same standard
deviation in every direction. Thresholds are the paper's, 1/j. Algorithm 1 is run as in the paper,
with eta = 1, beside the update with the prediction itself, which needs no step (P3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
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
    Row,
    agrees,
    difference_row,
    mean_of,
)
from rankwright.metrics import parse
from rankwright.predtron import PredtronRanker

REPRESENTATIONS = ("1/i", "-i^1.1", "-i^2")
LEARNERS: dict[str, dict[str, Any]] = {
    "Algorithm 1": {"mode": "augmented", "eta": 1.0},
    "predicted": {"mode": "predicted"},
}
CENTRES: dict[str, Callable[[Floats, int], Floats]] = {
    "bins": lambda i, m: (1 / i + 1 / (i + 1)) / 2,  # the middle of the i-th bin of <x, w*>
    "zero": lambda i, m: 0 * i,  # documents are alike
    "line": lambda i, m: 1 - (i - 1) / m,
}
SPREADS = (0.1, 0.3, 1.0)
GENERATORS = tuple(product(CENTRES, SPREADS))
N_FEATURES, N_TEST = 20, 200
DRAWN = (("bins", 0.3), ("zero", 1.0))  # shown in (a) and (b); the second is N(0, I)
P13 = "P13: gains reach 2^(m - 1), so that the first ranks decide, where documents are far apart"


def sample_queries(
    rng: np.random.Generator, w: Floats, n: int, m: int, centres: str, spread: float
) -> Dataset:
    """Return n queries of m documents."""
    along = CENTRES[centres](np.arange(1.0, m + 1), m)
    X = along[:, None] * w + spread * rng.normal(size=(n, m, len(w)))
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


def query_losses(
    name: str, n: int, m: int, learner: str, centres: str, spread: float, repeats: int
) -> list[float]:
    """Return the loss on new queries after n of m documents, for one representation."""
    found = []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n, m])
        w = rng.normal(size=N_FEATURES)
        w /= np.linalg.norm(w)
        train, test = (sample_queries(rng, w, k, m, centres, spread) for k in (n, N_TEST))
        ranker = PredtronRanker.paper(representation=name, **LEARNERS[learner])
        found.append(_loss(ranker, train, test))
    return found


def _norm_losses(name: str, n: int, p: int, learner: str, repeats: int) -> list[float]:
    """Return the losses with features uniform in [-1, 1] and a vector with five entries."""
    found = []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n, p])
        w = np.zeros(p)
        w[:5] = rng.choice([-1, 1], 5)
        w /= np.linalg.norm(w)
        train, test = (_labelled(rng.uniform(-1, 1, (k, 10, p)), w, 10) for k in (n, N_TEST))
        more: dict[str, Any] = {"norm": name, **LEARNERS[learner]}
        found.append(_loss(PredtronRanker.paper(**more), train, test))
    return found


Sweep = dict[str, list[list[float]]]  # by name, at each value, of each repeat


def _sweep(
    context: Context, what: str, names: Sequence[str], values: Sequence[int], losses: Any
) -> Sweep:
    found: Sweep = {name: [] for name in names}
    for value in context.each(what, values):
        for name in names:
            key = {"what": f"predtron-{what}", "name": name, "value": value, **losses.keywords}
            found[name].append(context.once(key, losses, name, value))
    return found


def run(context: Context) -> Findings:
    """Draw the three panels of Figure 1 and test what the paper says of them."""
    repeats = context.pick(6, 50)
    queries = context.pick((10, 60, 100), (5, 10, 20, 30, 40, 60, 80, 100))
    sizes = context.pick((5, 15), (5, 8, 10, 15, 20, 30))
    widths = context.pick((20, 160), (10, 20, 40, 80, 160, 320))
    settings = {"features": N_FEATURES, "repeats": repeats, "documents in (a)": 10}
    result = Findings(settings=settings | {"queries in (b) and (c)": 30})
    y = "1 - NDCG on test queries"
    for learner in LEARNERS:
        losses = partial(_by_width, learner=learner, repeats=repeats)
        c = _sweep(context, f"p, {learner}", ("l2", "l1"), widths, losses)
        panels = {}
        for centres, spread in DRAWN:
            given: dict[str, Any]
            given = {"learner": learner, "centres": centres, "spread": spread, "repeats": repeats}
            drawn = f"{learner}, {'N(0, I)' if centres == 'zero' else 'centred documents'}"
            by_n, by_m = partial(_by_queries, **given), partial(_by_size, **given)
            a = _sweep(context, f"n, {drawn}", REPRESENTATIONS, queries, by_n)
            b = _sweep(context, f"m, {drawn}", REPRESENTATIONS, sizes, by_m)
            panels[f"(a) {drawn}"] = Panel(_curves(queries, a), "training queries n", y)
            panels[f"(b) {drawn}"] = Panel(_curves(sizes, b), "documents m, n = 30", y)
            result.rows += _queries_rows(drawn, queries, a) + _size_rows(drawn, sizes, b)
            shown = Panel(_curves(widths, c), "features p", y, log_x=True)
            panels.setdefault(f"(c) {learner}", shown)  # at the end of the first line
        result.rows += _width_rows(learner, widths, c)
        name = "figure1" if learner == "Algorithm 1" else f"figure1_{learner}"
        result.figures.append(Figure(name, f"L_NDCG after one pass, {learner}", panels))
    result.rows.append(_generators_row(context, sizes, repeats))
    return result


def _by_queries(name: str, n: int, **given: Any) -> list[float]:
    return query_losses(name, n, 10, **given)


def _by_size(name: str, m: int, **given: Any) -> list[float]:
    return query_losses(name, 30, m, **given)


def _by_width(name: str, p: int, **given: Any) -> list[float]:
    return _norm_losses(name, 30, p, **given)


def _curves(values: Sequence[int], found: Sweep) -> dict[str, Curve]:
    return {name: Curve.of_repeats(values, repeats) for name, repeats in found.items()}


def _queries_rows(drawn: str, queries: Sequence[int], found: Sweep) -> list[Row]:
    """Test "almost 0 for f2 and f3 with just 60 training points", and "large" for f1 at 100."""
    rows = []
    for n, name in product((60, 100), REPRESENTATIONS[1:]):
        i = list(queries).index(n)
        what = f"(a), {drawn}, n = {n}: loss with 1/i less that with {name}"
        rows.append(_row_of(what, np.subtract(found["1/i"][i], found[name][i])))
    mean, interval = mean_of(found["1/i"][-1])
    what = f"(a), {drawn}, n = {queries[-1]}: loss with 1/i, said to be large"
    others = ", ".join(f"{np.mean(found[name][-1]):.4f}" for name in REPRESENTATIONS[1:])
    note = f"{others} with the others"
    return [*rows, Row("Figure 1", what, mean, "reported", None, interval, note)]


def _size_rows(drawn: str, sizes: Sequence[int], found: Sweep) -> list[Row]:
    """Test "monotonically increasing loss" in m, and that f1 is worse at the largest m."""
    rows = []
    for name in REPRESENTATIONS[1:]:
        what = f"(b), {drawn}, m = {sizes[-1]}: loss with 1/i less that with {name}"
        rows.append(_row_of(what, np.subtract(found["1/i"][-1], found[name][-1])))
    for name in REPRESENTATIONS:
        what = f"(b), {drawn}: loss with {name} at m = {sizes[-1]} less that at {sizes[0]}"
        rows.append(_row_of(what, np.subtract(found[name][-1], found[name][0]), "P13: it falls"))
    return rows


def _width_rows(learner: str, widths: Sequence[int], found: Sweep) -> list[Row]:
    rows = []
    for i, value in enumerate(widths):
        what = f"(c), {learner}, p = {value}: loss with l2 less that with l1"
        rows.append(_row_of(what, np.subtract(found["l2"][i], found["l1"][i])))
    l2, l1 = (np.subtract(found[norm][-1], found[norm][0]) for norm in ("l2", "l1"))
    what = f"(c), {learner}: growth of the loss from p = {widths[0]} to {widths[-1]}, l2 less l1"
    return [*rows, _row_of(what, l2 - l1)]


def _row_of(what: str, differences: Floats, why: str = "the opposite comes out") -> Row:
    return difference_row("Figure 1", what, differences, why=why)


def _generators_row(context: Context, sizes: Sequence[int], repeats: int) -> Row:
    """P13: count the generators whose loss grows with m."""
    growing = 0
    for centres, spread in context.each("generators", GENERATORS):
        losses = partial(
            _by_size, learner="Algorithm 1", centres=centres, spread=spread, repeats=repeats
        )
        found = _sweep(context, f"m of {centres}, {spread:g}", ("-i^1.1",), sizes, losses)
        few, many = found["-i^1.1"][0], found["-i^1.1"][-1]
        growing += float(np.mean(np.subtract(many, few))) > 0
    what = f"(b): generators, of {len(GENERATORS)}, whose loss is larger at m = {sizes[-1]}"
    note = f"{P13}; centres {', '.join(CENTRES)} x spreads {', '.join(map(str, SPREADS))}"
    return Row("Figure 1", what, growing, agrees(growing == len(GENERATORS)), note=note)


FIGURE1 = Experiment("predtron", "figure1", "Figure 1", "representations and norms", run)
