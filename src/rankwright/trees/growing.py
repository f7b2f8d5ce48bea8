"""One run of boosting: from data, a start and parameters to trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.kept import Kept, take_rows
from rankwright.inputs import RankingData
from rankwright.losses import XENDCG, LambdaRank
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import columns_of, per_query_on
from rankwright.metrics.parsing import parse
from rankwright.trees import engine
from rankwright.trees.boosting import Boosting, Callback
from rankwright.trees.constraints import WeightLimits
from rankwright.trees.grafting import graft
from rankwright.trees.grafting_memory import GraftInMemory
from rankwright.trees.machine import Machine, Watched
from rankwright.trees.machines import OneMachine
from rankwright.trees.objective import choose_loss, objective_of
from rankwright.trees.parameters import lightgbm_params
from rankwright.trees.runs import Runs, Start

if TYPE_CHECKING:
    from lightgbm import Booster


class Growing(Runs["Booster | None"]):
    """Runs of boosting on data in memory.

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
        super().__init__(ranker, parse(ranker.eval_metric))
        self.data, self.valid, self.whole = data, valid, whole
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
        source = GraftInMemory(data, self.valid, self.metric, slope, n_jobs, seen)
        found = graft(base, source, known, limits, n_jobs)
        others = None if self.valid is None else found.part.scores(self.valid.X, n_jobs)
        return Start(found.part.scores(self.data.X, n_jobs), others, found)

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
        return objective_of(self.ranker, known, data).slope


def _watched(valid: Dataset | None, metric: Metric) -> Watched | None:
    if valid is None:
        return None
    if np.isnan(per_query_on([metric], valid, valid.y)[0]).all():
        raise ValueError(f"valid must have a query that counts in {metric}, but has none.")
    return Watched(valid.y, valid.groups, columns_of(valid, [metric]))
