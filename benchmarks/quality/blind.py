"""Test labels apart from what is fitted, until all choices are on the disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.comparison import Comparison
from rankwright.data.dataset import Dataset
from rankwright.evaluation.folds import Fold
from rankwright.metrics import parse


@dataclass(frozen=True, eq=False)
class Sealed:
    """A set of folds: what contenders may see, and the answers, which only :meth:`judge` reads."""

    name: str
    folds: tuple[Fold, ...]
    _answers: Mapping[str, Dataset]

    @classmethod
    def of(cls, name: str, folds: Sequence[Fold]) -> Sealed:
        """Take the test labels out of folds."""
        hidden = tuple(replace(fold, test=without_labels(fold.test)) for fold in folds)
        return cls(name, hidden, {fold.name: fold.test for fold in folds})

    def judge(
        self, comparison: Comparison, contenders: Sequence[str], metrics: Sequence[str]
    ) -> dict[str, list[dict[str, NDArray[Any]]]]:
        """Return the metrics by query, of each contender that did not fail, on each fold.

        Raises
        ------
        RuntimeError
            If a contender has not written its choice and its scores on every fold: who sees some
            test figures could still change the others.
        """
        failed = {failure.model for failure in comparison.failures}
        finished = [name for name in contenders if name not in failed]
        for name, fold in product(finished, self.folds):
            found = comparison.outcomes.get((name, fold.name))
            if found is None or found.path is None or not found.path.is_dir():
                raise RuntimeError(
                    f"{self.name}: {name} must have written its choice on {fold.name} before any "
                    "test label is read. Run it again; only what is missing is done."
                )
        return {
            name: [self._measured(comparison, name, fold.name, metrics) for fold in self.folds]
            for name in finished
        }

    def _measured(
        self, comparison: Comparison, name: str, fold: str, metrics: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        test, scores = self._answers[fold], comparison.outcomes[name, fold].scores
        return {m: parse(m).per_query(test.y, scores, test.groups) for m in metrics}


def without_labels(test: Dataset) -> Dataset:
    """Return the same documents; the first of each query is relevant, which says nothing.

    Some label must be there: a comparison asks for queries that can be measured.
    """
    labels = np.zeros(test.n_docs)
    labels[test.groups.indptr[:-1]] = 1.0
    return test.with_labels(labels)
