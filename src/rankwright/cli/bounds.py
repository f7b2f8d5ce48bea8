"""``rankwright bounds``: what a model's loss guarantees, and what happened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.terminal import (
    DataFile,
    Jobs,
    Json,
    doing,
    print_table,
    read_like_model,
)

if TYPE_CHECKING:
    from rankwright.data.columns import Columns
    from rankwright.losses import Loss
    from rankwright.theory import Generalization, LossCertificate


def bounds(
    model: Annotated[str, typer.Argument(help="The model file (*.rw).")],
    data: DataFile,
    columns: Columns = TABLE,
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Say what a linear model's loss guarantees, and check it.

    Exits with 1 if the loss falls below its bound on a query.
    """
    from rankwright.estimator import as_model, kind_of
    from rankwright.exceptions import DataError
    from rankwright.linear import generalization_of
    from rankwright.persistence import load
    from rankwright.theory import certificate

    ranker: Any = as_model(load(model))
    dataset = read_like_model(data, model, ranker, columns=columns, jobs=jobs)
    loss = ranker.loss_for(dataset.y)
    if loss is None or ranker.linear_weights() is None:
        raise DataError(
            f"must be a linear model with a loss, but is a {kind_of(ranker)}.", path=model
        )
    with doing("Scoring"):
        scores = ranker.predict(dataset.X)
        proof = None if loss.bound is None else certificate(loss, scores, dataset.y, dataset.groups)
        mean_loss = loss.value_and_grad(scores, dataset.y, dataset.groups)[0] / dataset.n_queries
        theorem, reservations = generalization_of(ranker, dataset)
    if as_json:
        facts = {
            "model": model,
            "data": data,
            "loss": repr(loss),
            "mean_loss": mean_loss,
            "certificate": None if proof is None else proof.to_dict(),
            "theorem_8": None if theorem is None else theorem.to_dict(),
            "reservations": reservations,
        }
        typer.echo(json.dumps(facts, indent=2))
    else:
        _print_summary(theorem)
        _print_certificate(loss, mean_loss, proof)
        typer.echo("")
        _print_theorem(theorem, reservations)
    if proof is not None and not proof.holds:
        raise typer.Exit(1)


def _print_summary(theorem: Generalization | None) -> None:
    """Say first what the numbers come to."""
    if theorem is None:
        return
    bound, any_two = theorem.excess_at_alpha, theorem.trivial
    if bound >= any_two:
        text = (
            f"No guarantee on new queries: the bound on the excess loss, {bound:.4g}, is vacuous, "
            f"since the losses of any two weights differ by at most {any_two:.4g}."
        )
    else:
        text = (
            f"On new queries, with the reservations below: an expected loss at most {bound:.4g} "
            "above that of the best weights of this length."
        )
    typer.echo(f"{text}\n")


def _print_certificate(loss: Loss, mean_loss: float, proof: LossCertificate | None) -> None:
    if proof is not None:
        typer.echo(str(proof))
        return
    typer.echo(f"{'loss':16}  {loss!r}")
    typer.echo(f"{'promise':16}  none: this loss is not known to bound a metric")
    typer.echo(f"{'mean loss':16}  {mean_loss:.6g}")


def _print_theorem(theorem: Generalization | None, reservations: list[str]) -> None:
    typer.echo("Theorem 8 of the SLAM paper, with DATA as the training data:")
    if theorem is not None:
        rows = [
            ["n", f"{theorem.n_queries}", "queries"],
            ["R_X", f"{theorem.radius:.4g}", "length of the longest document in DATA"],
            ["B", f"{theorem.B:.4g}", "length of the model's weights"],
            ["|grad|_1", f"{theorem.gradient:.4g}", "bound on a query's gradient by scores"],
            ["L2", f"{theorem.L2:.4g}", "R_X |grad|_1, how fast a query's loss changes with w"],
            ["lambda*", f"{theorem.best_alpha:.4g}", "l2 penalty weight with the smallest bound"],
            ["excess", f"{theorem.excess:.4g}", "2 L2 B (8/n + sqrt(2/n)), the bound at lambda*"],
        ]
        if theorem.alpha != theorem.best_alpha:
            meaning = f"the bound at the model's alpha = {theorem.alpha:g}"
            rows.append(["excess", f"{theorem.excess_at_alpha:.4g}", meaning])
        print_table(["term", "value", "what it is"], rows)
        typer.echo(f"\n{theorem}")
    for text in reservations:
        typer.echo(f"- {text}")
