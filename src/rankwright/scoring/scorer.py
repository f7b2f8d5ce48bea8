"""The door to a fitted model for services: it scores, and needs nothing for anything else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from os import PathLike
from typing import IO, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.categories import check_categories
from rankwright.exceptions import DataError
from rankwright.model_file import (
    check_features_in,
    fitting,
    no_kind,
    of_fields,
    read_model,
    read_saved,
)
from rankwright.models import CLASSES
from rankwright.parameters import RULES as PARAMETER_RULES
from rankwright.scoring.given import Intake
from rankwright.scoring.kernels import Kernel
from rankwright.scoring.rules import ScoringRule, rule_of
from rankwright.scoring.state import State, check_floats
from rankwright.threads import n_threads

# What rows are checked by; a rule holds the rest.
_OF_FEATURES = ("n_features_in_", "feature_names_in_", "categories_", "missing", "fill_")

# Parameters that scores depend on; others may be what they like.
_OF_SCORES = {"missing", "fit_intercept", "gamma", "degree", "coef0", "random_state"}


@dataclass(frozen=True, eq=False, repr=False)
class Scorer:
    """A fitted model that predicts, and does nothing else.

    Its predictions are those of the model, bit for bit, and so is what it says of bad input. It
    needs NumPy and the compiled kernels; neither scikit-learn nor LightGBM nor SciPy is loaded. It
    never changes: threads may share one, and processes may inherit or unpickle it.

    Made by ``rankwright.load(path, scorer=True)``, :meth:`load` or :meth:`from_model`.

    Attributes
    ----------
    kind : str
        The class of the model, such as ``"LinearRanker"``.
    intake : Intake
        What it takes.
    rule : ScoringRule
        What it predicts.

    Examples
    --------
    >>> import rankwright as rw
    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]], [0, 1, 2]
    >>> model = rw.LinearRanker("listnet").fit(X, y)
    >>> scorer = rw.Scorer.from_model(model)
    >>> scorer
    Scorer(LinearRanker, 2 features)
    >>> bool((scorer.predict(X) == model.predict(X)).all())
    True
    """

    kind: str
    intake: Intake
    rule: ScoringRule

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that :func:`rankwright.save` wrote.

        As safe on files from strangers as :func:`rankwright.load`.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        return read_model(path, cls.unpack)

    @classmethod
    def from_model(cls, model: Any) -> Self:
        """Return the scorer of a fitted model, which may then learn on without it.

        Parameters
        ----------
        model : LinearRanker or another model of rankwright
            A fitted model.
        """
        kind = type(model)
        name = kind.__name__
        if name not in CLASSES or kind is not getattr(import_module(CLASSES[name]), name):
            raise TypeError(
                f"model must be one of {', '.join(CLASSES)}, but is a "
                f"{kind.__module__}.{kind.__qualname__}."
            )
        if "n_features_in_" not in vars(model):
            raise ValueError(f"{name} must be fitted before it is made a scorer.")
        copied = {
            key: value.copy() if isinstance(value, np.ndarray) else value
            for key, value in vars(model).items()
        }
        return cls._of_state(name, copied)

    @classmethod
    def unpack(cls, stream: IO[bytes]) -> Self:
        """Read what a model file holds; DataError, without a path, if it cannot be one."""
        saved = read_saved(stream, _objects)
        check_features_in(saved.fitted)
        state = saved.params | saved.fitted
        fitting(lambda: _check_used(state))
        return fitting(lambda: cls._of_state(saved.kind, state))

    @classmethod
    def _of_state(cls, kind: str, state: State) -> Self:
        rule = rule_of(kind, state)
        of_features = {name: state[name] for name in _OF_FEATURES if name in state}
        return cls(kind, Intake(kind, of_features, rule.takes_missing), rule)

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return self.intake.features.n

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, if they have any."""
        names = self.intake.features.names
        return None if names is None else list(names)

    def predict(
        self,
        X: Any,
        *,
        n_trees: int | None = None,
        top_k: int | None = None,
        qid: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return what the model predicts: scores of a ranker, labels of what predicts labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_docs, n_features)
            Documents. The columns of a data frame are found by their names.
        n_trees, top_k, qid : optional
            For boosted trees, as for :meth:`rankwright.trees.BoostedRanker.predict`: the first
            trees only, and the best documents only, of each query.
        """
        if n_trees is None and top_k is None and qid is None:
            return self.rule.predict(self.intake, X)  # at once: to look for names takes a while
        asked = {"n_trees": n_trees, "top_k": top_k, "qid": qid}
        given = {name: value for name, value in asked.items() if value is not None}
        for name in given:
            if name not in self.rule.options:
                raise TypeError(f"{name} is for boosted trees, not for {self.kind}: leave it out.")
        return self.rule.predict(self.intake, X, **given)

    def __repr__(self) -> str:
        return f"Scorer({self.kind}, {self.n_features} features)"


def _check_used(state: State) -> None:
    """Raise unless parameters that scores depend on, and fills, read from a file, can be."""
    try:
        for name in _OF_SCORES & state.keys():
            PARAMETER_RULES[name].check(name, state[name], optional=name != "missing")
        n_threads(state.get("n_jobs"))
    except (ValueError, TypeError, ArithmeticError) as error:
        text = " ".join(str(error).split())
        raise DataError(f"the parameters cannot be: {text:.200}") from None
    if state.get("missing", "error") != "error":
        check_floats(state, "fill_", (state["n_features_in_"],))
    if "categories_" in state:
        names = state.get("feature_names_in_")
        check_categories(state["categories_"], None if names is None else names.tolist())


def _objects(arrays: dict[str, Any], value: dict[str, Any]) -> Any:
    """Make a kernel; what no score is made of, such as metrics and losses, is left as it is."""
    match list(value.items()):
        case [("kernel", dict(params))]:
            return of_fields(Kernel, params, partial(_objects, arrays))
        case [("metric" | "own_metric", str())] | [
            ("loss" | "estimator", str()),
            ("params", dict()),
        ]:
            return value
    raise no_kind(value)
