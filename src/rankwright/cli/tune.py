"""``rankwright tune``: parameters of a model, by search over query folds."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.cluster import executor_asked_for
from rankwright.cli.columns import TRAINING
from rankwright.cli.metrics import kept_for, read_metric
from rankwright.cli.next_steps import train_command
from rankwright.cli.stopping import resumable
from rankwright.cli.terminal import (
    DataFile,
    HalveAbove,
    Json,
    Params,
    Processes,
    fill_missing,
    plain_warnings,
    print_table,
    read_dataset,
    with_missing,
)
from rankwright.cli.train import parse_params
from rankwright.models import NAMES

if TYPE_CHECKING:
    from rankwright.comparison.space import Space
    from rankwright.comparison.study import Study
    from rankwright.data.columns import Columns


Searched = Annotated[str, typer.Option(help=f"What to search: {', '.join(NAMES)}.")]
Search = Annotated[
    list[str] | None,
    typer.Option(
        "--search",
        "-s",
        help="NAME=LOW..HIGH, NAME=LOW..HIGH:log or NAME=A,B,C; repeatable. By default what "
        "compare searches.",
    ),
]
Sampler = Annotated[str, typer.Option(help="random, or optuna (pip install 'rankwright[tune]').")]
Parallel = Annotated[
    int,
    typer.Option(
        min=1,
        help="Trials that optuna has under way at a time; what it tries depends on this number.",
    ),
]
StudyFile = Annotated[
    str | None, typer.Option(help="The study on disk (*.jsonl); resumed if it exists.")
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out", "-o", help="Fit the best parameters to all of DATA and write the model (*.rw)."
    ),
]


def tune(
    data: DataFile,
    model: Searched = "xendcg-linear",
    search: Search = None,
    param: Params = None,
    trials: Annotated[int, typer.Option(min=1, help="Total number of trials.")] = 20,
    folds: Annotated[int, typer.Option(min=2, help="Folds; queries are never split.")] = 3,
    metric: Annotated[
        str,
        typer.Option("--metric", "-m", help="What to optimise, or FILE.py:FUNCTION, which is run."),
    ] = "ndcg@10",
    halve_above: HalveAbove = 150_000,
    sampler: Sampler = "random",
    parallel: Parallel = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and draws.")] = 0,
    study: StudyFile = None,
    out: Out = None,
    columns: Columns = TRAINING,
    as_json: Json = False,
    jobs: Processes = None,
) -> None:
    """Search for the best parameters of a model, by cross-validation over queries.

    With the same --study again, it does only what is missing.
    """
    from rankwright.comparison.entries import entry_of
    from rankwright.comparison.space import parse_dimension
    from rankwright.comparison.tune import tune as run
    from rankwright.persistence import save

    measured = read_metric(metric)
    entry = entry_of(model, parse_params(param or []))
    space: Space = dict(parse_dimension(text) for text in search or []) or entry.space
    if not space:
        raise ValueError(f"{model} needs --search: there is nothing that it searches by itself.")
    entry = replace(entry, space=space)
    fill_missing(columns, entry.estimator)
    entry.estimator.check_params()
    _check_sampler(sampler, parallel)
    _check_outputs(study, out, data)
    where: Any = {"n_jobs": jobs, "executor": executor_asked_for(), "path": study}
    columns = kept_for(columns, [], data, [measured])
    dataset = read_dataset(data, columns=columns, jobs=jobs)
    dataset = with_missing(dataset, data, columns, entry.estimator)
    choice: Any = {
        "sampler": sampler,
        "n_parallel": parallel,
        "random_state": seed,
        "metric": measured,
    }
    budget: Any = {"n_trials": trials, "n_folds": folds, "halve_above": halve_above or None}
    kept = contextlib.nullcontext() if study is None else resumable()
    with kept, plain_warnings():
        result = run(entry.estimator, dataset, space, **choice, **budget, **where, verbose=True)
    if out is not None:
        fitted = result.fit_best(dataset)
        save(fitted, out)
        typer.echo(f"{out}: {type(fitted).__name__}, fitted to {data}", err=True)
    target = out or f"{model}.rw"
    command = train_command(result.best_estimator, model, [data], target, columns=columns)
    _print_trials(result, command, as_json, err=out == "-")


def _check_outputs(study: str | None, out: str | None, data: str) -> None:
    from rankwright.data.writing import check_not_read, check_writable
    from rankwright.persistence import check_model_path

    if study is not None:
        check_writable(study)
        check_not_read(study, data)
    if out is not None:
        check_model_path(out)
        check_not_read(out, data, study)


def _print_trials(result: Study, command: str | None, as_json: bool, err: bool) -> None:
    """Print the best trials; on standard error where the model is the output."""
    from rankwright.comparison.views import parameter_text, share_text

    if as_json:
        typer.echo(json.dumps({**result.to_dict(), "command": command}, indent=2), err=err)
        return
    shown = [t for t in result.best_first() if not t.error][:10]
    rows = [
        [str(t.number), f"{t.value:.4f}", *map(parameter_text, t.params.values())] for t in shown
    ]
    best = result.best.params
    heads = ["trial", result.metric, *best]
    if any(t.share < 1 for t in result.trials):
        heads.append("of the queries")
        rows = [[*row, share_text(t.share)] for row, t in zip(rows, shown, strict=True)]
    print_table(heads, rows, err=err)
    typer.echo(f"\n{command or _best_text(best)}", err=err)


def _best_text(params: dict[str, Any]) -> str:
    from rankwright.comparison.views import parameter_text

    return " ".join(f"-p {name}={parameter_text(value)}" for name, value in params.items())


def _check_sampler(name: str, parallel: int) -> None:
    if name not in ("random", "optuna"):
        raise ValueError(f"--sampler must be random or optuna, but is {name!r}.")
    if parallel > 1 and name != "optuna":
        raise ValueError(
            f"--parallel is for --sampler optuna: {name} has as many trials under way as there are "
            "workers for."
        )
