"""``rankwright path``: quality, loss and number of features against the penalty weight."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.columns import TRAINING
from rankwright.cli.terminal import (
    DataFile,
    Jobs,
    Json,
    Params,
    doing,
    fill_missing,
    print_table,
    read_dataset,
    read_like_data,
    with_missing,
)
from rankwright.cli.train import parse_params
from rankwright.models import make_model, model_class

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def path(
    data: DataFile,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="A chart to write: *.svg, *.png or *.html.")
    ] = None,
    model: Annotated[str, typer.Option(help="domination-rank or linear.")] = "domination-rank",
    penalty: Annotated[str, typer.Option(help="l1, l2 or elasticnet.")] = "l1",
    valid: Annotated[
        str | None,
        typer.Option(help="File of validation queries; by default 30 % of DATA."),
    ] = None,
    metric: Annotated[str, typer.Option(help="What to measure.")] = "ndcg@10",
    n_alphas: Annotated[int, typer.Option(help="Number of penalty weights.")] = 20,
    param: Params = None,
    columns: Columns = TRAINING,
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Fit a linear ranker with many penalties, from one that allows no weight to nearly none."""
    from rankwright.data.files import suffix
    from rankwright.data.writing import check_writable
    from rankwright.metrics import parse

    ranker = _ranker(model, penalty, {"n_jobs": jobs} | parse_params(param or []))
    fill_missing(columns, ranker)
    ranker.check_params()
    quality = parse(metric)
    if out is not None and suffix(out) not in (".svg", ".png", ".html"):
        raise ValueError(f"--out must be *.svg, *.png or *.html, but is {out!r}.")
    if out is not None:
        check_writable(out)
    if n_alphas < 1:
        raise ValueError(f"--n-alphas must be a positive integer, but is {n_alphas}.")
    train: Any = read_dataset(data, columns=columns, jobs=jobs)
    train = ranker.encoded(with_missing(train, data, columns, ranker))
    if valid is None:
        train, held_out = train.split((0.7, 0.3))
    else:
        held_out = read_like_data(valid, data, train, columns=columns, jobs=jobs)
    with doing("Fitting"):
        points = ranker.path(
            train.X, train.y, train.qid, n_alphas=n_alphas, valid=held_out, metric=quality
        )
    if out is not None:
        from rankwright.report import path_chart
        from rankwright.report.charts import save_chart

        title = f"{model}, {penalty}" + (", relaxed" if ranker.relax else "")
        save_chart(path_chart(points, quality=metric, title=title), out)
    names = ("alpha", "n_features", "loss", "valid_loss", "quality")
    rows = [{name: getattr(point, name) for name in names} for point in points]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    heads = ["alpha", "features", "loss", "validation loss", metric]
    forms = ("{:.3g}", "{}", "{:.4f}", "{:.4f}", "{:.4f}")
    cells = [[f.format(v) for f, v in zip(forms, row.values(), strict=True)] for row in rows]
    print_table(heads, cells)


def _ranker(model: str, penalty: str, given: dict[str, Any]) -> Any:
    """Return the model whose path is asked for."""
    if not model_class(model).has_path:
        raise ValueError(f"path needs a model with a path of penalties, not {model}.")
    if "penalty" in given:
        raise ValueError(
            "the penalty of a path must be given by --penalty, but came by -p. Use --penalty "
            f"{given['penalty']}."
        )
    return make_model(model, penalty=penalty, **given)
