"""``rankwright train``: from a data file to a model file."""

from __future__ import annotations

import ast
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.terminal import DataFile, Jobs, Json, Label, Qid, doing, read_dataset
from rankwright.models import MODELS, make_model

if TYPE_CHECKING:
    from rankwright.solvers.solution import Progress

# Where the command line's defaults differ from the class': files have features of any scale.
_DEFAULTS: dict[str, dict[str, Any]] = {"linear": {"standardize": True}}


def train(
    data: DataFile,
    out: Annotated[str, typer.Option("--out", "-o", help="The model file to write (*.rw).")],
    model: Annotated[str, typer.Option(help=f"What to train: {', '.join(MODELS)}.")] = "linear",
    loss: Annotated[str | None, typer.Option(help="xendcg, listnet, domination, slam, ...")] = None,
    penalty: Annotated[
        str | None, typer.Option(help="Penalty on the weights: l1, l2, elasticnet or none.")
    ] = None,
    alpha: Annotated[
        str | None, typer.Option(help="Weight of the penalty; 'auto' chooses by query folds.")
    ] = None,
    l1_ratio: Annotated[float | None, typer.Option(help="Share of l1 in elasticnet.")] = None,
    standardize: Annotated[
        bool | None,
        typer.Option(
            "--standardize/--no-standardize",
            help="Divide features by their standard deviations.",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", help="NAME=VALUE: any parameter of the model; repeatable."),
    ] = None,
    label: Label = "label",
    qid: Qid = "qid",
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Train a ranker and write it to a file."""
    from rankwright.persistence import save

    options = {"loss": loss, "penalty": penalty, "l1_ratio": l1_ratio, "standardize": standardize}
    if alpha not in (None, "auto"):
        options["alpha"] = _number(alpha)
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if penalty == "none":
        given["penalty"] = None
    given |= parse_params(param or [])
    ranker = make_model(model, **_DEFAULTS.get(model, {}) | given)
    if jobs is not None and "n_jobs" in ranker.get_params():
        ranker.set_params(n_jobs=jobs)
    if hasattr(ranker, "_check_params"):
        ranker._check_params()  # before the long reading
    dataset = read_dataset(data, label=label, qid=qid, jobs=jobs)
    begin = time.perf_counter()
    if alpha == "auto":
        _choose_alpha(ranker, model, dataset)
    with progress_bar() as callback:
        if hasattr(ranker, "fit_dataset"):
            ranker.fit_dataset(dataset, callback)
        else:
            ranker.fit(dataset.X, dataset.y, dataset.qid)
    save(ranker, out)
    facts = {"model": out, **_facts(ranker), "seconds": round(time.perf_counter() - begin, 3)}
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        typer.echo(f"{out}: {type(ranker).__name__}, {_sentence(facts)}")


def parse_params(texts: list[str]) -> dict[str, Any]:
    """Return parameters from ``NAME=VALUE``; values are Python literals, anything else is text."""
    params = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.isidentifier() and equals):
            raise ValueError(f"--param must be NAME=VALUE, but is {text!r}.")
        try:
            params[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            params[name] = value
    return params


def _number(alpha: str) -> float:
    try:
        return float(alpha)
    except ValueError:
        raise ValueError(f"--alpha must be a number or 'auto', but is {alpha!r}.") from None


def _choose_alpha(ranker: Any, model: str, dataset: Any) -> None:
    from rankwright.linear import choose_alpha

    if not hasattr(ranker, "path"):
        raise ValueError(f"--alpha auto needs a model with a path of penalties, not {model}.")
    with doing("Choosing alpha by 5 query folds"):
        choice = choose_alpha(ranker, dataset)
    ranker.set_params(alpha=choice.alpha)
    typer.echo(
        f"alpha {choice.alpha:g}: mean NDCG@10 {choice.ndcg.max():.4f} on left-out queries",
        err=True,
    )


def _facts(ranker: Any) -> dict[str, Any]:
    """Return what there is to tell of a fitted model, by name."""
    params = ranker.get_params()
    facts: dict[str, Any] = {name: params[name] for name in ("loss", "alpha") if name in params}
    attributes = {
        "objective": "objective_",
        "gap": "gap_",
        "violation": "violation_",
        "iterations": "n_iter_",
        "stop": "stop_",
    }
    for name, attribute in attributes.items():
        if hasattr(ranker, attribute):
            value = getattr(ranker, attribute)
            facts[name] = value[-1] if isinstance(value, list) else value
    if facts.get("gap") == float("inf"):
        facts["gap"] = None
    if hasattr(ranker, "coef_"):
        facts["features_used"] = int((ranker.coef_ != 0).sum())
        facts["features"] = ranker.n_features_in_
    return facts


def _sentence(facts: dict[str, Any]) -> str:
    """Return the facts as one line."""
    forms = {
        "loss": "{}",
        "objective": "objective {:.6g}",
        "gap": "gap at most {:.1e}",
        "features_used": "{} of " + str(facts.get("features")) + " features",
        "iterations": "{} iterations",
        "stop": "{}",
        "seconds": "{} s",
    }
    return ", ".join(
        form.format(facts[name]) for name, form in forms.items() if facts.get(name) is not None
    )


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
