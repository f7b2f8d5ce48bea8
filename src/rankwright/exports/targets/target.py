"""What is asked of a target: an engine, a format or a language that a model is exported to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Leaves, Rules
from rankwright.showing import Brief

Rows: TypeAlias = NDArray[Any]
"""Features as the engine reads them, a row for each document; NaN is missing."""

Judge: TypeAlias = Callable[[Rows], "Verdicts"]
"""What scores rows as the engine does."""


@dataclass(frozen=True)
class Verdicts:
    """What an engine says of rows.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,) or (n_rows, n_scores), optional
        Its scores, as doubles; None where it gives labels alone.
    labels : ndarray of shape (n_rows,), optional
        Places of labels among the classes, where it gives any.
    """

    scores: Floats | None
    labels: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Engine:
    """A judge that is the engine itself.

    Attributes
    ----------
    name : str
        With its version, such as ``"sqlite 3.40.1"``.
    judge : callable
        Scores rows.
    """

    name: str
    judge: Judge


Missing = Literal["by-node", "zero", "right"]
"""What an engine does with a missing value: it follows the split, takes it for 0, or goes right."""


@dataclass(frozen=True, repr=False)
class Options(Brief):
    """What a user may say of the place that a model goes to.

    Attributes
    ----------
    name : str
        What the model is called there.
    store : str
        The feature store, feature set or table.
    dialect : str
        Of SQL.
    missing : {"by-node", "zero", "right"}
        What an engine does with a missing value, where versions differ.
    present : frozenset of str
        Features that every document has; ``"all"`` for all of them.
    known : frozenset of str
        All features that the store has; empty if that is not known.
    """

    name: str = "model"
    store: str = "features"
    dialect: str = "duckdb"
    missing: Missing = "by-node"
    present: frozenset[str] = field(default_factory=frozenset)
    known: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        for key in ("name", "store", "dialect"):
            text = getattr(self, key)
            # They get into statements and programs that are run: no line may end in one.
            if not isinstance(text, str) or not text or not text.isprintable():
                raise Refusal(
                    "names",
                    f"{key} must be a printable text, but is {text!r:.100}",
                    f"give another (--{key})",
                )
        if self.missing not in get_args(Missing):
            policies = ", ".join(get_args(Missing))
            raise DataError(f"missing must be one of {policies}, but is {self.missing!r:.50}.")
        for key, given in (("present", self.present), ("known", self.known)):
            names = {given} if isinstance(given, str) else given
            object.__setattr__(self, key, frozenset(names))


@dataclass(frozen=True, repr=False)
class Gap(Brief):
    """Numbers that an engine sends to the other side of a split.

    Attributes
    ----------
    feature : str
        Of this feature.
    above, up_to : float
        Those above the first and up to the second.
    """

    feature: str
    above: float
    up_to: float


@dataclass(frozen=True)
class Written:
    """A model as an engine takes it.

    Attributes
    ----------
    content : bytes
        The file.
    gaps : list of Gap
        Numbers that go the wrong way.
    warnings : list of str
        What the user should know, such as sizes near the engine's limits.
    """

    content: bytes
    gaps: list[Gap] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Target(Protocol):
    """One of these for each engine."""

    name: ClassVar[str]
    """What users call it."""
    engine: ClassVar[str]
    """The engine, with the versions whose arithmetic this is."""
    holds: ClassVar[str]
    """What it can hold, as ``export --list`` says it."""
    number: ClassVar[Literal["float32", "float64"]]
    """What the engine reads features as."""
    suffix: ClassVar[str] = ".json"
    """How the names of its files end."""
    leaves: ClassVar[Leaves] = "grid"
    """Where leaves go by default."""
    arithmetic: ClassVar[Literal["lanes", "float32", "float64"] | None] = None
    """How weighted sums are taken: in the order of the library, hence with its bits, or one after
    the other in float32 or float64, to a float32 (see :class:`rankwright.scoring.sums.InOrderSum`);
    None if there are none."""
    gives_labels: ClassVar[bool] = False
    """Whether the engine gives the labels of ordinal models, not scores alone."""
    shifted: ClassVar[bool] = False
    """Whether scores are made positive, by the file or by the engine; the shift is on the grid."""
    judged_by: ClassVar[str] = ""
    """What the interpreter goes by, such as ``"the plugin's rule"``."""

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        ...

    def versions(self, rules: Rules, options: Options) -> str:
        """Return the engine, with the versions that do what the options say."""
        return self.engine

    def missing(self, rules: Rules, options: Options) -> Missing:
        """Return what the engine does with a missing value."""
        return options.missing

    def warnings(self, rules: Rules, data: Rows | None) -> list[str]:
        """Return what the user should know of the features, by the model and by rows of data."""
        return []

    def reachable(self, rules: Rules, data: Rows | None) -> Rules:
        """Return the model with the thresholds that the engine can have.

        They may be others than those asked for, on the other side of as few of the data's values
        as can be: what is between them are gaps.
        """
        return rules

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the model as the engine takes it; its leaves are where they must be."""
        ...

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what reads a file and scores rows as the engine's source says.

        Of ``rules`` the names of the features and the labels alone may be used: the rest is what is
        in question.
        """
        ...

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield the engines themselves, as far as they are on this machine."""
        ...

    def steps(self, path: str, options: Options) -> list[str]:
        """Return what to do next: how the file is uploaded and used."""
        ...


def no_linear(what: str) -> Refusal:
    """Return the refusal of weighted sums."""
    return Refusal(
        "linear",
        f"{what} holds trees alone, and this is a linear model",
        "export it to vespa, onnx, sql, c or java",
    )


def no_names(names: Iterable[str], what: str) -> Iterator[Refusal]:
    """Yield the refusal of names that an engine cannot hold, if there are any."""
    for name in names:
        yield Refusal("names", f"{what}, such as {name!r:.100}", "give other names (--names)")
        return


def no_mixture(rules: Rules, what: str) -> Iterator[Refusal]:
    """Yield the refusal of a sum of a linear part and trees, if the model is one."""
    if rules.trees is not None and rules.linear is not None:
        yield Refusal(
            "mixture",
            f"the model is a sum of a linear part and trees, which {what} cannot hold",
            "distil it into a linear model or into trees, rankwright.distill(model, data) or on "
            "the command line rankwright distill, or export it to vespa, onnx, sql, c or java",
        )
