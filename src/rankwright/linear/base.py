"""What all batch linear rankers share: fitting, paths of penalties, scoring."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups, Ints
from rankwright.data.parts import Parts
from rankwright.data.products import multiply
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import Ranker, check_fitted_array
from rankwright.exceptions import DataWarning
from rankwright.inputs import (
    RankingData,
    WeightColumn,
    check_part_weights,
    check_parts,
    check_ranking_data,
    levels_up,
)
from rankwright.linear.part_shares import ReadyParts, on_one_scale, with_rows
from rankwright.linear.path_point import PathPoint
from rankwright.linear.relaxing import relaxed, warned
from rankwright.losses import SLAM, Loss
from rankwright.metrics import Metric, mean_on, parse
from rankwright.metrics.parsing import MetricLike
from rankwright.parameters import TRUTH
from rankwright.penalties import ElasticNet
from rankwright.progress import heard, show_fit
from rankwright.scaling import by_deviation
from rankwright.score import SCORE_METRIC
from rankwright.solvers import Objective, Share, Solution
from rankwright.solvers.solution import Callback

Measure: TypeAlias = Callable[[Floats], tuple[float, float]]  # quality and loss of weights

_WHY_ZERO = "all weights are 0, where the objective is least."
_NEAR_ZERO = (
    "this model may rank nothing: its objective is {:.1e} below that of weights 0, within the "
    "certified gap of {:.1e}. Lower tol to tell. {}"
)
_ANOTHER_LOSS = "Lower alpha, or take another loss, such as 'xendcg'."
# S13: a document is charged by the best of all below it, and the more there are, the surer noise
# makes one of them the best.
_NO_SLAM = (
    "On noisy labels SLAM has its minimum at weights 0: take SmoothSLAM, which bounds the same "
    "metric (loss='smooth-slam', or 'smooth-slam-map')."
)
_NO_PREFERENCES = "no query has documents with different labels."


class LinearModel(Ranker):
    """A linear scoring function that minimises a mean loss plus an elastic net.

    A subclass has the parameters ``penalty``, ``alpha``, ``l1_ratio``, ``relax``, ``standardize``,
    ``tol``, ``max_iter`` and ``n_jobs``, and says which loss is minimised, how, and on which rows.
    """

    reports_progress = True
    has_path = True
    # A sample of rows for the Hessian; labels, scores and slopes of a few points, a prepared loss.
    part_bytes = (100_000_000, 160)

    penalty: str | None
    alpha: float
    l1_ratio: float
    relax: bool | float
    standardize: bool
    tol: float | None
    max_iter: int | None
    n_jobs: int | None

    # ---- what subclasses say ----

    def loss_for(self, y: Floats) -> Loss:
        """Return the loss; it may depend on the labels that there are."""
        raise NotImplementedError

    def _solve(
        self, objective: Objective, start: Floats | None, callback: Callback | None
    ) -> Solution:
        raise NotImplementedError

    def loss_of_counts(self, labels: Mapping[float, int]) -> Loss:
        """Return the loss, given how many documents have each label."""
        return self.loss_for(np.array(list(labels)))

    @property
    def draws_rows(self) -> bool:
        """Whether it is trained on some of the rows only."""
        return False

    def training_rows(self, y: Floats, groups: Groups, loss: Loss) -> Ints | None:
        """Return the rows to train on; None is all of them, whatever the data."""
        return None

    def _grouped(self, data: RankingData) -> RankingData:
        """Return the same rows, in the queries that the loss is to see."""
        return data

    # ---- fitting ----

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        callback: Callback | None = None,
        verbose: bool = False,
    ) -> Self:
        r"""Learn from documents with labels.

        With weights the mean loss is :math:`\frac{1}{Q} \sum_q c_q L_a(X_q w, y_q)`. Cross
        entropies have :math:`L_a = -\sum_i a_i \phi_i \log \rho_i`; other losses have
        :math:`a_i` times each term in which document i is the one that should win. ``gap_`` holds
        for the weighted loss; what a loss bounds does not.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_docs, n_features)
            Features.
        y : array-like of shape (n_docs,)
            Labels; larger is more relevant.
        qid : array-like of shape (n_docs,), optional
            Query ids in any order; None is one query.
        sample_weight : array-like of shape (n_docs,), optional
            :math:`a`: weights of the documents, such as inverse propensities of clicks.
        query_weight : array-like of shape (n_docs,), optional
            :math:`c`: one number per row, the same in all rows of a query. Weight 2 is the query
            twice, but for Q, which stays.
        callback : callable, optional
            Called with a :class:`~rankwright.solvers.Progress` after each iteration of the solver.
        verbose : bool, default False
            Show the progress, on a terminal or in a notebook.
        """
        self.check_params()
        data = check_ranking_data(self, X, y, qid, sample_weight, query_weight)
        with heard(verbose, show_fit(), callback) as told:
            return self._fit(data, told)

    def fit_dataset(
        self,
        dataset: Dataset,
        callback: Callback | None = None,
        *,
        valid: Dataset | None = None,
    ) -> Self:
        """Learn from a data set; ``callback`` is called with the solver's progress.

        The names of its features are kept as ``feature_names_in_``; ``valid`` is not looked at.
        """
        self.check_params()
        dataset = self.encoded(dataset)
        data = check_ranking_data(self, dataset, dataset.y, dataset.qid)
        return self._fit(data, callback)

    def fit_parts(
        self,
        parts: Parts,
        valid: Parts | None = None,
        callback: Callback | None = None,
        *,
        sample_weight: WeightColumn | None = None,
        query_weight: WeightColumn | None = None,
    ) -> Self:
        """Learn from data in parts of whole queries, which need not fit into memory.

        One part gives the bits of :meth:`fit_dataset`. With more, gradients are added in the order
        of the parts, which changes last digits; solvers that go by columns take one part only.

        Parameters
        ----------
        parts : Parts
            The data, as :func:`rankwright.read_parts` returns them.
        valid : Parts, optional
            Not looked at.
        callback : callable, optional
            Called with the solver's progress.
        sample_weight, query_weight : str or callable, optional
            The weights of :meth:`fit`: columns that are kept beside the features
            (``read_parts(..., keep=[...])``), or functions of a part.
        """
        self.check_params()
        self.check_takes_parts(parts)
        check_part_weights(parts, sample_weight, query_weight)
        parts = check_parts(self, parts)
        ready = self.ready_parts(parts)
        objective = ready.objective(self._penalty(self.alpha), sample_weight, query_weight)
        return self._learn(objective, ready.scale, parts.facts.has_preferences, callback)

    def ready_parts(self, parts: Parts) -> ReadyParts:
        """Return parts that were checked as they are trained on."""
        known, loss = parts.facts, self.loss_of_counts(parts.facts.labels)
        # Rows first: the scale is that of what is trained on, as in memory.
        if self.draws_rows:
            parts = with_rows(parts, self.training_rows, loss)
        scale = np.ones(known.n_features)
        if self.standardize:
            parts, scale = on_one_scale(parts)
        return ReadyParts(parts, scale, loss, self.n_jobs)

    def _fit(self, data: RankingData, callback: Callback | None = None) -> Self:
        objective, scale = self._objective(data, self._penalty(self.alpha))
        prefers = self._grouped(data).groups.has_preferences(data.y)
        return self._learn(objective, scale, prefers, callback)

    def _learn(
        self, objective: Objective, scale: Floats, prefers: bool, callback: Callback | None
    ) -> Self:
        """Minimise, keep the solution, and say what is wrong with it."""
        solution = self._minimize(objective, None, callback)
        self._keep(self._relaxed(objective, solution, callback), scale)
        if not prefers:
            self.warn_if_it_ranks_nothing(_NO_PREFERENCES)
            return self
        is_slam = isinstance(objective.loss, SLAM)
        self.warn_if_it_ranks_nothing(f"{_WHY_ZERO} {_NO_SLAM if is_slam else _ANOTHER_LOSS}")
        decrease = solution.objective[0] - solution.objective[-1]
        told = solution.converged and solution.gap < math.inf
        if is_slam and self.coef_.any() and told and decrease <= solution.gap:
            text = _NEAR_ZERO.format(decrease, solution.gap, _NO_SLAM)
            warnings.warn(text, DataWarning, stacklevel=levels_up())
        return self

    def _objective(self, data: RankingData, penalty: ElasticNet) -> tuple[Objective, Floats]:
        """Return what to minimise, and the scale of the features."""
        # Of all labels, before rows are left out: layers must not depend on what is drawn.
        loss = self.loss_for(data.y)
        rows = self.training_rows(data.y, data.groups, loss)
        data = self._grouped(data if rows is None else data.rows_of_queries(rows))
        X, scale = self._scaled(data.X)
        share = Share(X, data.y, data.groups, self.n_jobs, data.weights)
        return Objective([share], loss, penalty), scale

    def _penalty(self, alpha: float) -> ElasticNet:
        return ElasticNet.from_name(self.penalty, alpha, self.l1_ratio)

    def _scaled(self, X: Matrix) -> tuple[Matrix, Floats]:
        if not self.standardize:
            return X, np.ones(X.shape[1])
        scale = by_deviation(X)
        return scale.apply(X), scale.scale

    def _minimize(
        self, objective: Objective, start: Floats | None, callback: Callback | None = None
    ) -> Solution:
        return warned(self._solve(objective, start, callback))

    def _relaxed(
        self, objective: Objective, first: Solution, callback: Callback | None = None
    ) -> Solution:
        options: Any = {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}
        return relaxed(objective, first, self.relax, **options)

    def _keep(self, solution: Solution, scale: Floats) -> None:
        # Weights of X / scale become weights of X.
        self.coef_ = solution.coef / scale
        self.__dict__.pop("scale_", None)
        if self.standardize:
            self.scale_ = scale
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.objective
        self.gap_ = solution.gap
        self.violation_ = solution.violation
        self.stop_ = solution.stop

    # ---- paths ----

    def path(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        alphas: Sequence[float] | None = None,
        n_alphas: int = 20,
        valid: Dataset | None = None,
        metric: MetricLike = SCORE_METRIC,
    ) -> list[PathPoint]:
        """Fit for several penalty weights, the largest first, each from the solution before.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight
            As for :meth:`fit`; validation queries have no weights.
        alphas : sequence of float, optional
            Penalty weights; by default ``n_alphas`` from where all weights are 0 (with l1) down to
            a ten-thousandth of it.
        n_alphas : int, default 20
            How many, if ``alphas`` is not given.
        valid : Dataset, optional
            Queries to measure loss and quality on.
        metric : str, Metric or function, default NDCG(k=10)
            The quality.
        """
        self.check_params()
        data = check_ranking_data(self, X, y, qid, sample_weight, query_weight)
        if valid is not None:
            valid = self.align(valid)
        objective, scale = self._objective(data, ElasticNet())
        if alphas is None:
            alphas = self.usual_alphas(objective, n_alphas)
        descending = sorted(map(float, alphas), reverse=True)
        measure: Measure = _nothing_to_measure
        if valid is not None:
            measure = partial(self._measured, valid, parse(metric), objective.loss)
        return list(self.walk(objective, scale, descending, measure))

    def usual_alphas(self, objective: Objective, n_alphas: int) -> list[float]:
        """Return the penalty weights of a path, the largest first."""
        # Four decades: below a ten-thousandth the penalty holds next to nothing back.
        found: list[float] = (
            self._highest_alpha(objective) * np.logspace(0, -4, n_alphas)
        ).tolist()
        return found

    def walk(
        self, objective: Objective, scale: Floats, alphas: Sequence[float], measure: Measure
    ) -> Iterator[PathPoint]:
        """Yield the fits of falling penalty weights, of features that were divided by ``scale``.

        ``measure`` tells of weights how good they are.
        """
        w: Floats | None = None
        for alpha in alphas:
            # Each fit starts from the solution of the penalty before, which is near; not from what
            # became of it when relaxed.
            penalised = objective.with_penalty(self._penalty(alpha))
            first = self._minimize(penalised, w)
            w, relaxed = first.coef, self._relaxed(penalised, first).coef
            mean_loss, _ = objective.loss_and_slope(objective.scores(relaxed))
            coef = relaxed / scale
            n_features = int(np.count_nonzero(coef))
            yield PathPoint(alpha, coef, mean_loss, n_features, *measure(coef))

    def _measured(
        self, valid: Dataset, metric: Metric, loss: Loss, coef: Floats
    ) -> tuple[float, float]:
        scores = multiply(valid.X, coef, self.n_jobs)
        data = self._grouped(RankingData(valid.X, valid.y, valid.groups, None))
        total, _ = loss.value_and_grad(scores, data.y, data.groups)
        return mean_on(metric, valid, scores), total / max(data.groups.n_queries, 1)

    def _highest_alpha(self, objective: Objective) -> float:
        """Return the penalty weight from which on l1 leaves nothing; for l2, one of that size."""
        # With a share of 0 there is no such weight; from a thousandth down it is taken for l2.
        ratio = {"l1": 1.0, "elasticnet": max(self.l1_ratio, 1e-3)}.get(str(self.penalty), 1.0)
        # A little more, so that rounding does not let one in.
        return max((1 + 1e-6) * objective.violation_at_zero() / ratio, 1e-12)

    # ---- files and scikit-learn ----

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        TRUTH.check("standardize", self.standardize)
        self._penalty(self.alpha)

    def check_state(self) -> None:
        """Raise unless there is a weight for each feature."""
        super().check_state()
        check_fitted_array(self, "coef_", (self.n_features_in_,))
        if "scale_" in vars(self):
            check_fitted_array(self, "scale_", (self.n_features_in_,))

    def curves(self) -> dict[str, list[float]]:
        """Return the objective after each iteration."""
        return {"objective": [float(value) for value in self.objective_]}

    def summary(self) -> dict[str, Any]:
        """Return objective, certificate, and why the solver stopped."""
        return {
            **super().summary(),
            "objective": self.objective_[-1],
            "gap": self.gap_,
            "violation": self.violation_,
            "iterations": self.n_iter_,
            "stop": self.stop_,
        }


def _nothing_to_measure(coef: Floats) -> tuple[float, float]:
    return math.nan, math.nan
