"""Progress of comparisons, searches and studies: bars, and a line for what is finished."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from rankwright.comparison.views import parameter_text, share_text
from rankwright.progress import Bar, display

if TYPE_CHECKING:
    from rankwright.comparison.noise_study import Fit
    from rankwright.comparison.study import Trial
    from rankwright.comparison.trial import Event


@contextlib.contextmanager
def show_models(steps: Mapping[tuple[str, str], int]) -> Iterator[Callable[[Event], None]]:
    """Show a bar for each model, and a line for each that is finished on a fold.

    ``steps`` are the fits of each model and fold.
    """
    totals: dict[str, int] = {}
    for (name, _), n in steps.items():
        totals[name] = totals.get(name, 0) + n
    with display() as shown:
        everything = shown.bar("all", sum(totals.values()), quiet=True)
        bars = {name: shown.bar(name, n, quiet=True) for name, n in totals.items()}

        def show(event: Event) -> None:
            if event.kind == "trial":
                everything.update(advance=1)
                bars[event.model].update(f"{event.value:.4f}", advance=1)
                return
            if event.kind == "kept":
                # No time was spent on it: it says nothing about the time that is left.
                kept = steps[event.model, event.fold]
                everything.total = (everything.total or 0) - kept
                bars[event.model].update("kept", advance=kept)
            shown.line(f"{event.model} {event.fold}: {_outcome(event, everything)}")

        yield show


def _outcome(event: Event, everything: Bar) -> str:
    if event.kind != "done":
        return {"kept": "was finished before", "failed": "failed"}[event.kind]
    left = everything.seconds_left
    return (
        f"{event.value:.4f} on validation queries in {event.seconds:.1f} s"
        f"{'' if math.isnan(left) else f'; about {left:.0f} s left'}"
    )


@contextlib.contextmanager
def show_trials(n_fits: int, metric: str) -> Iterator[Callable[[Trial], None]]:
    """Show a bar of the trials, and a line for each; some run several times, on ever more."""
    with display() as shown:
        bar = shown.bar("trials", n_fits, quiet=True)

        def show(trial: Trial) -> None:
            params = (f"{name}={parameter_text(value)}" for name, value in trial.params.items())
            what = trial.error or f"{metric} {trial.value:.4f}"
            bar.update(advance=1)
            on = "" if trial.share == 1 else f" on {share_text(trial.share)} of the queries"
            shown.line(
                f"trial {trial.number}{on}: {', '.join(params)}: {what} in {trial.seconds:.1f} s"
            )

        yield show


@contextlib.contextmanager
def show_fits() -> Iterator[Callable[[Fit, int, int], None]]:
    """Show each fit of a study."""
    with display() as shown:
        bar = shown.bar("fits", quiet=True)

        def show(fit: Fit, done: int, total: int) -> None:
            how = "kept" if fit.kept else f"{fit.seconds:.1f} s"
            what = f"trial {fit.trial}, level {fit.level:g}: {fit.model} {fit.value:.4f} ({how})"
            bar.update(done=done, total=total)
            shown.line(f"{done}/{total} {what}")

        yield show
