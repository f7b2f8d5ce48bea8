"""A version of a model as the service ranks with it: what it takes, and what it answers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwright.data.feature_names import all_feature_names, listed
from rankwright.data.lazy import lazy
from rankwright.serve.bodies import Document, LabelledDocument
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.ranking.ways import Scores, full_model, ranking_way
from rankwright.serve.records import ModelRecord, Numbers
from rankwright.suggestions import meant

_REASONS = 10  # features of an explanation


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model of a version, which never changes.

    Attributes
    ----------
    version : str
        ``"1"``, or ``"1+250"``.
    record : ModelRecord
        What the store says of the model.
    kind : str
        Its class.
    n_features : int
        How many features there are.
    names : list of str, optional
        Their names.
    takes_missing : bool
        Whether it knows what to do with missing values.
    classes : list, optional
        Its labels, if it predicts labels.
    content : bytes
        The model file.
    """

    version: str
    record: ModelRecord
    kind: str
    n_features: int
    names: list[str] | None
    takes_missing: bool
    classes: list[Any] | None
    content: bytes = field(repr=False)
    _scores: Callable[[Numbers], Scores] = field(repr=False)
    _labels: Callable[[Numbers], NDArray[Any]] | None = field(repr=False)

    @classmethod
    def of(cls, content: bytes, record: ModelRecord, version: str) -> Self:
        """Return the model of a file; DataError if it is none, or cannot rank documents."""
        way = ranking_way(content)
        return cls(
            version,
            record,
            way.kind,
            way.n_features,
            way.names,
            way.takes_missing,
            way.classes,
            content,
            way.scores,
            way.labels,
        )

    @property
    def model_id(self) -> int:
        """The number of the model."""
        return self.record.model_id

    @property
    def learns(self) -> bool:
        """Whether it goes on learning."""
        return self.record.learns

    @lazy
    def feature_names(self) -> list[str]:
        """The names of the features; without any, ``feature 1``, ``feature 2``, ..."""
        return all_feature_names(self.names, self.n_features)

    @lazy
    def _row(self) -> struct.Struct:
        return struct.Struct(f"{self.n_features}d")

    # ---- what callers send ----

    def matrix(self, documents: Sequence[Document | LabelledDocument]) -> Numbers:
        """Return the features of documents, in the model's order; NaN is a missing value.

        Raises RefusedError, which names the document and the feature.
        """
        try:
            # The quickest way from lists to an array; names are no floats, nor is None.
            pack = self._row.pack
            packed = b"".join([pack(*document.features) for document in documents])
        except struct.error:
            return self._matrix_of_any(documents)
        return np.frombuffer(packed, np.float64).reshape(len(documents), self.n_features)

    def _matrix_of_any(self, documents: Sequence[Document | LabelledDocument]) -> Numbers:
        found = np.empty((len(documents), self.n_features))
        for place, document in enumerate(documents):
            row, where = document.features, f"documents[{place}].features"
            if isinstance(row, dict):
                row = self._by_name(row, where)
            if len(row) != self.n_features:
                raise RefusedError(
                    422,
                    f"document {document.id!r} must have {self.n_features} features, but has "
                    f"{len(row)}.",
                    where,
                )
            if not self.takes_missing and None in row:
                name = self.feature_names[row.index(None)]
                raise RefusedError(
                    422,
                    f"document {document.id!r} must have a number for {name!r}, but it is null: "
                    f"{self.kind} takes no missing values.",
                    where,
                )
            found[place] = row  # None becomes NaN
        return found

    def _by_name(self, row: dict[str, float | None], where: str) -> list[float | None]:
        known = self.feature_names
        if row.keys() != set(known):
            unknown = [name for name in row if name not in set(known)]
            if unknown:
                text = f"there is no feature {unknown[0]!r:.200}.{meant(unknown[0], known)}"
                raise RefusedError(422, text, where)
            missing = [name for name in known if name not in row]
            raise RefusedError(
                422, f"features must be complete: there is no {listed(missing)}.", where
            )
        return [row[name] for name in known]

    # ---- what callers get ----

    def rank(self, X: Numbers, missing: bool = True) -> Scores:
        """Return a score for each row.

        Raises RefusedError for what is not finite, but for missing values (NaN): they may be there
        if ``missing`` and the model takes them.
        """
        if self.takes_missing and not missing and not np.isfinite(X).all():
            raise self._not_finite(X, False) or AssertionError
        try:
            return self._scores(X)
        except ValueError as error:
            wrong = self._not_finite(X, missing and self.takes_missing)
            raise wrong or RefusedError(422, str(error), "documents") from None

    def _not_finite(self, X: Numbers, missing: bool) -> RefusedError | None:
        wrong = np.argwhere(np.isinf(X) if missing else ~np.isfinite(X))
        if not len(wrong):
            return None
        row, column = wrong[0].tolist()
        return RefusedError(
            422,
            f"features must be finite numbers, but {self.feature_names[column]!r} of document "
            f"{row} is {X[row, column]}.",
            f"documents[{row}].features",
        )

    def labels(self, X: Numbers) -> list[Any] | None:
        """Return the labels of the rows; None from a ranker."""
        if self._labels is None:
            return None
        found: list[Any] = self._labels(X).tolist()
        return found

    def explain(self, X: Numbers) -> list[dict[str, float]]:
        """Return what the weightiest features add to the score of each row, the largest first."""
        from rankwright.evaluation.explain import explain

        try:
            found = explain(self._model, X)
        except (TypeError, ValueError) as error:
            raise RefusedError(
                422, f"{self.kind} cannot be explained: {error}", "explain"
            ) from None
        added = found.contributions
        order = np.argsort(-np.abs(added), axis=1, kind="stable")[:, :_REASONS]
        names = self.feature_names
        return [
            {names[j]: float(row[j]) for j in best}
            for row, best in zip(added, order.tolist(), strict=True)
        ]

    @lazy
    def _model(self) -> Any:
        return full_model(self.content)
