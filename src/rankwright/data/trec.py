"""TREC's files: judgements (qrels) and rankings (runs), and documents found by their ids.

::

    query 0 document label                    qrels
    query Q0 document rank score tag          run

Ids are texts without blanks. As in trec_eval the scores of a run tell the order, not its ranks.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import listed
from rankwright.data.files import PathLike, display_name, open_binary
from rankwright.data.groups import Ints
from rankwright.data.ranks import rank, top_k
from rankwright.data.texts import text_array
from rankwright.data.validation import Floats
from rankwright.data.writing import write_text
from rankwright.exceptions import DataError, DataWarning

_QRELS, _RUN = "query 0 document label", "query Q0 document rank score tag"
_FIRST_BYTES = 1 << 12


@dataclass(frozen=True, eq=False)
class Run:
    """The documents that a system found, with their scores.

    Attributes
    ----------
    qid, doc_ids : ndarray of str
        Query and document of each row; no pair occurs twice.
    scores : ndarray of float
        Their scores; larger ranks higher.
    """

    qid: NDArray[Any]
    doc_ids: NDArray[Any]
    scores: Floats

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"Run({len(self)} documents, {len(set(self.qid.tolist()))} queries)"


def read_qrels(path: PathLike) -> Dataset:
    """Read TREC judgements, ``query 0 document label`` a line, as a data set without features.

    Measure a run with it: ``rw.evaluate(rw.data.read_run(...), rw.data.read_qrels(...))``.
    """
    qid, docs, labels = _read_columns_of(path, _QRELS, 3, "label")
    y = np.array(labels)
    X = np.empty((len(y), 0), dtype=np.float32)
    return Dataset.from_checked(X, y, text_array(qid), None, text_array(docs))


def read_trec_run(path: PathLike) -> Run:
    """Read a TREC run, ``query Q0 document rank score tag`` a line."""
    qid, docs, scores = _read_columns_of(path, _RUN, 4, "score")
    return Run(text_array(qid), text_array(docs), np.array(scores))


def write_qrels(dataset: Dataset, path: PathLike) -> None:
    """Write queries, documents and labels as TREC judgements, rows in the order of the input.

    Labels must be whole. Documents without ids are called by their rows, from 1 on. Features are
    not written.
    """
    name = display_name(path)
    if (broken := np.flatnonzero(dataset.y != np.floor(dataset.y))).size:
        raise DataError(
            f"labels must be whole in TREC files, but one is {dataset.y[broken[0]]:g}.",
            path=name,
            field="label",
        )
    qid, docs = _trec_ids(dataset, name)
    labels = dataset.y.astype(np.int64).tolist()
    lines = [f"{q} 0 {d} {y}\n" for q, d, y in zip(qid, docs, labels, strict=True)]
    write_text(path, "".join(lines[i] for i in np.argsort(dataset.order).tolist()))


def write_run(
    scores: Floats,
    dataset: Dataset,
    path: PathLike,
    *,
    top: int | None = None,
    tag: str = "rankwright",
) -> None:
    """Write the scores of a data set's rows as a TREC run: query by query, best document first.

    Parameters
    ----------
    scores : array-like of shape (n_docs,)
        In the order of the data set's rows.
    dataset : Dataset
        The documents. Without ids they are called by their rows, from 1 on.
    path : str or path-like
        The file; ``"-"`` is standard output.
    top : int, optional
        Documents of each query; all by default.
    tag : str, default "rankwright"
        The name of the system.
    """
    if not tag or len(tag.split()) != 1:
        raise ValueError(f"tag must be one word, but is {tag!r}.")
    write_text(path, run_lines(scores, dataset, display_name(path), top, tag))


def run_lines(
    scores: Floats, dataset: Dataset, name: str, top: int | None, tag: str = "rankwright"
) -> str:
    """Return the lines of a TREC run; ``name`` is the file, for messages."""
    qid, docs = _trec_ids(dataset, name)
    rows, ranks = ranked_rows(scores, dataset, top)
    values = np.asarray(scores)[rows].tolist()
    lines = zip(rows.tolist(), ranks[rows].tolist(), values, strict=True)
    return "".join(f"{qid[i]} Q0 {docs[i]} {place} {score!r} {tag}\n" for i, place, score in lines)


def ranked_rows(scores: Floats, dataset: Dataset, top: int | None) -> tuple[Ints, Ints]:
    """Return the rows of each query's first documents, best first, and the rank of every row."""
    most = dataset.n_docs if top is None else top
    return top_k(scores, dataset.qid, most), rank(scores, dataset.qid)


def document_names(dataset: Dataset, rows_before: int = 0) -> list[str]:
    """Return the documents' ids; without ids they are called by their input rows, from 1 on."""
    rows = map(str, (dataset.order + 1 + rows_before).tolist())
    if dataset.doc_ids is None:
        return list(rows)
    # Of LETOR text, lines without a comment have an empty id.
    return [doc or row for doc, row in zip(dataset.doc_ids.tolist(), rows, strict=True)]


def scores_by_id(run: Run, dataset: Dataset, path: str, *, unscored: str = "error") -> Floats:
    """Return the scores of a data set's rows, found by query and document.

    Every document must have one, unless those ``unscored`` are ``"last"``; documents of the run
    that are not in the data set are left out with a warning.
    """
    known = dict(zip(_id_pairs(run.qid, run.doc_ids.tolist()), run.scores.tolist(), strict=True))
    pairs = _id_pairs(dataset.qid, document_names(dataset))
    if len(set(pairs)) < len(pairs):
        _refuse_twice(pairs, "the data", "documents are found by their ids")
    missing = [pair for pair in pairs if pair not in known]
    if len(missing) == len(pairs):
        raise DataError(
            f"must have scores of documents of the data, but none of its {len(known)} pairs of "
            f"query and document is there: the first is {next(iter(known), None)!r}, in the data "
            f"{pairs[0]!r}.",
            path=path,
        )
    if missing and unscored == "last":
        known |= dict.fromkeys(missing, float(run.scores.min()) - 1.0)
        warnings.warn(
            f"{path}: {len(missing)} of {len(pairs)} documents have no score and are ranked last.",
            DataWarning,
            stacklevel=2,
        )
    elif missing:
        query, doc = missing[0]
        rows = "" if dataset.doc_ids is not None else " (which is its row: the data have no ids)"
        raise DataError(
            f"there must be a score for each of the {len(pairs)} documents, but {len(missing)} "
            f"have none; the first is document {doc!r}{rows} of query {query!r}. Rank them last "
            "(--unscored last) if the system did not show them.",
            path=path,
        )
    if len(known) > len(pairs):
        warnings.warn(
            f"{path}: {len(known) - len(pairs)} scores are of documents that are not in the data; "
            "they are left out.",
            DataWarning,
            stacklevel=2,
        )
    return np.array([known[pair] for pair in pairs])


def check_distinct(qid: Sequence[Any], docs: Sequence[str], path: str) -> None:
    """Raise if a document occurs twice in a query."""
    pairs = _id_pairs(np.asarray(qid), docs)
    if len(set(pairs)) < len(pairs):
        _refuse_twice(pairs, path, "a document must occur once in a query")


# ---- files that are taken for others ----


def refuse_trec(path: PathLike, kind: str) -> NoReturn:
    """Raise for a TREC file where features are needed."""
    form = _QRELS if kind == "qrels" else _RUN
    raise DataError(
        f"is a TREC {kind} file ({form}), which has no features. Measure runs with "
        "rankwright evaluate QRELS RUN (--format qrels, --scores-format run if the names do not "
        "tell).",
        path=display_name(path),
    )


@contextlib.contextmanager
def telling_trec(path: PathLike) -> Iterator[None]:
    """Say of a file that cannot be read that it is TREC's, if that is what its first line is."""
    try:
        yield
    except DataError:
        told = _told_by_content(path)
        if told is None:
            raise
    else:
        return
    refuse_trec(path, told)


def _told_by_content(path: PathLike) -> str | None:
    if not os.path.isfile(path):
        return None
    try:
        with open_binary(path) as (stream, _):
            head = stream.read(_FIRST_BYTES).decode("utf-8-sig", "replace")
    except DataError:
        return None
    fields = next((line.split() for line in head.splitlines() if line.strip()), [])
    if len(fields) == 4 and fields[1] in ("0", "Q0") and _number(fields[3]) is not None:
        return "qrels"
    if len(fields) == 6 and fields[1] in ("0", "Q0") and _number(fields[4]) is not None:
        return "run"
    return None


# ---- lines ----


def _read_columns_of(
    path: PathLike, form: str, place: int, what: str
) -> tuple[list[str], list[str], list[float]]:
    """Return queries, documents and the numbers at a place of each line."""
    name = display_name(path)
    width = len(form.split())
    with open_binary(path) as (stream, _):
        content = stream.read()
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError("must be UTF-8 text.", path=name) from None
    seen: dict[tuple[str, str], int] = {}
    numbers = []
    for i, line in enumerate(lines, 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != width:
            raise DataError(
                f"must be {form!r}, but has {len(fields)} fields: {line.strip()[:60]!r}.",
                path=name,
                line=i,
            )
        value = _number(fields[place])
        if value is None:
            raise DataError(
                f"must be a finite number, but is {fields[place]!r}.", path=name, line=i, field=what
            )
        pair = (fields[0], fields[2])
        if seen.setdefault(pair, i) != i:
            raise DataError(
                f"a document must occur once in a query, but {pair[1]!r} of query {pair[0]!r} is "
                f"in line {seen[pair]} too.",
                path=name,
                line=i,
            )
        numbers.append(value)
    if not numbers:
        raise DataError(f"there must be lines {form!r}, but there is none.", path=name)
    return [query for query, _ in seen], [doc for _, doc in seen], numbers


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _trec_ids(dataset: Dataset, name: str) -> tuple[list[str], list[str]]:
    """Return queries and documents of the rows, if each is one word."""
    qid, docs = [str(query) for query in dataset.qid.tolist()], document_names(dataset)
    for field, ids in (("qid", dataset.groups.names.tolist()), ("doc_id", docs)):
        for text in map(str, ids):
            if len(text.split()) != 1 or text != text.strip():
                raise DataError(
                    f"ids must be words without blanks in TREC files, but one is {text!r}.",
                    path=name,
                    field=field,
                )
    check_distinct(qid, docs, name)
    return qid, docs


def _id_pairs(qid: NDArray[Any], docs: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(map(str, qid.tolist()), docs, strict=True))


def _refuse_twice(pairs: list[tuple[str, str]], path: str, rule: str) -> NoReturn:
    seen: set[tuple[str, str]] = set()
    for pair in pairs:
        if pair in seen:
            raise DataError(f"{rule}, but {listed(pair[1:])} of query {pair[0]!r} is there twice.",
                            path=path)  # fmt: skip
        seen.add(pair)
    raise AssertionError("no pair occurs twice")
