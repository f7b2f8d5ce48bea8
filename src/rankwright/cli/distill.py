"""``rankwright distill``: a simple model in the place of a large one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.terminal import DataFile, Jobs, Json, doing, read_with_features

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def distill(
    model: Annotated[str, typer.Argument(help="The model file of the teacher (*.rw).")],
    data: DataFile,
    out: Annotated[str, typer.Option("--out", "-o", help="The model file to write (*.rw).")],
    into: Annotated[
        str, typer.Option(help="linear, sparse (a sum of few features) or trees.")
    ] = "linear",
    n_features: Annotated[
        int | None, typer.Option(help="sparse: features, at most; 20 by default.")
    ] = None,
    n_trees: Annotated[int | None, typer.Option(help="trees: how many; 100 by default.")] = None,
    valid: Annotated[
        str | None,
        typer.Option(help="Labelled queries to measure on; by default a fifth of DATA."),
    ] = None,
    metric: Annotated[str, typer.Option("--metric", "-m", help="What to measure.")] = "ndcg@10",
    columns: Columns = TABLE,
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Fit a simple model to the scores of another one, and say what is lost."""
    from rankwright.data.writing import check_not_read
    from rankwright.distilling import INTO
    from rankwright.distilling import distill as run
    from rankwright.estimator import as_model
    from rankwright.metrics import parse
    from rankwright.parameters import choice
    from rankwright.persistence import check_model_path, load, save

    choice(*INTO).check("--into", into)
    measured = parse(metric)
    check_model_path(out)
    check_not_read(out, model, data, valid)
    teacher = load(model)
    asked = as_model(teacher)
    learn, held_out = (
        None if path is None else read_with_features(path, model, asked, columns=columns, jobs=jobs)
        for path in (data, valid)
    )
    assert learn is not None
    with doing("Distilling"):
        found = run(
            teacher,
            learn,
            into=into,  # type: ignore[arg-type]
            n_features=n_features,
            n_trees=n_trees,
            valid=held_out,
            metric=measured,
            n_jobs=jobs,
        )
    save(found.model, out)
    name, kind = "standard output" if out == "-" else out, type(found.model).__name__
    facts = {"model": name, "class": kind, **found.to_dict()}
    typer.echo(
        json.dumps(facts, indent=2) if as_json else f"{name}: {kind}, {found}", err=out == "-"
    )
