"""``rankwright info``: the data doctor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.parts import names_parts, read_local_parts
from rankwright.cli.terminal import DataFile, Jobs, Json, doing, read_dataset

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def info(
    data: DataFile,
    columns: Columns = TABLE,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if there is a warning.")
    ] = False,
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Summarise a data file, and warn of likely problems."""
    from rankwright.data.doctor import describe_parts

    if names_parts(data):
        parts = read_local_parts(data, columns=columns, jobs=jobs)
        with doing("Examining"):
            report = describe_parts(parts)
    else:
        dataset = read_dataset(data, columns=columns, jobs=jobs)
        with doing("Examining"):
            report = dataset.describe()
    if as_json:
        typer.echo(json.dumps({"file": data, **report.to_dict()}, indent=2))
    else:
        typer.echo(str(report))
    if strict and report.findings:
        raise typer.Exit(1)
