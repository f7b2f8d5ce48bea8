"""Proposition 4, Section 6.1 and Theorem 10: lengths of steps and of gradients, and dimensions."""

from __future__ import annotations

import itertools

import numpy as np

from rankwright.data.groups import Groups
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, holds
from rankwright.losses import SLAM, ListNet, Loss, RankHinge
from rankwright.metrics import AP, NDCG, Metric
from rankwright.online.slam_perceptron import SLAMFacts
from rankwright.theory import (
    SVMMAP,
    LargeMarginNDCG,
    chapelle_wu_rate,
    generalization,
    radius,
    score_gradient_norms,
    slam_proposition4,
)

METRICS: list[tuple[str, Metric]] = [
    ("ndcg", NDCG(ties="worst")),
    ("map", AP(ties="worst")),
    ("map-uniform", AP(ties="worst")),
    ("ndcg@3", NDCG(k=3, ties="worst")),
]
# What Section 6.1 says of the l1 norm, as a function of m.
CLAIMS: dict[str, tuple[Loss, str]] = {
    "SLAM": (SLAM("ndcg"), "at most 2"),
    "ListNet": (ListNet(), "at most 2"),
    "SVM-MAP [23]": (SVMMAP(), "constant"),
    "Chapelle, Le and Smola [9]": (LargeMarginNDCG(), "O(m^2)"),
    "RankSVM": (RankHinge(), "at most 2 m"),
}


def run(context: Context) -> Findings:
    """Measure what the paper proves or states."""
    draws = context.pick(2000, 20_000)
    sizes = context.pick((10, 40), (5, 10, 20, 40, 80))
    result = Findings(settings={"draws": draws, "documents": list(sizes)})
    for name, metric in context.each("Proposition 4", METRICS):
        key = {"what": "slam-proposition4", "metric": name, "draws": draws}
        worst = context.once(key, _largest_ratio, name, metric, draws)
        what = f"largest ratio of |z|^2 to 4 m R^2 v_max f, {name}, {draws:,} draws"
        result.rows.append(Row("Proposition 4", what, worst, holds(worst <= 1)))
    norms = {name: [_largest_norm(loss, m, 1) for m in sizes] for name, (loss, _) in CLAIMS.items()}
    result.rows += [_claim_row(name, norms[name], sizes) for name in CLAIMS]
    result.rows += [_rate_row(loss, name, sizes[-1]) for name, (loss, _) in CLAIMS.items()]
    result.rows += [_dimension_row(m, d) for m, d in ((2, 2), (3, 1), (3, 2), (4, 2))]
    result.figures.append(_norms_figure(sizes, norms))
    return result


def _norms_figure(sizes: tuple[int, ...], norms: dict[str, list[float]]) -> Figure:
    curves = {name: Curve.of(sizes, values) for name, values in norms.items()}
    caption = "Largest l1 norms of gradients by the scores, labels in reverse order (Section 6.1)"
    axes = ("documents of a query", "largest l1 norm of the gradient", True, True)
    return Figure("norms", caption, {"": Panel(curves, *axes)})


def _dimension_row(m: int, d: int) -> Row:
    found = equivariant_dimension(m, d)
    what = f"dimension of the equivariant linear maps, m = {m} documents, d = {d} features"
    note = "S8: not d; X w + 1 1' X w' has two vectors; w' adds a constant to all scores, harmless"
    return Row("Theorem 10", what, found, holds(found <= d), d, note=note)


def _largest_ratio(name: str, metric: Metric, draws: int) -> float:
    """Return the largest ratio of the step to its bound over random queries with a loss."""
    rng, loss, worst = np.random.default_rng(len(name)), SLAM(name), 0.0
    for _ in range(draws):
        m, d = int(rng.integers(2, 12)), int(rng.integers(1, 4))
        y, X = rng.integers(0, 3, m).astype(float), rng.normal(size=(m, d))
        scores, groups = X @ rng.normal(size=d) * 10 ** rng.uniform(-3, 1), Groups.one_query(m)
        if not metric.per_query(y, scores, groups)[0] < 1:  # NaN: nothing to order
            continue
        value, grad = loss.value_and_grad(scores, y)
        facts = SLAMFacts.of(loss.document_weights(y, groups), groups, loss.cutoff)
        bound = slam_proposition4(value, radius(X), facts.max_docs, facts.v_max)
        worst = max(worst, float(np.sum((X.T @ grad) ** 2)) / bound.value)
    return worst


def _largest_norm(loss: Loss, m: int, p: int) -> float:
    """Return the largest norm over labels in reverse order: r of m relevant, or all distinct."""
    scores = 5.0 * np.arange(m)
    labels = [(np.arange(m) < r).astype(float) for r in {1, m // 2, m - 1}]
    labels.append(np.arange(m, 0.0, -1))
    return max(float(score_gradient_norms(loss, scores, y, p=p)[0]) for y in labels)


def _claim_row(name: str, norms: list[float], sizes: tuple[int, ...]) -> Row:
    loss, claim = CLAIMS[name]
    m, last = sizes[-1], norms[-1]
    what = f"largest l1 norm of the gradient at {m} documents, {name}: {claim}"
    kept = {
        "at most 2": last <= 2 + 1e-9,
        "constant": np.ptp(norms) < 1e-9,
        "O(m^2)": last <= m * m / 2,
        "at most 2 m": last <= 2 * m,
    }[claim]
    note = f"never above {loss.lipschitz(m):g}"
    if name == "RankSVM":
        note = f"S9: one half of {m} relevant and all pairs violated give m^2/2; {note}"
    return Row("Section 6.1", what, last, holds(bool(kept)), note=note)


def _rate_row(loss: Loss, name: str, m: int) -> Row:
    """Compare Theorem 8's rate, without its 2 sqrt(2), with Chapelle and Wu's."""
    one, two = (_largest_norm(loss, m, p) for p in (1, 2))
    theirs = chapelle_wu_rate(two, 1.0, 10_000, 1.0, m).value
    ratio = theirs / (one / np.sqrt(10_000))
    bound = generalization(loss, 1.0, 10_000, 1.0, m=m).excess
    what = f"L2 sqrt(m/n) over L1 sqrt(1/n) at {m} documents, {name}"
    note = f"never below 1, as L1 <= sqrt(m) L2; with all constants Theorem 8 is {bound:.3g} here"
    return Row("Corollary 9", what, float(ratio), holds(ratio >= 1 - 1e-12), note=note)


def equivariant_dimension(m: int, d: int) -> int:
    """Return the dimension of the linear maps f with f(P X) = P f(X) for all permutations P.

    f is a matrix of shape (m, m d): the null space of the equations, by its singular values.
    """
    n, equations = m * d, []
    for order in itertools.permutations(range(m)):
        P = np.eye(m)[list(order)]
        # vec(P F - F (P x I)) = (P x I - I x (P x I)') vec(F), row by row.
        equations.append(np.kron(P, np.eye(n)) - np.kron(np.eye(m), np.kron(P, np.eye(d)).T))
    return int(m * n - np.linalg.matrix_rank(np.vstack(equations)))


NORMS = Experiment(
    "slam",
    "norms",
    "Proposition 4, Section 6.1, Corollary 9, Theorem 10",
    "lengths of steps and gradients",
    run,
)
