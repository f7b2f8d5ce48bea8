"""Records as rows of tables, and back; a row that does not hold what it must is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row

from rankwright.serve.records import (
    EventLesson,
    EventRecord,
    Kind,
    LearnerRecord,
    Mark,
    NewEvent,
    Numbers,
    RankingRecord,
)
from rankwright.serve.store.interface import StoreError

# Numbers become Python's own on the way: of NumPy's integers SQLite would keep the bytes.
_DTYPES: dict[str, np.dtype[Any]] = {"<f4": np.dtype("<f4"), "<f8": np.dtype("<f8")}
_KINDS: dict[str, Kind] = {kind.value: kind for kind in Kind}
_encode = msgspec.msgpack.Encoder().encode
_decode_ids = msgspec.msgpack.Decoder(list[str]).decode
_decode_details = msgspec.msgpack.Decoder(dict[str, Any]).decode


def is_plain(text: str) -> bool:
    """Tell whether both databases can hold a text: without NUL and lone surrogates."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return "\0" not in text


def plain_text(what: str, text: str) -> str:
    """Return a text that both databases can hold; ValueError otherwise."""
    if not is_plain(text):
        raise ValueError(f"{what} must be text without NUL and lone surrogates, not {text!a:.100}.")
    return text


def _pack_floats(values: NDArray[np.float64]) -> bytes:
    return np.asarray(values, dtype="<f8").tobytes()


def _pack_features(features: Numbers | None, n_docs: int) -> dict[str, Any]:
    if features is None:
        return {"dtype": None, "n_features": None, "features": None}
    if features.ndim != 2 or len(features) != n_docs:
        raise ValueError(
            f"features must have one row for each of {n_docs} documents, not {features.shape}."
        )
    dtype = "<f4" if features.dtype == np.float32 else "<f8"
    content = features.astype(_DTYPES[dtype], copy=False).tobytes()
    return {"dtype": dtype, "n_features": features.shape[1], "features": content}


def _pack_ids(ids: list[str], **values: NDArray[np.float64]) -> dict[str, Any]:
    """Return ids with a number for each."""
    for name, numbers in values.items():
        if np.shape(numbers) != (len(ids),):
            raise ValueError(f"{name} must be one for each of {len(ids)} documents.")
    return {"ids": _encode(ids)} | {n: _pack_floats(numbers) for n, numbers in values.items()}


def ranking_row(ranking: RankingRecord) -> dict[str, Any]:
    """Return a ranking as columns."""
    return {
        "ranking_id": plain_text("ranking_id", ranking.ranking_id),
        "at": float(ranking.at),
        "query": plain_text("query", ranking.query),
        "version": ranking.version,
        "arm": ranking.arm,
        "k": ranking.k,
        **_pack_ids(ranking.ids, scores=ranking.scores),
        **_pack_features(ranking.features, len(ranking.ids)),
    }


def event_row(seq: int, new: NewEvent) -> dict[str, Any]:
    """Return an event as columns."""
    lesson, query = new.lesson, None
    columns: dict[str, Any] = {"ids": None, "labels": None, **_pack_features(None, 0)}
    if lesson is not None:
        query = plain_text("query", lesson.query)
        columns = _pack_ids(lesson.ids, labels=lesson.labels)
        columns |= _pack_features(lesson.features, len(lesson.ids))
    return {
        "seq": seq,
        "event_id": plain_text("event_id", new.event_id),
        "at": float(new.at),
        "kind": new.kind.value,
        "digest": new.digest,
        "ranking_id": None if new.ranking_id is None else plain_text("ranking_id", new.ranking_id),
        "version": new.version,
        "arm": new.arm,
        "value": _no_nan(new.value),
        "details": _encode(new.details) if new.details else None,
        "query": query,
        **columns,
    }


def _unpack_floats(content: bytes, n_docs: int) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.frombuffer(content, dtype="<f8")
    if len(values) != n_docs:
        raise ValueError(f"{len(values)} numbers for {n_docs} documents")
    return values


def _unpack_features(
    content: bytes | None, dtype: str, n_docs: int, n_features: int
) -> Numbers | None:
    if content is None:
        return None
    if n_features < 0:
        raise ValueError(f"{n_features} features")
    values: Numbers = np.frombuffer(content, dtype=_DTYPES[dtype])
    return values.reshape(n_docs, n_features)


def _broken(what: str, error: Exception) -> StoreError:
    reason = " ".join(str(error).split())
    return StoreError(
        f"{what} of the store is damaged ({reason}); restore the store from a backup."
    )


_REASONS = (ValueError, TypeError, KeyError)  # msgspec's errors are ValueErrors


def row_ranking(row: Row[Any]) -> RankingRecord:
    """Return a ranking from its columns."""
    try:
        ids = _decode_ids(row.ids)
        scores = _unpack_floats(row.scores, len(ids))
        features = _unpack_features(row.features, row.dtype, len(ids), row.n_features)
    except _REASONS as error:
        raise _broken(f"ranking {row.ranking_id}", error) from None
    return RankingRecord(
        row.ranking_id, row.at, row.query, row.version, row.arm, ids, scores, features, row.k
    )


def row_event(row: Sequence[Any]) -> EventRecord:
    """Return an event from its columns, in the order of the schema."""
    # By place: by name it takes twice as long, and a learner reads all of the log.
    seq, event_id, at, kind, digest, ranking_id, version, arm, value, packed, query = row[:11]
    ids, labels, dtype, n_features, features = row[11:]
    try:
        lesson = None
        if ids is not None:
            documents = _decode_ids(ids)
            lesson = EventLesson(
                query,
                documents,
                _unpack_floats(labels, len(documents)),
                _unpack_features(features, dtype, len(documents), n_features),
            )
        details = {} if packed is None else _decode_details(packed)
        new = NewEvent(
            event_id,
            at,
            _KINDS[kind],
            digest,
            lesson,
            ranking_id,
            version,
            arm,
            value,
            details,
        )
    except _REASONS as error:
        raise _broken(f"event {seq}", error) from None
    return EventRecord(seq, new)


def _no_nan(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else float(value)


def learner_row(record: LearnerRecord) -> dict[str, Any]:
    """Return a learner as columns."""
    columns = {field.name: getattr(record, field.name) for field in fields(record)}
    columns |= {name: int(columns[name]) for name in ("model_id", "position", "learned", "skipped")}
    return columns | {
        "active": bool(record.active),
        "loss": _no_nan(record.loss),
        "bound": _no_nan(record.bound),
        "updated": float(record.updated),
    }


def row_learner(row: Row[Any]) -> LearnerRecord:
    """Return a learner from its columns, with an empty content if that is not among them."""
    columns = {"content": b"", **row._mapping}
    return LearnerRecord(**columns | {"loss": np.nan if row.loss is None else row.loss})


def mark_row(mark: Mark) -> dict[str, Any]:
    """Return a mark as columns."""
    return {
        "model_id": int(mark.model_id),
        "position": int(mark.position),
        "learned": int(mark.learned),
        "digest": mark.digest,
        "seqs": np.asarray(mark.seqs, dtype="<i8").tobytes(),
        "losses": _pack_floats(mark.losses),
        "loss": _no_nan(mark.loss),
        "bound": _no_nan(mark.bound),
    }


def row_mark(row: Row[Any]) -> Mark:
    """Return a mark from its columns."""
    try:
        seqs: NDArray[np.int64] = np.frombuffer(row.seqs, dtype="<i8")
        losses = _unpack_floats(row.losses, len(seqs))
    except _REASONS as error:
        raise _broken(f"mark {row.position} of model {row.model_id}", error) from None
    loss = np.nan if row.loss is None else row.loss
    return Mark(row.model_id, row.position, row.learned, row.digest, seqs, losses, loss, row.bound)
