"""What was proved of an export: a value, a text for people, JSON for machines."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

from rankwright.data.writing import write_text
from rankwright.exceptions import DataError
from rankwright.exports.targets.target import Gap

FORMAT = 1


@dataclass(frozen=True)
class Judgement:
    """What one judge said of the probes.

    Attributes
    ----------
    judge : str
        Who: an engine with its version, or our interpreter.
    ran : bool
        Whether it is the engine itself.
    n_rows : int
        How many rows it scored.
    n_differ : int
        How many it scores otherwise.
    """

    judge: str
    ran: bool
    n_rows: int
    n_differ: int


@dataclass(frozen=True)
class Certificate:
    """What holds of an exported model.

    Attributes
    ----------
    target, engine : str
        Where it goes, and the versions of which this holds.
    outcome : {"exact", "exact outside gaps", "bounded"}
        Whether the engine's scores are the bits of ``predict`` of the grid model; everywhere, for
        all values outside the gaps, or up to a bound.
    number : {"float32", "float64"}
        What the engine reads features as: this holds of such values, if they are finite.
    missing : str
        What the engine does with missing values.
    size : str
        What the model has, such as ``"300 trees, 9,000 splits"``.
    names : tuple of str
        What the engine calls the features, in the order of the model.
    judgements : tuple of Judgement
        What each judge said.
    leaves : {"own", "grid", "nearest"}, optional
        How leaves were placed; None without trees.
    g : float, optional
        The step of the grid.
    moved : float
        By how much a leaf was moved, at most.
    shift : float
        What is added to every score.
    bound : float
        By how much an engine's score, less the shift, differs from the model's at most; of a linear
        model, relative to the sum of its terms' sizes.
    gaps : tuple of Gap
        Values that go the wrong way.
    thresholds, classes : tuple
        Of an ordinal model: its label is the number of thresholds that the score has reached.
    data : dict
        Of the rows that were given: their hash, how many, by how much scores move at most, and in
        how many queries the ranking changes.
    refusals : tuple of str
        What was allowed though it would have been refused.
    warnings : tuple of str
        What a user should know.
    files : dict
        For each file its name and hash: export, model, grid and probes.
    probes : dict
        How many there are, and the hash of all rows with their scores.
    options : dict
        What else was asked for.
    library : str
        The version of rankwright.
    """

    target: str
    engine: str
    outcome: str
    number: str
    missing: str
    size: str
    names: tuple[str, ...]
    judgements: tuple[Judgement, ...]
    leaves: str | None = None
    g: float | None = None
    moved: float = 0.0
    shift: float = 0.0
    bound: float = 0.0
    gaps: tuple[Gap, ...] = ()
    thresholds: tuple[float, ...] = ()
    classes: tuple[Any, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    probes: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    library: str = ""

    @property
    def exact(self) -> bool:
        """Whether the engine's scores are those of the grid model, bit for bit."""
        return self.outcome == "exact"

    @property
    def judge(self) -> str:
        """Who said so; engines before interpreters."""
        ranked = sorted(self.judgements, key=lambda one: not one.ran)
        return ", ".join(one.judge for one in ranked)

    def to_json(self) -> str:
        """Return the certificate as JSON, sealed by the hash of all that it says."""
        said = {"format": FORMAT, **asdict(self)}
        return json.dumps({**said, "seal": _seal(said)}, indent=1, ensure_ascii=False) + "\n"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the certificate."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a certificate; a DataError if it is not what was written."""
        try:
            said = json.loads(Path(path).read_text(encoding="utf-8"))
            seal = said.pop("seal")
            version = said.pop("format")
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}.", path=path) from None
        except (ValueError, KeyError, AttributeError, RecursionError):
            raise DataError("is not a certificate.", path=path) from None
        if version != FORMAT:
            raise DataError(f"has format {version!r:.50}, but must have {FORMAT}.", path=path)
        if seal != _seal({"format": version, **said}):
            raise DataError("was changed after it was written: its seal is broken.", path=path)
        try:
            said["judgements"] = tuple(Judgement(**one) for one in said["judgements"])
            said["gaps"] = tuple(Gap(**one) for one in said["gaps"])
            for name in ("names", "thresholds", "classes", "refusals", "warnings"):
                said[name] = tuple(said[name])
            return cls(**said)
        except (TypeError, KeyError):
            raise DataError("is not a certificate.", path=path) from None


def _seal(said: dict[str, Any]) -> str:
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
