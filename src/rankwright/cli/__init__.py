"""The command line: ``rankwright info|convert|train|predict|evaluate|bounds|...``.

Exit codes: 0 for success, 1 for a check that failed, 2 for bad input, 130 and 143 for a training
that was interrupted (by Ctrl-C or SIGTERM) and kept its best model. Bad input ends in one line on
standard error, never in a traceback.
"""

from __future__ import annotations

import os
import sys

import typer

from rankwright.cli import (
    bounds,
    compare,
    convert,
    datasets,
    evaluate,
    formula,
    info,
    noise_study,
    path,
    predict,
    reproduce,
    simulate,
    train,
    tune,
)
from rankwright.cli.columns import with_columns
from rankwright.cli.standard import drop_output, standard_streams

app = typer.Typer(
    name="rankwright",
    help="Learning to rank you can prove and ship.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from rankwright import __version__

        typer.echo(f"rankwright {__version__}")
        raise typer.Exit


for command in (
    info.info,
    convert.convert,
    train.train,
    path.path,
    predict.predict,
    formula.formula,
    evaluate.evaluate,
    compare.compare,
    tune.tune,
    bounds.bounds,
    simulate.simulate,
    noise_study.noise_study,
):
    app.command()(with_columns(command))
app.add_typer(datasets.app, name="datasets")
app.command()(reproduce.reproduce)


def main() -> None:
    """Run the command line."""
    # LightGBM's threads would spin while they wait; it reads this when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        with standard_streams():
            app()
    except BrokenPipeError:
        drop_output()  # its reader went away
        sys.exit(1)
    except (ValueError, TypeError, ImportError, OSError, MemoryError) as error:
        typer.echo(f"rankwright: {error or type(error).__name__}", err=True)
        sys.exit(2)
