"""Files of scores: one number per line, or queries, documents and scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankwright.data.columns import DOC_ID
from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import listed
from rankwright.data.files import PathLike, display_name, open_binary
from rankwright.data.formats import LETOR, TABLES, check_format, format_of, format_to_write
from rankwright.data.tables import import_frames, load_columns, write_table
from rankwright.data.trec import (
    Run,
    check_distinct,
    document_names,
    ranked_rows,
    read_trec_run,
    scores_by_id,
    telling_trec,
    write_run,
)
from rankwright.data.validation import Floats, check_count, check_doc_ids, check_qid, check_scores
from rankwright.data.writing import write_atomically, write_text
from rankwright.exceptions import DataError

QID, SCORE, RANK = "qid", "score", "rank"


def read_scores(path: PathLike, dataset: Dataset, *, format: str | None = None) -> Floats:
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

    Returns
    -------
    ndarray
        Scores in the order of the data set's rows.
    """
    if _scores_format(format_of(path, format), path) != LETOR:
        return scores_by_id(read_run(path, format=format), dataset, display_name(path))
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
    if kind == LETOR:
        write_text(path, "".join(f"{score!r}\n" for score in dataset.restore(scores).tolist()))
    elif kind == "run":
        write_run(scores, dataset, path, top=top)
    else:
        arrow = import_frames("pyarrow")
        table = arrow.table(_score_columns(scores, dataset, top))
        with write_atomically(path) as out:
            write_table(table, kind, out)


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


def _is_finite(text: bytes) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
