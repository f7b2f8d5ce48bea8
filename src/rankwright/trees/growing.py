"""One run of boosting: from data, a start and parameters to trees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.kept import Kept, take_rows
from rankwright.data.validation import Floats
from rankwright.inputs import RankingData
from rankwright.losses import XENDCG, LambdaRank
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import columns_of, per_query_on
from rankwright.metrics.parsing import parse
from rankwright.trees import engine
from rankwright.trees.boosting import Boosting, Callback
from rankwright.trees.constraints import WeightLimits
from rankwright.trees.grafting import Graft, graft
from rankwright.trees.machine import Machine, Watched
from rankwright.trees.machines import OneMachine
from rankwright.trees.objective import TreeObjective, choose_loss
from rankwright.trees.parameters import lightgbm_params
from rankwright.trees.shared_bins import shared_bins

if TYPE_CHECKING:
    from lightgbm import Booster

_ENDED = ("ctrl-c", "interrupted")  # someone has had enough


@dataclass(frozen=True)
class Start:
    """What boosting begins with: scores of the training and of the validation documents.

    Attributes
    ----------
    train, valid : ndarray or None
        The scores; None for 0, or without validation queries.
    base : Graft or None
        Where they come from, if the model is to have it.
    """

    train: Floats | None = None
    valid: Floats | None = None
    base: Graft | None = None


class Growing:
    """Data and parameters of a fit, which may be grown from several starts.

    Parameters
    ----------
    ranker : BoostedRanker
        The parameters.
    data : RankingData
        Training documents.
    valid : Dataset or None
        Validation queries.
    whole : Dataset or None
        The training data as a data set, for metrics that look at more than labels.
    """

    def __init__(
        self, ranker: Any, data: RankingData, valid: Dataset | None, whole: Dataset | None
    ) -> None:
        self.ranker, self.data, self.valid, self.whole = ranker, data, valid, whole
        self.metric = parse(ranker.eval_metric)
        self.watched = _watched(valid, self.metric)
        self.loss = choose_loss(ranker.loss, ranker.newton, ranker.random_state, ranker.skip_empty)

    def start_from(self, base: Any) -> Start:
        """Fit the base, and return its scores as a start."""
        n_jobs = self.ranker.n_jobs
        data = self.data.by_query_id()
        slope, known = self._slope(data), self.ranker.features()
        limits = WeightLimits.of(
            self.ranker.monotone_constraints, self.ranker.interaction_constraints, known
        )
        seen: Kept = {}  # by the metric, when folds choose the penalty
        if isinstance(base, str) and self.whole is not None and self.valid is None:
            rows = data.order
            assert rows is not None
            seen = take_rows(columns_of(self.whole, [self.metric]), rows)
        found = graft(base, data, self.valid, self.metric, slope, known, limits, n_jobs, seen)
        others = None if self.valid is None else found.part.scores(self.valid.X, n_jobs)
        return Start(found.part.scores(self.data.X, n_jobs), others, found)

    def chosen(
        self, start: Start, callback: Callback | None
    ) -> tuple[Start, Booster | None, Boosting]:
        """Grow from the base that the parameters name; of "auto", from the better one.

        ``start`` is for a model without a base. Whoever ends the first run, or an interrupt of the
        second one, ends both; what is best so far is kept.
        """
        base = self.ranker.base
        if not isinstance(base, str) or base != "auto":
            start = start if base is None else self.start_from(base)
            return (start, *self.grow(start, callback))
        with shared_bins():
            booster, boosting = self.grow(start, callback)
            if boosting.stop in _ENDED:
                return start, booster, boosting
            try:
                other = self.start_from("linear")
                grown, run = self.grow(other, callback)
            except KeyboardInterrupt:  # before its first tree
                boosting.stop = "ctrl-c"
                return start, booster, boosting
        sign = 1.0 if self.metric.higher_is_better else -1.0
        # NaN: there was nothing to split, and so nothing was measured.
        if math.isnan(boosting.best) or sign * run.best > sign * boosting.best:
            return other, grown, run
        if run.stop in _ENDED:
            boosting.stop = run.stop
        return start, booster, boosting

    def grow(self, start: Start, callback: Callback | None) -> tuple[Booster | None, Boosting]:
        """Return the trees, of which there may be none, and how they grew."""
        ranker, data, loss = self.ranker, self.data, self.loss
        params, more = lightgbm_params(ranker), {}
        objectives = []
        if isinstance(loss, str):
            more = {"label": data.y, "group": data.groups.sizes, "weight": data.weights}
            params["objective"] = loss.removeprefix("lightgbm:")
        else:
            objectives = [objective_of(ranker, loss, data)]
        watched = {}
        if ranker.eval_train:
            looked_at = {} if self.whole is None else columns_of(self.whole, [self.metric])
            watched["train"] = [Watched(data.y, data.groups, looked_at)]
        if self.watched is not None:
            watched["valid"] = [self.watched]
        boosting = Boosting(
            self.metric,
            ranker.n_estimators,
            ranker.early_stopping_rounds,
            {name: [] for name in watched},
        )
        with engine.errors():
            others = None if self.valid is None else self.valid.X
            known = ranker.features()
            columns = [j for j, name in enumerate(known.names or ()) if name in known.categories]
            starts = (start.train, start.valid)
            booster = engine.new_booster(
                params, data.X, data.groups, others, columns, starts, **more
            )
            if booster is None:
                boosting.stop = "no_split"
            else:
                machine = Machine(booster, objectives, watched, self.metric, ranker.n_jobs)
                machines = OneMachine(machine, ranker.subsample)
                boosting.run(machines, callback, begun=start.valid is not None)
        return booster, boosting

    def _slope(self, data: RankingData) -> Any:
        """Return the gradient as a function of scores: of all queries, as in the first round."""
        ours = {"lightgbm:rank_xendcg": XENDCG(), "lightgbm:lambdarank": LambdaRank()}
        known = self.loss if not isinstance(self.loss, str) else ours[self.loss]
        objective = objective_of(self.ranker, known, data)
        weights = objective.row_weights if len(objective.row_weights) > 0 else 1.0
        return lambda scores: weights * objective.terms(scores, 0)[0]


def objective_of(ranker: Any, loss: Any, data: RankingData) -> TreeObjective:
    """Return the objective of some documents, by the parameters of a ranker."""
    weights: Any = {"doc_weights": data.sample_weight, "query_weights": data.weight_of_queries}
    names = ("skip_empty", "subsample", "random_state", "n_jobs")
    params: Any = {name: getattr(ranker, name) for name in names}
    return TreeObjective(loss, data.y, data.groups, **weights, **params)


def _watched(valid: Dataset | None, metric: Metric) -> Watched | None:
    if valid is None:
        return None
    if np.isnan(per_query_on([metric], valid, valid.y)[0]).all():
        raise ValueError(f"valid must have a query that counts in {metric}, but has none.")
    return Watched(valid.y, valid.groups, columns_of(valid, [metric]))
