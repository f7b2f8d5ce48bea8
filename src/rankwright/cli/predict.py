"""``rankwright predict``: scores of a model for a data file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.cluster import current_client
from rankwright.cli.columns import TABLE
from rankwright.cli.parts import names_parts
from rankwright.cli.terminal import (
    DataFile,
    Jobs,
    OutFormat,
    doing,
    read_like_model,
    read_quietly,
    refuse_table_options,
)

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def predict(
    model: Annotated[str, typer.Argument(help="The model file (*.rw).")],
    data: DataFile,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="File to write: .txt, .csv, .tsv, .jsonl, .parquet, .run; - is standard output.",
        ),
    ] = "-",
    out_format: OutFormat = None,
    top: Annotated[
        int | None, typer.Option(help="Write only this many documents of each query, best first.")
    ] = None,
    columns: Columns = TABLE,
    jobs: Jobs = None,
) -> None:
    """Write the scores of a model: one per line, in the order of the data, or with ids and ranks.

    No labels are needed.
    """
    from rankwright.data.blocks import comes_in_blocks
    from rankwright.data.files import STANDARD
    from rankwright.data.formats import LETOR
    from rankwright.data.lines import CannotStream
    from rankwright.data.scores import check_scores_format, open_scores, write_scores
    from rankwright.data.writing import check_not_read, check_writable
    from rankwright.estimator import as_model
    from rankwright.persistence import load

    kind = check_scores_format(out, out_format, top)
    check_writable(out)
    check_not_read(out, model, data)
    ranker = as_model(load(model))
    columns = replace(columns, labelled=False)
    letor = {"doc_ids": kind != LETOR}  # of comments, which plain scores do not need
    wanted = replace(columns, model=ranker.features())
    asked = _Asked(ranker, model, data, wanted, jobs, letor, partial(open_scores, out, kind, top))
    if names_parts(data):
        _predict_files(asked)
        return
    if comes_in_blocks(data, columns.format):
        try:
            _predict_blocks(asked, again=out != STANDARD)
            return
        except CannotStream as reason:
            _require_another_way(reason, data)
    dataset = read_like_model(data, model, ranker, columns=columns, jobs=jobs, **letor)
    with doing("Scoring"):
        scores = ranker.predict_aligned(dataset)
    write_scores(scores, dataset, out, format=kind, top=top)


@dataclass(frozen=True)
class _Asked:
    """What is scored, and where the scores go."""

    ranker: Any
    model: str
    data: str
    columns: Columns
    jobs: int | None
    letor: dict[str, Any]
    open_scores: Callable[[], Any]


def _predict_files(asked: _Asked) -> None:
    """Read, score and write one file of data in parts after the other."""
    from rankwright.data.formats import LETOR
    from rankwright.data.lines import CannotStream
    from rankwright.data.part_files import part_paths, same_format
    from rankwright.exceptions import DataError

    paths = part_paths(asked.data)
    is_text = same_format(paths, asked.columns.format) == LETOR
    letor = asked.letor if is_text else {}
    reader = partial(read_quietly, columns=asked.columns, jobs=asked.jobs, **letor)
    found_in = _scored_files(paths, asked.ranker, reader, asked.model)
    with doing(f"Scoring {asked.data}"), asked.open_scores() as scores:
        for path, found in zip(paths, found_in, strict=True):
            try:
                if found is not None:
                    scores.add(*found)
            except CannotStream as reason:
                raise DataError(f"cannot be scored, since {reason}.", path=path) from None
        scores.finish()


def _scored_files(paths: list[str], ranker: Any, reader: Any, model: str) -> Iterator[Any]:
    """Yield scores and documents of each file in turn; None for one without documents."""
    from rankwright.data.part_files import telling_once

    client = current_client()
    if client is not None:
        from rankwright.dask.files import map_files

        yield from map_files(client, score_file, paths, ranker, reader, model)
        return
    told: set[str] = set()
    for path in paths:
        with telling_once(told, path):
            found = score_file(path, ranker, reader, model)
        yield found


def score_file(path: str, ranker: Any, reader: Any, model: str) -> Any:
    """Return the scores of a file's documents, and these without their features."""
    import numpy as np

    from rankwright.data.part_files import read_part

    part = read_part(path, reader)
    if part is None:
        return None
    scores = ranker.predict_aligned(ranker.align(part, path=path, name=model))
    return scores, part.with_features(np.empty((part.n_docs, 0), dtype=np.float32))


def _predict_blocks(asked: _Asked, *, again: bool) -> None:
    """Read, score and write one block of the data after the other.

    What cannot be scored this way is a CannotStream if all can be written ``again``.
    """
    from rankwright.data.blocks import read_blocks
    from rankwright.data.formats import LETOR, format_of
    from rankwright.data.frames import refuse_infinite
    from rankwright.data.lines import CannotStream
    from rankwright.exceptions import DataError

    data, columns = asked.data, asked.columns
    if format_of(data, columns.format) == LETOR:
        refuse_table_options(data, columns)
    blocks = read_blocks(data, columns, allow_nan=True, n_jobs=asked.jobs, **asked.letor)
    block: Any = None
    with doing(f"Scoring {data}", once=True), asked.open_scores() as scores:
        try:
            for block in blocks:
                refuse_infinite(block, data, scores.n_rows)
                scores.add(_scored_block(asked, block), block)
            if block is None:
                raise CannotStream("it has no rows")
            scores.finish()
            _scored_block(asked, block, tell=True)
        except CannotStream as reason:
            if again or not scores.wrote:
                raise
            raise DataError(
                f"cannot be scored to the end, since {reason}. Write the scores to a file (--out): "
                "then it is read again, as a whole.",
                path=data,
            ) from None


def _scored_block(asked: _Asked, block: Any, *, tell: bool = False) -> Any:
    """Return the scores of a block; what there is to tell of its features is told once."""
    from rankwright.data.lines import CannotStream

    with warnings.catch_warnings():
        if not tell:
            warnings.simplefilter("ignore")
        try:
            aligned = asked.ranker.align(block, path=asked.data, name=asked.model)
            return asked.ranker.predict_aligned(aligned)
        except ValueError as error:  # which names rows of the block, or features that come later
            raise CannotStream("a part of it cannot be scored") from error


def _require_another_way(reason: Exception, data: str) -> None:
    """Raise if data that cannot be scored in parts cannot be read again either."""
    from rankwright.data.files import can_be_read_again
    from rankwright.exceptions import DataError

    if can_be_read_again(data):
        return
    if reason.__cause__ is not None:
        raise reason.__cause__
    raise DataError(
        f"cannot be scored while it is read, since {reason}. Write it to a file first.",
        path="standard input" if data == "-" else data,
    )
