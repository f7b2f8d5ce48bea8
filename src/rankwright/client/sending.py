"""What callers hand to the client, as bodies of the service."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import numpy as np

from rankwright.extras import load_extra

_LONGEST_IDS = 6000  # characters: addresses are shorter than 8,000 with most proxies
Features = Any  # numbers in the model's order, or by name; None is a missing value


def as_id(value: object, what: str) -> str:
    """Return an id as the service has it: a text; integers become one."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            raise ValueError(f"{what} must be text that UTF-8 can hold, but is {value!r}.")
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise TypeError(f"{what} must be a text or an integer, but is {value!r}.")


def asked_documents(
    documents: Any, ids: str | Iterable[object] | None, X: Any
) -> dict[str, Features]:
    """Return features by id, in the order given, whatever the form.

    Documents are dicts with ``id`` and ``features``, pairs of both, or a mapping; or ``ids`` and
    ``X``, where X is an array, a list of rows or a data frame (``ids`` may be one of its columns).
    """
    if (documents is None) == (X is None) or (X is None and ids is not None):
        raise TypeError("give documents, or ids= and X=: one of both.")
    pairs = _pairs_of(documents) if X is None else _rows_of(ids, X)
    found: dict[str, Features] = {}
    for given, features in pairs:
        name = as_id(given, "the id of a document")
        if name in found:
            raise ValueError(f"each document must be there once, but {name!r} is there twice.")
        found[name] = features
    return found


def _pairs_of(documents: Any) -> Iterator[tuple[object, Features]]:
    if isinstance(documents, Mapping):
        yield from documents.items()
        return
    if _is_frame(documents):
        raise TypeError("a data frame must come as X=, with ids= or the name of their column.")
    for number, document in enumerate(documents):
        if isinstance(document, Mapping) and document.keys() == {"id", "features"}:
            yield document["id"], document["features"]
        elif isinstance(document, tuple | list) and len(document) == 2:
            yield document[0], document[1]
        else:
            raise TypeError(
                "each document must be (id, features) or {'id': ..., 'features': ...}, but "
                f"document {number} is {str(document)[:60]!r}."
            )


def _rows_of(ids: str | Iterable[object] | None, X: Any) -> Iterator[tuple[object, Features]]:
    if _is_frame(X):
        ids, X = _frame_rows(ids, X)
    if isinstance(ids, str) or ids is None:
        raise TypeError("X needs ids=, one for each row; a name of a column needs a data frame.")
    names = list(ids)
    if len(names) != len(X):
        raise ValueError(f"X must have a row for each id, but has {len(X)} for {len(names)} ids.")
    return zip(names, X, strict=True)


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and not isinstance(value, Mapping)


def _frame_rows(
    ids: str | Iterable[object] | None, frame: Any
) -> tuple[Iterable[object] | None, list[Features]]:
    """Return ids and rows by name of a data frame; its nulls are missing values."""
    narwhals = load_extra("narwhals", "frames", "data frames need")
    table = narwhals.from_native(frame, eager_only=True)
    if isinstance(ids, str):
        if ids not in table.columns:
            raise ValueError(f"ids must name a column, but there is no {ids!r}.")
        ids, table = table[ids].to_list(), table.drop(ids)
    columns = {}
    for name in table.columns:
        column = table[name]
        if not (column.dtype.is_numeric() or column.dtype == narwhals.Boolean):
            raise TypeError(
                f"features must be numbers, but column {name!r} is {column.dtype}. Leave it out."
            )
        null = column.is_null().to_list()
        values = column.to_list()
        columns[name] = [None if n else float(value) for n, value in zip(null, values, strict=True)]
    return ids, [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]


def npy_bytes(X: Any) -> bytes | None:
    """Return an array as the contents of an ``.npy`` file; None of what is none, or not finite."""
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"):
        return None
    X = X if X.dtype in ("<f4", "<f8") else X.astype("<f8")
    if not np.isfinite(X).all():
        return None
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(X), allow_pickle=False)
    return file.getvalue()


def rank_parameters(
    query: str, ids: Iterable[str], k: int | None, explain: bool
) -> dict[str, str] | None:
    """Return what stands in the address beside an ``.npy``; None if the ids do not fit there."""
    names = list(ids)
    found = {"query": query, "ids": ",".join(names)}
    if any("," in name for name in names) or len(quote(found["ids"])) > _LONGEST_IDS:
        return None
    if k is not None:
        found["k"] = str(k)
    return found | ({"explain": "true"} if explain else {})


def listed_documents(asked: Mapping[str, Features]) -> list[dict[str, Any]]:
    """Return documents as bodies have them."""
    return [{"id": name, "features": features} for name, features in asked.items()]


def rank_body(
    query: str, asked: Mapping[str, Features], k: int | None, explain: bool
) -> dict[str, Any]:
    """Return the body of ``POST /v1/rank``."""
    body: dict[str, Any] = {"query": query, "documents": listed_documents(asked)}
    if k is not None:
        body["k"] = k
    if explain:
        body["explain"] = True
    return body


def json_bytes(body: Any) -> bytes:
    """Return a body as JSON; NaN and infinities are refused, and their place is named."""
    try:
        text = json.dumps(body, allow_nan=False, default=_plain_value, separators=(",", ":"))
    except ValueError:
        raise ValueError(
            f"numbers must be finite, but {_place_of_nan(body)}. A missing value is None, where "
            "the model takes missing values."
        ) from None
    return text.encode()


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"features and labels must be numbers, but one is {value!r}.")


def _place_of_nan(body: Any, place: str = "", document: str = "") -> str:
    """Return where the first number is that is not finite; ``""`` without one."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(body, float | np.floating) and not math.isfinite(body):
        return f"{place}{document} is {float(body)}"
    if isinstance(body, Mapping):
        if isinstance(body.get("id"), str):
            place, document = "", f" of document {body['id']!r}"
        parts = body.items()
    elif isinstance(body, list | tuple | np.ndarray):
        parts = enumerate(body)
    found = (
        _place_of_nan(value, f"{place}[{key!r}]" if place else str(key), document)
        for key, value in parts
    )
    return next((text for text in found if text), "")
