"""The command line: ``rankwright info|convert|train|predict|evaluate|bounds|...``.

Exit codes: 0 for success, 1 for a check that failed, 2 for bad input, 130 if it was stopped with
Ctrl-C, and 130 or 143 for a training that was interrupted (by Ctrl-C or SIGTERM) and kept its best
model. Bad input ends in one line on standard error, never in a traceback, and so does Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import typer
import typer.core

from rankwright.cli import (
    bounds,
    compare,
    convert,
    datasets,
    distill,
    evaluate,
    export,
    formula,
    info,
    log,
    noise_study,
    partition,
    path,
    predict,
    replay,
    reproduce,
    serve,
    simulate,
    train,
    tune,
    verify,
)
from rankwright.cli.cluster import on_cluster
from rankwright.cli.columns import with_columns
from rankwright.cli.standard import drop_output, standard_streams
from rankwright.cli.stopping import EXIT_CODE, stop_line

# The class of all errors of usage. Typer has its own copy of click, or needs click: it depends.
_UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class _Commands(typer.core.TyperGroup):
    """The commands; an interrupt of any of them is one line that says how to go on."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _stopping():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with _stopping():
            return super().invoke(ctx)


@contextlib.contextmanager
def _stopping() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left takes no time
        typer.echo(f"rankwright: {stop_line(error)}", err=True)
        raise typer.Exit(EXIT_CODE) from None


app = typer.Typer(
    name="rankwright",
    cls=_Commands,
    rich_markup_mode=None,  # square brackets in help texts are square brackets
    help="Learning to rank that you can prove and ship.",
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
    partition.partition,
    on_cluster(train.train),
    path.path,
    on_cluster(predict.predict),
    formula.formula,
    on_cluster(evaluate.evaluate),
    on_cluster(compare.compare),
    on_cluster(tune.tune),
    bounds.bounds,
    simulate.simulate,
    on_cluster(noise_study.noise_study),
    distill.distill,
    export.export,
    verify.verify,
):
    app.command()(with_columns(command))
app.add_typer(datasets.app, name="datasets")
app.command()(reproduce.reproduce)
app.command()(serve.serve)
app.command()(replay.replay)
app.add_typer(log.app, name="log")


def main() -> None:
    """Run the command line."""
    # LightGBM's threads would spin while they wait; it reads this when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        with standard_streams():
            sys.exit(app(prog_name="rankwright", standalone_mode=False))
    except BrokenPipeError:
        drop_output()  # its reader went away
        sys.exit(1)
    except _UsageError as error:
        _print_usage(error)
        sys.exit(2)
    except (ValueError, TypeError, ImportError, OSError, MemoryError) as error:
        typer.echo(f"rankwright: {error or type(error).__name__}", err=True)
        sys.exit(2)


def _print_usage(error: Any) -> None:
    """Print what is wrong with the words of a command as one line; without any words, the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    context = getattr(error, "ctx", None)
    command = "rankwright" if context is None else context.command_path
    text = " ".join(error.format_message().split())
    end = "" if text.endswith("?") else "."
    typer.echo(f"rankwright: {text.rstrip('.')}{end} See {command} --help.", err=True)
