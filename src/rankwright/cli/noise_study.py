"""``rankwright noise-study``: how rankers behave as the training data gets worse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.cluster import executor_asked_for
from rankwright.cli.columns import TRAINING
from rankwright.cli.simulate import Noise
from rankwright.cli.stopping import resumable
from rankwright.cli.terminal import (
    DataFile,
    Json,
    Processes,
    fill_missing,
    plain_warnings,
    print_table,
    read_dataset,
    read_entries,
    with_missing,
)

if TYPE_CHECKING:
    from rankwright.comparison import Entry, NoiseStudy
    from rankwright.data import Dataset
    from rankwright.data.columns import Columns


def noise_study(
    data: DataFile,
    noise: Annotated[
        Noise, typer.Option(help="How the training data is corrupted.")
    ] = Noise.labels,
    models: Annotated[
        list[str] | None,
        typer.Option(
            help="Models, separated by commas, or a TOML file; the first is the reference."
        ),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(help="Levels, separated by commas; the default depends on the noise."),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=2, help="Number of random splits and corruptions.")
    ] = 5,
    metric: Annotated[str, typer.Option("--metric", "-m", help="What to measure.")] = "ndcg@5",
    seed: Annotated[int, typer.Option(min=0, help="Seed of splits and corruptions.")] = 0,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Folder for tables and the plot.")
    ] = "noise-study",
    columns: Columns = TRAINING,
    as_json: Json = False,
    jobs: Processes = None,
) -> None:
    """Measure how rankers behave as their training data gets worse.

    With the same --out again, it does only what is missing.
    """
    from rankwright.comparison.noise_study import DEFAULT_MODELS
    from rankwright.data.writing import check_writable_folder, make_folder, write_text
    from rankwright.metrics import parse

    parse(metric)  # before the long reading
    entries = read_entries(models or [",".join(DEFAULT_MODELS)])
    swept = None if levels is None else _levels(levels)
    check_writable_folder(out)
    where: Any = {"n_jobs": jobs, "executor": executor_asked_for()}
    models_in_it = [entry.estimator for entry in entries]
    fill_missing(columns, *models_in_it)
    dataset = read_dataset(data, columns=columns, jobs=jobs)
    dataset = with_missing(dataset, data, columns, *models_in_it)
    folder = Path(out)
    make_folder(folder)
    asked: Any = {"levels": swept, "n_trials": trials, "metric": metric, "random_state": seed}
    with resumable():
        study = study_noise(dataset, noise, entries, folder / "fits", **asked, **where)
        write_text(folder / f"{noise.value}.csv", study.to_csv())
        files = [f"{noise.value}.csv", *draw_study(study, folder / f"{noise.value}.svg")]
    if as_json:
        typer.echo(json.dumps(study.to_dict(), indent=2))
    else:
        print_study(study)
    typer.echo(f"{out}: fits.csv, {', '.join(files)}", err=True)


def study_noise(
    dataset: Dataset, noise: Noise, entries: list[Entry], fits: Path, **options: Any
) -> NoiseStudy:
    """Run a study whose finished fits are in ``fits.jsonl``, and for people in ``fits.csv``."""
    from rankwright.comparison.noise_study import fits_csv, noise_study
    from rankwright.comparison.store import put_aside_if_old
    from rankwright.data.writing import write_text

    kept, table = fits.with_suffix(".jsonl"), fits.with_suffix(".csv")
    with plain_warnings():
        if not kept.exists():
            put_aside_if_old(table)
        study = noise_study(dataset, noise.value, entries, path=kept, verbose=True, **options)
    write_text(table, fits_csv(kept))
    return study


def _levels(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 <= level <= 1 for level in found):
        raise ValueError(
            f"--levels must be numbers from 0 to 1 with commas between, but is {text!r}."
        )
    return found


def draw_study(study: NoiseStudy, path: Path) -> list[str]:
    """Draw the curves, if the packages for it are there."""
    from rankwright.report.charts import save_chart

    try:
        save_chart(study.chart(), path)
    except ImportError as error:
        typer.echo(f"rankwright: warning: no plot: {error}", err=True)
        return []
    return [path.name]


def print_study(study: NoiseStudy) -> None:
    """Print means and differences by level."""
    levels = [f"{level:g}" for level in study.levels]
    rows = [[model, *(f"{v:.4f}" for v in study.curve(model)[0])] for model in study.models]
    typer.echo(f"{study.metric} on test queries, mean of {study.n_trials} trials")
    typer.echo(f"by {study.corruption.level}:")
    print_table(["model", *levels], rows)
    if len(study.models) < 2:
        return
    typer.echo(f"\n{study.models[0]} minus the others, with 95 % intervals over trials")
    typer.echo("(* where p < 0.05, corrected for all of them):")
    differences = {(d.b, d.level): d for d in study.differences()}
    rows = [
        [other, *(_difference(differences[other, level]) for level in study.levels)]
        for other in study.models[1:]
    ]
    print_table(["model", *levels], rows)


def _difference(d: Any) -> str:
    star = "*" if d.significant else ""
    return f"{d.mean:+.4f} ±{d.high - d.mean:.4f}{star}"
