"""What boosting has grown, of data in memory or in parts: how it is kept."""

from __future__ import annotations

from typing import Any, Self

from rankwright.data.parts import Parts
from rankwright.data.validation import Matrix
from rankwright.inputs import check_part_weights, check_parts
from rankwright.refitting import EndedEarly, UnfinishedError
from rankwright.trees.additive import Additive, summed
from rankwright.trees.boosting import Boosting, Callback
from rankwright.trees.forest_ranker import ForestRanker
from rankwright.trees.from_parts import PartsFit, check_model_takes_parts, check_takes_parts
from rankwright.trees.growing import Start
from rankwright.trees.machines import MachineLostError

OF_BASE = ("base_scale_", "base_alpha_", "base_n_iter_")
"""Fitted attributes that tell of the base."""


class GrownRanker(ForestRanker):
    """Base of rankers whose trees were grown by boosting."""

    # Two machines and a sample of documents; scores, gradients and the loss; bins of one byte.
    part_bytes = (900_000_000, 130, 0.25)
    early_stopping_rounds: int | None

    def fit_parts(
        self,
        parts: Parts,
        valid: Parts | None = None,
        callback: Callback | None = None,
        *,
        sample_weight: str | None = None,
        query_weight: str | None = None,
        machines: int | None = None,
    ) -> Self:
        """Learn from data in parts of whole queries, which need not fit into memory.

        The trees are grown by several processes, the machines, each with some of the parts. They
        are the same for any number of machines, order of the files and cut into parts, and others
        than those of :meth:`fit`: LightGBM's machines count the documents of a leaf by curvature.
        A machine that is lost is replaced, and the trees are those of an undisturbed fit.

        Parameters
        ----------
        parts : Parts
            The data, as :func:`rankwright.read_parts` returns them; at least one for each machine.
        valid : Parts, optional
            Queries to measure ``eval_metric`` on after each tree.
        callback : callable, optional
            Called with a :class:`BoostingProgress` after each tree; a true answer ends training.
        sample_weight, query_weight : str, optional
            Columns with the weights of :meth:`fit`, kept beside the features
            (``read_parts(..., keep=[...])``).
        machines : int, optional
            How many, at least 2, which is the default on one host. They share its threads.
        """
        self.check_params()
        self.check_stopping(valid)
        self.check_takes_parts()
        check_takes_parts(parts, machines)
        check_part_weights(parts, sample_weight, query_weight)
        parts = check_parts(self, parts, allow_nan=True)
        fit = PartsFit(self, parts, valid, (sample_weight, query_weight), machines)
        fit.run(callback)
        text = fit.text()
        if fit.lost is not None and text is None:
            raise MachineLostError(fit.complaint())
        self.finish(text, fit.boosting, Start(), None)
        if fit.lost is not None:
            raise UnfinishedError(fit.complaint())
        return self

    def check_takes_parts(self) -> None:
        """Raise for parameters with which nothing can be learned from data in parts."""
        check_model_takes_parts(self)

    def check_stopping(self, valid: Any) -> None:
        """Raise where there is nothing that could end training early."""
        if self.early_stopping_rounds is not None and valid is None:
            raise ValueError("early_stopping_rounds needs validation queries: fit(..., valid=...).")

    @staticmethod
    def n_kept(boosting: Boosting, start: Start) -> int:
        """Return the trees of the model; one that could not split at all is one leaf."""
        one_at_least = start.train is None and boosting.stop != "ctrl-c"
        return max(boosting.best_iteration, int(one_at_least))

    def finish(self, text: str | None, boosting: Boosting, start: Start, X: Matrix | None) -> Self:
        """Keep the trees that boosting has grown from a start, and say what is wrong with them."""
        if boosting.stop == "ctrl-c" and boosting.best_iteration == 0:
            raise KeyboardInterrupt
        self._keep(text, boosting, start, X)
        reason = "no tree has a split. Lower min_child_samples."
        if start.train is not None and boosting.stop != "no_split":
            reason = "no tree betters the scores that boosting began with."
        self.warn_if_it_ranks_nothing(reason)
        if boosting.stop == "ctrl-c":  # what there is can be used, whoever pressed it
            self.stop_ = "interrupted"
            raise EndedEarly
        return self

    def _keep(self, text: str | None, boosting: Boosting, start: Start, X: Matrix | None) -> None:
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
        if start.train is None:
            self.n_iter_ = self.n_kept(boosting, start)
        self._scorer()
        self.best_score_ = boosting.best
        name = str(boosting.metric)
        self.evals_result_ = {part: {name: curve} for part, curve in boosting.curves.items()}
        self.stop_ = boosting.stop
