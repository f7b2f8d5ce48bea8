"""Boosted trees with ranking losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.estimator import known_loss
from rankwright.inputs import RankingData, check_ranking_data
from rankwright.losses import Loss, from_name
from rankwright.losses.cross_entropy import Newton
from rankwright.losses.directions import Directions
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import columns_of, per_query_on
from rankwright.metrics.parsing import MetricLike, parse
from rankwright.progress import heard, show_fit
from rankwright.refitting import EndedEarly
from rankwright.trees import engine, model_text
from rankwright.trees.boosting import Boosting, Callback, Watched
from rankwright.trees.constraints import Feature
from rankwright.trees.forest_ranker import ForestRanker
from rankwright.trees.objective import TreeObjective, choose_loss
from rankwright.trees.parameters import check_more, lightgbm_params

if TYPE_CHECKING:
    from lightgbm import Booster


class BoostedRanker(ForestRanker):
    r"""A sum of regression trees, grown one after the other to lower a ranking loss.

    .. math::
        s \leftarrow s + \eta\, T, \qquad
        T(x) = -\frac{\sum_{i \in \mathrm{leaf}(x)} g_i}
                    {\lambda + \sum_{i \in \mathrm{leaf}(x)} h_i}

    where :math:`g` and :math:`h` are the gradient and the curvature of the loss at the scores so
    far, and :math:`\lambda` is ``leaf_l2``. LightGBM grows the trees; gradients are ours. Queries are
    ours too, so that a query may have any number of documents, and labels may be fractions or
    larger than 31.

    Parameters
    ----------
    loss : str, Loss or Directions, default "xendcg"
        ``"xendcg"``, ``"listnet"``, ``"lambdarank"``, ``"stochastic-lambdarank"``, any other name
        that :class:`LinearRanker` knows, an object of :mod:`rankwright.losses`, or your own with
        ``value_and_grad`` or ``grad_and_hess``. ``"lightgbm:rank_xendcg"`` and
        ``"lightgbm:lambdarank"`` are LightGBM's, for comparison, with its limits.
    n_estimators : int, default 100
        Trees, at most.
    learning_rate : float, default 0.1
        :math:`\eta`.
    num_leaves : int, default 31
        Leaves of a tree, at most.
    min_child_samples : int, default 20
        Documents in a leaf, at least.
    max_bin : int, default 255
        Values that are told apart in a feature, at most.
    subsample : float, default 1.0
        Share of the queries that each tree learns from.
    colsample : float, default 1.0
        Share of the features that each tree may use.
    colsample_bynode : float, default 1.0
        Share of these that each split may use.
    leaf_l2 : float, default 0.0
        :math:`\lambda`: leaves that few documents speak for have smaller values.
    path_smooth : float, default 0.0
        With :math:`n` documents in a leaf, and this number :math:`c`, its value is
        :math:`(n\, T + c\, P) / (n + c)`, where :math:`P` is the value of the node above it.
    min_gain : float, default 0.0
        Gain of a split, at least.
    extra_trees : bool, default False
        Try one threshold of each feature only, drawn at random.
    monotone_constraints : dict or list, optional
        1 for a feature with which the score must not fall, -1 for one with which it must not rise:
        ``{"price": -1}``, by name or position (from 0 on), or LightGBM's list with a number for
        each feature.
    interaction_constraints : list of lists, optional
        Features, by name or position, that may follow each other in a branch of a tree. A feature
        that is in none of the lists is not used.
    newton : {"plain", "exact", "neumann"}, default "plain"
        Curvatures of ``loss="xendcg"``; see :class:`~rankwright.losses.XENDCG`.
    skip_empty : bool, default True
        Learn nothing from queries without a relevant document: labels all equal, and not above 0.
        False, here or in a cross entropy, learns from them too.
    early_stopping_rounds : int, optional
        Stop when so many trees have not improved the metric on the validation queries.
    eval_metric : str, Metric or function, default "ndcg@10"
        What is measured after each tree.
    eval_train : bool, default False
        Measure it on the training queries too.
    random_state : int, default 0
        Seed of everything random.
    n_jobs : int, optional
        Threads.
    lightgbm_params : dict, optional
        More parameters, by LightGBM's names.

    Attributes
    ----------
    model_text_ : str
        The trees, in LightGBM's text form.
    n_iter_ : int
        Trees of the model.
    best_score_ : float
        The metric on the validation queries with these trees; NaN without any.
    evals_result_ : dict
        The metric after each tree that was grown: ``{"train": {"ndcg@10": [...]}, "valid": ...}``.
    stop_ : str
        Why training ended: ``"n_estimators"``, ``"early_stopping"``, ``"no_split"`` or
        ``"interrupted"``.

    Notes
    -----
    With validation queries the model is cut where it was best on them.

    Gradients are rounded to a grid that makes sums exact, so that the trees are the same for any
    number of threads, and for any order of the queries if ``bin_construct_sample_cnt`` (200,000,
    see LightGBM) is not less than the number of documents. LightGBM's own losses promise neither.

    LightGBM grows the trees, and is not needed to use them. In a forked process it has one thread,
    with a warning: OpenMP does not survive a fork. Predictions keep theirs.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> train, valid, test = make_mslr_like(n_queries=200, mean_docs=30).split()
    >>> ranker = BoostedRanker(n_estimators=60, num_leaves=15, early_stopping_rounds=10)
    >>> _ = ranker.fit(train.X, train.y, train.qid, valid=valid)
    >>> round(ranker.score(test.X, test.y, test.qid), 1)
    0.8
    """

    takes_categories = True
    reports_progress = True
    stops_on_request = True

    def __init__(
        self,
        loss: str | Loss | Directions = "xendcg",
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        max_bin: int = 255,
        subsample: float = 1.0,
        colsample: float = 1.0,
        colsample_bynode: float = 1.0,
        leaf_l2: float = 0.0,
        path_smooth: float = 0.0,
        min_gain: float = 0.0,
        extra_trees: bool = False,
        monotone_constraints: Mapping[Feature, int] | Sequence[int] | None = None,
        interaction_constraints: Sequence[Sequence[Feature]] | None = None,
        newton: Newton = "plain",
        skip_empty: bool = True,
        early_stopping_rounds: int | None = None,
        eval_metric: MetricLike = "ndcg@10",
        eval_train: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
        lightgbm_params: Mapping[str, Any] | None = None,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.max_bin = max_bin
        self.subsample = subsample
        self.colsample = colsample
        self.colsample_bynode = colsample_bynode
        self.leaf_l2 = leaf_l2
        self.path_smooth = path_smooth
        self.min_gain = min_gain
        self.extra_trees = extra_trees
        self.monotone_constraints = monotone_constraints
        self.interaction_constraints = interaction_constraints
        self.newton = newton
        self.skip_empty = skip_empty
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.eval_train = eval_train
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.lightgbm_params = lightgbm_params

    # ---- fitting ----

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: Dataset | None = None,
        callback: Callback | None = None,
        verbose: bool = False,
    ) -> BoostedRanker:
        """Learn from documents with labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_docs, n_features)
            Features; NaN is a missing value.
        y : array-like of shape (n_docs,)
            Labels; larger is more relevant.
        qid : array-like of shape (n_docs,), optional
            Query ids in any order; None is one query.
        sample_weight : array-like of shape (n_docs,), optional
            Weights of the documents, such as inverse propensities of clicks. Losses weigh their
            terms by them, as for :meth:`rankwright.linear.LinearRanker.fit`; LambdaRank, directions
            and losses of your own have gradients and curvatures multiplied.
        query_weight : array-like of shape (n_docs,), optional
            Weights of the queries' losses: one number per row, the same in all rows of a query.
        valid : Dataset, optional
            Queries to measure ``eval_metric`` on after each tree.
        callback : callable, optional
            Called with a :class:`BoostingProgress` after each tree; a true answer ends training.
        verbose : bool, default False
            Show the progress, on a terminal or in a notebook.
        """
        data = check_ranking_data(self, X, y, qid, sample_weight, query_weight, allow_nan=True)
        with heard(verbose, show_fit(), callback) as told:
            return self._fit(data, valid, told, X if isinstance(X, Dataset) else None)

    def fit_dataset(
        self, dataset: Dataset, callback: Callback | None = None, *, valid: Dataset | None = None
    ) -> Self:
        """Learn from a data set; ``callback`` is called after each tree.

        The names of its features are kept as ``feature_names_in_``.
        """
        return self.fit(dataset, dataset.y, dataset.qid, valid=valid, callback=callback)

    def _fit(
        self,
        data: RankingData,
        valid: Dataset | None,
        callback: Callback | None,
        whole: Dataset | None,
    ) -> BoostedRanker:
        self.check_params()
        metric = parse(self.eval_metric)
        valid = self._checked_valid(valid)
        watched = self._watched(valid, metric)
        if self.early_stopping_rounds is not None and valid is None:
            raise ValueError("early_stopping_rounds needs validation queries: fit(..., valid=...).")
        boosting = Boosting(metric, self.n_estimators, self.early_stopping_rounds, self.n_jobs)
        loss = choose_loss(self.loss, self.newton, self.random_state, self.skip_empty)
        params = lightgbm_params(self)
        train = None
        if self.eval_train:
            looked_at = {} if whole is None else columns_of(whole, [metric])
            train = Watched("train", data.y, data.groups, looked_at)
        if isinstance(loss, str):
            more = {"label": data.y, "group": data.groups.sizes, "weight": data.weights}
            params["objective"] = loss.removeprefix("lightgbm:")
            objective = None
        else:
            more = {}
            objective = TreeObjective(
                loss,
                data.y,
                data.groups,
                doc_weights=data.sample_weight,
                query_weights=data.weight_of_queries,
                skip_empty=self.skip_empty,
                subsample=self.subsample,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
        with engine.errors():
            others = None if valid is None else valid.X
            known = self.features()
            columns = [j for j, name in enumerate(known.names or ()) if name in known.categories]
            booster = engine.new_booster(params, data.X, others, columns, **more)
            if booster is None:
                boosting.stop = "no_split"
            else:
                boosting.run(booster, objective, train, watched, callback)
        if boosting.stop == "ctrl-c" and boosting.best_iteration == 0:
            raise KeyboardInterrupt
        self._keep(booster, boosting)
        self.warn_if_it_ranks_nothing("no tree has a split. Lower min_child_samples.")
        if boosting.stop == "ctrl-c":  # what there is can be used, whoever pressed it
            self.stop_ = "interrupted"
            raise EndedEarly
        return self

    def check_params(self) -> None:
        """Raise for parameters that cannot be used; the command line asks before it reads data."""
        super().check_params()
        check_more(self.lightgbm_params)
        parse(self.eval_metric)
        choose_loss(self.loss, self.newton, self.random_state)

    def _checked_valid(self, valid: Dataset | None) -> Dataset | None:
        if valid is None:
            return None
        if not isinstance(valid, Dataset):
            raise TypeError(f"valid must be a Dataset, but is a {type(valid).__name__}.")
        return valid.aligned(replace(self.features(), owner="X"), "valid")

    def _watched(self, valid: Dataset | None, metric: Metric) -> Watched | None:
        if valid is None:
            return None
        if np.isnan(per_query_on([metric], valid, valid.y)[0]).all():
            raise ValueError(f"valid must have a query that counts in {metric}, but has none.")
        return Watched("valid", valid.y, valid.groups, columns_of(valid, [metric]))

    def _keep(self, booster: Booster | None, boosting: Boosting) -> None:
        # A model that could not split at all is one leaf.
        n_trees = max(boosting.best_iteration, 1)
        if booster is None:
            self.model_text_ = model_text.one_leaf(self.n_features_in_)
        else:
            self.model_text_ = model_text.trim(booster.model_to_string(num_iteration=n_trees))
        self._scorer()
        self.n_iter_ = n_trees
        self.best_score_ = boosting.best
        name = str(boosting.metric)
        self.evals_result_ = {part: {name: curve} for part, curve in boosting.curves.items()}
        self.stop_ = boosting.stop

    # ---- what it tells ----

    def loss_for(self, y: Floats) -> Loss | None:
        """Return the loss; None for directions without a value, such as LambdaRank's."""
        loss = known_loss(self.loss)
        return None if loss is None else from_name(loss, self.skip_empty)

    def grown(self) -> dict[str, Any]:
        """Return the number of trees that validation queries chose, as parameters."""
        return {"n_estimators": self.n_iter_, "early_stopping_rounds": None}

    def summary(self) -> dict[str, Any]:
        """Return how many trees there are, how good they were, and why training stopped."""
        return {
            **super().summary(),
            "iterations": self.n_iter_,
            "best_score": self.best_score_,
            "stop": self.stop_,
        }
