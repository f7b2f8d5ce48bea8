"""Which columns of a table are what: label, query, document, features, and what is left out."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from rankwright.data.alignment import Features
from rankwright.data.categories import category_heads, told_categories
from rankwright.data.feature_names import listed
from rankwright.exceptions import DataError, DataWarning
from rankwright.suggestions import meant

DOC_ID = "doc_id"
NO_VALUES = "no values"
"""The type of a column of which nothing is known, since it is empty."""
# What an index becomes that pandas wrote without a name: in CSV, read back, and in Parquet.
_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are.

    Attributes
    ----------
    label, qid : str, optional
        Columns with labels and query ids; without ``label`` all labels are 0, without ``qid`` all
        rows are one query.
    doc_id : str, optional
        Column with document ids; a column ``doc_id`` if there is one.
    features : sequence of str, optional
        Columns to use as features, which may be empty; by default all others that are numbers.
    ignore : sequence of str
        Columns to leave out.
    keep : sequence of str
        Columns to keep beside the features (:mod:`rankwright.data.kept`), whatever else they are.
    format : str, optional
        How the file is written, where its name does not tell.
    labelled : bool
        Whether labels are needed: if not, a column of labels may be there and is not looked at.
    categorical : sequence of str
        Columns of categories, which are features too, whatever their type.
    model : Features, optional
        The features of the model that is to score the table: what is a category there is one here.
    missing : {"error", "median", "zero"}, optional
        What stands for missing values; ``"error"`` refuses to read them.
    missing_indicator : bool
        Whether models learn that a value is missing, too.
    """

    label: str | None = "label"
    qid: str | None = "qid"
    doc_id: str | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    format: str | None = None
    labelled: bool = True
    categorical: Sequence[str] = ()
    model: Features | None = None
    missing: str | None = None
    missing_indicator: bool = False
    keep: Sequence[str] = ()

    def found(self, columns: Sequence[str], path: str | None = None) -> Columns:
        """Return the same with a document column that is there; raise for those that are not."""
        used = {*(self.features or ()), *self.ignore, *self.categorical}
        doc_id = self.doc_id
        if doc_id is None and DOC_ID in columns and DOC_ID not in used:
            doc_id = DOC_ID
        label = self.label if self.labelled or self.label in columns else None
        roles = {"label": label, "qid": self.qid, "doc_id": self.doc_id}
        for role, column in roles.items():
            if column is not None and column in used:
                raise DataError(
                    f"the column of {role} cannot be a feature, or left out.",
                    path=path,
                    field=column,
                )
            if column is not None and column not in columns:
                option = role.replace("_", "-")
                hint = f"Name the right one: {role}=... (--{option} on the command line)."
                _missing(column, columns, hint, path)
        for column in (*(self.features or ()), *self.ignore, *self.categorical, *self.keep):
            if column not in columns:
                _missing(column, columns, "", path)
        categorical = [*self.categorical, *self._of_model(columns)]
        return replace(
            self, label=label, doc_id=doc_id, categorical=list(dict.fromkeys(categorical))
        )

    def categories_of_model(self) -> list[str]:
        """Return the names of columns that the model would take for categories."""
        if self.model is None or self.model.names is None:
            return []
        told = [name for name in category_heads(self.model.names) if name not in self.model.names]
        return [*self.model.categories, *told]

    def _of_model(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that are categories for the model."""
        if self.model is None or self.model.names is None:
            return []
        told = told_categories(self.model.names, columns)
        known = {*self.model.categories, *(n for n in told if n not in self.model.names)}
        return [name for name in columns if name in known]

    def choose(
        self, kinds: Mapping[str, str | None], index: Sequence[str] = (), path: str | None = None
    ) -> list[str]:
        """Return the columns that are features; a warning tells what was left out unasked.

        Parameters
        ----------
        kinds : mapping of str to str, optional
            Columns, each with its type if it is no number.
        index : sequence of str
            Columns that are known to be the index of a pandas frame.
        path : str, optional
            The file, for messages.
        """
        kinds = {**kinds, **dict.fromkeys(self.categorical)}  # which may be of any type
        if self.features is not None:
            for name in self.features:
                if (kind := kinds[name]) not in (None, NO_VALUES):
                    _no_number(name, str(kind), path)
            more = [name for name in self.categorical if name not in self.features]
            return [*self.features, *more]
        special = {self.label, self.qid, self.doc_id, *self.ignore}
        others = [name for name in kinds if name not in special]
        indices = [n for n in others if n in index or _INDEX.fullmatch(str(n))]
        texts = [n for n in others if kinds[n] is not None and n not in indices]
        untold = [n for n in texts if n not in self.keep]
        if indices:
            _warn(
                f"{listed(indices)} {_is(indices)} left out: it looks like the index of a pandas "
                "frame. Name the features to use if it is one.",
                path,
            )
        if texts and len(indices) + len(texts) == len(others):
            _no_number(texts[0], str(kinds[texts[0]]), path)  # nothing would be left
        if untold:
            types = sorted({str(kinds[name]) for name in untold})
            _warn(
                f"{listed(untold)} {_is(untold)} left out: features must be numbers, not "
                f"{' or '.join(types)}, or categories (categorical=, --categorical).",
                path,
            )
        return [name for name in others if name not in {*indices, *texts}]


def _no_number(column: str, kind: str, path: str | None) -> NoReturn:
    raise DataError(
        f"features must be numbers, but the column has type {kind}.", path=path, field=column
    )


def _missing(column: str, columns: Sequence[str], hint: str, path: str | None) -> NoReturn:
    message = f"there must be a column {column!r}, but there are only {listed(columns)}."
    near = meant(column, map(str, columns))
    raise DataError(f"{message}{near} {hint}".strip(), path=path, field=column)


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _warn(message: str, path: str | None) -> None:
    warnings.warn(f"{path}: {message}" if path else message, DataWarning, stacklevel=2)
