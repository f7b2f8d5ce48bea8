"""What boosting has grown, of data in memory or in parts: how it is kept."""

from __future__ import annotations

from typing import Any, Self

from rankwright.data.parts import Parts
from rankwright.data.validation import Matrix
from rankwright.inputs import WeightColumn
from rankwright.part_model import most_bytes
from rankwright.refitting import EndedEarly, UnfinishedError
from rankwright.trees.additive import Additive, summed
from rankwright.trees.boosting import Boosting, Callback
from rankwright.trees.forest_ranker import ForestRanker
from rankwright.trees.from_parts import PartsFit, check_grow_trees, check_model_grows
from rankwright.trees.grafting import is_fitted_base, linear_base
from rankwright.trees.machines import MachineLostError
from rankwright.trees.runs import Start

OF_BASE = ("base_scale_", "base_alpha_", "base_n_iter_")
"""Fitted attributes that tell of the base."""


class GrownRanker(ForestRanker):
    """Base of rankers whose trees were grown by boosting."""

    base: Any
    early_stopping_rounds: int | None

    def fit_parts(
        self,
        parts: Parts,
        valid: Parts | None = None,
        callback: Callback | None = None,
        *,
        sample_weight: WeightColumn | None = None,
        query_weight: WeightColumn | None = None,
        machines: int | None = None,
    ) -> Self:
        """Learn from data in parts of whole queries, which need not fit into memory.

        The trees are grown by several processes, the machines, each with some of the parts. They
        are the same for any number of machines, order of the files and cut into parts, and others
        than those of :meth:`fit`: LightGBM's machines count the documents of a leaf by curvature.
        A machine that is lost is replaced, and the trees are those of an undisturbed fit.

        A ``base`` is fitted to the parts first, by its own ``fit_parts``; what is fitted already is
        used as it is. The last bits of a linear base depend on the cut into parts, and then those
        of the model do. Without validation queries the penalty of ``"linear"`` is chosen on folds
        of the queries of all parts, with the scale of the features of all.

        Parameters
        ----------
        parts : Parts
            The data, as :func:`rankwright.read_parts` returns them; at least one for each machine.
        valid : Parts, optional
            Queries to measure ``eval_metric`` on after each tree.
        callback : callable, optional
            Called with a :class:`BoostingProgress` after each tree; a true answer ends training.
        sample_weight, query_weight : str or callable, optional
            The weights of :meth:`fit`: columns that are kept beside the features
            (``read_parts(..., keep=[...])``), or functions of a part.
        machines : int, optional
            How many, at least 2, which is the default on one host. They share its threads.
        """
        weights = sample_weight, query_weight
        parts = self.checked_parts(parts, valid, weights, machines)
        fit = PartsFit(self, parts, valid, weights, machines)
        start, trees, boosting = fit.chosen(Start(), callback)
        lost = boosting.stop == "machine_lost"
        text = fit.text(trees[: boosting.best_iteration])
        if lost and text is None:
            raise MachineLostError(fit.complaint)
        self.finish(text, boosting, start, parts)
        if lost:
            raise UnfinishedError(fit.complaint)
        return self

    def takes_parts(self) -> bool:
        """Tell whether it learns from data in parts: if its base does, or is fitted."""
        base = self._own_base()
        return base is None or bool(base.takes_parts())

    def check_learns_from_parts(self) -> None:
        """Raise for parameters with which nothing can be learned from data in parts."""
        check_model_grows(self)

    def check_takes_parts(self, parts: Parts, machines: int | None = None) -> None:
        """Raise for what cannot be learned from these parts."""
        super().check_takes_parts(parts, machines)
        check_grow_trees(parts, machines)

    @property
    def part_bytes(self) -> tuple[float, ...]:  # type: ignore[override]
        """What ``fit_parts`` takes beside one part: what trees take, or the base before them."""
        # Two machines and a sample of documents; scores, gradients and the loss; bins of one byte.
        trees = (900_000_000, 130, 1)
        base = self._own_base()
        return trees if base is None else most_bytes([trees, base.part_bytes])

    def _own_base(self) -> Any:
        """Return the ranker that is fitted before the trees, or None."""
        if isinstance(self.base, str):
            return linear_base()
        return None if self.base is None or is_fitted_base(self.base) else self.base

    def watches(self) -> str:
        """Return what it is that validation queries are needed for, or nothing."""
        if self.early_stopping_rounds is not None:
            return "early_stopping_rounds"
        return "base='auto'" if isinstance(self.base, str) and self.base == "auto" else ""

    @staticmethod
    def n_kept(boosting: Boosting, start: Start) -> int:
        """Return the trees of the model; one that could not split at all is one leaf."""
        one_at_least = not start.begun and boosting.stop != "ctrl-c"
        return max(boosting.best_iteration, int(one_at_least))

    def finish(self, text: str | None, boosting: Boosting, start: Start, X: Matrix | Parts) -> Self:
        """Keep the trees that boosting has grown from a start, and say what is wrong with them."""
        if boosting.stop == "ctrl-c" and boosting.best_iteration == 0:
            raise KeyboardInterrupt
        self._keep(text, boosting, start, X)
        reason = "no tree has a split. Lower min_child_samples."
        if start.begun and boosting.stop != "no_split":
            reason = "no tree betters the scores that boosting began with."
        self.warn_if_it_ranks_nothing(reason)
        if boosting.stop == "ctrl-c":  # what there is can be used, whoever pressed it
            self.stop_ = "interrupted"
            raise EndedEarly
        return self

    def _keep(self, text: str | None, boosting: Boosting, start: Start, X: Matrix | Parts) -> None:
        found = Additive(self.n_features_in_, text=text or "")
        for name in OF_BASE:
            self.__dict__.pop(name, None)
        base = start.base
        if base is not None:
            found = summed([(base.part, 1.0), (found, 1.0)])
            self.base_scale_, self.base_n_iter_ = base.scale, base.part.n_trees
            if base.alpha is not None:
                self.base_alpha_ = base.alpha
        self.keep_additive(found, X)
        if not start.begun:
            self.n_iter_ = self.n_kept(boosting, start)
        self._scorer()
        self.best_score_ = boosting.best
        name = str(boosting.metric)
        self.evals_result_ = {part: {name: curve} for part, curve in boosting.curves.items()}
        self.stop_ = boosting.stop
