"""``rankwright verify``: an export proved again; what an engine logged, beside the model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.export import Names
from rankwright.cli.terminal import Json, doing, read_with_features

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def verify(
    what: Annotated[
        str,
        typer.Argument(
            metavar="CERTIFICATE|MODEL", help="A certificate (*.cert.json); or a model, with --log."
        ),
    ],
    export: Annotated[
        str | None, typer.Argument(help="The export, if it is not beside its certificate.")
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(help="Features and scores as the engine logged them: .tsv, .csv (.gz, .zst)."),
    ] = None,
    names: Names = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", help="The rows that the export was made with, to repeat all probes."
        ),
    ] = None,
    columns: Columns = TABLE,
    as_json: Json = False,
) -> None:
    """Check an export again, or explain logged scores that differ from the model's.

    Exits with 1 if anything is wrong.
    """
    from rankwright.exports.naming import read_names
    from rankwright.exports.verifying import verify as run

    if log is None and names is not None:
        raise ValueError("--names is for --log: a certificate knows the names.")
    if log is None and Path(what).suffix == ".rw":
        raise ValueError(f"{what} is a model: compare it with a log (--log FILE).")
    given: dict[str, Any] = {"log": log}
    given["names"] = None if names is None else read_names(names)
    given["data"] = None if data is None else _certified_rows(what, data, columns)
    with doing(f"Verifying {export or log or what}"):
        found = run(what, export, **given)
    typer.echo(found.to_json() if as_json else str(found))
    if not found.passed:
        raise typer.Exit(1)


def _certified_rows(certificate: str, data: str, columns: Columns) -> Any:
    """Read the rows that an export was made with."""
    from rankwright.exports.certificate import Certificate
    from rankwright.persistence import load

    said, _ = Certificate.read(certificate)
    grid = str(Path(certificate).with_name(said.files["grid"]["name"]))
    columns = replace(columns, labelled=False)
    return read_with_features(data, grid, load(grid), columns=columns, jobs=None)
