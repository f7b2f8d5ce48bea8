"""``rankwright train`` on data in parts: more of them than memory holds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from rankwright.cli.cluster import current_client
from rankwright.cli.parts import read_local_parts
from rankwright.cli.terminal import doing, tell_missing

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def check_parts_options(
    ranker: Any,
    name: str,
    in_parts: bool,
    alpha: str | None,
    valid: str | None,
    max_memory: str | None,
) -> None:
    """Raise for a model, or options, with which nothing can be learned from parts."""
    if not in_parts:
        if current_client() is not None:
            raise ValueError("--stream learns query by query on this machine: leave --dask out.")
        if max_memory is not None:
            raise ValueError(
                "--max-memory is for data in parts: rankwright partition FILE... -o FOLDER --parts "
                "N"
            )
        return
    if not ranker.takes_parts():
        from rankwright.models import NAMES, make_model
        from rankwright.online import OnlineLearner

        if isinstance(ranker, OnlineLearner):
            raise ValueError(f"{name} learns from parts query by query: give --stream.")
        known = [other for other in NAMES if _takes_parts(make_model(other))]
        raise ValueError(
            f"{name} learns from data in memory, not from parts. From parts learn "
            f"{', '.join(known)}."
        )
    ranker.check_learns_from_parts()
    if alpha == "auto":
        raise ValueError("--alpha auto needs data in memory: give a number to learn from parts.")
    if valid is None and (needed := ranker.watches()):
        raise ValueError(f"{needed} needs --valid to learn from parts.")


def _takes_parts(model: Any) -> bool:
    try:
        model.check_learns_from_parts()
    except (TypeError, ValueError):
        return False
    return True


def read_training_parts(
    max_memory: str | None,
    ranker: Any,
    data: list[str],
    valid: str | None,
    columns: Columns,
    jobs: int | None,
    allow_overlap: bool,
) -> tuple[Any, dict[str, Any]]:
    """Read what is learned from, and the validation queries if there are any."""
    from rankwright.data.part_files import check_there, part_paths
    from rankwright.data.part_values import aligned_parts, with_indicators
    from rankwright.evaluation.overlap import check_parts_apart

    files = [] if valid is None else part_paths(valid)
    if current_client() is None:
        check_there(files)  # before the long reading
    options: dict[str, Any] = {"columns": columns, "jobs": jobs}
    memory: Any = {"max_memory": max_memory, "needs": ranker.part_bytes, "valid": files}
    parts: Any = read_local_parts(data, **options, **memory)
    facts, name = parts.facts, ", ".join(data)
    typer.echo(
        f"{len(parts)} parts, {facts.n_docs} documents, {facts.n_queries} queries, "
        f"{facts.n_features} features",
        err=True,
    )
    tell_missing(facts.missing, facts.n_docs, facts.features.names, name, ranker)
    if columns.missing_indicator:
        with doing("Marking missing values"):
            parts = with_indicators(parts)
    if valid is None:
        return parts, {}
    others: Any = read_local_parts(valid, **options)
    with doing("Finding features"):
        others = aligned_parts(others, replace(parts.facts.features, owner=name))
    if not allow_overlap:
        check_parts_apart(parts, others, f"the queries of {name} and {valid}")
    return parts, {"valid": others}


@contextlib.contextmanager
def saved_if_unfinished(ranker: Any, out: str) -> Iterator[None]:
    """Save what a fit leaves that cannot go on, such as the trees before machines were lost."""
    from rankwright.persistence import save
    from rankwright.refitting import UnfinishedError

    try:
        yield
    except UnfinishedError:
        save(ranker, out)
        raise
