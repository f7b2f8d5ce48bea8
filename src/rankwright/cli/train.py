"""``rankwright train``: from a data file to a model file."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.terminal import DataFile, Jobs, Json, Label, Qid, doing, read_dataset

if TYPE_CHECKING:
    from rankwright.solvers.solution import Progress


class Model(StrEnum):
    """Models that can be trained."""

    linear = "linear"


class Penalty(StrEnum):
    """Penalties on the weights."""

    l1 = "l1"
    l2 = "l2"
    elasticnet = "elasticnet"
    none = "none"


def train(
    data: DataFile,
    out: Annotated[str, typer.Option("--out", "-o", help="The model file to write (*.rw).")],
    model: Annotated[Model, typer.Option(help="What to train.")] = Model.linear,
    loss: Annotated[str, typer.Option(help="xendcg, listnet, domination, slam, ...")] = "xendcg",
    penalty: Annotated[Penalty, typer.Option(help="Penalty on the weights.")] = Penalty.l2,
    alpha: Annotated[
        str, typer.Option(help="Weight of the penalty; 'auto' chooses by query folds.")
    ] = "1e-3",
    l1_ratio: Annotated[float, typer.Option(help="Share of l1 in elasticnet.")] = 0.5,
    standardize: Annotated[
        bool, typer.Option(help="Divide features by their standard deviations.")
    ] = True,
    label: Label = "label",
    qid: Qid = "qid",
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Train a ranker and write it to a file."""
    from rankwright.linear import LinearRanker, choose_alpha
    from rankwright.losses import from_name
    from rankwright.persistence import save

    ranker = LinearRanker(
        loss,
        None if penalty is Penalty.none else penalty.value,
        _number(alpha),
        l1_ratio=l1_ratio,
        standardize=standardize,
        n_jobs=jobs,
    )
    from_name(loss)  # before the long reading
    dataset = read_dataset(data, label=label, qid=qid, jobs=jobs)
    begin = time.perf_counter()
    if alpha == "auto":
        with doing("Choosing alpha by 5 query folds"):
            choice = choose_alpha(ranker, dataset)
        ranker.set_params(alpha=choice.alpha)
        typer.echo(
            f"alpha {choice.alpha:g}: mean NDCG@10 {choice.ndcg.max():.4f} on left-out queries",
            err=True,
        )
    with progress_bar() as callback:
        ranker.fit_dataset(dataset, callback)
    save(ranker, out)
    facts = {
        "model": out,
        "loss": loss,
        "alpha": ranker.alpha,
        "objective": ranker.objective_[-1],
        "gap": None if ranker.gap_ == float("inf") else ranker.gap_,
        "violation": ranker.violation_,
        "iterations": ranker.n_iter_,
        "stop": ranker.stop_,
        "features_used": int((ranker.coef_ != 0).sum()),
        "seconds": round(time.perf_counter() - begin, 3),
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    gap = "" if facts["gap"] is None else f", gap at most {ranker.gap_:.1e}"
    typer.echo(
        f"{out}: {loss}, objective {ranker.objective_[-1]:.6g}{gap}, {facts['features_used']} of "
        f"{dataset.n_features} features, {ranker.n_iter_} iterations ({ranker.stop_}), "
        f"{facts['seconds']} s"
    )


def _number(alpha: str) -> float:
    if alpha == "auto":
        return 1e-3
    try:
        return float(alpha)
    except ValueError:
        raise ValueError(f"--alpha must be a number or 'auto', but is {alpha!r}.") from None


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None]]:
    """Show how a fit goes on: a live line on a terminal, plain lines when piped."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("Fitting") as status:
            yield lambda progress: status.update(_line(progress))
        return
    last = time.monotonic()

    def print_sometimes(progress: Any) -> None:
        nonlocal last
        if time.monotonic() - last >= 2:
            last = time.monotonic()
            typer.echo(_line(progress), err=True)

    yield print_sometimes


def _line(progress: Progress) -> str:
    return (
        f"iteration {progress.iteration}: objective {progress.objective:.6g}, "
        f"{progress.n_features} features, violation {progress.violation:.1e}"
    )
