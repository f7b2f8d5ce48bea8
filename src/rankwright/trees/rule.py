"""The scoring rule of forests, which needs NumPy and the kernels alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import gather
from rankwright.data.validation import Floats, Matrix, check_count, check_qid
from rankwright.exceptions import DataError
from rankwright.scoring.given import Intake
from rankwright.scoring.rules import ScoringRule
from rankwright.scoring.state import State
from rankwright.threads import n_threads
from rankwright.trees.forest import Forest, ForestScorer


@dataclass(frozen=True)
class TreeRule(ScoringRule):
    """A sum over trees for each row."""

    takes_missing: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("n_trees", "top_k", "qid")
    scorer: ForestScorer
    n_jobs: int | None = None

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of boosted trees."""
        return cls(compiled_forest(state), state.get("n_jobs"))

    def predict(self, intake: Intake, X: Any, **options: Any) -> Floats:
        """Return scores."""
        return self.scores(intake.rows(X), **options)

    def scores(
        self,
        X: Matrix,
        n_trees: int | None = None,
        top_k: int | None = None,
        qid: ArrayLike | None = None,
    ) -> Floats:
        """Return scores by the first trees; of the best rows of each query, if they are enough."""
        threads = n_threads(self.n_jobs)
        if top_k is None:
            if qid is not None:
                raise ValueError("qid is for top_k: scores do not depend on the query.")
            return self.scorer.scores(X, n_trees, threads=threads)
        check_count("top_k", top_k)
        top_k = min(top_k, X.shape[0])
        rows, groups = gather(check_qid(qid, X.shape[0]))
        if rows is None:
            return self.scorer.top(X, top_k, groups.indptr, n_trees, threads=threads)
        scores = np.empty(len(rows))
        scores[rows] = self.scorer.top(X[rows], top_k, groups.indptr, n_trees, threads=threads)
        return scores


def compiled_forest(state: State) -> ForestScorer:
    """Return the trees of a model; DataError unless its text is that of so many."""
    scorer = ForestScorer(Forest.from_text(state.get("model_text_"), state["n_features_in_"]))
    if state.get("n_iter_") != scorer.n_trees:
        raise DataError(f"n_iter_ must be {scorer.n_trees}, the number of trees.")
    return scorer
