"""The machines of a fit: each has some of the documents, and all grow the same trees."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from rankwright.data.validation import Floats
from rankwright.inputs import levels_up
from rankwright.metrics.metric import Metric, mean_of_queries
from rankwright.trees.machine import Grown, Machine
from rankwright.trees.objective import Found

Result = TypeVar("Result")


class Machines(ABC):
    """What boosting asks of its machines, however many there are.

    Parameters
    ----------
    metric : Metric
        What is measured after each tree.
    subsample : float
        Share of the queries that each tree learns from.
    """

    def __init__(self, metric: Metric, subsample: float) -> None:
        self.metric, self.subsample = metric, subsample

    @abstractmethod
    def ask(self, what: str, *arguments: Any) -> list[Any]:
        """Return what each machine answers to a call of one of its methods."""

    def grow(self, iteration: int) -> dict[str, float] | None:
        """Grow a tree, counted from 0, and return what :meth:`measure` does; None without split."""
        grown = self.grown(iteration)
        return None if grown is None else self._means([one.values for one in grown])

    def grown(self, iteration: int) -> list[Grown] | None:
        """Grow a tree, and return what each machine says of it; None if it has no split."""
        found = Found.together(self.ask("find", iteration))
        if found.lowest > self.subsample:  # one query always is in the sample
            found = Found.together(self.ask("find", iteration, found.lowest))
        grown = self.ask("grow", found)
        return None if None in grown else grown

    def measure(self) -> dict[str, float]:
        """Return the metric of what is watched: ``"train"``, ``"valid"``, both or nothing."""
        return self._means(self.ask("measure"))

    def _means(self, seen: Sequence[Mapping[str, Floats]]) -> dict[str, float]:
        return {
            name: mean_of_queries(np.concatenate([one[name] for one in seen]), str(self.metric))
            for name in seen[0]
        }


class OneMachine(Machines):
    """A process alone, with all documents in its memory."""

    def __init__(self, machine: Machine, subsample: float) -> None:
        super().__init__(machine.metric, subsample)
        self.machine = machine

    def ask(self, what: str, *arguments: Any) -> list[Any]:
        """Call the method."""
        return [getattr(self.machine, what)(*arguments)]


class MachineLostError(ConnectionError):
    """A machine has ended, stands still, or cannot reach the others."""


class SeveralMachines(Machines):
    """Machines that grow trees over a network, and may be lost.

    The trees so far are kept here. Whatever happens to one machine, all are ended at once: LightGBM
    would wait for the lost one for ever. Then they are started again, and go on behind the last
    tree. Trees are a function of the documents, of the seed and of the trees before them, so that
    they are the same ones.

    Parameters
    ----------
    metric : Metric
        What is measured after each tree.
    subsample : float
        Share of the queries that each tree learns from.
    restarts : int
        How many times they may be started again.
    """

    def __init__(self, metric: Metric, subsample: float, restarts: int) -> None:
        super().__init__(metric, subsample)
        self.trees: list[str] = []
        self.restarts = restarts
        self._running = False

    @abstractmethod
    def start(self, trees: Sequence[str]) -> None:
        """Start all machines, with the scores of the trees that there are."""

    @abstractmethod
    def close(self) -> None:
        """End all machines, whatever they are doing; they may be started again."""

    def grown(self, iteration: int) -> list[Grown] | None:
        """Grow a tree, whatever happens to the machines meanwhile."""
        grown = self._surely(super().grown, iteration)
        if grown is None:
            return None
        if len({one.text for one in grown}) > 1:
            raise RuntimeError(
                f"all machines must grow the same trees, but did not at tree {iteration + 1}: they "
                "must have the same version of LightGBM, and processors of one family."
            )
        self.trees.append(grown[0].text)
        return grown

    def measure(self) -> dict[str, float]:
        """Measure, whatever happens to the machines meanwhile."""
        return self._surely(super().measure)

    def _surely(self, do: Callable[..., Result], *arguments: Any) -> Result:
        while True:
            try:
                if not self._running:
                    self.start(self.trees)
                    self._running = True
                return do(*arguments)
            except MachineLostError as lost:
                self._running = False
                self.close()
                if self.restarts == 0:
                    raise
                self.restarts -= 1
                text = f"{lost} All are started again, behind tree {len(self.trees)}."
                warnings.warn(text, RuntimeWarning, stacklevel=levels_up())
