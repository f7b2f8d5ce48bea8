"""Boosting from data in parts: what it takes, the bins of all parts, and the machines."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwright.data.dataset import Dataset
from rankwright.data.parts import LocalParts, Parts, check_are_parts
from rankwright.data.spool import Spooled
from rankwright.exceptions import DataError
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import per_query_on
from rankwright.metrics.parsing import parse
from rankwright.trees import engine, model_text
from rankwright.trees.bins import sample_of_parts, sample_size
from rankwright.trees.boosting import Boosting, Callback
from rankwright.trees.forest import Forest
from rankwright.trees.local_machines import LocalMachines
from rankwright.trees.machines import MachineLostError, SeveralMachines
from rankwright.trees.networked import FitPlan
from rankwright.trees.objective import choose_loss
from rankwright.trees.parameters import lightgbm_params

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


def check_model_takes_parts(ranker: Any) -> None:
    """Raise for parameters with which nothing can be learned from data in parts."""
    if not sys.platform.startswith("linux"):
        raise ValueError("trees are grown from parts on Linux only. Use fit on one data set.")
    if isinstance(ranker.loss, str) and ranker.loss.startswith("lightgbm:"):
        name = ranker.loss.removeprefix("lightgbm:").removeprefix("rank_")
        raise ValueError(f"loss={ranker.loss!r} is for data in memory. Use loss={name!r}.")
    if ranker.base is not None:
        raise ValueError("base must be None from parts: a base is fitted to data in memory.")
    if ranker.interaction_constraints is not None:  # they crash LightGBM's parallel learner
        raise ValueError("interaction_constraints must be None from parts: use fit in memory.")
    for name in ranker.lightgbm_params or {}:
        if name not in _TAKEN:
            raise ValueError(
                f"lightgbm_params must not have {name!r} from parts: "
                f"{', '.join(sorted(_TAKEN))} may be given."
            )


def check_takes_parts(parts: Parts, machines: int | None) -> None:
    """Raise for parts that trees cannot be grown of."""
    check_are_parts(parts)
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


class PartsFit:
    """A fit to data in parts.

    Parameters
    ----------
    ranker : BoostedRanker
        The parameters, and the features.
    parts, valid : Parts
        Training and validation queries.
    weights : tuple of (str or None)
        Columns with weights of documents, and of queries.
    machines : int or None
        How many machines.
    """

    def __init__(
        self,
        ranker: Any,
        parts: Parts,
        valid: Parts | None,
        weights: tuple[str | None, str | None],
        machines: int | None,
    ) -> None:
        self.ranker, self.parts, self.valid, self.n_machines = ranker, parts, valid, machines
        metric = parse(ranker.eval_metric)
        _check_counts_somewhere(valid, metric)
        watched = [name for name in ("train",) if ranker.eval_train]
        watched += [name for name in ("valid",) if valid is not None]
        self.boosting = Boosting(
            metric,
            ranker.n_estimators,
            ranker.early_stopping_rounds,
            {name: [] for name in watched},
        )
        loss = choose_loss(ranker.loss, ranker.newton, ranker.random_state, ranker.skip_empty)
        params = {**lightgbm_params(ranker), "force_col_wise": True, "pre_partition": True}
        features = replace(parts.facts.features, owner="the training data")
        self.plan = FitPlan(clone(ranker), loss, params, metric, tuple(watched), features, weights)
        self.trees: list[str] = []
        self.lost: MachineLostError | None = None

    def run(self, callback: Callback | None) -> None:
        """Grow the trees; what was grown is kept if machines are lost for good."""
        machines = self._machines()
        if machines is None:
            self.boosting.stop = "no_split"
            return
        try:
            self.boosting.run(machines, callback)
        except MachineLostError as lost:
            self.lost, self.boosting.stop = lost, "machine_lost"
        finally:
            machines.close()
        self.trees = machines.trees

    def _machines(self) -> SeveralMachines | None:
        """Return the machines; None if no feature can be split."""
        params = dict(self.plan.params)
        sample = sample_of_parts(self.parts, sample_size(params), int(params["data_random_seed"]))
        with engine.errors():
            dataset = engine.bins_of(params, sample, {})
            if not engine.splits_something(dataset):
                return None
            bins = engine.packed_bins(dataset, sample)
        if isinstance(self.parts, WithMachines):
            return self.parts.machines(self.plan, bins, self.valid, self.n_machines, _RESTARTS)
        n = self.n_machines or FEWEST
        train, valid = _sized(self.parts), _sized(self.valid)
        return LocalMachines(self.plan, bins, train, valid, n, _RESTARTS)

    def text(self) -> str | None:
        """Return the best trees, with the true numbers of documents in their leaves, or None."""
        trees = self.trees[: self.boosting.best_iteration]
        if not trees:
            return None
        text = model_text.joined_texts([(tree, 1.0) for tree in trees])
        return model_text.with_counts(text, counted_leaves(self.parts, text))

    def complaint(self) -> str:
        """Return what is to be said of machines that were lost, in one line."""
        n = len(self.trees)
        kept = f"the {n} trees before it are kept" if n else "there is none before it"
        return (
            f"{self.lost} It was tree {n + 1} of {self.ranker.n_estimators}; machines were started "
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
