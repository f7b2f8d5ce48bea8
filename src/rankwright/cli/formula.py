"""``rankwright formula``: a linear model as a formula."""

from __future__ import annotations

from typing import Annotated

import typer


def formula(
    model: Annotated[str, typer.Argument(help="The model file (*.rw).")],
    digits: Annotated[int, typer.Option(help="Significant digits; 17 are exact.")] = 6,
) -> None:
    """Print a linear model as a formula, strongest features first."""
    from rankwright.linear import formula
    from rankwright.persistence import load

    typer.echo(formula(load(model), digits=digits))
