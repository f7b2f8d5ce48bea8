"""``rankwright export``: a model as an engine takes it, with a certificate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.terminal import Json, doing, print_table, read_with_features

if TYPE_CHECKING:
    from rankwright.comparison.result import Comparison
    from rankwright.data.columns import Columns

ModelFile = Annotated[str | None, typer.Argument(help="The model file (*.rw).")]
Names = Annotated[
    str | None,
    typer.Option(
        help="A file with what the engine calls the features: one name per line, or the model's "
        "name or number, a tab, and the name."
    ),
]
SampleFile = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="Rows as the engine will see them: they are probed too, and changes are reported.",
    ),
]
LeavesAt = Annotated[
    str | None,
    typer.Option(help="grid (sums are exact), nearest (rounded to float32), own (as they are)."),
]
MissingThere = Annotated[
    str | None,
    typer.Option(help="What the engine's version does with missing values: by-node, zero, right."),
]


def export(
    model: ModelFile = None,
    to: Annotated[str | None, typer.Option(help="The target; --list shows all.")] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", help="The file to write; its certificate is written beside it."
        ),
    ] = None,
    data: SampleFile = None,
    names: Names = None,
    leaves: LeavesAt = None,
    probes: Annotated[
        int | None, typer.Option(min=1, help="At most this many probe rows; all by default.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            help="Allow a refusal that is a matter of judgement, by its code; repeatable."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the model in the engine; by default that of the file."),
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="Feature store, feature set or table in the engine.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option(help="sql: duckdb, sqlite, postgresql or clickhouse.")
    ] = None,
    missing: MissingThere = None,
    present: Annotated[
        list[str] | None,
        typer.Option(help="Features that every document has, separated by commas, or all."),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(help="A file with the features that the store has, one name per line."),
    ] = None,
    list_targets: Annotated[
        bool, typer.Option("--list", help="Show what each target supports.")
    ] = False,
    columns: Columns = TABLE,
    as_json: Json = False,
) -> None:
    """Write a model for a search engine, a database or a program, and prove its scores there.

    Beside the file it writes a certificate, a model whose predictions are the engine's bit for
    bit (*.grid.rw), and probes with the scores that the engine must give (*.probes.tsv).
    """
    if list_targets:
        print_targets(as_json)
        return
    model, to, out = _required(model, to, out)
    words = {"name": name, "store": store, "dialect": dialect, "missing": missing}
    options: dict[str, Any] = {key: value for key, value in words.items() if value is not None}
    options["present"] = [one.strip() for text in present or [] for one in text.split(",")]
    options["known"] = [] if known is None else _known_names(known)
    given = {"leaves": leaves, "probes": probes, "allow": allow or [], "overwrite": force}
    _export(model, to, out, data, names, columns, as_json, **given, **options)


def _known_names(path: str) -> list[str]:
    from rankwright.exports.naming import read_names

    return list(read_names(path))


def _export(
    model: str,
    to: str,
    out: str,
    data: str | None,
    names: str | None,
    columns: Columns,
    as_json: bool,
    **given: Any,
) -> None:
    from rankwright.data.writing import check_not_read
    from rankwright.estimator import as_model
    from rankwright.exports.exporting import Paths
    from rankwright.exports.exporting import export as run
    from rankwright.exports.naming import read_names
    from rankwright.exports.targets.registry import target_named
    from rankwright.persistence import load

    target_named(to)
    paths = Paths.beside(out)
    paths.check(given["overwrite"])
    for path in paths.all():
        check_not_read(path, model, data, names)
    called = None if names is None else read_names(names)
    ranker, sample = load(model), None
    if data is not None:
        columns = replace(columns, labelled=False)
        sample = read_with_features(data, model, as_model(ranker), columns=columns, jobs=None)
    with doing(f"Exporting to {to}"):
        certificate = run(ranker, to, out, data=sample, names=called, **given)
    if as_json:
        typer.echo(certificate.to_json(), nl=False)
        return
    typer.echo(certificate.text(out, data or "the data"))
    typer.echo(f"certificate: {paths.certificate}")


def _required(model: str | None, to: str | None, out: str | None) -> tuple[str, str, str]:
    if model is None:
        raise ValueError("MODEL must be given: a model file (*.rw). --list tells the targets.")
    if to is None:
        raise ValueError(
            "--to TARGET must be given: where the model goes. --list tells the targets."
        )
    if out is None:
        raise ValueError("--out FILE must be given: the file to write.")
    return model, to, out


def print_targets(as_json: bool) -> None:
    """Print what each target can hold."""
    from rankwright.exports.targets.registry import TARGETS, target_named

    found = [target_named(name) for name in TARGETS]
    if as_json:
        said = [
            {"target": one.name, "engine": one.engine, "holds": one.holds, "number": one.number}
            for one in found
        ]
        typer.echo(json.dumps(said, indent=2))
        return
    rows = [[one.name, one.engine, one.holds, one.number] for one in found]
    print_table(["target", "engine", "holds", "features as"], rows)


# ---- after a comparison ----


def refit_of(refit: str | None, target: str | None, folder: str) -> str | None:
    """Return where the best model is written, which is needed to export it; check the target."""
    if target is None:
        return refit
    from rankwright.exports.targets.registry import target_named

    target_named(target)
    return str(Path(folder) / "model.rw") if refit is None else refit


def export_winner(result: Comparison, model: str, target: str, folder: str) -> None:
    """Export the best model that a target can hold; the run card tells of it, or why not.

    ``model`` is the file of the best model, fitted to all queries. If another one is exported, it
    is written to the folder.
    """
    from rankwright.comparison.shipping import NothingHeldError, export_best
    from rankwright.exceptions import DataError
    from rankwright.exports.exporting import Paths
    from rankwright.exports.targets.registry import target_named
    from rankwright.persistence import load, save

    out = Path(folder) / f"winner{target_named(target).suffix}"
    told: dict[str, Any] = {"target": target}
    result.card["export"] = told
    try:
        with doing(f"Exporting to {target}"):
            refitted = {result.best: load(model)}
            done = export_best(result, target, out, refitted=refitted, overwrite=True)
    except DataError as error:  # what was compared stays
        reasons = error.passed_over if isinstance(error, NothingHeldError) else {}
        told["failed"], told["passed_over"] = str(error), reasons
        for name, reason in (reasons or {result.best: str(error)}).items():
            typer.echo(f"rankwright: {name} was not exported: {reason}", err=True)
        return
    told |= {"model": done.name, "passed_over": done.passed_over}
    told["certificate"] = Paths.beside(out).certificate.name
    told["text"] = done.certificate.text(out, "the test queries")
    place = Path(folder) / "exported.rw"
    if not done.passed_over:
        place.unlink(missing_ok=True)  # that of an earlier export
    else:
        save(done.model, place)
        _tell_passed_over(result, told, place)
    typer.echo(f"{out}: {told['text']}", err=True)


def _tell_passed_over(result: Comparison, told: dict[str, Any], place: Path) -> None:
    """Say which better models a target cannot hold, and which one it got."""
    first = result.metrics[0]
    means = {s.name: f"{first} {s.means[first]:.4f}" for s in result.standings}
    for name, reason in told["passed_over"].items():
        typer.echo(f"rankwright: {name} ({means[name]}) was passed over: {reason}", err=True)
    name = told["model"]
    typer.echo(
        f"{place}: {name} ({means[name]}), the best model that {told['target']} can hold, fitted "
        "to all queries",
        err=True,
    )
