"""Run experiments and write what they found."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rankwright import __version__
from rankwright.data.writing import make_folder, write_text
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Figure, Findings, Panel
from rankwright.experiments.papers import PAPERS
from rankwright.report.charts import (
    Series,
    line_chart,
    save_chart,
    scatter_chart,
    small_multiples,
)
from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class Finished(Brief):
    """An experiment and what it found; None if its data are not there."""

    experiment: Experiment
    result: Findings | None
    seconds: float


def chosen(paper: str, only: str | None = None) -> list[Experiment]:
    """Return the experiments of a paper or of all; ``only`` names one, such as ``"Figure 2"``."""
    if paper != "all" and paper not in PAPERS:
        raise ValueError(f"PAPER must be one of {', '.join(PAPERS)} or all, but is {paper!r}.")
    papers = PAPERS if paper == "all" else {paper: PAPERS[paper]}
    mine = [experiment for experiments in papers.values() for experiment in experiments]
    found = [e for e in mine if only is None or only in e.source.split(", ")]
    if not found:
        there = ", ".join(dict.fromkeys(name for e in mine for name in e.source.split(", ")))
        raise ValueError(f"{paper} has no {only}; it has {there}.")
    return found


def reproduce(
    experiments: list[Experiment], context: Context, out: Path | None = None
) -> Iterator[Finished]:
    """Run experiments one after the other; yield each when it is finished.

    With ``out``, each result is also written: ``NAME.json`` and one ``*.svg`` for each figure.
    """
    for experiment in experiments:
        begin = time.perf_counter()
        context.tell(f"{experiment.source}: {experiment.title}", 0, 1)
        with context.remembering():
            result = experiment.run(context)
        finished = Finished(experiment, result, time.perf_counter() - begin)
        if out is not None and result is not None:
            write_findings(finished, context, out)
        yield finished


def write_findings(finished: Finished, context: Context, out: Path) -> None:
    """Write a result and draw its figures."""
    experiment, result = finished.experiment, finished.result
    assert result is not None
    record = {
        "paper": experiment.paper,
        "name": experiment.name,
        "source": experiment.source,
        "title": experiment.title,
        "scale": context.scale,
        "library": __version__,
        "command": command(experiment, context),
        "seconds": round(finished.seconds, 1),
        **result.as_json(),
    }
    folder = out / experiment.paper
    make_folder(folder)
    for figure in result.figures:
        save_chart(draw_figure(figure), folder / f"{figure.name}.svg")
    write_text(folder / f"{experiment.name}.json", json.dumps(record, indent=1) + "\n")


def command(experiment: Experiment, context: Context) -> str:
    """Return the command that makes a result."""
    words = ["rankwright", "reproduce", experiment.paper]
    first = experiment.source.split(", ")[0]
    kind, _, number = first.partition(" ")
    if kind in ("Figure", "Table"):
        words += [f"--{kind.lower()}", number]
    words += ["--scale", context.scale]
    if context.data is not None:
        words += ["--data", "DIR"]
    return " ".join(words)


def draw_figure(figure: Figure) -> Any:
    """Return the chart of a figure."""
    charts = {heading: _panel(panel) for heading, panel in figure.panels.items()}
    if len(charts) == 1:
        return next(iter(charts.values()))
    return small_multiples(charts, columns=min(3, len(charts)))


def _panel(panel: Panel) -> Any:
    series = {name: Series(**asdict(curve)) for name, curve in panel.curves.items()}
    axes: dict[str, Any] = {"x": panel.x, "y": panel.y, "log_x": panel.log_x, "log_y": panel.log_y}
    if panel.kind == "scatter":
        return scatter_chart(series, diagonal=True, **axes)
    return line_chart(series, points=True, **axes)
