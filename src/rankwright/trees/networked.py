"""A machine among others: its documents are mapped from files, its trees grow over a network.

It is a process that :func:`serve_machine` runs. LightGBM hangs, spins or aborts when another
machine is lost, and so it has a process that can be ended at any time.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import clone

from rankwright.blas import one_blas_thread
from rankwright.data.alignment import Features
from rankwright.data.dataset import Dataset
from rankwright.data.each import EachHere
from rankwright.data.hashing import combine
from rankwright.data.pages import give_freed_back
from rankwright.data.validation import Floats, Matrix
from rankwright.inputs import WeightColumn, part_data
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import columns_of
from rankwright.processes import begin_to_serve, pickled, reason, receive, send, sendable
from rankwright.trees import engine, model_text
from rankwright.trees.additive import Additive
from rankwright.trees.forest import Forest, ForestScorer
from rankwright.trees.machine import Machine, Watched
from rankwright.trees.objective import Found, objective_of

if TYPE_CHECKING:
    from lightgbm import Booster

_PR_SET_PDEATHSIG = 1
_AT_A_TIME = 1 << 24  # values that stay in memory while one tree after the other looks at them


class Openable(Protocol):
    """A part that travels to another process in its place."""

    def open(self) -> Dataset:
        """Return the part."""


@dataclass(frozen=True)
class FitPlan:
    """What all machines of a fit have in common.

    Attributes
    ----------
    ranker : BoostedRanker
        The parameters.
    loss : Loss or Directions
        What the trees lower.
    params : dict
        LightGBM's.
    metric : Metric
        What is measured.
    watched : tuple of {"train", "valid"}
        What it is measured on.
    features : Features
        Those of the training documents.
    weights : tuple of (str, callable or None)
        Weights of documents, and of queries.
    base : Additive or None
        What the trees go on from.
    """

    ranker: Any
    loss: Any
    params: Mapping[str, Any]
    metric: Metric
    watched: tuple[str, ...]
    features: Features
    weights: tuple[WeightColumn | None, WeightColumn | None]
    base: Additive | None = None

    @property
    def draws(self) -> bool:
        """Whether LightGBM draws features, or thresholds."""
        ranker = self.ranker
        return bool(ranker.colsample < 1 or ranker.colsample_bynode < 1 or ranker.extra_trees)

    def seeds(self, iteration: int) -> dict[str, int]:
        """Return the seeds of one tree, so that it does not hang on how many were grown here."""
        key = np.array([iteration], dtype=np.uint64)
        names = ("feature_fraction_seed", "extra_seed")
        seed = int(self.ranker.random_state)
        return {name: int(combine(seed + i, key)[0] >> 33) for i, name in enumerate(names)}


@dataclass(frozen=True)
class Seat:
    """What one machine is given.

    Attributes
    ----------
    plan : FitPlan
        What all have in common.
    train, valid : sequence of Openable
        Its parts; of validation parts there may be none.
    bins : bytes
        The bins of the features, packed.
    trees : sequence of str
        The trees so far.
    addresses : sequence of str
        IPv4 addresses and ports of all machines.
    rank : int
        Which of them is this one.
    threads : int
        How many it has.
    """

    plan: FitPlan
    train: Sequence[Openable]
    valid: Sequence[Openable]
    bins: bytes
    trees: Sequence[str]
    addresses: Sequence[str]
    rank: int
    threads: int

    def params(self) -> dict[str, Any]:
        """Return LightGBM's parameters, but for the network."""
        return {**self.plan.params, "num_threads": self.threads}

    def network(self) -> dict[str, Any]:
        """Return LightGBM's parameters for the network."""
        return {
            "tree_learner": "data",
            "machines": ",".join(self.addresses),
            "num_machines": len(self.addresses),
            "local_listen_port": int(self.addresses[self.rank].rpartition(":")[2]),
            "time_out": 10,  # minutes until all must be there; who is late is lost before
        }


class PreparedMachine:
    """A machine before it meets the others: documents in bins, and the loss on them.

    How long that takes depends on the parts, and LightGBM does not wait long for who is late.
    """

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        plan, params = seat.plan, seat.params()
        train = [part.open() for part in seat.train]
        valid = [part.open().aligned(plan.features, "valid") for part in seat.valid]
        ranker = clone(plan.ranker).set_params(n_jobs=seat.threads)
        self.objectives = [
            objective_of(ranker, plan.loss, part_data(part, *plan.weights)) for part in train
        ]
        both = {"train": train, "valid": valid}
        self.watched = {
            name: [_as_watched(part, plan.metric) for part in both[name]] for name in plan.watched
        }
        bins = engine.unpacked_bins(params, seat.bins)
        self.binned = [
            engine.binned_parts(params, [part.X for part in parts], bins) if parts else None
            for parts in (train, valid)
        ]
        self.starts = [_scores_of(seat, parts) for parts in (train, valid)]
        give_freed_back()

    def connected(self) -> NetworkedMachine:
        """Meet the others: it returns when all are there."""
        params = {**self.seat.params(), **self.seat.network()}
        train, valid = self.binned
        booster = engine.networked_booster(params, train, valid, self.starts)
        return NetworkedMachine(self, booster)


class NetworkedMachine(Machine):
    """A machine that grows trees with others, of documents in parts."""

    def __init__(self, prepared: PreparedMachine, booster: Booster) -> None:
        seat = prepared.seat
        self.plan = seat.plan
        super().__init__(
            booster, prepared.objectives, prepared.watched, self.plan.metric, seat.threads
        )

    def find(self, iteration: int, at_least: float = 0.0) -> Found:
        """Compute gradients at the scores so far; ``iteration`` counts from 0."""
        if self.plan.draws and at_least == 0:
            # LightGBM draws once more before a booster's first tree than before others. Whoever
            # sets a seed draws, too: the second time makes up for that.
            for _ in range(1 if self.booster.current_iteration() == 0 else 2):
                self.booster.reset_parameter(self.plan.seeds(iteration))
        return super().find(iteration, at_least)

    def last_tree(self) -> str:
        """Return the last tree, as a model of one tree."""
        last = self.booster.current_iteration() - 1
        return model_text.trim(self.booster.model_to_string(num_iteration=1, start_iteration=last))


def _as_watched(part: Dataset, metric: Metric) -> Watched:
    return Watched(part.y, part.groups, columns_of(part, [metric]))


def _scores_of(seat: Seat, parts: Sequence[Dataset]) -> Floats | None:
    """Return the scores of the base, and by the trees so far; None where all are 0.

    Trees are added one after the other to what the base says, as LightGBM adds them: a sum over
    trees that is added to the base would have other last bits.
    """
    base = seat.plan.base
    if not parts or (base is None and not seat.trees):
        return None
    trees = [ForestScorer(Forest.from_text(tree, seat.plan.features.n)) for tree in seat.trees]
    scores = partial(_scores_of_rows, base=base, trees=trees, threads=seat.threads)
    return np.concatenate(list(EachHere(part.X for part in parts).tell(scores)))


def _scores_of_rows(
    X: Matrix, *, base: Additive | None, trees: Sequence[ForestScorer], threads: int
) -> Floats:
    scores = np.zeros(X.shape[0]) if base is None else base.scores(X, threads)
    step = max(1, _AT_A_TIME // max(1, X.shape[1]))
    for i in range(0, X.shape[0], step):
        rows = X[i : i + step]
        for tree in trees:
            scores[i : i + step] += tree.scores(rows, threads=threads)
    return scores


# ---- the process ----


def serve_machine() -> None:
    """Be a machine: ``prepare`` names a file with a :class:`Seat`, then all ``connect``."""
    end_with_parent()
    requests, replies = begin_to_serve()
    machine: Any = None
    with one_blas_thread():
        while True:
            try:
                what, arguments = receive(requests)
            except EOFError:
                os._exit(0)
            answer: tuple[str, Any] = "done", None
            try:
                if what == "prepare":
                    machine = PreparedMachine(pickle.loads(Path(*arguments).read_bytes()))
                elif what == "connect":
                    machine = machine.connected()
                else:
                    answer = "done", getattr(machine, what)(*arguments)
            except BaseException as error:  # reported, whatever it is
                lost = engine.is_lightgbms(error)
                answer = ("lost", reason(error)) if lost else ("failed", sendable(error))
            try:
                send(replies, pickled(answer))
            except BrokenPipeError:  # nobody is left to hear it
                os._exit(0)


def end_with_parent() -> None:
    """Let the system end this process with its parent, even if it stands still."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
