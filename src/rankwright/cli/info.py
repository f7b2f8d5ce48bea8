"""``rankwright info``: the data doctor."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from rankwright.cli.terminal import DataFile, Jobs, Json, Label, Qid, doing, read_dataset


def info(
    data: DataFile,
    label: Label = "label",
    qid: Qid = "qid",
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if there is a warning.")
    ] = False,
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Say what is in a file, and flag likely problems."""
    dataset = read_dataset(data, label=label, qid=qid, jobs=jobs)
    with doing("Examining"):
        report = dataset.describe()
    if as_json:
        typer.echo(json.dumps({"file": data, **report.to_dict()}, indent=2))
    else:
        typer.echo(str(report))
    if strict and report.findings:
        raise typer.Exit(1)
