"""``rankwright partition``: files to parts of whole queries."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwright.cli.terminal import OutFormat
from rankwright.progress import display


def partition(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="LETOR text or tables: files, folders or patterns; queries in any order.",
        ),
    ],
    out: Annotated[str, typer.Option("--out", "-o", help="The folder to write.")],
    parts: Annotated[int, typer.Option(help="How many parts.")],
    qid: Annotated[str, typer.Option(help="Tables: the query id column.")] = "qid",
    format: Annotated[
        str | None,
        typer.Option(help="Format of DATA, if its name does not say: letor, csv, tsv, ..."),
    ] = None,
    out_format: OutFormat = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace parts that are there.")
    ] = False,
) -> None:
    """Write data as parts of whole queries, to train on more than memory holds.

    All rows of a query go to one part, which depends on its id alone. Lines of text and all columns
    of tables stay as they are. The folder appears when it is complete, with a manifest by which
    changes are found later.
    """
    from rankwright.data.partitioning import PartitionProgress, partition

    with display() as shown:
        bar = shown.bar()

        def told(progress: PartitionProgress) -> None:
            if progress.done == 1:
                bar.restart(progress.total)
            bar.update(progress.what, advance=1)

        manifest = partition(
            sources,
            out,
            parts,
            format=format,
            out_format=out_format,
            qid=qid,
            overwrite=overwrite,
            callback=told,
        )
    n_docs = sum(part.n_docs for part in manifest.parts)
    n_queries = sum(part.n_queries for part in manifest.parts)
    largest = max(part.n_docs for part in manifest.parts)
    typer.echo(
        f"{out}: {len(manifest.parts)} parts, {n_docs} documents, {n_queries} queries; the largest "
        f"has {largest} documents",
        err=True,
    )
