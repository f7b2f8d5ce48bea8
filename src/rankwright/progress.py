"""Progress of long work: bars on a terminal and in a notebook, plain lines anywhere else.

One display for everything that takes long::

    with display() as show:
        bar = show.bar("fitting", total=100)
        bar.update("tree 3 of 100", done=3)
        show.line("model a: 0.7 on validation queries")

A bar is transient, a line stays. Where there is no terminal, a bar becomes a plain line every
other second, so that a log stays short.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Unit = Literal["steps", "bytes"]
_BETWEEN_LINES = 2.0  # seconds
_BETWEEN_PICTURES = 0.2  # seconds, in a notebook
_WIDTH = 24  # characters of a notebook's bar


class Display(Protocol):
    """Where bars and lines are shown."""

    def bar(self, name: str = "", total: float | None = None, *, quiet: bool = False) -> Bar:
        """Add a bar; ``quiet`` if it is not worth a line where there is no terminal."""

    def line(self, text: str) -> None:
        """Show a line that stays."""


@dataclass
class Bar:
    """One piece of work: how much of it is done, and a word on it."""

    name: str
    total: float | None
    _show: Callable[[Bar], None]
    done: float = 0.0
    text: str = ""
    begin: float = field(default_factory=lambda: time.monotonic())

    def update(
        self,
        text: str | None = None,
        *,
        done: float | None = None,
        advance: float = 0.0,
        total: float | None = None,
    ) -> None:
        """Say how far it is; what is not given stays as it was."""
        self.text = self.text if text is None else text
        self.done = (self.done if done is None else done) + advance
        self.total = self.total if total is None else total
        self._show(self)

    def restart(self, total: float | None) -> None:
        """Begin again, from nothing done."""
        self.done, self.total, self.begin = 0.0, total, time.monotonic()
        self._show(self)

    @property
    def seconds_left(self) -> float:
        """The time that is left, if the rest goes as what is done; NaN before anything is."""
        if not self.total or not self.done:
            return math.nan
        return (time.monotonic() - self.begin) * (self.total - self.done) / self.done


@contextlib.contextmanager
def display(unit: Unit = "steps") -> Iterator[Display]:
    """Show bars and lines on standard error, or below a notebook's cell.

    Parameters
    ----------
    unit : {"steps", "bytes"}
        What bars count.

    Examples
    --------
    >>> with display() as show:
    ...     bar = show.bar("trees", total=2)
    ...     bar.update("tree 1 of 2", done=1)
    >>> bar.done
    1.0
    """
    if sys.stderr is not None and sys.stderr.isatty():
        with _terminal(unit) as terminal:
            yield terminal
    elif (notebook := _notebook()) is not None:
        yield notebook
    else:
        yield _Lines()


@contextlib.contextmanager
def show_fit() -> Iterator[Callable[[Any], None]]:
    """Show what a solver or a booster tells of itself: an ``iteration`` of ``total``, as text."""
    with display() as shown:
        bar = shown.bar()
        yield lambda told: bar.update(str(told), done=told.iteration, total=told.total)


@contextlib.contextmanager
def heard(
    verbose: bool,
    show: contextlib.AbstractContextManager[Callable[..., Any]],
    callback: Callable[..., Any] | None,
) -> Iterator[Callable[..., Any] | None]:
    """Yield what long work tells its progress to: the callback, and if ``verbose`` what shows it.

    Parameters
    ----------
    verbose : bool
        Whether to show it.
    show : context manager
        Yields what shows it.
    callback : callable, optional
        Whoever else wants to know; its answer is the answer.
    """
    if not verbose:
        yield callback
        return
    with show as shown:

        def tell_both(*told: Any) -> Any:
            shown(*told)
            return None if callback is None else callback(*told)

        yield tell_both


class _Lines:
    """Plain lines on standard error."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def bar(self, name: str = "", total: float | None = None, *, quiet: bool = False) -> Bar:
        return Bar(name, total, _ignore if quiet else self._sometimes)

    def line(self, text: str) -> None:
        if sys.stderr is not None:
            print(text, file=sys.stderr, flush=True)  # noqa: T201

    def _sometimes(self, bar: Bar) -> None:
        if bar.text and time.monotonic() - self._last >= _BETWEEN_LINES:
            self._last = time.monotonic()
            self.line(f"{bar.name}: {bar.text}" if bar.name else bar.text)


def _ignore(bar: Bar) -> None:
    pass


# ---- a terminal ----


@contextlib.contextmanager
def _terminal(unit: Unit) -> Iterator[Display]:
    from rich import progress
    from rich.console import Console

    counted: tuple[progress.ProgressColumn, ...] = (progress.MofNCompleteColumn(),)
    if unit == "bytes":
        counted = (progress.DownloadColumn(), progress.TransferSpeedColumn())
    columns = (
        # Names and texts come from files: markup in them is text.
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(_WIDTH),
        *counted,
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[text]}", markup=False),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield _Terminal(bars)


class _Terminal:
    """Live bars, drawn by rich."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars

    def bar(self, name: str = "", total: float | None = None, *, quiet: bool = False) -> Bar:
        task = self._bars.add_task(name, total=total, text="")

        def show(bar: Bar) -> None:
            if bar.done == 0:
                self._bars.reset(task, total=bar.total)
            self._bars.update(task, completed=bar.done, total=bar.total, text=bar.text)

        return Bar(name, total, show)

    def line(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)


# ---- a notebook ----


def _notebook() -> _Notebook | None:
    """Return a display in the running notebook, if there is one."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return _Notebook(sys.modules["IPython"].display)


class _Notebook:
    """Text that is drawn again in its place; needs no widgets."""

    def __init__(self, ipython: Any) -> None:
        self._bars: list[Bar] = []
        self._lines: list[str] = []
        self._last = -math.inf
        self._place = ipython.display(self._picture(), display_id=True)

    def bar(self, name: str = "", total: float | None = None, *, quiet: bool = False) -> Bar:
        bar = Bar(name, total, self._sometimes)
        self._bars.append(bar)
        return bar

    def line(self, text: str) -> None:
        self._lines.append(text)
        self._place.update(self._picture())

    def _sometimes(self, bar: Bar) -> None:
        finished = bar.total is not None and bar.done >= bar.total
        if finished or time.monotonic() - self._last >= _BETWEEN_PICTURES:
            self._last = time.monotonic()
            self._place.update(self._picture())

    def _picture(self) -> Any:
        return _Text("\n".join([*self._lines, *map(_drawn, self._bars)]))


class _Text:
    """Plain text as a notebook shows it; not HTML, because names come from files."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self._text}


def _drawn(bar: Bar) -> str:
    share = min(1.0, bar.done / bar.total) if bar.total else 0.0
    full = round(_WIDTH * share)
    left = "" if math.isnan(bar.seconds_left) else f" {bar.seconds_left:.0f} s left"
    return f"{bar.name} [{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%}{left} {bar.text}".strip()
