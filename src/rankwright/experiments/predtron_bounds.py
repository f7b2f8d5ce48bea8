"""Theorem 1 and its corollaries: the loss of a run against its bound, for each kind of problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, holds
from rankwright.predtron import (
    Predtron,
    PredtronClassifier,
    PredtronLabelRanker,
    PredtronMultilabel,
    PredtronOrdinal,
    PredtronRanker,
)
from rankwright.problems import Binary, Ranking
from rankwright.theory import (
    link_radius,
    predtron_corollary,
    predtron_margins,
    predtron_theorem1,
    weight_norm,
)

N_DOCS = 6  # of a query
MODES = ("augmented", "predicted", "loss_driven")
COSTS = [[0, 1, 4, 2], [2, 0, 1, 1], [1, 3, 0, 1], [5, 1, 2, 0]]  # by prediction and class


@dataclass(frozen=True)
class Case:
    """A problem, a norm, and where the paper speaks of it."""

    name: str
    source: str
    learner: Any
    stream: str = "classes"
    parameters: dict[str, Any] = field(default_factory=dict)
    modes: Sequence[str] = MODES
    n_features: int = 6

    @property
    def links(self) -> bool:
        """Whether the norm is another one than l2."""
        return "norm" in self.parameters


def _linked(name: str, source: str, learner: Any, stream: str, norm: str) -> Case:
    return Case(f"{name}, {norm}", source, learner, stream, {"norm": norm}, n_features=30)


CASES = [
    Case("binary", "Theorem 1", PredtronClassifier, "two classes"),
    Case("multiclass", "Theorem 1", PredtronClassifier),
    Case("ordinal", "Theorem 1", PredtronOrdinal),
    Case("multilabel", "Theorem 1", PredtronMultilabel, "sets"),
    Case("subset ranking", "Theorem 1", PredtronRanker, "queries"),
    Case("label ranking", "Theorem 1", PredtronLabelRanker, "rankings"),
    Case(
        "binary with costs",
        "Corollary 2",
        PredtronClassifier,
        "two classes",
        {"loss": [[0, 1], [5, 0]]},
    ),
    Case("multiclass with costs", "Corollary 2", PredtronClassifier, "classes", {"loss": COSTS}),
    # To reject compares scores with costs, and only augmented updates put them on one scale.
    Case(
        "with an option to reject",
        "Section 3",
        PredtronClassifier,
        "classes",
        {"reject": 0.3},
        ("augmented",),
    ),
    _linked("multiclass", "Predtron.Link", PredtronClassifier, "classes", "l1"),
    _linked("multiclass", "Predtron.Link", PredtronClassifier, "classes", "group"),
    _linked("multiclass", "Predtron.Link", PredtronClassifier, "classes", "trace"),
    _linked("subset ranking", "Corollary 6", PredtronRanker, "queries", "l1"),
    _linked("label ranking", "Corollary 8", PredtronLabelRanker, "rankings", "group"),
    _linked("multilabel", "Predtron.Link", PredtronMultilabel, "sets", "trace"),
]


def run(context: Context) -> Findings:
    """Replay streams of growing length with a comparator that is right about them."""
    lengths = context.pick((30, 100), (30, 100, 300, 1000, 3000))
    result = Findings(settings={"rounds": list(lengths), "features": "6, with links 30"})
    panels: dict[str, dict[str, Panel]] = {"bounds": {}, "links": {}}
    for case in context.each("problems", CASES):
        curves = {}
        for mode in case.modes:
            key = {"what": "predtron-bounds", "problem": case.name, "mode": mode}
            runs = context.once(key | {"n": list(lengths)}, _runs, case, mode, list(lengths))
            losses, values = zip(*runs, strict=True)
            curves[f"loss, {mode}"] = Curve.of(lengths, losses)
            curves[f"bound, {mode}"] = Curve.of(lengths, values)
            ratio = float(np.max(np.divide(losses, values)))
            what = f"{case.name}, {mode}: largest ratio of what happened to the bound"
            result.rows.append(Row(case.source, what, ratio, holds(ratio <= 1)))
        panel = Panel(curves, "rounds", "cumulative loss", True, True)
        panels["links" if case.links else "bounds"][case.name] = panel
    result.rows += [_printed_corollary(number, lengths[-1]) for number in (5, 6, 7, 8)]
    result.rows.append(_printed_costs())
    caption = "What happened and what is guaranteed (mistakes in predicted mode)"
    result.figures.append(Figure("bounds", caption, panels["bounds"]))
    result.figures.append(Figure("links", f"{caption}, margins by other norms", panels["links"]))
    return result


def _runs(case: Case, mode: str, lengths: list[int]) -> list[tuple[float, float]]:
    found = []
    for n in lengths:
        X, y, qid, u = labelled_stream(case.stream, n, case.n_features)
        learner = case.learner.paper(mode=mode, **case.parameters)
        more = () if qid is None else (qid,)
        guarantee = learner.bound(u, X, y, *more)
        found.append((float(guarantee.terms["loss"]), float(guarantee.value)))
    return found


def labelled_stream(kind: str, n: int, p: int) -> tuple[Floats, Any, Any, Floats]:
    """Return n examples with labels by a comparator, their queries if any, and the comparator."""
    rng = np.random.default_rng([n, p, len(kind)])
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    u = rng.normal(size=(1 if kind == "two classes" else 4, p))
    if p > 8:
        u[:, 8:] = 0  # few features tell, as links like it
    scores = X @ u.T
    if kind == "queries":
        docs = rng.normal(size=(n * N_DOCS, p))
        y = np.clip(np.round(docs @ u[0]), 0, 3)
        return docs, y, np.repeat(np.arange(n), N_DOCS), 5 * u[0]
    labels = {
        "two classes": (scores[:, 0] > 0).astype(int),
        "classes": np.argmax(scores, axis=1),
        "sets": (scores > 0).astype(int),
        "rankings": np.argsort(np.argsort(scores, axis=1), axis=1),
    }
    return X, labels[kind], None, 5 * u


def _printed_corollary(number: int, n: int) -> Row:
    """Run Algorithm 1 on rankings with distinct labels and a margin; compare with what is printed.

    5 and 6 are about queries, which share a weight for each feature, 7 and 8 about labels.
    """
    norm: Any = {5: "l2", 6: "l1", 7: "l2", 8: "group"}[number]
    p, m = 30, 4
    rng = np.random.default_rng(number)
    X = rng.normal(size=(4 * n, m, p) if number < 7 else (4 * n, p))
    u = rng.normal(size=p if number < 7 else (m, p))
    u[..., 8:] = 0
    scores = X @ u if number < 7 else X @ u.T
    # With a margin: neighbours in the ranking stay apart.
    apart = np.diff(np.sort(scores, axis=1), axis=1).min(axis=1)
    kept = np.argsort(-apart)[:n]
    X, scores = X[kept], scores[kept]
    labels = np.argsort(np.argsort(scores, axis=1), axis=1)
    margin = predtron_margins(Ranking(), scores, labels).strict / weight_norm(u, norm)
    if number < 7:
        groups = Groups(np.arange(0, n * m + 1, m))
        data: tuple[Any, ...] = (X.reshape(-1, p), labels.ravel(), groups.query_of_rows())
        learner: Any = PredtronRanker.paper(norm=norm)
        radius = link_radius(data[0], norm, groups)
    else:
        data, radius = (X, labels), link_radius(X, norm)
        learner = PredtronLabelRanker.paper(norm=norm)
    loss = float(learner.fit(*data).cumulative_loss_)
    bound = predtron_corollary(number, margin, radius, m - 1, m, p).value
    what = f"{'queries' if number < 7 else 'labels'}, {norm}: cumulative loss of Algorithm 1"
    note = "P11: valid and far too large"
    return Row(f"Corollary {number}", what, loss, holds(loss <= bound), bound, note=note)


def _printed_costs() -> Row:
    """P4: Corollary 2 as printed, with two orthogonal points of one class that cost 10 each."""
    problem, X = Binary((10.0, 10.0)), np.eye(2)
    loss = float(Predtron.paper(problem=problem).fit(X, [1, 1]).cumulative_loss_)
    U = np.full((1, 2), np.sqrt(0.5))
    margin = predtron_margins(problem, X @ U.T, [1, 1]).strict
    printed = 4 * 10**2 / (10**2 * margin**2)
    right = predtron_theorem1(margin, 1.0, smallest_loss=10.0, largest_loss=10.0).value
    note = f"P4: with alpha_2 in place of its square the bound is {right:.3g}"
    what = "cumulative loss of two orthogonal points, costs (10, 10)"
    return Row("Corollary 2", what, loss, holds(loss <= printed), printed, note=note)


BOUNDS = Experiment(
    "predtron",
    "bounds",
    "Theorem 1, Corollary 2, Section 3, Predtron.Link, Corollaries 5 to 8",
    "losses and bounds of problems, costs, rejection and norms",
    run,
)
