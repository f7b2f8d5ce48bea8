"""Boosting from data in parts: what it takes, the bins of all parts, and the machines."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwright.data.dataset import Dataset
from rankwright.data.pages import give_freed_back
from rankwright.data.parts import LocalParts, Parts, check_are_parts
from rankwright.data.spool import Spooled
from rankwright.exceptions import DataError
from rankwright.inputs import WeightColumn
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import per_query_on
from rankwright.metrics.parsing import parse
from rankwright.trees import engine, model_text
from rankwright.trees.additive import Additive
from rankwright.trees.bins import sample_of_parts, sample_size
from rankwright.trees.boosting import Boosting, Callback
from rankwright.trees.constraints import WeightLimits
from rankwright.trees.forest import Forest
from rankwright.trees.grafting import graft
from rankwright.trees.grafting_parts import GraftInParts
from rankwright.trees.local_machines import LocalMachines
from rankwright.trees.machines import MachineLostError, SeveralMachines
from rankwright.trees.networked import FitPlan
from rankwright.trees.objective import choose_loss
from rankwright.trees.parameters import lightgbm_params
from rankwright.trees.runs import Runs, Start

FEWEST = 2
"""Machines of a fit: the trees of one alone would be others, since LightGBM counts otherwise."""

_RESTARTS = 2
# Of LightGBM's parameters, those that say nothing of rows, files, random numbers or machines.
_TAKEN = frozenset(
    {
        "bin_construct_sample_cnt",
        "data_random_seed",
        "data_seed",
        "enable_bundle",
        "lambda_l1",
        "max_delta_step",
        "max_depth",
        "min_data_in_bin",
        "min_sum_hessian_in_leaf",
        "monotone_penalty",
        "subsample_for_bin",
        "use_missing",
        "zero_as_missing",
    }
)


@runtime_checkable
class WithMachines(Protocol):
    """Parts that know where their machines are."""

    def machines(
        self, plan: FitPlan, bins: bytes, valid: Parts | None, n: int | None, restarts: int
    ) -> SeveralMachines:
        """Return the machines of a fit."""


def check_model_grows(ranker: Any) -> None:
    """Raise for parameters with which trees cannot be grown from data in parts."""
    if not sys.platform.startswith("linux"):
        raise ValueError("trees are grown from parts on Linux only. Use fit on one data set.")
    if isinstance(ranker.loss, str) and ranker.loss.startswith("lightgbm:"):
        name = ranker.loss.removeprefix("lightgbm:").removeprefix("rank_")
        raise ValueError(f"loss={ranker.loss!r} is for data in memory. Use loss={name!r}.")
    if not ranker.takes_parts():
        raise ValueError(
            f"base must learn from parts too, but {type(ranker.base).__name__} learns from data in "
            "memory only: take 'linear', LinearRanker, DominationRank, or a ranker that is fitted."
        )
    if ranker.interaction_constraints is not None:  # they crash LightGBM's parallel learner
        raise ValueError("interaction_constraints must be None from parts: use fit in memory.")
    for name in ranker.lightgbm_params or {}:
        if name not in _TAKEN:
            raise ValueError(
                f"lightgbm_params must not have {name!r} from parts: "
                f"{', '.join(sorted(_TAKEN))} may be given."
            )


def check_grow_trees(parts: Parts, machines: int | None) -> None:
    """Raise for parts that trees cannot be grown of."""
    if parts.facts.features.categories:
        name = next(iter(parts.facts.features.categories))
        raise DataError(
            f"features must be numbers from parts, but {name!r} is a category: trees split by "
            "categories in memory only.",
            path=parts.facts.parts[0].name,
        )
    n = FEWEST if machines is None else machines
    if isinstance(n, bool) or not isinstance(n, int) or n < FEWEST:
        raise ValueError(f"machines must be an integer of at least {FEWEST}, but is {machines!r}.")
    if len(parts) < n:
        raise DataError(
            f"there must be a part for each of {n} machines, but there is "
            f"{'one' if len(parts) == 1 else len(parts)}. Cut the data into more: rankwright "
            f"partition FILE... -o FOLDER --parts {n}",
            path=parts.facts.parts[0].name,
        )


class PartsFit(Runs[list[str]]):
    """Runs of boosting on data in parts.

    Parameters
    ----------
    ranker : BoostedRanker
        The parameters, and the features.
    parts, valid : Parts
        Training and validation queries.
    weights : tuple of (str, callable or None)
        Weights of documents, and of queries.
    machines : int or None
        How many machines.
    """

    def __init__(
        self,
        ranker: Any,
        parts: Parts,
        valid: Parts | None,
        weights: tuple[WeightColumn | None, WeightColumn | None],
        machines: int | None,
    ) -> None:
        metric = parse(ranker.eval_metric)
        super().__init__(ranker, metric)
        self.parts, self.valid, self.n_machines = parts, valid, machines
        _check_counts_somewhere(valid, metric)
        watched = [name for name in ("train",) if ranker.eval_train]
        watched += [name for name in ("valid",) if valid is not None]
        loss = choose_loss(ranker.loss, ranker.newton, ranker.random_state, ranker.skip_empty)
        params = {**lightgbm_params(ranker), "force_col_wise": True, "pre_partition": True}
        features = replace(parts.facts.features, owner="the training data")
        self.plan = FitPlan(clone(ranker), loss, params, metric, tuple(watched), features, weights)
        self.bins = self._made_bins()
        self.complaint = ""

    def start_from(self, base: Any) -> Start:
        """Fit the base, and return it as a start; machines compute its scores themselves."""
        ranker, plan = self.ranker, self.plan
        source = GraftInParts(
            plan.ranker, plan.loss, self.parts, self.valid, self.metric, plan.weights
        )
        limits = WeightLimits.of(ranker.monotone_constraints, None, plan.features)
        return Start(base=graft(base, source, plan.features, limits, ranker.n_jobs))

    def grow(self, start: Start, callback: Callback | None) -> tuple[list[str], Boosting]:
        """Return the trees; what was grown is returned if machines are lost for good."""
        boosting = Boosting(
            self.metric,
            self.ranker.n_estimators,
            self.ranker.early_stopping_rounds,
            {name: [] for name in self.plan.watched},
        )
        machines = self._machines(None if start.base is None else start.base.part)
        if machines is None:
            boosting.stop = "no_split"
            return [], boosting
        try:
            boosting.run(machines, callback, begun=start.begun)
        except MachineLostError as lost:
            boosting.stop = "machine_lost"
            self.complaint = self._complaint(lost, len(machines.trees))
        finally:
            machines.close()
        return machines.trees, boosting

    def _made_bins(self) -> bytes | None:
        """Return the bins of the features, packed; None if no feature can be split."""
        params = dict(self.plan.params)
        sample = sample_of_parts(self.parts, sample_size(params), int(params["data_random_seed"]))
        with engine.errors():
            dataset = engine.bins_of(params, sample, {})
            found = (
                engine.packed_bins(dataset, sample) if engine.splits_something(dataset) else None
            )
        del dataset, sample
        give_freed_back()  # LightGBM takes four times the sample to make bins of it
        return found

    def _machines(self, base: Additive | None) -> SeveralMachines | None:
        """Return the machines; None if no feature can be split."""
        bins, plan = self.bins, replace(self.plan, base=base)
        if bins is None:
            return None
        if isinstance(self.parts, WithMachines):
            return self.parts.machines(plan, bins, self.valid, self.n_machines, _RESTARTS)
        n = self.n_machines or FEWEST
        train, valid = _sized(self.parts), _sized(self.valid)
        return LocalMachines(plan, bins, train, valid, n, _RESTARTS)

    def text(self, trees: Sequence[str]) -> str | None:
        """Return trees as one model, with the true numbers of documents in leaves; None of none."""
        if not trees:
            return None
        text = model_text.joined_texts([(tree, 1.0) for tree in trees])
        return model_text.with_counts(text, counted_leaves(self.parts, text))

    def _complaint(self, lost: MachineLostError, n: int) -> str:
        """Return what is to be said of machines that were lost at tree n + 1, in one line."""
        kept = f"the {n} trees before it are kept" if n else "there is none before it"
        if n and self.ranker.base == "auto":
            kept = "the better of what there was is kept"
        return (
            f"{lost} It was tree {n + 1} of {self.ranker.n_estimators}; machines were started "
            f"{_RESTARTS + 1} times, and {kept}."
        )


def counted_leaves(parts: Parts, text: str) -> NDArray[np.int64]:
    """Return how many documents each leaf has: LightGBM's machines tell what they guess."""
    found = parts.map(_leaves_of_part, text.encode())
    counts: NDArray[np.int64] = np.sum(found, axis=0, dtype=np.int64)
    return counts


def _leaves_of_part(part: Dataset, text: bytes) -> NDArray[np.int64]:
    forest = Forest.from_text(text.decode(), part.n_features)
    step = max(1, (1 << 24) // max(1, part.n_features))
    blocks = range(0, part.n_docs, step)
    counts: NDArray[np.int64] = np.sum(
        [forest.count_leaves(part.X[i : i + step]) for i in blocks], axis=0
    )
    return counts


def _sized(parts: Parts | None) -> list[tuple[Spooled, int]]:
    if parts is None:
        return []
    if not isinstance(parts, LocalParts):
        raise TypeError(
            "machines of this host take parts of this host, but valid, or parts, are "
            f"{type(parts).__name__}."
        )
    sizes = [part.n_docs for part in parts.facts.parts]
    return list(zip(parts.spooled, sizes, strict=True))


def _check_counts_somewhere(valid: Parts | None, metric: Metric) -> None:
    if valid is None:
        return
    check_are_parts(valid, "valid")
    if not any(valid.map(_has_value, metric)):
        raise ValueError(f"valid must have a query that counts in {metric}, but has none.")


def _has_value(part: Dataset, metric: Metric) -> bool:
    values = per_query_on([metric], part, part.y)[0]
    return any(not math.isnan(value) for value in values.tolist())
