r"""Why one document stands above another: what each feature adds to the difference of their scores.

A score is a sum over features, :math:`s(x) = c_0 + \sum_j c_j(x)`, so that

.. math:: s(x_a) - s(x_b) = \sum_j c_j(x_a) - c_j(x_b).

For a linear model :math:`c_j(x) = w_j x_j`, and nothing else is possible. For trees they are SHAP
values: the one way to share a score among features that is fair in Shapley's sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright.data.alignment import Features, columns_for, take_columns
from rankwright.data.dataset import Dataset
from rankwright.data.framing import Backend, frame_of
from rankwright.data.validation import Floats, check_names, check_X
from rankwright.evaluation.views import explanation_html


@dataclass(frozen=True)
class Reason:
    """What one feature adds to the difference of two scores.

    Attributes
    ----------
    feature : str
        Its name.
    difference : float
        By how much it lifts the first document above the second.
    value, other_value : float
        The feature of the first and of the second document.
    """

    feature: str
    difference: float
    value: float
    other_value: float

    def __repr__(self) -> str:
        values = f"{self.value:g} against {self.other_value:g}"
        return f"{self.difference:+.4f}  {self.feature} ({values})"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """A ranking of a query's documents, and what each feature adds to their scores.

    Attributes
    ----------
    scores : ndarray of shape (n_docs,)
        Scores.
    contributions : ndarray of shape (n_docs, n_features)
        What each feature adds; a row sums to its score minus ``start``.
    start : float
        The score that all documents start from.
    features : ndarray of shape (n_docs, n_features)
        The features.
    feature_names : list of str
        Their names.
    doc_ids : list of str, optional
        What the documents are called.
    """

    scores: Floats
    contributions: Floats
    start: float
    features: NDArray[Any]
    feature_names: list[str]
    doc_ids: list[str] | None = None

    def called(self, row: int) -> str:
        """Return the id of a document, or else which row it is."""
        return f"row {row}" if self.doc_ids is None else self.doc_ids[row]

    @property
    def order(self) -> NDArray[np.int64]:
        """Rows, the best first; equal scores in row order."""
        return np.argsort(-self.scores, kind="stable")

    def why(self, a: int, b: int) -> list[Reason]:
        """Say why row ``a`` has another score than row ``b``: the weightiest reasons first.

        The differences of all reasons sum to the difference of the scores.
        """
        n = len(self.scores)
        for row in (a, b):
            if not -n <= row < n:
                raise IndexError(f"rows must be below {n}, but one is {row}.")
        difference = self.contributions[a] - self.contributions[b]
        return [
            Reason(
                self.feature_names[j],
                float(difference[j]),
                float(self.features[a, j]),
                float(self.features[b, j]),
            )
            for j in np.argsort(-np.abs(difference), kind="stable").tolist()
        ]

    def text(self, a: int, b: int, n_reasons: int = 5) -> str:
        """Say the same in words, with the first few reasons."""
        lead = float(self.scores[a] - self.scores[b])
        place = "above" if lead > 0 else "below" if lead < 0 else "level with"
        reasons = self.why(a, b)
        scores = f"{self.scores[a]:.4f} against {self.scores[b]:.4f}"
        lines = [f"{self.called(a)} stands {place} {self.called(b)}: {scores}"]
        lines += [f"  {reason}" for reason in reasons[:n_reasons]]
        others = reasons[n_reasons:]
        if others:
            rest = sum(reason.difference for reason in others)
            lines.append(f"  {rest:+.4f}  {len(others)} other features")
        return "\n".join(lines)

    def __repr__(self) -> str:
        if len(self.scores) < 2:
            return f"Explanation({len(self.scores)} document)"
        first, second = self.order[:2].tolist()
        return self.text(first, second)

    def _repr_html_(self) -> str:
        return explanation_html(self)

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """Return a data frame with a row for each document and feature, the best document first.

        ``backend`` is "pandas", "polars" or "pyarrow"; by default the first that is installed.
        """
        order, (n_docs, n_features) = self.order, self.contributions.shape
        columns = {
            "rank": np.repeat(np.arange(1, n_docs + 1), n_features),
            "row": np.repeat(order, n_features),
            "score": np.repeat(self.scores[order], n_features),
            "feature": self.feature_names * n_docs,
            "value": self.features[order].ravel(),
            "contribution": self.contributions[order].ravel(),
        }
        return frame_of(columns, backend)


def explain(model: Any, X: Any, feature_names: Sequence[str] | None = None) -> Explanation:
    """Share the scores of a query's documents among the features.

    Parameters
    ----------
    model : LinearRanker, BoostedRanker or another fitted model
        One that has weights (``coef_``) or tells what features add (``contributions``).
    X : array-like, data frame or sparse matrix of shape (n_docs, n_features), or Dataset
        Documents of one query; those of a data set are called by their ids.
    feature_names : sequence of str, optional
        Names of the columns, which are brought into the order of the model's if it knows names. By
        default those of the data frame or of the model, else ``feature 1``, ...

    Examples
    --------
    >>> import rankwright as rw
    >>> X, y = [[1.0, 0.0], [3.0, 1.0], [0.0, 2.0]], [1, 2, 0]
    >>> model = rw.LinearRanker("listnet", alpha=0.1).fit(X, y)
    >>> found = rw.evaluation.explain(model, X, ["clicks", "age"])
    >>> print(found.text(1, 0))
    row 1 stands above row 0: 1.5129 against 0.5521
      +1.1042  clicks (3 against 1)
      -0.1434  age (1 against 0)
    """
    from rankwright.estimator import as_model
    from rankwright.scoring.frames import align_frame, column_names

    ids = None
    if isinstance(X, Dataset):
        ids = None if X.doc_ids is None else [str(name) for name in X.doc_ids]
        asked = as_model(model, X.n_features)
        X = asked.align(X)
        feature_names, X = X.feature_names or feature_names, X.X
    asked = as_model(model, np.shape(X)[1])
    known, names = asked.features(), column_names(X)
    if names is not None:
        X = align_frame(X, names, known)
    matrix = check_X(X if sp.issparse(X) else np.asarray(X), allow_nan=True)
    if names is None and feature_names is not None:
        names = check_names(feature_names, int(matrix.shape[1]))
        if known.names is not None:
            given = Features(len(feature_names), names, "X")
            matrix = take_columns(matrix, columns_for(known, given))
    matrix = asked.filled_in(matrix)
    contributions, start = asked.contributions(matrix)
    scores = np.asarray(model.predict(matrix), dtype=np.float64)
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    shown = names if known.names is None and names is not None else asked.feature_names()
    added = np.asarray(contributions, dtype=np.float64)
    return Explanation(scores, added, start, dense, shown, ids)
