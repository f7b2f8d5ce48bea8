"""``rankwright simulate``: noise and clicks on purpose."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.terminal import DataFile, Jobs, doing, read_dataset

if TYPE_CHECKING:
    from rankwright.data import ClickLog, Dataset
    from rankwright.data.columns import Columns


class Noise(StrEnum):
    """What may happen to data."""

    labels = "labels"
    augment = "augment"
    cascade = "cascade"
    position = "position"
    browsing = "browsing"


class Output(StrEnum):
    """What to write of clicks."""

    impressions = "impressions"
    rates = "rates"
    weighted = "weighted"


Level = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Share of documents (labels, augment), or probability of a click on label 0.",
    ),
]
Probabilities = Annotated[
    str | None,
    typer.Option(help="labels: probabilities of labels 0,1,...; clicks: of a click on them."),
]
Write = Annotated[
    Output,
    typer.Option(
        help="Clicks: a query for each impression, or click rates as labels, plain or weighted by "
        "inverse propensities."
    ),
]


def simulate(
    data: DataFile,
    out: Annotated[str, typer.Argument(help="The file to write; its ending sets the format.")],
    noise: Annotated[Noise, typer.Option(help="How the data is corrupted.")],
    level: Level = None,
    probabilities: Probabilities = None,
    impressions: Annotated[int, typer.Option(help="Clicks: lists shown for each query.")] = 10,
    scores: Annotated[
        str | None,
        typer.Option(
            help="Clicks: rank by the scores in this file; by default lists are shuffled."
        ),
    ] = None,
    eta: Annotated[float, typer.Option(help="position, browsing: how fast attention falls.")] = 1.0,
    top: Annotated[
        int | None, typer.Option(help="Clicks: show at most this many documents.")
    ] = None,
    write: Write = Output.impressions,
    log: Annotated[
        str | None, typer.Option(help="Clicks: also write everything that was shown (.tsv).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
    columns: Columns = TABLE,
    jobs: Jobs = None,
) -> None:
    """Corrupt labels, add documents, or replace labels by simulated clicks."""
    from rankwright.data import augment, perturb_labels
    from rankwright.data.formats import format_to_write
    from rankwright.data.noise import label_noise_up_to
    from rankwright.data.reading import write as write_dataset
    from rankwright.data.writing import check_not_read, check_writable

    numbers = None if probabilities is None else _parse_probabilities(probabilities)
    of_labels = noise in (Noise.labels, Noise.augment)
    if of_labels and level is None:
        raise ValueError(f"--noise {noise.value} needs --level, a share such as 0.3.")
    if of_labels and log is not None:
        raise ValueError(f"--log needs clicks, but --noise is {noise.value}.")
    if out == log == "-":
        raise ValueError("OUT and --log cannot both be standard output.")
    format_to_write(out)
    for path in (out, log):
        if path is not None:
            check_writable(path)
            check_not_read(path, data)
    dataset = read_dataset(data, columns=columns, jobs=jobs)
    with doing("Simulating"):
        if noise is Noise.labels:
            chances = label_noise_up_to(float(dataset.y.max())) if numbers is None else numbers
            result = perturb_labels(dataset, level or 0.0, chances, seed)
        elif noise is Noise.augment:
            result = augment(dataset, level or 0.0, seed)
        else:
            clicks = _clicks(dataset, noise, level, numbers, impressions, scores, eta, top, seed)
            result = _result(clicks, write)
            if log is not None:
                clicks.write(log)
    with doing(f"Writing {out}"):
        write_dataset(result, out)
    name = "standard output" if out == "-" else out
    typer.echo(f"{name}: {result!r}", err=True)


def _clicks(
    dataset: Dataset,
    noise: Noise,
    level: float | None,
    clicks: tuple[float, ...] | None,
    impressions: int,
    scores: str | None,
    eta: float,
    top: int | None,
    seed: int,
) -> ClickLog:
    from rankwright.data import Cascade, PositionBased, UserBrowsing, simulate_clicks
    from rankwright.data.click_models import CLICKS
    from rankwright.data.scores import read_scores

    chances = CLICKS if clicks is None else clicks
    model: Cascade | PositionBased | UserBrowsing
    if noise is Noise.cascade:
        model = Cascade(chances)
    elif noise is Noise.position:
        model = PositionBased(chances, eta)
    else:
        model = UserBrowsing(chances, eta)
    if level is not None:
        model = model.with_noise(level)
    ranked = None if scores is None else read_scores(scores, dataset)
    return simulate_clicks(
        dataset, model, scores=ranked, impressions=impressions, top=top, random_state=seed
    )


def _result(log: ClickLog, write: Output) -> Dataset:
    if write is Output.impressions:
        return log.impressions()
    return log.dataset.with_labels(log.click_rates(weighted=write is Output.weighted))


def _parse_probabilities(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"--probabilities must be numbers with commas between, but is {text!r}."
        ) from None
