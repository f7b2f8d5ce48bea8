"""What an experiment found: numbers beside the paper's, and figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rankwright.evaluation.significance import mean_interval, t_test
from rankwright.showing import Brief

Verdict = Literal[
    "holds",  # a statement of the paper, checked
    "refuted",  # a statement of the paper, by a counterexample; the note names it
    "reproduced",  # what the paper observed, here too
    "not reproduced",  # what the paper observed, not here; the note says why
    "undecided",  # the interval of ours allows both
    "other data",  # the paper's protocol on other data
    "reported",  # nothing printed or claimed to compare with
]


@dataclass(frozen=True, repr=False)
class Row(Brief):
    """One number.

    Attributes
    ----------
    source : str
        Where the paper has it, such as ``"Figure 4"``.
    what : str
        What it is.
    ours : float
        Our value.
    verdict : str
        How it compares.
    paper : float, optional
        What the paper prints or promises.
    interval : tuple of float, optional
        A 95 % interval of ours.
    note : str
        What it means; the counterexample of what is refuted, the reason of what is not reproduced.
    """

    source: str
    what: str
    ours: float
    verdict: Verdict
    paper: float | None = None
    interval: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True, repr=False)
class Curve(Brief):
    """One series of a figure, perhaps with a band."""

    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None

    @classmethod
    def of(
        cls, x: ArrayLike, y: ArrayLike, low: ArrayLike | None = None, high: ArrayLike | None = None
    ) -> Curve:
        """Make a curve from arrays."""
        bands = (None if values is None else _float_list(values) for values in (low, high))
        return cls(_float_list(x), _float_list(y), *bands)

    @classmethod
    def of_repeats(cls, x: ArrayLike, repeats: Iterable[ArrayLike]) -> Curve:
        """Make a curve of the means of repeats at each x, with their 95 % intervals."""
        return cls.of(x, *zip(*map(mean_interval, repeats), strict=True))


@dataclass(frozen=True, repr=False)
class Panel(Brief):
    """One set of axes."""

    curves: dict[str, Curve]
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    kind: Literal["line", "scatter"] = "line"


@dataclass(frozen=True, repr=False)
class Figure(Brief):
    """Panels beside each other, by heading."""

    name: str
    caption: str
    panels: dict[str, Panel]


@dataclass(repr=False)
class Findings(Brief):
    """All that an experiment found."""

    rows: list[Row] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def holds(statement: bool) -> Verdict:
    """Return the verdict on a statement of a paper that was checked."""
    return "holds" if statement else "refuted"


def agrees(statement: bool) -> Verdict:
    """Return the verdict on what a paper observed."""
    return "reproduced" if statement else "not reproduced"


def mean_of(repeats: ArrayLike) -> tuple[float, tuple[float, float]]:
    """Return the mean of independent repeats and its 95 % interval."""
    mean, low, high = mean_interval(repeats)
    return float(mean), (float(low), float(high))


def difference_row(
    source: str,
    what: str,
    differences: ArrayLike,
    level: float = 0.01,
    why: str = "the opposite comes out",
) -> Row:
    """Return the row of a claim that paired differences are positive, with a paired t-test.

    ``why`` is said where they are negative.
    """
    sample = np.asarray(differences, dtype=np.float64)
    mean, interval = mean_of(sample)
    p = t_test(sample)
    verdict: Verdict = "undecided"
    if p < level:
        verdict = agrees(mean > 0)
    note = f"paired t-test over {len(sample)} trials, p = {p:.2g}"
    if verdict == "not reproduced":
        note = f"{why}; {note}"
    return Row(source, what, mean, verdict, None, interval, note)


def _float_list(values: ArrayLike) -> list[float]:
    return [float(v) for v in np.asarray(values, dtype=np.float64)]
