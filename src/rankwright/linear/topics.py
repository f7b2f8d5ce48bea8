"""One ranker for each topic, over one matrix of documents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Ints
from rankwright.data.hashing import combine, mix
from rankwright.data.sparse import as_csr
from rankwright.data.validation import Floats, Matrix, check_weights
from rankwright.estimator import Estimator
from rankwright.inputs import check_features, check_rows
from rankwright.linear.domination_rank import DominationRank
from rankwright.metrics import AP
from rankwright.parameters import check_parameters
from rankwright.scoring.topics import check_topics, topic_scores
from rankwright.threads import n_threads

SelectBy: TypeAlias = Literal["ap", "loss"]
T = TypeVar("T")


class TopicRankers(Estimator):
    r"""A :class:`DominationRank` for each topic.

    Each topic's ranker minimises the mean over its relevant documents of the domination loss plus
    :math:`\alpha \Omega(w)`, so that one :math:`\alpha` suits topics of any size. Topics are fitted
    in parallel; their weights are kept as one sparse matrix, and a document is scored for all
    topics in one product.

    Parameters
    ----------
    params : dict, optional
        Parameters of each :class:`DominationRank`; ``{"penalty": "l1", "n_induced": 50}`` by
        default.
    grid : dict of str to list, optional
        Values to choose from, for any parameters: ``{"alpha": [0.1, 0.01], "penalty": ["l1",
        "l2"]}``. Every combination is tried on a part of the documents and measured on the rest;
        alphas are walked as a path with warm starts.
    select_by : {"ap", "loss"}, default "ap"
        Choose by average precision or by domination loss on the documents left out.
    n_tuned : int, optional
        Choose once, by the mean over this many topics, drawn at random; by default each topic
        chooses for itself.
    relax : bool or float, default False
        Refit the features that l1 chose, with an l2 penalty, as for :class:`DominationRank`; unless
        ``params`` or ``grid`` say otherwise.
    valid_share : float, default 0.25
        Share of a topic's relevant and of its irrelevant documents that are left out to choose.
    random_state : int, default 0
        Seed of what is left out, of the topics drawn, and of sampled negatives.
    n_jobs : int, optional
        Threads.

    Attributes
    ----------
    coef_ : csc_array of shape (n_features, n_topics)
        Weights.
    choices_ : list of dict
        The parameters chosen for each topic.
    validation_ : ndarray of shape (n_topics,)
        Their average precision or loss on what was left out; NaN for topics that did not choose.
    topics_ : list of str
        Names of the topics.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 30)) * (rng.random((200, 30)) < 0.2)
    >>> Y = np.column_stack([X[:, 3] + X[:, 7] > 0.8, X[:, 11] > 0.6])
    >>> rankers = TopicRankers({"penalty": "l1", "alpha": 0.2}).fit(X, Y, ["oil", "wheat"])
    >>> rankers.predict(X).shape, rankers.coef_.nnz
    ((200, 2), 3)
    """

    TAGS: ClassVar[dict[str, bool]] = {
        "target_tags.one_d_labels": False,
        "target_tags.two_d_labels": True,
        "target_tags.single_output": False,
        "target_tags.multi_output": True,
    }

    def __init__(
        self,
        params: dict[str, Any] | None = None,
        *,
        grid: dict[str, list[Any]] | None = None,
        select_by: SelectBy = "ap",
        n_tuned: int | None = None,
        relax: bool | float = False,
        valid_share: float = 0.25,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.params = params
        self.grid = grid
        self.select_by = select_by
        self.n_tuned = n_tuned
        self.relax = relax
        self.valid_share = valid_share
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        Y: Any,
        topics: Sequence[str] | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn a ranker for each column of Y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_docs, n_features)
            Features of the documents.
        Y : array-like or sparse matrix of shape (n_docs, n_topics)
            How relevant each document is to each topic; 0 is irrelevant.
        topics : sequence of str, optional
            Names of the topics; by default those of the columns of Y, or their numbers.
        sample_weight : array-like of shape (n_docs,), optional
            Weights of the documents, as for :meth:`rankwright.linear.DominationRank.fit`; the
            documents on which a grid is measured count alike.
        """
        self.check_params()
        matrix = check_rows(self, X)
        columns = getattr(Y, "columns", None)
        labels = _by_topic(Y)
        if labels.ndim != 2 or labels.shape[0] != matrix.shape[0]:
            raise ValueError(
                f"Y must have a row for each of the {matrix.shape[0]} documents and a column for "
                f"each topic, but has shape {labels.shape}."
            )
        n_topics = labels.shape[1]
        names = topics if topics is not None else columns
        self.topics_ = [str(name) for name in (range(n_topics) if names is None else names)]
        if len(self.topics_) != n_topics:
            raise ValueError(f"topics must name {n_topics} topics, but has {len(self.topics_)}.")

        def column(t: int) -> Floats:
            return np.asarray(labels[:, [t]].toarray(), dtype=np.float64).ravel()

        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, "sample_weight", matrix.shape[0])
        self._choose(matrix, column, n_topics, weights)
        fitted = self._map(
            lambda t: self._fit_topic(matrix, column(t), t, weights), range(n_topics)
        )
        self._keep(fitted)
        return self

    def predict(self, X: Any) -> Floats:
        """Return scores of shape (n_docs, n_topics); a larger one ranks higher."""
        matrix = check_features(self, X)
        return topic_scores(matrix, self.weights_, self.features_, self.offsets_)

    def score(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean over topics of the average precision.

        It knows no weights of documents: ``sample_weight``, which pipelines pass, must be 1 or
        None.
        """
        if sample_weight is not None and (np.asarray(sample_weight) != 1).any():
            raise ValueError("sample_weight must be 1: average precision knows no weights.")
        scores, labels = self.predict(X), _by_topic(Y).toarray()
        found = [AP().per_query(labels[:, t], scores[:, t])[0] for t in range(scores.shape[1])]
        return float(np.nanmean(found))

    @property
    def coef_(self) -> sp.csc_array:
        """Weights, a column for each topic."""
        if not hasattr(self, "weights_"):
            raise AttributeError("coef_ is there after fit.")
        shape = (self.n_features_in_, len(self.topics_))
        return sp.csc_array((self.weights_, self.features_, self.offsets_), shape=shape)

    # ---- choosing ----

    def _choose(
        self, X: Matrix, column: Callable[[int], Floats], n_topics: int, weights: Floats | None
    ) -> None:
        # As in the thesis: l1, and features that come in by rounds.
        base = {"penalty": "l1", "n_induced": 50} if self.params is None else self.params
        self.choices_: list[dict[str, Any]] = [dict(base) for _ in range(n_topics)]
        self.validation_ = np.full(n_topics, math.nan)
        if not self.grid:
            return
        tuned = np.arange(n_topics)
        if self.n_tuned is not None:
            drawn = mix(combine(self.random_state, mix(tuned)))
            tuned = np.sort(np.argsort(drawn, kind="stable")[: self.n_tuned])
        combinations = _combinations(base, self.grid)
        tried = self._map(
            lambda t: self._try(X, column(t), t, combinations, weights), tuned.tolist()
        )
        values = np.array(tried)  # larger is better; (topics, combinations)
        if self.n_tuned is not None:
            # Topics without a relevant document have nothing to choose by: if none has, the first.
            telling = values[~np.isnan(values).all(axis=1)]
            best = int(np.argmax(np.nanmean(telling, axis=0))) if len(telling) else 0
            self.choices_ = [dict(combinations[best]) for _ in range(n_topics)]
            choice = np.full(len(tuned), best)
        else:
            choice = np.argmax(np.where(np.isnan(values), -math.inf, values), axis=1)
            for t, best in zip(tuned.tolist(), choice.tolist(), strict=True):
                self.choices_[t] = dict(combinations[best])
        sign = 1.0 if self.select_by == "ap" else -1.0
        self.validation_[tuned] = sign * values[np.arange(len(tuned)), choice]

    def _try(
        self,
        X: Matrix,
        y: Floats,
        topic: int,
        combinations: list[dict[str, Any]],
        weights: Floats | None,
    ) -> list[float]:
        """Return the quality of each combination on documents that are left out."""
        if not (y > 0).any():  # nothing to learn, nothing to choose by
            return [math.nan] * len(combinations)
        left_out = _left_out(y, self.valid_share, self.random_state, topic)
        rows, others = np.flatnonzero(~left_out), np.flatnonzero(left_out)
        train_y, train_X = y[rows], X[rows]
        valid = Dataset(X[others], y[others], None)
        # A topic's loss grows with the number of its relevant documents: so must the penalty.
        scale = _n_dominating(train_y)
        found = []
        for rest, path in itertools.groupby(combinations, _without_alpha):
            alphas = [float(params.get("alpha", DominationRank().alpha)) for params in path]
            ranker = self._ranker(rest, topic)
            points = ranker.path(
                train_X,
                train_y,
                sample_weight=None if weights is None else weights[rows],
                alphas=[a * scale for a in alphas],
                valid=valid,
                metric=AP(empty=0.0),
            )
            for point in points:
                loss = -point.valid_loss / max(_n_dominating(valid.y), 1.0)
                found.append(point.quality if self.select_by == "ap" else loss)
        return found

    # ---- fitting ----

    def _fit_topic(
        self, X: Matrix, y: Floats, topic: int, weights: Floats | None
    ) -> tuple[Ints, Floats]:
        ranker = self._ranker(self.choices_[topic], topic)
        # The same penalty for each relevant document, as when alpha was chosen. Of a path, since a
        # topic without weights is nothing to warn of.
        alpha = ranker.alpha * _n_dominating(y)
        (point,) = ranker.path(X, y, sample_weight=weights, alphas=[alpha])
        coef = point.coef
        features = np.flatnonzero(coef)
        return features, coef[features]

    def _ranker(self, params: dict[str, Any], topic: int) -> DominationRank:
        # 63 bits: a positive number for signed integers too.
        seed = int(combine(self.random_state, mix(np.array([topic])))[0] >> np.uint64(1))
        usual = {"random_state": seed, "relax": self.relax}
        return DominationRank(**{**usual, **params, "n_jobs": 1})

    def _keep(self, fitted: list[tuple[Ints, Floats]]) -> None:
        sizes = [len(features) for features, _ in fitted]
        self.offsets_ = np.append(0, np.cumsum(sizes, dtype=np.int64))
        self.features_ = np.concatenate([np.empty(0, np.int64), *(f for f, _ in fitted)])
        self.weights_ = np.concatenate([np.empty(0), *(w for _, w in fitted)])

    def _map(self, function: Callable[[int], T], topics: Any) -> list[T]:
        with ThreadPoolExecutor(n_threads(self.n_jobs)) as pool:
            return list(pool.map(function, topics))

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        if self.select_by not in ("ap", "loss"):
            raise ValueError(f"select_by must be 'ap' or 'loss', but is {self.select_by!r}.")
        check_parameters(self)
        known = DominationRank().get_params()
        for name in [*(self.params or {}), *(self.grid or {})]:
            if name not in known:
                raise ValueError(f"DominationRank has no parameter {name!r}.")

    def check_state(self) -> None:
        """Raise unless weights and topics, read from a file, fit together."""
        check_topics(vars(self))


def _by_topic(Y: Any) -> sp.csc_array:
    return sp.csc_array(as_csr(Y, "Y") if sp.issparse(Y) else Y, dtype=np.float64)


def _combinations(base: dict[str, Any], grid: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return every combination, alphas fastest and from the largest down, as a path walks them."""
    names = sorted(grid, key=lambda name: name == "alpha")
    lists = [sorted(grid[name], reverse=True) if name == "alpha" else grid[name] for name in names]
    return [
        {**base, **dict(zip(names, values, strict=True))} for values in itertools.product(*lists)
    ]


def _without_alpha(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != "alpha"}


def _n_dominating(y: Floats) -> float:
    return float(max((y > y.min(initial=0.0)).sum(), 1))


def _left_out(y: Floats, share: float, seed: int, topic: int) -> Any:
    """Return which documents are left out: a share of the relevant and of the others."""
    key = combine(seed, mix(np.array([topic])))[0]
    drawn = mix(key ^ mix(np.arange(len(y))))
    left_out = np.zeros(len(y), dtype=bool)
    for rows in (np.flatnonzero(y > 0), np.flatnonzero(y <= 0)):
        # At least one is left out, and at least one is left.
        n = min(max(round(share * len(rows)), 1), max(len(rows) - 1, 0))
        left_out[rows[np.argsort(drawn[rows], kind="stable")[:n]]] = True
    return left_out
