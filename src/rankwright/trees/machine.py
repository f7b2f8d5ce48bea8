"""One machine of a fit: documents in bins, their gradients, and the trees that LightGBM grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.metrics.metric import Columns, Metric
from rankwright.trees.objective import Found, TreeObjective

if TYPE_CHECKING:
    from lightgbm import Booster


@dataclass(frozen=True)
class Watched:
    """Queries on which the metric is measured after each tree."""

    y: Floats
    groups: Groups
    columns: Columns


@dataclass(frozen=True)
class Grown:
    """A tree that has grown.

    Attributes
    ----------
    text : str
        The tree, where someone else must know it.
    values : dict of str to ndarray
        The metric of each query that is watched, with this tree.
    """

    text: str
    values: dict[str, Floats]


class Machine:
    """Some of the documents, and the booster that grows trees of them, alone or with others.

    Parameters
    ----------
    booster : Booster
        LightGBM's, with the training documents and, if any are watched, validation documents.
    objectives : sequence of TreeObjective
        Of the training documents, part after part; none if the loss is LightGBM's own.
    watched : mapping of {"train", "valid"} to sequence of Watched
        What is measured, part after part; of this machine there may be none.
    metric : Metric
        What is measured of them.
    n_jobs : int or None
        Threads.
    """

    def __init__(
        self,
        booster: Booster,
        objectives: Sequence[TreeObjective],
        watched: Mapping[str, Sequence[Watched]],
        metric: Metric,
        n_jobs: int | None,
    ) -> None:
        self.booster, self.objectives, self.watched = booster, objectives, watched
        self.metric, self.n_jobs = metric, n_jobs

    def find(self, iteration: int, at_least: float = 0.0) -> Found:
        """Compute gradients at the scores so far; ``iteration`` counts from 0."""
        if not self.objectives:
            return Found(0, (0.0, 0.0), 0.0)
        scores, found, begin = _scores(self.booster.eval_train), [], 0
        for objective in self.objectives:
            end = begin + objective.groups.n_rows
            found.append(objective.found(scores[begin:end], iteration, at_least))
            begin = end
        return Found.together(found)

    def grow(self, of_all: Found) -> Grown | None:
        """Grow a tree with these gradients, and measure; None if it has no split."""
        given: dict[str, Any] = {}
        if self.objectives:
            pairs = [objective.rounded(of_all) for objective in self.objectives]
            joined = tuple(_joined(values) for values in zip(*pairs, strict=True))
            given = {"fobj": lambda *_: joined}
        return None if self.booster.update(**given) else Grown(self.last_tree(), self.measure())

    def last_tree(self) -> str:
        """Return the last tree, if someone else must know it."""
        return ""

    def measure(self) -> dict[str, Floats]:
        """Return the metric of each query that is watched."""
        evaluate = {"train": self.booster.eval_train, "valid": self.booster.eval_valid}
        found = {}
        for name, parts in self.watched.items():
            values, begin = [np.empty(0)], 0
            scores = _scores(evaluate[name]) if parts else np.empty(0)
            for part in parts:
                end = begin + part.groups.n_rows
                values.append(self._measured(part, scores[begin:end]))
                begin = end
            found[name] = np.concatenate(values)
        return found

    def _measured(self, part: Watched, scores: Floats) -> Floats:
        return self.metric.per_query(
            part.y, scores, part.groups, columns=part.columns, n_jobs=self.n_jobs
        )


def _joined(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else np.concatenate(values)


def _scores(evaluate: Callable[..., Any]) -> Floats:
    """Return the scores so far; LightGBM hands them to a function only."""
    seen: list[Floats] = []

    def take(scores: Floats, _: Any) -> tuple[str, float, bool]:
        seen.append(scores)
        return "scores", 0.0, True

    evaluate(feval=take)
    return seen[0]
