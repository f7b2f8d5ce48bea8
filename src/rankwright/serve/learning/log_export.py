"""The log as a table: one row a document, which ``rankwright train`` takes."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from rankwright.data.feature_names import all_feature_names, listed
from rankwright.data.formats import format_to_write, require_table
from rankwright.data.tables import TableWriter, import_frames
from rankwright.data.writing import write_atomically
from rankwright.estimator import as_model
from rankwright.exceptions import DataError
from rankwright.persistence import unpack_model
from rankwright.serve.learning.following import Follower
from rankwright.serve.records import EventRecord, Kind
from rankwright.serve.store.interface import Store

_IDS = ("qid", "label", "doc_id")
_OF_EVENT = ("event_id", "query", "at", "ranking_id", "model")
_GROUP_CELLS = 4 << 20  # of a row group


@dataclass(frozen=True)
class Span:
    """Which events are wanted: places in the log, or times in seconds since 1970."""

    first: int = 1
    last: int | None = None
    begin: float = float("-inf")
    end: float = float("inf")

    @classmethod
    def of(cls, since: str | None, until: str | None) -> Span:
        """Read ``--since`` and ``--until``: a number, or a date and time (UTC unless it says)."""
        told: dict[str, Any] = {}
        for option, text, names in (
            ("--since", since, ("first", "begin")),
            ("--until", until, ("last", "end")),
        ):
            if text is None:
                continue
            if text.isdecimal():
                told[names[0]] = int(text)
                continue
            try:
                time = datetime.fromisoformat(text)
            except ValueError:
                raise ValueError(
                    f"{option} must be the number of an event, or a time such as 2026-01-31T12:00, "
                    f"but is {text!r}."
                ) from None
            told[names[1]] = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        return cls(**told)


@dataclass(frozen=True)
class Exported:
    """What was written: events and documents, and events that had no features."""

    n_events: int
    n_docs: int
    n_empty: int
    n_others: int
    n_features: int


class _WiderError(Exception):
    """Features that came as float64 after others of float32."""


def export_log(
    store: Store,
    path: str,
    span: Span | None = None,
    *,
    n_features: int | None = None,
    with_events: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Exported:
    """Write the feedback of a log, in bounded memory; the file appears when it is complete.

    Parameters
    ----------
    store : Store
        One moment of it is written.
    path : str
        ``*.parquet``, ``*.csv``, ``*.tsv`` or ``*.jsonl``.
    span : Span, optional
        Which events; all of them by default.
    n_features : int, optional
        Only events with so many features; by default all must have the same number.
    with_events : bool
        Whether to write id, time and query of the caller, and the model that ranked, too.
    tell : callable
        Called with the place in the log, and the last one.
    """
    kind = format_to_write(path)
    require_table(kind, path)
    with store.snapshot() as moment:
        for dtype in (None, np.dtype(np.float64)):
            table = _Table(moment, n_features, with_events, dtype)
            try:
                # Closed also where it fails: what was written then goes.
                with (
                    write_atomically(path) as out,
                    contextlib.closing(TableWriter(kind, out)) as writer,
                ):
                    for part in table.parts(span or Span(), tell):
                        writer.GROUP_ROWS = max(1, _GROUP_CELLS // part.num_columns)
                        writer.add(part)
                    return table.finish(path)
            except _WiderError:
                continue  # from the beginning, with more digits
    raise AssertionError("float64 holds whatever is logged")


class _Table:
    """Makes tables of events."""

    def __init__(self, store: Store, width: int | None, with_events: bool, dtype: Any) -> None:
        self._store = store
        self._asked = self._width = width
        self._with_events = with_events
        self._dtype = dtype
        self._names: list[str] = []
        self._counts: Counter[int] = Counter()
        self._n_docs = self._n_empty = 0

    def parts(self, span: Span, tell: Callable[[int, int], None]) -> Iterator[Any]:
        """Yield the rows, a table at a time."""
        last = span.last
        for events in Follower(self._store).read_all(max(0, span.first - 1)):
            wanted = [e for e in events if _is_wanted(e, span)]
            fitting = [event for event in wanted if self._fits(event)]
            if fitting:
                yield self._rows(fitting)
            tell(events[-1].seq, events[-1].seq if last is None else last)
            if last is not None and events[-1].seq >= last:
                return

    def _fits(self, event: EventRecord) -> bool:
        lesson = event.new.lesson
        X = None if lesson is None else lesson.features
        if X is None or len(X) == 0:
            self._n_empty += 1
            return False
        width = X.shape[1]
        self._counts[width] += 1
        if self._width is None:
            self._width = width
        if width != self._width:
            return False
        if self._dtype is None:
            self._dtype = X.dtype
        if X.dtype.itemsize > self._dtype.itemsize:
            raise _WiderError
        return True

    def _rows(self, events: Sequence[EventRecord]) -> Any:
        arrow = import_frames("pyarrow")
        lessons: list[Any] = [event.new.lesson for event in events]
        sizes = [len(lesson.ids) for lesson in lessons]
        self._n_docs += sum(sizes)
        X = np.concatenate([lesson.features for lesson in lessons]).astype(self._dtype, copy=False)
        columns: dict[str, Any] = {
            "qid": np.repeat([event.seq for event in events], sizes),
            "label": np.concatenate([lesson.labels for lesson in lessons]),
            "doc_id": arrow.array([name for lesson in lessons for name in lesson.ids]),
        }
        if self._with_events:
            columns |= _event_columns(events, sizes, arrow)
        for j, name in enumerate(self._feature_names(X.shape[1])):
            columns[name] = arrow.array(np.ascontiguousarray(X[:, j]), from_pandas=True)
        return arrow.table(columns)

    def _feature_names(self, width: int) -> list[str]:
        if not self._names:
            self._names = names_of_features(self._store, width)
            taken = {*_IDS, *(_OF_EVENT if self._with_events else ())} & set(self._names)
            if taken:
                raise DataError(f"features must not be named {listed(sorted(taken))}.")
        return self._names

    def finish(self, path: str) -> Exported:
        """Return what was written; raise if it is not what was asked for."""
        if self._asked is None and len(self._counts) > 1:
            told = ", ".join(f"{n:,} with {width}" for width, n in sorted(self._counts.items()))
            raise DataError(
                f"all events must have the same number of features, but there are {told}. Choose "
                "with --features.",
                path=path,
            )
        n_events = self._counts[self._width or 0]
        if n_events == 0:
            there = ", ".join(f"{n:,} with {width}" for width, n in sorted(self._counts.items()))
            raise DataError(
                f"there must be events with {'' if self._asked is None else f'{self._asked} '}"
                f"features, but there are {there or f'{self._n_empty:,} without any'}.",
                path=path,
            )
        others = self._counts.total() - n_events
        return Exported(n_events, self._n_docs, self._n_empty, others, self._width or 0)


def _is_wanted(event: EventRecord, span: Span) -> bool:
    return (
        event.new.kind is Kind.feedback
        and span.first <= event.seq
        and (span.last is None or event.seq <= span.last)
        and span.begin <= event.new.at <= span.end
    )


def _event_columns(
    events: Sequence[EventRecord], sizes: Sequence[int], arrow: Any
) -> dict[str, Any]:
    """Return columns that are no numbers: reading takes them for no features."""

    def repeated(values: Sequence[Any], kind: Any) -> Any:
        return arrow.array([v for v, n in zip(values, sizes, strict=True) for _ in range(n)], kind)

    news = [event.new for event in events]
    queries = [None if new.lesson is None else new.lesson.query for new in news]
    times = [datetime.fromtimestamp(new.at, UTC) for new in news]
    return {
        "event_id": repeated([new.event_id for new in news], arrow.string()),
        "query": repeated(queries, arrow.string()),
        "at": repeated(times, arrow.timestamp("us", "UTC")),
        "ranking_id": repeated([new.ranking_id for new in news], arrow.string()),
        "model": repeated([new.version for new in news], arrow.string()),
    }


def names_of_features(store: Store, width: int) -> list[str]:
    """Return the names of so many features, as the served model has them, or the last that does.

    Without such a model they are ``feature 1``, ...
    """
    serving = store.serving()
    promoted = None if serving is None else serving.promoted
    numbers = [record.model_id for record in store.models()]
    for number in sorted(numbers, key=lambda n: (n == promoted, n), reverse=True):
        known = as_model(unpack_model(io.BytesIO(store.model_content(number)))).features()
        if known.n == width and known.names is not None:
            return [str(name) for name in known.names]
    return all_feature_names(None, width)
