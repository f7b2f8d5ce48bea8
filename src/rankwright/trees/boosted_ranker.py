"""Boosted trees with ranking losses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from rankwright.data.dataset import Dataset, check_is_dataset
from rankwright.data.validation import Floats, check_scores
from rankwright.estimator import Ranker, known_loss
from rankwright.exceptions import DataError
from rankwright.inputs import RankingData, check_ranking_data
from rankwright.losses import Loss, from_name
from rankwright.losses.cross_entropy import Newton
from rankwright.losses.directions import Directions
from rankwright.metrics.parsing import MetricLike, parse
from rankwright.parameters import Rule, whole
from rankwright.progress import heard, show_fit
from rankwright.trees import model_text
from rankwright.trees.boosting import Callback
from rankwright.trees.constraints import Feature
from rankwright.trees.grafting import check_base, linear_base
from rankwright.trees.growing import Growing
from rankwright.trees.grown_ranker import OF_BASE, GrownRanker
from rankwright.trees.objective import choose_loss
from rankwright.trees.parameters import check_more
from rankwright.trees.runs import Start


class BoostedRanker(GrownRanker):
    r"""A sum of regression trees, grown one after the other to lower a ranking loss.

    .. math::
        s \leftarrow s + \eta\, T, \qquad
        T(x) = -\frac{\sum_{i \in \mathrm{leaf}(x)} g_i}
                    {\lambda + \sum_{i \in \mathrm{leaf}(x)} h_i}

    where :math:`g` and :math:`h` are the gradient and the curvature of the loss at the scores so
    far, and :math:`\lambda` is ``leaf_l2``. LightGBM grows the trees; gradients are ours. Queries
    are ours too, so that a query may have any number of documents, and labels may be fractions or
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
        With :math:`n` documents in a leaf (as LightGBM counts them, by curvature), and this number
        :math:`c`, its value is :math:`(n\, T + c\, P) / (n + c)`, where :math:`P` is the value of
        the node above it.
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
    base : {"linear", "auto"} or ranker, optional
        What the trees go on from. ``"linear"`` is a :class:`~rankwright.linear.LinearRanker` of
        XE-NDCG on standardised features, its penalty chosen on the validation queries, or on three
        folds of the training queries if there are none. ``"auto"`` grows trees with and without
        it, and keeps what is better on the validation queries. Any other ranker that is a weighted
        sum of features or of trees is fitted to the training queries with its own parameters; one
        that is fitted already is used as it is. Its scores are multiplied by one number, at which
        the loss is least. The model is the sum of both parts; where no tree betters the base on
        the validation queries, it is the base alone. Categories are for the trees alone, and so are
        features whose weight would break a constraint.
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
        Trees of the model, with those of its base.
    linear_coef_, linear_intercept_, linear_fill_, linear_spread_ : ndarray, float, ndarray, ndarray
        The linear part of a model with a linear base: weights, what is added to every score, what
        stands for a missing value there, and the standard deviations of the features.
    base_scale_, base_alpha_, base_n_iter_ : float, float, int
        The number by which the base's scores were multiplied, the penalty that was chosen for
        ``base="linear"``, and how many of the trees are the base's.
    best_score_ : float
        The metric on the validation queries with these trees; NaN without any.
    evals_result_ : dict
        The metric after each tree that was grown: ``{"train": {"ndcg@10": [...]}, "valid": ...}``.
    stop_ : str
        Why training ended: ``"n_estimators"``, ``"early_stopping"``, ``"no_split"``,
        ``"interrupted"`` or ``"machine_lost"``.

    Notes
    -----
    With validation queries the model is cut where it was best on them.

    Gradients are rounded to a grid that makes sums exact, so that the trees are the same for any
    number of threads, and for any order of the queries; where bins are made of a sample (of
    ``bin_construct_sample_cnt`` documents, 200,000), it is drawn by the queries' ids. LightGBM's
    own losses promise neither.

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
    RULES: ClassVar[Mapping[str, Rule]] = {"n_estimators": whole(0)}  # a base may be all

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
        base: str | Ranker | None = None,
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
        self.base = base
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
        init_score: ArrayLike | None = None,
        valid_init_score: ArrayLike | None = None,
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
        init_score : array-like of shape (n_docs,), optional
            Scores from outside with which boosting begins. They are no part of the model:
            ``predict`` returns what the trees add to them. For a model that has both parts see
            ``base``.
        valid_init_score : array-like of shape (n_valid_docs,), optional
            The same for the documents of ``valid``, in the order of ``valid.X``.
        callback : callable, optional
            Called with a :class:`BoostingProgress` after each tree; a true answer ends training.
        verbose : bool, default False
            Show the progress, on a terminal or in a notebook.
        """
        data = check_ranking_data(self, X, y, qid, sample_weight, query_weight, allow_nan=True)
        starts = self._checked_starts(init_score, valid_init_score, data, valid)
        with heard(verbose, show_fit(), callback) as told:
            return self._fit(data, valid, told, X if isinstance(X, Dataset) else None, starts)

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
        starts: tuple[Floats | None, Floats | None] = (None, None),
    ) -> BoostedRanker:
        self.check_params()
        valid = self.checked_valid(valid)
        growing = Growing(self, data, valid, whole)
        self.check_watched(valid)
        start, booster, boosting = growing.chosen(Start(*starts), callback)
        n_trees = self.n_kept(boosting, start)
        text = None
        if booster is not None and n_trees > 0:
            text = model_text.trim(booster.model_to_string(num_iteration=n_trees))
        return self.finish(text, boosting, start, data.X)

    def check_params(self) -> None:
        """Raise for parameters that cannot be used; the command line asks before it reads data."""
        super().check_params()
        check_more(self.lightgbm_params)
        parse(self.eval_metric)
        choose_loss(self.loss, self.newton, self.random_state)
        check_base(self.base)
        if self.n_estimators == 0 and self.base is None:
            raise ValueError("n_estimators must be a positive integer, but is 0.")

    def _checked_starts(
        self, train: ArrayLike | None, valid: ArrayLike | None, data: RankingData, others: Any
    ) -> tuple[Floats | None, Floats | None]:
        """Return the scores from outside, in the order of the gathered rows."""
        if train is None and valid is None:
            return None, None
        if self.base is not None:
            raise ValueError("init_score is for base=None: a base has scores of its own.")
        if (valid is None) != (others is None):
            raise ValueError("valid_init_score goes with valid and init_score: give all or none.")
        if train is None:
            raise ValueError("valid_init_score goes with init_score: give both.")
        first, second = check_scores(train, len(data.y), name="init_score"), None
        if valid is not None:
            check_is_dataset(others)
            second = check_scores(valid, others.n_docs, name="valid_init_score")
        return (first if data.order is None else first[data.order]), second

    # ---- what it tells ----

    def loss_for(self, y: Floats) -> Loss | None:
        """Return the loss; None for directions without a value, such as LambdaRank's."""
        loss = known_loss(self.loss)
        return None if loss is None else from_name(loss, self.skip_empty)

    def grown(self) -> dict[str, Any]:
        """Return what validation queries chose, as parameters: trees, and the base's penalty."""
        own = self.n_iter_ - vars(self).get("base_n_iter_", 0)
        found = {"n_estimators": own, "early_stopping_rounds": None}
        if isinstance(self.base, str):
            alpha = vars(self).get("base_alpha_")
            found["base"] = None if alpha is None else linear_base(alpha, self.n_jobs)
        return found

    def check_state(self) -> None:
        """Raise unless a model that was read from a file can be one."""
        super().check_state()
        found = vars(self)
        if found.get("base_n_iter_", 0) not in range(self.n_iter_ + 1):
            raise DataError(f"base_n_iter_ must be a number of trees up to {self.n_iter_}.")
        for name in ("base_scale_", "base_alpha_"):
            value = found.get(name, 0.0)
            if type(value) is not float or not 0 <= value < math.inf:
                raise DataError(f"{name} must be a number >= 0.")

    def summary(self) -> dict[str, Any]:
        """Return how many trees there are, how good they were, and why training stopped."""
        return {
            **super().summary(),
            "iterations": self.n_iter_,
            **{name.rstrip("_"): vars(self)[name] for name in OF_BASE if name in vars(self)},
            "best_score": self.best_score_,
            "stop": self.stop_,
        }
