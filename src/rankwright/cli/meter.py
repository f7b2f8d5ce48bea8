"""How learning from a stream goes on: throughput and running loss."""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import typer

_BETWEEN_LINES = 2.0  # seconds, when piped


class Meter:
    """Shows a bar on a terminal, and a plain line now and then when piped."""

    def __init__(self, bar: Any | None) -> None:
        self.bar = bar
        self.task = None if bar is None else bar.add_task("", total=None, text="reading")
        self.begin = self.last = time.monotonic()
        self.n_docs = 0

    def start_pass(self, n_docs: int) -> None:
        """Begin a pass over this many documents."""
        self.begin, self.n_docs = time.monotonic(), 0
        if self.bar is not None:
            self.bar.reset(self.task, total=n_docs)

    def skip(self, n_docs: int) -> None:
        """Pass over documents that were learned before."""
        self.begin = time.monotonic()
        self._show(n_docs, "skipping what has been learned")

    def learn(self, learner: Any, n_docs: int) -> None:
        """Count documents, and show how the learner does."""
        self.n_docs += n_docs
        rate = self.n_docs / max(time.monotonic() - self.begin, 1e-9)
        loss = learner.cumulative_loss_ / max(learner.n_rounds_, 1)
        self._show(
            n_docs, f"{learner.n_rounds_:,} rounds, {rate:,.0f} documents/s, mean loss {loss:.4f}"
        )

    def _show(self, n_docs: int, text: str) -> None:
        if self.bar is not None:
            self.bar.update(self.task, advance=n_docs, text=text)
        elif time.monotonic() - self.last >= _BETWEEN_LINES:
            self.last = time.monotonic()
            typer.echo(text, err=True)


@contextlib.contextmanager
def meter() -> Iterator[Meter]:
    """Show a meter; warnings become one plain line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            columns = (BarColumn(20), TaskProgressColumn(), TextColumn("{task.fields[text]}"))
            with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
                yield Meter(bar)
        else:
            yield Meter(None)
    for warning in caught:
        typer.echo(f"rankwright: warning: {warning.message}", err=True)
