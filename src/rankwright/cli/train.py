"""``rankwright train``: from a data file to a model file."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.columns import TRAINING
from rankwright.cli.parts import MaxMemory, names_parts
from rankwright.cli.progress import Interrupt, interruptible
from rankwright.cli.terminal import (
    AllowOverlap,
    DataFiles,
    Jobs,
    Json,
    Params,
    doing,
    fill_missing,
    print_table,
    read_joined,
    read_like_data,
    with_missing,
)
from rankwright.cli.train_parts import (
    check_parts_options,
    read_training_parts,
    saved_if_unfinished,
)
from rankwright.models import NAMES, make_model, model_class, paper_params
from rankwright.progress import show_fit

if TYPE_CHECKING:
    from rankwright.data.columns import Columns

Model = Annotated[
    str,
    typer.Option(
        help=f"What to train; begin with linear, xendcg-trees or online. All: {', '.join(NAMES)}."
    ),
]
LossName = Annotated[str | None, typer.Option(help="xendcg, listnet, domination, smooth-slam, ...")]
Penalty = Annotated[
    str | None, typer.Option(help="Penalty on the weights: l1, l2, elasticnet or none.")
]
Alpha = Annotated[
    str | None, typer.Option(help="Weight of the penalty; 'auto' chooses by cross-validation.")
]
Standardize = Annotated[
    bool | None,
    typer.Option(
        "--standardize/--no-standardize",
        help="Put features on one scale; on by default for linear and online models.",
    ),
]
Paper = Annotated[
    bool,
    typer.Option(
        "--paper", help="Online models: the paper's algorithm, one pass over the raw data."
    ),
]
Valid = Annotated[
    str | None,
    typer.Option(help="File of validation queries, on which boosted trees stop early."),
]
Stream = Annotated[
    bool, typer.Option("--stream", help="Learn piece by piece from LETOR text of any size.")
]
CheckpointEvery = Annotated[
    int | None, typer.Option(help="With --stream: queries between checkpoints; 0 for none.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="With --stream: resume from the last checkpoint.")
]


def train(
    data: DataFiles,
    out: Annotated[str, typer.Option("--out", "-o", help="The model file to write (*.rw).")],
    model: Model = "linear",
    loss: LossName = None,
    penalty: Penalty = None,
    alpha: Alpha = None,
    l1_ratio: Annotated[float | None, typer.Option(help="Share of l1 in elasticnet.")] = None,
    standardize: Standardize = None,
    paper: Paper = False,
    valid: Valid = None,
    param: Params = None,
    stream: Stream = False,
    checkpoint_every: CheckpointEvery = None,
    resume: Resume = False,
    max_memory: MaxMemory = None,
    allow_overlap: AllowOverlap = False,
    columns: Columns = TRAINING,
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Train a ranker and write it to a file."""
    from rankwright.data.writing import check_not_read
    from rankwright.persistence import check_model_path, save

    options = {"loss": loss, "penalty": penalty, "l1_ratio": l1_ratio, "standardize": standardize}
    given = _given(options, alpha) | parse_params(param or [])
    defaults = _defaults(model, valid is not None, data[0] if stream else None, paper)
    ranker = make_model(model, **defaults | given)
    fill_missing(columns, ranker)
    if valid is not None and not ranker.takes_valid():
        raise ValueError(f"--valid is for models that grow until it is enough, not for {model}.")
    _set_jobs(ranker, jobs)
    ranker.check_params()  # before the long reading
    in_parts = names_parts(data) and not stream
    check_parts_options(ranker, model, in_parts, alpha, valid, max_memory)
    check_model_path(out)
    check_not_read(out, *data, valid)
    begin = time.perf_counter()
    if stream:
        from rankwright.cli.train_stream import train_stream

        if columns.missing_indicator:
            raise ValueError("--missing-indicator needs names of features: a stream has none.")
        places: dict[str, Any] = {"checkpoint_every": checkpoint_every, "resume": resume}
        ranker = train_stream(ranker, model, data, out, **places, columns=columns, jobs=jobs)
        tell_model(out, ranker, begin, as_json)
        return
    if resume or checkpoint_every is not None:
        raise ValueError("--resume and --checkpoint-every need --stream.")
    read = partial(read_training_parts, max_memory) if in_parts else _read_whole
    found, others = read(ranker, data, valid, columns, jobs, allow_overlap)
    begin = time.perf_counter()
    if alpha == "auto":
        _choose_alpha(ranker, model, found)
    fit = partial(ranker.fit_parts if in_parts else ranker.fit_dataset, found)
    interrupt = _fit_with_progress(ranker, fit, others, out)
    save(ranker, out)
    tell_model(out, ranker, begin, as_json)
    if interrupt.signal is not None:
        raise typer.Exit(interrupt.exit_code)


def _set_jobs(ranker: Any, jobs: int | None) -> None:
    if jobs is not None and "n_jobs" in ranker.get_params():
        ranker.set_params(n_jobs=jobs)


def _given(options: dict[str, Any], alpha: str | None) -> dict[str, Any]:
    """Return the options that were given, as parameters."""
    given = {name: value for name, value in options.items() if value is not None}
    if alpha not in (None, "auto"):
        given["alpha"] = _parse_alpha(alpha)
    penalty = given.get("penalty")
    if penalty == "none":
        given["penalty"] = None
    elif penalty not in (None, "l1", "l2", "elasticnet"):
        raise ValueError(f"--penalty must be l1, l2, elasticnet or none, but is {penalty!r}.")
    return given


def _read_whole(
    ranker: Any,
    data: list[str],
    valid: str | None,
    columns: Columns,
    jobs: int | None,
    allow_overlap: bool,
) -> tuple[Any, dict[str, Any]]:
    """Read what is learned from into memory, and the validation queries if any are to stop by."""
    from rankwright.evaluation.overlap import check_apart

    dataset = read_joined(data, columns=columns, jobs=jobs, allow_overlap=allow_overlap)
    dataset = with_missing(dataset, data[0], columns, ranker)
    if valid is not None:
        others = read_like_data(valid, data[0], dataset, columns=columns, jobs=jobs)
        if not allow_overlap:
            check_apart(dataset, others, f"the queries of {', '.join(data)} and {valid}")
        return dataset, {"valid": others}
    known = ranker.get_params(deep=False)
    chooses = known.get("base") == "auto" or str(known.get("weights")) == "valid"
    if known.get("early_stopping_rounds") is None and not chooses:
        return dataset, {}
    rest, aside = dataset.split((0.8, 0.2))
    typer.echo(
        f"{aside.n_queries} of {dataset.n_queries} queries are put aside to "
        f"{'choose' if chooses else 'stop'} by; --valid names others.",
        err=True,
    )
    return rest, {"valid": aside}


def tell_model(out: str, ranker: Any, begin: float, as_json: bool) -> None:
    """Say what was trained; on standard error where the model is the output."""
    err = out == "-"
    name = "standard output" if err else out
    facts = {
        "model": name,
        **_model_facts(ranker),
        "seconds": round(time.perf_counter() - begin, 3),
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2), err=err)
    else:
        typer.echo(f"{name}: {type(ranker).__name__}, {_sentence(facts)}", err=err)
        if facts.get("strongest"):
            typer.echo("", err=err)
            rows = [[name, f"{weight:+.4g}"] for name, weight in facts["strongest"]]
            print_table(["strongest feature", "weight"], rows, err=err)


def _defaults(model: str, validated: bool, stream: str | None, paper: bool) -> dict[str, Any]:
    """Return parameters that depend on how a model is trained."""
    return _usual(model, validated, stream) | (paper_params(model) if paper else {})


def _usual(model: str, validated: bool, stream: str | None) -> dict[str, Any]:
    if model == "boosted" and validated:
        return {"early_stopping_rounds": 50, "eval_train": True}
    if stream is not None:  # in the order of the file, and once if it cannot be read again
        from rankwright.data.files import can_be_read_again

        once = {} if names_parts(stream) or can_be_read_again(stream) else {"n_epochs": 1}
        known = model_class(model)().get_params()
        return {k: v for k, v in ({"shuffle": False} | once).items() if k in known}
    return {}


def _fit_with_progress(
    ranker: Any, fit: Callable[..., Any], others: dict[str, Any], out: str
) -> Interrupt:
    """Fit, showing the progress; a booster that is interrupted keeps its best trees so far."""
    if not ranker.reports_progress:
        fit()
        return Interrupt()
    if not ranker.stops_on_request:
        with show_fit() as show:
            fit(callback=show)
        return Interrupt()
    with saved_if_unfinished(ranker, out), interruptible() as interrupt, show_fit() as show:

        def callback(progress: Any) -> bool:
            interrupt.may_wait = True
            show(progress)
            return interrupt.signal is not None

        fit(callback=callback, **others)
    return interrupt


def parse_params(texts: list[str]) -> dict[str, Any]:
    """Return parameters from ``NAME=VALUE``; values are Python literals, anything else is text."""
    from rankwright.comparison.space import literal

    params = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.isidentifier() and equals):
            raise ValueError(f"--param must be NAME=VALUE, but is {text!r}.")
        params[name] = literal(value)
    return params


def _parse_alpha(alpha: str) -> float:
    try:
        return float(alpha)
    except ValueError:
        raise ValueError(f"--alpha must be a number or 'auto', but is {alpha!r}.") from None


def _choose_alpha(ranker: Any, model: str, dataset: Any) -> None:
    from rankwright.linear import choose_alpha

    if not ranker.has_path:
        raise ValueError(f"--alpha auto needs a model with a path of penalties, not {model}.")
    with doing("Choosing alpha by 5 query folds"):
        choice = choose_alpha(ranker, dataset)
    ranker.set_params(alpha=choice.alpha)
    typer.echo(
        f"alpha {choice.alpha:g}: mean NDCG@10 {choice.ndcg.max():.4f} on left-out queries",
        err=True,
    )


def _model_facts(ranker: Any) -> dict[str, Any]:
    """Return what there is to tell of a fitted model, by name; None for numbers that JSON lacks."""
    summary: dict[str, Any] = ranker.summary()
    facts = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in summary.items()
    }
    strength = ranker.feature_strength()
    if strength is not None:
        facts["features_used"] = int((strength > 0).sum())
        facts["features"] = ranker.n_features_in_
    return facts


def _sentence(facts: dict[str, Any]) -> str:
    """Return the facts as one line."""
    forms = {
        "loss": "{}",
        "scale": "{}",
        "objective": "objective {:.6g}",
        "gap": "gap at most {:.1e}",
        "features_used": "{} of " + str(facts.get("features")) + " features",
        "iterations": "{} iterations",
        "best_score": "{:.4f} on validation queries",
        "rounds": "{} rounds",
        "updates": "{} updates",
        "cumulative_loss": "cumulative loss {:.6g}",
        "stop": "{}",
        "seconds": "{} s",
    }
    return ", ".join(
        form.format(facts[name]) for name, form in forms.items() if facts.get(name) is not None
    )
