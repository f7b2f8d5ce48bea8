"""Progress of learning from a stream: throughput and running loss."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from rankwright.progress import Bar, display

if TYPE_CHECKING:
    from rankwright.streaming import StreamProgress


class Meter:
    """Shows documents a second, and the mean loss so far."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.begin = time.monotonic()
        self.n_docs = 0

    def __call__(self, progress: StreamProgress) -> None:
        """Show where the run is."""
        if progress.n_docs == 0 and progress.total is not None:  # a pass begins
            self.begin, self.n_docs = time.monotonic(), 0
            self.bar.restart(progress.total)
        elif not progress.learned:
            self.begin = time.monotonic()
            self.bar.update("skipping what has been learned", advance=progress.n_docs)
        else:
            self._learned(progress.learner, progress.n_docs)

    def _learned(self, learner: Any, n_docs: int) -> None:
        self.n_docs += n_docs
        rate = self.n_docs / max(time.monotonic() - self.begin, 1e-9)
        loss = learner.cumulative_loss_ / max(learner.n_rounds_, 1)
        self.bar.update(
            f"{learner.n_rounds_:,} rounds, {rate:,.0f} documents/s, mean loss {loss:.4f}",
            advance=n_docs,
        )


@contextlib.contextmanager
def meter() -> Iterator[Meter]:
    """Show a meter; warnings become one plain line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with display() as shown:
            yield Meter(shown.bar())
    for warning in caught:
        typer.echo(f"rankwright: warning: {warning.message}", err=True)
