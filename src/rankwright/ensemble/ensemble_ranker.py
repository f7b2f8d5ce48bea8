"""Averages of rankers that are one ranker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from rankwright.data.dataset import Dataset
from rankwright.data.kept import take_rows
from rankwright.ensemble.averaged_ranker import AveragedRanker
from rankwright.ensemble.bags import BAG, bag_weights
from rankwright.ensemble.lesson import Lesson
from rankwright.ensemble.members import Member, copies, kinds_of
from rankwright.ensemble.telling import Callback
from rankwright.ensemble.validating import Validating
from rankwright.inputs import RankingData, check_ranking_data
from rankwright.metrics.parsing import MetricLike, parse
from rankwright.parameters import Rule
from rankwright.progress import heard, show_fit
from rankwright.trees.forest_ranker import ForestRanker
from rankwright.trees.shared_bins import shared_bins


def _are_weights(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("equal", "valid")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return array.ndim == 1 and bool((array >= 0).all() and 0 < array.sum() < math.inf)


class EnsembleRanker(AveragedRanker):
    r"""A weighted average of rankers, each on its own bag of queries: one forest, one linear part.

    .. math:: s(x) = \sum_k \frac{w_k}{\sigma_k}\, s_k(x), \qquad w_k \ge 0, \; \sum_k w_k = 1

    where :math:`\sigma_k` is the mean standard deviation of member k's scores within the training
    queries. Trees of all members stand in one forest, and weights of linear ones are added up: the
    average is scored, explained, saved and exported like one model.

    Parameters
    ----------
    members : str, ranker, or list, default "stochastic-lambdarank-trees"
        Rankers whose scores are sums of trees or weighted sums of features, in any loss, or their
        names on the command line. A list has several kinds of members, which may be pairs (name,
        ranker). A ranker that is fitted already is used as it is, once.
    n_models : int, default 5
        Copies of each kind of member that is not fitted yet.
    bag : {"queries"}, float or None, default "queries"
        What a copy learns from: a bootstrap of the queries, a share of them without replacement,
        or all. A bag is weights of queries, so that bins, medians and scales are those of all
        training data.
    weights : {"equal", "valid"} or sequence of float, default "equal"
        :math:`w`: all equal; chosen on the validation queries, for ``eval_metric``; or one number
        for each member, which are divided by their sum.
    n_estimators : int, optional
        Trees of each member that grows some, in place of its own number and of early stopping.
    eval_metric : str, Metric or function, default "ndcg@10"
        What members watch, and what weights are chosen for.
    random_state : int, default 0
        Seed of the bags; copy k has the seed ``random_state + k``.
    n_jobs : int, optional
        Threads, of the members too; None leaves them theirs.

    Attributes
    ----------
    model_text_ : str
        The trees of all members, in LightGBM's text form.
    linear_coef_, linear_intercept_, linear_fill_, linear_spread_ : optional
        The linear part if a member has one: weights, what is added to every score, what stands for
        a missing value there, and the standard deviations of the features.
    n_iter_ : int
        Trees of all members.
    member_names_ : list of str
        The members, in the order in which they were fitted.
    member_trees_ : list of int
        The trees of each.
    member_weights_, member_scales_ : ndarray of shape (n_members,)
        :math:`w` and :math:`\sigma`.
    best_score_ : float
        The metric on the validation queries; NaN without any.
    stop_ : str
        Why training ended: ``"complete"``, ``"interrupted"`` or ``"machine_lost"``.

    Notes
    -----
    ``valid`` goes to the members that watch validation queries. Without it each of them watches the
    queries outside its own bag, which it has not seen; of a bag that leaves none, it does without,
    and does not stop early. From parts (:meth:`fit_parts`) they watch ``valid`` alone.

    ``weights="valid"``: every member is taken once; then that member is taken again and again which
    makes the metric on the validation queries best, until none makes it better.

    Bags are functions of seed, member and query id. Models are the same for any number of threads
    and any order of the queries, if their members are. From parts the bags are the same.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> from rankwright import BoostedRanker
    >>> train, test = make_mslr_like(n_queries=100, mean_docs=20).split((0.7, 0.3))
    >>> ranker = EnsembleRanker(BoostedRanker(n_estimators=20, num_leaves=7), n_models=3)
    >>> _ = ranker.fit(train.X, train.y, train.qid)
    >>> ranker.score(test.X, test.y, test.qid) > 0.7
    True
    >>> len(ranker.member_names_), ranker.n_iter_ <= 60
    (3, True)
    """

    RULES: ClassVar[Mapping[str, Rule]] = {
        "weights": Rule("'equal', 'valid' or numbers >= 0 that are not all 0", _are_weights)
    }

    def __init__(
        self,
        members: Any = "stochastic-lambdarank-trees",
        n_models: int = 5,
        *,
        bag: str | float | None = "queries",
        weights: str | Sequence[float] = "equal",
        n_estimators: int | None = None,
        eval_metric: MetricLike = "ndcg@10",
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.members = members
        self.n_models = n_models
        self.bag = bag
        self.weights = weights
        self.n_estimators = n_estimators
        self.eval_metric = eval_metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- parameters ----

    def check_params(self) -> None:
        """Raise for parameters that cannot be used, those of the members too."""
        super().check_params()
        BAG.check("bag", self.bag, optional=True)
        parse(self.eval_metric)
        for _, ranker in kinds_of(self.members):
            ranker.check_params()

    @property
    def takes_categories(self) -> bool:  # type: ignore[override]
        """Whether it learns from codes of categories: if all members do."""
        return all(ranker.takes_categories for _, ranker in kinds_of(self.members))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name; of members in pairs (name, ranker), ``name__parameter``."""
        found: dict[str, Any] = super().get_params(deep=deep)
        for name, ranker in self._pairs() if deep else ():
            found |= {f"{name}__{key}": value for key, value in ranker.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, of members in pairs too."""
        pairs = dict(self._pairs())
        own = {key: value for key, value in params.items() if key.partition("__")[0] not in pairs}
        super().set_params(**own)
        for key in params.keys() - own.keys():
            name, _, parameter = key.partition("__")
            pairs[name].set_params(**{parameter: params[key]})
        return self

    def _pairs(self) -> list[tuple[str, Any]]:
        items = self.members if isinstance(self.members, list) else []
        pairs = [item for item in items if isinstance(item, tuple) and len(item) == 2]
        return [(name, ranker) for name, ranker in pairs if isinstance(ranker, BaseEstimator)]

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
    ) -> EnsembleRanker:
        """Fit every member to its bag of the queries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_docs, n_features)
            Features; NaN is a missing value, if all members take it.
        y : array-like of shape (n_docs,)
            Labels; larger is more relevant.
        qid : array-like of shape (n_docs,), optional
            Query ids in any order; None is one query.
        sample_weight : array-like of shape (n_docs,), optional
            Weights of the documents, for all members.
        query_weight : array-like of shape (n_docs,), optional
            Weights of the queries, which those of a bag are multiplied with: one number per row,
            the same in all rows of a query.
        valid : Dataset, optional
            Validation queries, for members that watch them and for ``weights="valid"``.
        callback : callable, optional
            Called with an :class:`EnsembleProgress` whenever a member reports, and when it is
            fitted; a true answer ends training.
        verbose : bool, default False
            Show the progress, on a terminal or in a notebook.
        """
        self.check_params()
        data = check_ranking_data(self, X, y, qid, sample_weight, query_weight, allow_nan=True)
        data = self._in_order(data)
        train = Dataset.from_checked(
            data.X, data.y, np.repeat(data.groups.names, data.groups.sizes), self.features()
        )
        if isinstance(X, Dataset):  # for metrics that look at more than labels
            rows = np.arange(X.n_docs) if data.order is None else data.order
            train.doc_ids = None if X.doc_ids is None else X.doc_ids[rows]
            train.kept = take_rows(X.kept, rows)
        # A bag is weights of queries: all members have the same features.
        with heard(verbose, show_fit(), callback) as told, shared_bins():
            return self._fit(train, data, valid, told)

    def _in_order(self, data: RankingData) -> RankingData:
        """Return the queries in an order of their own; trees do not depend on it."""
        trees = all(isinstance(ranker, ForestRanker) for _, ranker in kinds_of(self.members))
        return data if trees else data.by_query_id()

    def fit_dataset(
        self, dataset: Dataset, callback: Callback | None = None, *, valid: Dataset | None = None
    ) -> Self:
        """Learn from a data set; ``callback`` is told of the members.

        The names of its features are kept as ``feature_names_in_``.
        """
        return self.fit(dataset, dataset.y, dataset.qid, valid=valid, callback=callback)

    def _fit(
        self, train: Dataset, data: RankingData, valid: Dataset | None, told: Callback | None
    ) -> EnsembleRanker:
        valid = self.checked_valid(valid)
        if self.weighs_by_valid and valid is None:
            raise ValueError("weights='valid' needs validation queries: fit(..., valid=...).")
        lesson = Lesson(
            train,
            data,
            valid,
            partial(bag_weights, train.groups, self.bag, self.random_state),
            None if self.bag is None else parse(self.eval_metric),
            self.n_estimators is not None,
            self.n_jobs,
        )
        watched = None if valid is None else Validating.in_memory(valid, self.n_jobs)
        return self.learn(lesson, train.X, watched, told)

    def own_members(self) -> list[Member]:
        """Return the members, copies with seeds and settings of their own."""
        settings: dict[str, Any] = {"eval_metric": self.eval_metric}
        if self.n_jobs is not None:
            settings["n_jobs"] = self.n_jobs
        if self.n_estimators is not None:
            settings |= {"n_estimators": self.n_estimators, "early_stopping_rounds": None}
        return list(copies(self.members, self.n_models, self.random_state, settings))
