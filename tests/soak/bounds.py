"""Bounds of the online learners beside what they lose, on random and hostile streams.

A hostile stream is made piece by piece against the learner as it stands: of the examples those that
it has wrong, or labels that are not what it predicts. After each piece the loss so far must be at
most the bound so far, and in the end the bound must not depend on where the stream was cut. Ledgers
of warm starts begin with a learner that has seen some rounds, and stop and go on between pieces.
"""

from __future__ import annotations

import copy
import json
import math
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

import rankwright as rw
from rankwright.online import GuaranteeLog
from rankwright.online.ledger import Ledger
from rankwright.theory import link_radius
from tests.soak.kernels import with_kernels
from tests.soak.report import Report

COUNT = 10_000  # of each ledger
ROUNDING = 1 + 1e-9
HOW = ("random", "examples", "labels")
SCALES = ("none", "given", "none", "measured")
METRICS = ("ndcg", "map", "map-uniform", "ndcg@2")
LOSSES = ("listnet", "xendcg", "slam", "domination", "rank_hinge")
MODES = ("augmented", "predicted", "loss_driven")
NORMS = ("l2", "l1", "group", "trace")
Floats: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Literal["scores", "classes", "sets"]


@dataclass
class Game:
    """A learner, what it is compared with, and examples: rows with a label, or queries of rows.

    Attributes
    ----------
    kind : {"scores", "classes", "sets"}
        What it predicts of an example: a score for each document or label, a class, 0 and 1.
    """

    learner: Any
    comparator: Any
    X: list[Floats]
    y: list[Any]
    kind: Kind
    queries: bool = False
    classes: list[int] | None = None
    weighted: bool = False

    def predictions(self, learner: Any) -> list[Any]:
        """Return what a learner that has begun says of each example."""
        answers = learner.predict(np.concatenate(self.X))
        if not self.queries:
            return list(answers)
        ends = np.cumsum([len(x) for x in self.X])[:-1]
        return np.split(answers, ends)

    def wrong(self, answer: Any, y: Any) -> float:
        """Return how wrong an answer is."""
        if self.kind == "scores":
            above = np.subtract.outer(y, y) > 0
            return float(np.mean(above & (np.subtract.outer(answer, answer) <= 0)))
        return float(np.mean(answer != y))

    def hostile(self, answer: Any, y: Any, rng: np.random.Generator) -> Any:
        """Return a label that the learner has wrong."""
        if self.kind == "scores":
            against = np.empty_like(y)
            against[np.argsort(-answer, kind="stable")] = np.sort(y)
            return against
        if self.kind == "sets":
            return np.where(rng.random(len(y)) < 0.7, 1 - answer, answer)
        others = [label for label in self.classes or [] if label != answer]
        return others[int(rng.integers(len(others)))]

    def piece(self, how: str, size: int, rng: np.random.Generator) -> list[tuple[Floats, Any]]:
        """Return examples, chosen by what the learner says now."""
        at = rng.integers(len(self.X), size=size)
        if how == "random" or not self.learner.has_begun:
            return [(self.X[i], self.y[i]) for i in at]
        answers = self.predictions(self.learner)
        if how == "labels":
            return [(self.X[i], self.hostile(answers[i], self.y[i], rng)) for i in at]
        errors = [self.wrong(*pair) for pair in zip(answers, self.y, strict=True)]
        worst = np.argsort(np.negative(errors), kind="stable")[:size]
        return [(self.X[i], self.y[i]) for i in worst]

    def arrays(self, piece: list[tuple[Floats, Any]], first: int) -> tuple[Any, Any, Any]:
        """Return X, y and qid of examples, which are numbered from ``first`` on."""
        X, labels = np.concatenate([x for x, _ in piece]), [y for _, y in piece]
        if not self.queries:
            return X, np.array(labels), None
        return (
            X,
            np.concatenate(labels),
            np.repeat(np.arange(len(piece)), [len(y) for y in labels]) + first,
        )


# ---- streams ----


@dataclass
class Outcome:
    """Whether the bounds of a stream held, and how near it came to them."""

    faults: list[str] = field(default_factory=list)
    ratio: float = 0.0

    def require(self, what: str, loss: float, bound: float) -> None:
        """Note a loss above its bound; NaN is above everything."""
        if not loss <= bound * ROUNDING:
            self.faults.append(f"{what}: loss {loss!r} above the bound {bound!r}")
        elif loss > 0 and math.isfinite(bound):
            self.ratio = max(self.ratio, loss / bound)

    def alike(self, what: str, value: float, other: float) -> None:
        """Note values that differ by more than rounding."""
        if not (value == other or math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12)):
            self.faults.append(f"{what}: {value!r} in pieces, {other!r} at once")


def play(name: str, seed: int, i: int) -> Outcome:
    """Play stream i of a ledger; the same numbers make the same stream."""
    try:
        return _played(name, seed, i)
    except ValueError as error:
        # By a scale of its own a learner may find its step too long: it promises nothing, and says
        # so before the weights overflow.
        if "weights overflow with eta" not in str(error) or "widrow-hoff" not in name:
            raise
        return Outcome()


def _played(name: str, seed: int, i: int) -> Outcome:
    rng = np.random.default_rng([seed, i, *name.encode()])
    outcome, how, scaled = Outcome(), str(rng.choice(HOW)), str(rng.choice(SCALES))
    game = LEDGERS[name](rng, i)
    d = game.X[0].shape[1]
    scale: Any = {"none": False, "measured": True}.get(scaled)
    if scale is None:
        scale = np.exp2(rng.integers(-3, 4, d))
    # Which weights predict is no matter of the rounds, but of the adversary.
    variant = "last" if name.startswith("budget") else str(rng.choice(["last", "averaged"]))
    # In pieces and at once the same: what they would leave open to each is told.
    told = {"n_epochs": 1, "shuffle": False, "standardize": scale, "variant": variant}
    game.learner.set_params(**settled(game.learner, rng) | told)
    if name.startswith("warm"):
        return _played_on(game, how, rng)
    fresh, log = clone(game.learner), Log(game)
    stream: list[tuple[Floats, Any]] = []
    for _ in range(int(rng.integers(2, 5))):
        piece = game.piece(how, int(rng.integers(1, 6)), rng)
        loss, bound = log.add(*game.arrays(piece, len(stream)))
        stream += piece
        outcome.require(f"after {len(stream)} rounds", loss, bound)
    whole = game.arrays(stream, 0)
    if scaled == "measured":  # by the first piece: another cut is another learner
        fresh.set_params(n_epochs=2, shuffle=True)
    # fit knows the classes that are there, and those of a parameter.
    named = game.classes is None or "classes" in fresh.get_params()
    if named or set(whole[1].tolist()) == set(game.classes or []):
        guarantee = fresh.bound(game.comparator, *whole, **weights(game, whole))
        at_once = guarantee.terms["loss"], guarantee.value
        outcome.require("fit", *at_once)
    elif scaled != "measured":
        at_once = Log(replace(game, learner=fresh)).add(*whole)
    # Sums over the documents of a kernel are rounded by their blocks, which may break ties.
    if scaled != "measured" and not name.startswith("kernel"):
        outcome.alike("loss", loss, at_once[0])
        outcome.alike("bound", bound, at_once[1])
    return outcome


def _played_on(game: Game, how: str, rng: np.random.Generator) -> Outcome:
    """Play a stream of a learner that has begun, against any weights or those it has."""
    outcome, stream = Outcome(), list[tuple[Floats, Any]]()
    first = game.piece("random", int(rng.integers(1, 30)), rng)
    announced = {} if game.classes is None else {"classes": game.classes}
    if game.classes is not None and "classes" in game.learner.get_params():
        announced = {}
    data = game.arrays(first, 0)
    game.learner.partial_fit(*data, **announced | weights(game, data))
    if rng.random() < 0.5:
        game.comparator = game.learner.as_comparator()
    log, other = Log(game), Log(replace(game, learner=copy.deepcopy(game.learner)))
    cut_free = game.learner.cut_free
    for _ in range(int(rng.integers(2, 5))):
        piece = game.piece(how, int(rng.integers(1, 6)), rng)
        loss, bound = log.add(*game.arrays(piece, len(stream)))
        stream += piece
        outcome.require(f"{len(stream)} rounds after the start", loss, bound)
        log.restore()
    at_once = other.add(*game.arrays(stream, 0))
    outcome.require("at once", *at_once)
    if cut_free and (loss, bound) != at_once:
        outcome.faults.append(f"{(loss, bound)!r} in pieces, {at_once!r} at once")
    return outcome


def settled(learner: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Return what ``fit`` and ``partial_fit`` would settle otherwise."""
    found: dict[str, Any] = {}
    params = learner.get_params()
    if "threshold_step" in params:
        found["threshold_step"] = 4.0 ** int(rng.integers(-3, 4))
    if params.get("fit_intercept", False) is None:  # a comparator without has one of 0
        found["fit_intercept"] = isinstance(learner, rw.MulticlassPerceptron) and rng.random() < 0.5
    if params.get("mode") == "augmented" and params["eta"] is None:
        found["eta"] = "theory"
    return found


class Log:
    """The log of a game; with weights, which logs have not, what it is made of."""

    def __init__(self, game: Game) -> None:
        self.game, self.log = game, GuaranteeLog(game.comparator)
        self.ledger = Ledger(game.comparator)

    def add(self, X: Any, y: Any, qid: Any) -> tuple[float, float]:
        """Let the learner continue; return loss and bound so far."""
        game = self.game
        if not game.weighted:
            self.log.partial_fit(game.learner, X, y, qid, game.classes)
            entry = self.log.entries[-1]
            return entry.loss, entry.bound
        game.learner.partial_fit_rounds(X, y, qid, self.ledger, **weights(game, (X, y, qid)))
        guarantee = game.learner.guarantee(self.ledger)
        return guarantee.terms["loss"], guarantee.value

    def restore(self) -> None:
        """Go on from what a file would hold."""
        self.log = GuaranteeLog.from_state(json.loads(json.dumps(self.log.state())))


def weights(game: Game, data: tuple[Any, Any, Any]) -> dict[str, Floats]:
    """Return weights, which depend on the examples alone."""
    if not game.weighted:
        return {}
    X, _, qid = data
    return {"sample_weight": np.exp2(np.sign(X[:, 0])), "query_weight": 1.0 + qid % 3}


# ---- examples ----


def features(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Return rows of some size, now and then with many ties."""
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = np.sign(X)
    return X * 10.0 ** rng.integers(-2, 3)


def other(u: Floats, rng: np.random.Generator) -> Floats:
    """Return a comparator: the truth, something near it, or something else; of any length."""
    away = rng.choice([0.0, 0.0, 0.1, 10.0]) * np.abs(u).mean()
    return np.asarray((u + away * rng.normal(size=u.shape)) * 10.0 ** rng.uniform(-1, 2))


def grades(scores: Floats, k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return labels 0 .. k - 1 by scores and, half of the time, noise."""
    noise = rng.choice([0.0, 0.5]) * np.abs(scores).mean()
    s = scores + noise * rng.normal(size=scores.shape)
    return np.asarray(np.searchsorted(np.sort(rng.choice(s.ravel(), k - 1)), s))


def queries_of(rng: np.random.Generator, learner: Any, weighted: bool = False) -> Game:
    """Return a game of queries."""
    d = int(rng.integers(1, 6))
    ends = np.cumsum(rng.integers(2, 6, size=8))
    X, u = features(rng, int(ends[-1]), d), rng.normal(size=d)
    y = grades(X @ u, 3, rng).astype(np.float64)
    parts = np.split(X, ends[:-1]), np.split(y, ends[:-1])
    size = float(np.abs(X).max())
    return Game(learner, other(u / size, rng), *parts, "scores", queries=True, weighted=weighted)


def ranks_of(rng: np.random.Generator, learner: Any, k: int) -> Game:
    """Return a game of ordered classes, with weights and thresholds to compare with."""
    d = int(rng.integers(1, 6))
    X, w = features(rng, 12, d), rng.normal(size=d)
    s = X @ w
    b = np.sort(rng.choice(s, k - 1)) + 1e-2 * np.abs(s).max() * rng.random()
    noise = rng.choice([0.0, 0.5]) * np.abs(s).mean()
    ranks = ((s + noise * rng.normal(size=len(s)))[:, None] >= b).sum(axis=1)
    u = other(np.concatenate([w, b]), rng)
    return Game(learner, u, list(X[:, None]), ranks.tolist(), "classes", classes=list(range(k)))


def scores_of(
    rng: np.random.Generator, learner: Any, n_scores: int, kind: Kind, k: int = 0, bias: int = 1
) -> Game:
    """Return a game of rows with several scores, by which labels are made."""
    d = int(rng.integers(1, 6))
    X, U = features(rng, 12, d), rng.normal(size=(n_scores, d + bias))
    s = X @ U[:, :d].T + (U[:, d] if bias else 0.0)
    s += rng.choice([0.0, 0.5]) * np.abs(s).mean() * rng.normal(size=s.shape)
    labels: Any = (s > 0).astype(np.int64)
    if kind == "classes":
        labels = (labels[:, 0] if n_scores == 1 else s.argmax(axis=1)).tolist()
    u = other(U / max(1.0, float(np.abs(X).max())), rng)
    classes = list(range(k)) if kind == "classes" else None
    return Game(learner, u, list(X[:, None]), list(labels), kind, classes=classes)


# ---- ledgers ----


def slam(update: str) -> Callable[[np.random.Generator, int], Game]:
    """Return games of the SLAM perceptron."""

    def make(rng: np.random.Generator, i: int) -> Game:
        game = queries_of(rng, rw.SLAMPerceptron(METRICS[i % 4], update))
        if update == "paper":  # with its step, or with another
            longest = rw.theory.radius(np.concatenate(game.X))
            game.learner.set_params(radius=longest, max_docs=5, v_max=10.0)
            if i % 5 == 0:
                game.learner.set_params(eta=10.0 ** rng.uniform(-4, 0) / longest**2)
        return game

    return make


def online(rng: np.random.Generator, i: int) -> Game:
    """Return a game of online gradient descent."""
    schedule: Any = ("constant", "sqrt", "inverse")[i // 5 % 3]
    game = queries_of(rng, rw.OnlineRanker(LOSSES[i % 5], schedule=schedule), weighted=i % 2 == 1)
    size = float(np.abs(np.concatenate(game.X)).max())
    game.learner.set_params(eta=10.0 ** rng.uniform(-3, 0) / size**2)
    return game


def prank(rng: np.random.Generator, i: int) -> Game:
    """Return a game of PRank."""
    k = 2 + i % 4
    return ranks_of(rng, rw.PRank(classes=list(range(k))), k)


def widrow_hoff(rng: np.random.Generator, i: int) -> Game:
    """Return a game of Widrow-Hoff, compared with weights without thresholds."""
    k = 2 + i % 4
    game = ranks_of(rng, rw.WidrowHoff(classes=list(range(k))), k)
    X = np.concatenate(game.X)
    game.learner.set_params(eta=rng.uniform(0.05, 1.1) / rw.theory.radius(X) ** 2)
    least: Any = np.linalg.lstsq(X, np.array(game.y) + 1.0, rcond=None)[0]
    game.comparator = least * rng.choice([0.0, 1.0, 2.0])
    return game


def multiclass(update: str) -> Callable[[np.random.Generator, int], Game]:
    """Return games of the multiclass perceptron."""

    def make(rng: np.random.Generator, i: int) -> Game:
        k = 2 + i % 4
        learner = rw.MulticlassPerceptron(update, classes=list(range(k)))
        return scores_of(rng, learner, k, "classes", k, bias=0)

    return make


def predtron(mode: str, norm: Any) -> Callable[[np.random.Generator, int], Game]:
    """Return games of Predtron: all its problems, one after the other."""

    def make(rng: np.random.Generator, i: int) -> Game:
        options: dict[str, Any] = {"mode": mode, "norm": norm}
        problems = PROBLEMS if mode == "augmented" else PROBLEMS[:-1]
        game = problems[i % len(problems)](rng, options)
        learner = game.learner
        if mode == "augmented":
            groups = None
            if game.queries:
                groups = rw.data.Groups(np.cumsum([0, *map(len, game.X)]))
            X, intercept = np.concatenate(game.X), learner.fit_intercept
            r = link_radius(X, norm, groups, intercept=intercept)
            learner.set_params(radius=r * rng.choice([1.0, 1.0, 0.8, 3.0]))
            if "smallest_loss" in learner.get_params():
                learner.set_params(smallest_loss=0.05)
        return game

    return make


def _costs(rng: np.random.Generator) -> Floats:
    return np.where(np.eye(3, dtype=bool), 0.0, rng.uniform(0.2, 2.0, (3, 3)))


def _sets(loss: str) -> Callable[[np.random.Generator, dict[str, Any]], Game]:
    return lambda rng, o: scores_of(rng, rw.PredtronMultilabel(loss, **o), 4, "sets")


def _labels(loss: str) -> Callable[[np.random.Generator, dict[str, Any]], Game]:
    return lambda rng, o: scores_of(rng, rw.PredtronLabelRanker(loss, **o), 4, "scores")


def _queries(loss: str) -> Callable[[np.random.Generator, dict[str, Any]], Game]:
    return lambda rng, o: queries_of(rng, rw.PredtronRanker(loss, **o))


CLASSES = [0, 1, 2, 3, 4]
PROBLEMS: list[Callable[[np.random.Generator, dict[str, Any]], Game]] = [
    lambda rng, o: scores_of(rng, rw.PredtronClassifier(loss=[2.0, 0.5], **o), 1, "classes", 2),
    lambda rng, o: scores_of(rng, rw.PredtronClassifier(loss=_costs(rng), **o), 3, "classes", 3),
    lambda rng, o: scores_of(rng, rw.PredtronOrdinal(classes=CLASSES, **o), 5, "classes", 5),
    _sets("hamming"),
    _sets("subset"),
    _sets("error_set"),
    _queries("ndcg"),
    _queries("precision@2"),
    _labels("ndcg"),
    _labels("precision@2"),
    # Its predictions are not the most similar ones: for mode="augmented" only.
    lambda rng, o: scores_of(rng, rw.PredtronClassifier(reject=0.3, **o), 3, "classes", 3),
]

LEDGERS: dict[str, Callable[[np.random.Generator, int], Game]] = {
    **{f"slam-{update}": slam(update) for update in ("misordered", "paper", "printed")},
    "online-ranker": online,
    "prank": prank,
    "widrow-hoff": widrow_hoff,
    **{f"multiclass-{update}": multiclass(update) for update in ("uniform", "max")},
    **{f"predtron-{m}-{n}": predtron(m, n) for m, n in product(MODES, NORMS)},
}
LEDGERS |= with_kernels(LEDGERS)
# With a budget a guarantee is about runs from the start.
LEDGERS |= {f"warm-{name}": make for name, make in LEDGERS.items() if "budget" not in name}


def streams(name: str, count: int, seed: int) -> Iterator[tuple[int, Outcome]]:
    """Play so many streams of a ledger."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rankers that learn nothing say so
        for i in range(count):
            try:
                yield i, play(name, seed, i)
            except Exception as error:  # one stream of many: the others go on
                yield i, Outcome([f"{type(error).__name__}: {error}"])


def soak_ledger(name: str, count: int, seed: int) -> tuple[list[str], float]:
    """Play so many streams of a ledger; return what went wrong, and the largest loss over bound."""
    faults, nearest = [], 0.0
    for i, outcome in streams(name, count, seed):
        nearest = max(nearest, outcome.ratio)
        faults += [f"{name}, stream {i}, {fault}" for fault in outcome.faults]
    return faults, nearest


def soak(count: int, seed: int, workers: int | None = None) -> Report:
    """Play so many streams of every ledger, on all cores."""
    report, nearest = Report(), {}
    with ProcessPoolExecutor(workers) as pool:
        found = {name: pool.submit(soak_ledger, name, count, seed) for name in LEDGERS}
        for name, result in found.items():
            faults, nearest[name] = result.result()
            for fault in faults:
                report.fail(fault)
            report.count(name, count)
    report.facts["largest_loss_over_bound"] = {n: round(r, 4) for n, r in nearest.items()}
    return report
