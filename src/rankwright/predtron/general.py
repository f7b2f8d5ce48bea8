"""Predtron for a problem of your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import gather
from rankwright.data.validation import Floats, check_qid
from rankwright.inputs import check_rows
from rankwright.online.base import Given
from rankwright.online.parameters import parametrized
from rankwright.predtron.learner import PredtronLearner
from rankwright.predtron.rounds import Mode, PredtronData
from rankwright.problems.native import Native
from rankwright.problems.problem import Problem
from rankwright.score import mean_score
from rankwright.theory.links import NormName


@parametrized
class Predtron(PredtronLearner):
    r"""The general algorithm, for any problem.

    .. math::
        \nabla\psi(W) \leftarrow \nabla\psi(W)
        - \eta\, s\, (\mathrm{rep}(\tilde\sigma) - \mathrm{rep}(\sigma_y))\, x^\top
        \quad\text{when } L(\mathrm{pred}(W x), y) > 0

    ``mode`` chooses :math:`\tilde\sigma` and :math:`s`:

    - ``"augmented"``: the loss-augmented prediction
      :math:`\arg\max_\sigma L(\sigma, y) + \langle\mathrm{rep}(\sigma), W x\rangle`, s = 1, with
      :math:`\eta = c_L/(4R^2)` (Algorithm 1);
    - ``"predicted"``: the prediction itself, s = 1; no step to choose, since the run does not
      depend on it;
    - ``"loss_driven"``: the prediction itself, s = its loss (Predtron.LD).

    ``norm`` is the norm of the weights by which a margin is measured, and chooses the link
    :math:`\psi`.

    Parameters
    ----------
    problem : Problem
        The task: one of :mod:`rankwright.problems`, or your own.
    mode : {"augmented", "predicted", "loss_driven"}, default "predicted"
        The update.
    norm : {"l2", "l1", "group", "trace"}, default "l2"
        Frobenius' norm, the sum of absolute weights, the sum of the lengths of the columns of W
        (one for each feature), the sum of its singular values.
    @variant
    eta : float, "auto" or "theory", optional
        Step of ``"augmented"``. ``"auto"``, the default of ``fit``, mends the smallest mistake on
        an average input (:mod:`rankwright.predtron.steps`); ``"theory"``, that of
        ``partial_fit``, is :math:`c_L/(4R^2)`, which is much smaller.
    radius : float, optional
        :math:`R` of ``"augmented"``; ``fit`` measures it, ``partial_fit`` needs it or ``eta``.
    smallest_loss : float, optional
        :math:`c_L` of ``"augmented"``, where the problem does not know it without labels.
    fit_intercept : bool, default False
        Add a feature that is always 1; not for queries.
    @kernel examples
    @rounds examples

    Attributes
    ----------
    coef_ : ndarray of shape (n_scores, n_features)
        Weights that predict; absent with a kernel.
    weights_ : ndarray of shape (n_features, n_scores)
        The last weights in front of the link, :math:`\nabla\psi(W)^\top`.
    eta_ : float
        :math:`\eta`.
    n_rounds_, n_updates_ : int
        Examples so far, and those that led to an update.
    cumulative_loss_ : float
        Sum of the losses of the predictions, each before its update.

    References
    ----------
    .. [1] Jain, Natarajan & Tewari, "Predtron: a family of online algorithms for general prediction
       problems", Algorithms 1 to 3.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwright.problems import Finite
    >>> compass = Finite(  # four directions, and turning back costs twice as much
    ...     ["N", "E", "S", "W"],
    ...     represent={"N": [0, 1], "E": [1, 0], "S": [0, -1], "W": [-1, 0]}.get,
    ...     loss=lambda s, y: abs(("NESW".index(s) - "NESW".index(y) + 2) % 4 - 2),
    ... )
    >>> X = np.array([[1.0, 0.2], [0.1, 1.0], [-1.0, 0.1], [0.0, -1.0]])
    >>> Predtron(compass, n_epochs=5).fit(X, ["E", "N", "W", "S"]).predict(X)
    ['E', 'N', 'W', 'S']
    """

    TAGS: ClassVar[dict[str, bool]] = {"no_validation": True}

    problem: Problem
    mode: Mode = "predicted"
    norm: NormName = "l2"
    _: KW_ONLY
    smallest_loss: float | None = None
    fit_intercept: bool = False

    def fit(self, X: Any, y: Any, qid: ArrayLike | None = None) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Inputs.
        y : sequence
            Labels of the problem: one for each row or, with ``qid``, one for each query in the
            order of their first rows.
        qid : array-like of shape (n_rows,), optional
            With it, an example is a query, a matrix of rows that share their weights; its scores
            are one for each row.
        """
        return super().fit(X, y, qid)

    def partial_fit(self, X: Any, y: Any, qid: ArrayLike | None = None) -> Self:
        """Continue learning, in one pass over the data in their order; arguments as for ``fit``."""
        return super().partial_fit(X, y, qid)

    def decision_function(self, X: Any) -> Floats:
        """Return scores, one row for each row."""
        return self._decision(X)

    def predict(self, X: Any, qid: ArrayLike | None = None) -> list[Any]:
        """Return a prediction for each row or, with ``qid``, for each query."""
        scores = self._decision(X)
        if qid is None:
            return [self.problem.predict(np.ascontiguousarray(t)) for t in scores]
        order, groups = gather(check_qid(qid, len(scores)))
        rows = scores if order is None else scores[order]
        return [self.problem.predict(np.ascontiguousarray(rows[part, 0])) for part in groups]

    def score(
        self,
        X: Any,
        y: Sequence[Any],
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return minus the mean loss; a weighted mean, if there is a weight for each label."""
        predictions = self.predict(X, qid)
        losses = [self.problem.loss(s, label) for s, label in zip(predictions, y, strict=True)]
        return -mean_score(losses, sample_weight)

    def _problem(self) -> Problem:
        return self.problem

    def _check_data(self, given: Given) -> PredtronData:
        matrix = check_rows(self, given.X, reset=given.first)
        labels = list(given.y)
        order, groups = None, None
        if given.qid is not None:
            if self.fit_intercept:
                raise ValueError("queries have no intercept: rankings do not see one.")
            # Labels, one a query, are in the order of first rows already: that of the groups.
            order, groups = gather(check_qid(given.qid, matrix.shape[0]))
            matrix = matrix if order is None else matrix[order]
        n = matrix.shape[0] if groups is None else groups.n_queries
        if len(labels) != n:
            raise ValueError(f"y must have a label for each of {n} examples, not {len(labels)}.")
        if isinstance(self.problem, Native):
            codes = [self.problem.encode(label) for label in labels]
            if groups is None:
                return PredtronData(matrix, np.ascontiguousarray(codes), None, order)
            column = np.concatenate(codes)[:, None] if codes else np.empty((0, 1))
            return PredtronData(matrix, column, groups, order)
        return PredtronData(matrix, labels, groups, order)
