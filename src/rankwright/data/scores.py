"""Files of scores: one number per line, or queries, documents and scores."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright import _kernels
from rankwright.data.columns import DOC_ID
from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import listed
from rankwright.data.files import PathLike, display_name, open_binary
from rankwright.data.foreign import plain
from rankwright.data.formats import LETOR, TABLES, check_format, format_of, format_to_write
from rankwright.data.groups import run_starts
from rankwright.data.lines import CannotStream
from rankwright.data.tables import (
    TableWriter,
    import_frames,
    line_of_row,
    load_columns,
    one_line,
)
from rankwright.data.texts import join_ids
from rankwright.data.trec import (
    Run,
    check_distinct,
    document_names,
    ranked_rows,
    read_trec_run,
    run_lines,
    scores_by_id,
    telling_trec,
)
from rankwright.data.validation import Floats, check_count, check_doc_ids, check_qid, check_scores
from rankwright.data.writing import write_atomically
from rankwright.exceptions import DataError
from rankwright.threads import n_threads

QID, SCORE, RANK = "qid", "score", "rank"


UNSCORED = ("error", "last")


def check_unscored(unscored: str) -> None:
    """Raise unless it is known what to do with documents without a score."""
    if unscored not in UNSCORED:
        raise ValueError(f"unscored must be one of {', '.join(UNSCORED)}, but is {unscored!r}.")


def read_scores(
    path: PathLike, dataset: Dataset, *, format: str | None = None, unscored: str = "error"
) -> Floats:
    """Read the scores of a data set's documents.

    A file whose name tells no other format has one score per line, in the order of the data set's
    lines. A TREC run, or a table with the columns ``qid``, ``doc_id`` and ``score``, may be in any
    order: documents are found by their ids, or by their rows, from 1 on, where the data have none.

    Parameters
    ----------
    path : str or path-like
        The file, or ``"-"`` for standard input.
    dataset : Dataset
        The documents that were scored.
    format : str, optional
        ``"run"``, ``"csv"``, ...: the format, where the name does not tell.
    unscored : {"error", "last"}
        What happens to documents that a run or a table lacks: raise, or rank them below all others,
        as what a system did not show.

    Returns
    -------
    ndarray
        Scores in the order of the data set's rows.
    """
    check_unscored(unscored)
    if _scores_format(format_of(path, format), path) != LETOR:
        run = read_run(path, format=format)
        return scores_by_id(run, dataset, display_name(path), unscored=unscored)
    with open_binary(path) as (stream, _):
        lines = stream.read().split(b"\n")
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        values = np.array([float(line) for line in lines])
    except ValueError:
        values = None
    if values is None or not np.isfinite(values).all():
        number, text = next((i, line) for i, line in enumerate(lines, 1) if not _is_finite(line))
        with telling_trec(path):
            raise DataError(
                "must be one finite number, but is "
                f"{text.decode('utf-8', 'replace').strip()[:60]!r}.",
                path=display_name(path),
                line=number,
                field="score",
            )
    if len(values) != dataset.n_docs:
        raise DataError(
            f"there must be one score for each of the {dataset.n_docs} documents, but there are "
            f"{len(values)}.",
            path=display_name(path),
        )
    return np.asarray(values[dataset.order])


def read_run(path: PathLike, *, format: str | None = None) -> Run:
    """Read scores with the ids of queries and documents: a TREC run, or a table.

    Parameters
    ----------
    path : str or path-like
        The file. ``.parquet``, ``.csv``, ``.tsv`` and ``.jsonl`` are tables with the columns
        ``qid``, ``doc_id`` and ``score``; everything else is a TREC run.
    format : str, optional
        ``"run"``, ``"csv"``, ...: the format, where the name does not tell.
    """
    kind = _format_or_run(path) if format is None else check_format(format)
    if kind not in TABLES:
        return read_trec_run(path)
    name = display_name(path)
    table = load_columns(path, format)
    return _run_of_table(table, name)


def run_of_frame(frame: Any, name: str) -> Run:
    """Return a data frame with the columns ``qid``, ``doc_id`` and ``score`` as a run."""
    nw = import_frames("narwhals")
    try:
        table = nw.from_native(plain(frame, name), eager_only=True).to_arrow()
    except (TypeError, ValueError) as error:
        raise DataError(f"cannot be used: {one_line(error)}.", path=name) from None
    return _run_of_table(table, name)


def _run_of_table(table: Any, name: str) -> Run:
    for column in (QID, DOC_ID, SCORE):
        if table.column_names.count(column) != 1:
            raise DataError(
                f"there must be one column {column!r}, but there are {listed(table.column_names)}.",
                path=name,
                field=column,
            )
        if len(missing := np.flatnonzero(table[column].is_null().to_numpy())):
            raise DataError(
                f"must not be missing, but row {missing[0]} has no value.", path=name, field=column
            )
    qid, docs, scores = (table[column].to_numpy() for column in (QID, DOC_ID, SCORE))
    for row, score in enumerate(scores.tolist() if scores.dtype == object else ()):
        if not _is_finite(score):
            line = line_of_row(name, row)
            place = f" in row {row}" if line is None else ""
            told = f"must be one finite number, but is {score!r}{place}."
            raise DataError(told, path=name, line=line, field=SCORE)
    try:
        run = Run(
            check_qid(qid).astype(str),
            np.asarray(check_doc_ids(docs, len(qid))),
            check_scores(scores, len(qid)),
        )
    except (TypeError, ValueError) as error:
        raise DataError(str(error), path=name) from None
    check_distinct(run.qid.tolist(), run.doc_ids.tolist(), name)
    return run


def convert_run(path: PathLike, out: PathLike, format: str | None, kind: str) -> None:
    """Write a run as a table of scores, or a table of scores as a run."""
    if kind not in (*TABLES, "run"):
        raise DataError(
            "a run has no features and no labels: it can become a table of scores (.csv, .tsv, "
            ".jsonl, .parquet).",
            path=display_name(out),
        )
    run = read_run(path, format=format)
    none = np.empty((len(run), 0), dtype=np.float32)
    dataset = Dataset.from_checked(none, np.zeros(len(run)), run.qid, None, run.doc_ids)
    write_scores(run.scores[dataset.order], dataset, out, format=kind)


def write_scores(
    scores: Floats,
    dataset: Dataset,
    path: PathLike,
    *,
    format: str | None = None,
    top: int | None = None,
) -> None:
    """Write the scores of a data set's rows; ``"-"`` is standard output.

    Where the name tells no other format, there is one score per line, in the order of the data
    set's lines; numbers take the fewest digits that read back to the same float. Tables have the
    columns ``qid``, ``doc_id``, ``score`` and ``rank``, rows in the order of the data set's lines;
    with ``top`` the first documents of each query, best first. ``.run`` is a TREC run; see
    :func:`write_run`.
    """
    kind = check_scores_format(path, format, top)
    with write_atomically(path) as out:
        writer = _Writer(kind, out, display_name(path), top)
        writer.add(scores, dataset)
        writer.close()


@contextlib.contextmanager
def open_scores(path: PathLike, kind: str, top: int | None = None) -> Iterator[ScoreParts]:
    """Open a file for the scores of rows that come in parts, to be finished by the caller.

    The bytes are those of :func:`write_scores`, however the rows are cut, even within queries.
    ``kind`` is what :func:`check_scores_format` returns.
    """
    with write_atomically(path) as out:
        yield ScoreParts(_Writer(kind, out, display_name(path), top), in_queries=kind != LETOR)


class ScoreParts:
    """Scores of rows that come in parts.

    Where ranks are written, the last query of a part waits for its other rows. A query that comes
    again after others, or ids that are texts after numbers, are CannotStream: the ranks that are
    written already, or their ids, would be others.

    Attributes
    ----------
    n_rows : int
        Rows that were added.
    wrote : bool
        Whether any of them have been written.
    """

    def __init__(self, writer: _Writer, *, in_queries: bool) -> None:
        self.n_rows, self.wrote = 0, False
        self._writer, self._in_queries = writer, in_queries
        self._seen: set[str] = set()
        self._kind = ""  # of ids
        self._rest: list[tuple[NDArray[Any], NDArray[Any], Floats]] = []  # ids, documents, scores

    def add(self, scores: Floats, dataset: Dataset) -> None:
        """Append the scores of a data set's rows."""
        rows_before, self.n_rows = self.n_rows, self.n_rows + dataset.n_docs
        if not self._in_queries:
            self.wrote = True
            self._writer.add(scores, dataset)
            return
        docs = np.array(document_names(dataset, rows_before), dtype=object)
        columns = (dataset.qid, docs, np.asarray(scores))
        self._rest.append(tuple(dataset.restore(column) for column in columns))  # type: ignore[arg-type]
        qid = self._rest[-1][0]
        starts = run_starts(qid)
        if len(starts) > 1 or str(qid[0]) != str(self._rest[0][0][-1]):
            self._flush(keep=len(qid) - int(starts[-1]))

    def finish(self) -> None:
        """Write what waits, and what stands at the end of the file."""
        if self._rest:
            self._flush(keep=0)
        self._writer.close()

    def _flush(self, keep: int) -> None:
        """Write all rows but the last ones."""
        qid = join_ids([part[0] for part in self._rest])
        docs, scores = (np.concatenate([part[i] for part in self._rest]) for i in (1, 2))
        end = len(qid) - keep
        self._rest = [(qid[end:], docs[end:], scores[end:])] if keep else []
        self._note(qid[:end])
        none = np.empty((end, 0), dtype=np.float32)
        dataset = Dataset.from_checked(none, np.zeros(end), qid[:end], None, docs[:end])
        self.wrote = True
        self._writer.add(scores[:end], dataset)

    def _note(self, qid: NDArray[Any]) -> None:
        """Remember queries; some dozens of bytes for each."""
        kind = "i" if qid.dtype.kind == "i" else "U"
        if self._kind not in ("", kind):
            raise CannotStream("ids of queries are texts in some lines and numbers in others")
        self._kind = kind
        for name in map(str, qid[run_starts(qid)].tolist()):
            if name in self._seen:
                raise CannotStream(f"query {name!r} comes again after others")
            self._seen.add(name)


class _Writer:
    """Writes scores in one of the formats."""

    def __init__(self, kind: str, out: Any, name: str, top: int | None) -> None:
        self._kind, self._out, self._name, self._top = kind, out, name, top
        self._table = None if kind in (LETOR, "run") else TableWriter(kind, out)

    def add(self, scores: Floats, dataset: Dataset) -> None:
        if self._table is not None:
            columns = _score_columns(scores, dataset, self._top)
            self._table.add(import_frames("pyarrow").table(columns))
        elif self._kind == LETOR:
            self._out.write(_lines(dataset.restore(scores)))
        else:
            lines = run_lines(scores, dataset, self._name, self._top)
            self._out.write(lines.encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        if self._table is not None:
            self._table.close()


def check_scores_format(path: PathLike, format: str | None, top: int | None) -> str:
    """Return the format of a file of scores that is to be written, if it can be."""
    kind = _scores_format(format_to_write(path, format), path)
    if top is not None:
        check_count("top", top)
        if kind == LETOR:
            raise ValueError(
                "the first documents of each query need a file with ids: name it .csv, .tsv, "
                ".jsonl, .parquet or .run, or say the format."
            )
    return kind


def _scores_format(kind: str, path: PathLike) -> str:
    if kind == "qrels":
        raise DataError("a qrels file has labels, not scores.", path=display_name(path))
    return kind


def _format_or_run(path: PathLike) -> str:
    try:
        return format_of(path)
    except DataError:  # runs have names such as input.bm25
        return "run"


def _score_columns(scores: Floats, dataset: Dataset, top: int | None) -> dict[str, Any]:
    rows, ranks = ranked_rows(scores, dataset, top)
    if top is None:
        rows = np.argsort(dataset.order)
    docs = document_names(dataset)
    return {
        QID: dataset.qid[rows],
        DOC_ID: [docs[row] for row in rows.tolist()],
        SCORE: np.asarray(scores)[rows],
        RANK: ranks[rows],
    }


def _lines(values: NDArray[Any]) -> bytes:
    """Return numbers as Python writes them, one in a line."""
    if values.dtype == np.float64:
        return _kernels.format_lines(values, n_threads())
    return "".join(f"{value!r}\n" for value in values.tolist()).encode()  # labels, say


def _is_finite(text: Any) -> bool:
    try:
        return math.isfinite(float(text))
    except (TypeError, ValueError):
        return False
