"""``rankwright compare``: which ranker is best, and whether the difference is real."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.cluster import executor_asked_for
from rankwright.cli.columns import TRAINING
from rankwright.cli.evaluate import Segments, Title
from rankwright.cli.export import export_winner, refit_of
from rankwright.cli.metrics import Duplicates, Group, Metrics, Subtopics, kept_for, read_metrics
from rankwright.cli.next_steps import next_steps, print_steps, write_refitted
from rankwright.cli.noise_study import draw_study, print_study, study_noise
from rankwright.cli.simulate import Noise
from rankwright.cli.standings import print_leaderboard, print_segments
from rankwright.cli.stopping import resumable
from rankwright.cli.terminal import (
    AllowOverlap,
    HalveAbove,
    Json,
    Processes,
    SpreadsheetSafe,
    doing,
    fill_missing,
    plain_warnings,
    read_dataset,
    read_entries,
    with_missing,
)

if TYPE_CHECKING:
    from rankwright.comparison.entries import Entry
    from rankwright.comparison.result import Comparison
    from rankwright.data.columns import Columns
    from rankwright.evaluation.folds import Fold

_REPORT = "report.html"


DataOrFolds = Annotated[
    str, typer.Argument(help="A data file, or a folder with Fold1 ... FoldK (LETOR).")
]
Models = Annotated[
    list[str] | None,
    typer.Option(help="Models, separated by commas, or a TOML file; all by default."),
]
Test = Annotated[str | None, typer.Option(help="File of test queries; by default 20 % of DATA.")]
Valid = Annotated[
    str | None, typer.Option(help="File of validation queries; by default 20 % of DATA.")
]
Folds = Annotated[
    int | None, typer.Option(min=3, help="Split DATA into this many folds; each is tested on once.")
]
Noises = Annotated[
    list[Noise] | None,
    typer.Option(help="Also study how the models cope with this noise; repeatable."),
]
Refit = Annotated[
    str | None,
    typer.Option(help="Fit the best model to all queries and write it to this file (*.rw)."),
]
Trials = Annotated[
    int, typer.Option(min=1, help="Parameter settings to try for each model and fold.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of splits, searches and tests.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print metrics as CSV.")]
RunFolder = Annotated[
    str, typer.Option("--out", "-o", help="Folder for models, tables and the report.")
]
ExportTo = Annotated[
    str | None,
    typer.Option(
        "--export",
        help="Export the best model that this target can hold, fitted to all queries (export "
        "--list).",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the results that are in the folder.")
]


def compare(
    data: DataOrFolds,
    test: Test = None,
    valid: Valid = None,
    folds: Folds = None,
    models: Models = None,
    metric: Metrics = None,
    subtopics: Subtopics = None,
    group: Group = None,
    duplicates: Duplicates = None,
    segment: Segments = None,
    noise: Noises = None,
    trials: Trials = 8,
    halve_above: HalveAbove = 150_000,
    seed: Seed = 0,
    out: RunFolder = "comparison",
    title: Title = "",
    refit: Refit = None,
    export_to: ExportTo = None,
    overwrite: Overwrite = False,
    allow_overlap: AllowOverlap = False,
    columns: Columns = TRAINING,
    as_json: Json = False,
    as_csv: AsCsv = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    jobs: Processes = None,
) -> None:
    """Compare rankers on your data: say which is best, and whether that is certain.

    With the same --out again, it does only what is missing. Exits with 1 if a model failed, or
    none can be exported.
    """
    from rankwright.comparison.compare import compare as run

    metrics = read_metrics(metric, subtopics=subtopics, group=group, duplicates=duplicates)
    refit = refit_of(refit, export_to, out)
    _check_before(as_json and as_csv, out, overwrite, refit, data, test, valid)
    entries = read_entries(models)
    columns = kept_for(columns, segment or [], data, metrics)
    reader = partial(_read_with_ids, columns=columns, jobs=jobs)
    where: Any = {"n_jobs": jobs, "executor": executor_asked_for()}
    with plain_warnings():
        parts = _read_folds(data, test, valid, folds, seed, reader)
    parts = _with_missing(parts, data, columns, entries)
    place: Any = {"folder": out, "overwrite": overwrite, "allow_overlap": allow_overlap}
    budget: Any = {"n_trials": trials, "random_state": seed, "halve_above": halve_above or None}
    measured: Any = {"metrics": metrics, "segments": segment or []}
    with resumable("--overwrite"):
        with plain_warnings():
            result = run(parts, entries, **measured, **budget, **where, **place, verbose=True)
        _study_noise(result, entries, noise or [], out, seed, where)
        steps = next_steps(result, data, [valid, test], refit, out, columns, allow_overlap)
        result.card |= {"title": title, "files": list(filter(None, [data, valid, test]))}
        files = _write_all(result, steps, out, spreadsheet_safe, refit, export_to)
    _print_result(result, entries, as_json, as_csv)
    typer.echo(f"{out}: {files}", err=True)
    print_steps(result, steps, refitted=refit is not None)
    if result.failures or "failed" in result.card.get("export", {}):
        raise typer.Exit(1)


def _check_before(
    two_forms: bool,
    out: str,
    overwrite: bool,
    refit: str | None,
    *inputs: str | None,
) -> None:
    """Raise now what would be wrong after the long reading."""
    from rankwright.comparison.place import check_comparison_folder
    from rankwright.data.files import STANDARD
    from rankwright.data.writing import check_not_read
    from rankwright.persistence import check_model_path

    if two_forms:
        raise ValueError("--json and --csv exclude each other.")
    check_comparison_folder(out, overwrite=overwrite)
    if refit == STANDARD:
        raise ValueError("--refit must be a file: the table is on standard output.")
    if refit is not None:
        check_model_path(refit)
        check_not_read(refit, *inputs)


def _tell_scale(entries: list[Entry]) -> None:
    if any(entry.estimator.get_params(deep=False).get("standardize") for entry in entries):
        typer.echo("Linear and online models learned from standardized features.", err=True)


def _write_all(
    result: Comparison,
    steps: list[str],
    out: str,
    spreadsheet_safe: bool,
    refit: str | None,
    export_to: str | None,
) -> str:
    """Write tables, models, exports and the report; return what is in the folder, in words."""
    result.card["command"] = shlex.join(["rankwright", *sys.argv[1:]])
    result.card["next"] = steps
    _write_pages(result, out, spreadsheet_safe)
    if refit is not None:
        write_refitted(result, refit)
        if export_to is not None:
            export_winner(result, refit, export_to, out)
            _write_pages(result, out, spreadsheet_safe)  # which now tell of it
    return f"models, tables and {_REPORT}"


def _write_pages(result: Comparison, out: str, spreadsheet_safe: bool) -> None:
    """Write tables and the report."""
    from rankwright.report.report import write_report

    with doing("Writing tables"):
        result.write(out, spreadsheet_safe=spreadsheet_safe)
    with doing("Writing the report"):
        write_report(result, Path(out) / _REPORT)


def _print_result(result: Comparison, entries: list[Entry], as_json: bool, as_csv: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2))
    elif as_csv:
        typer.echo(result.metrics_csv(), nl=False)
    else:
        print_leaderboard(result)
        print_segments(result.segments, result.metrics[0])
        typer.echo(f"\n{result.verdict}")
        if result.advice:
            typer.echo(result.advice)
        for study in result.noise:
            typer.echo("")
            print_study(study)
    for failure in result.failures:
        typer.echo(
            f"rankwright: {failure.model} failed on {failure.fold}: {failure.reason}", err=True
        )
    _tell_scale(entries)
    if " 1/" in result.card["budget"]:
        typer.echo(f"Each model had {result.card['budget']}.", err=True)


def _study_noise(
    result: Comparison,
    entries: list[Entry],
    noises: Sequence[Noise],
    out: str,
    seed: int,
    where: dict[str, Any],
) -> None:
    """Add the curves of the compared models, with the parameters that were chosen."""
    tuned = result.tuned(entries) if noises else []
    if noises and not tuned:
        raise ValueError("--noise needs a model that is not a baseline.")
    for noise in noises:
        study = study_noise(
            result.folds[0].joined(),
            noise,
            tuned,
            Path(out) / "noise-fits",
            metric=result.measure(result.metrics[0]),
            random_state=seed,
            **where,
        )
        result.noise.append(study)
        draw_study(study, Path(out) / f"noise-{noise.value}.svg")


def _read_with_ids(path: Any, *, columns: Columns, jobs: int | None, **letor: Any) -> Any:
    return read_dataset(str(path), columns=columns, jobs=jobs, doc_ids=True, **letor)


def _with_missing(
    parts: list[Fold], data: str, columns: Columns, entries: list[Entry]
) -> list[Fold]:
    """Tell models what stands for missing values; all parts have what the training queries have."""
    models = [entry.estimator for entry in entries]
    fill_missing(columns, *models)
    trains = [with_missing(parts[0].train, data, columns, *models)]
    if not columns.missing_indicator:
        return parts
    trains += [fold.train.with_indicators() for fold in parts[1:]]
    return [replace(fold, train=train) for fold, train in zip(parts, trains, strict=True)]


def _read_folds(
    data: str,
    test: str | None,
    valid: str | None,
    n_folds: int | None,
    seed: int,
    reader: Callable[..., Any],
) -> list[Fold]:
    from rankwright.evaluation.folds import has_folds, read_folds, read_like, rotate, split
    from rankwright.exceptions import DataError

    if Path(data).is_dir() and has_folds(data):
        if test or valid or n_folds:
            raise ValueError(
                f"{data} is a folder with its own parts: drop --test, --valid, --folds."
            )
        return read_folds(data, reader)
    if n_folds is not None and (test or valid):
        raise ValueError("--folds cuts DATA into parts: drop --test and --valid.")
    train = reader(data)
    others = {
        name: None if path is None else read_like(train, data, path, reader)
        for name, path in (("test", test), ("valid", valid))
    }
    try:
        if n_folds is not None:
            return rotate(train, n_folds, seed)
        return split(train, others["test"], others["valid"], seed)
    except DataError as error:
        if error.path is not None:
            raise
        raise DataError(error.message, path=data) from None
