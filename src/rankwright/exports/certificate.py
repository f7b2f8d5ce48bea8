"""What was proved of an export: a value, a text for people, JSON for machines."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, Self

from rankwright.data.writing import write_text
from rankwright.exceptions import DataError
from rankwright.exports.rules import NUMBERS
from rankwright.exports.targets.registry import TARGETS, target_named
from rankwright.exports.targets.target import Gap, Options
from rankwright.showing import Brief

FORMAT = 1
BROKEN = "was changed after it was written: its seal is broken"
_KINDS: dict[str, Any] = {"str": str, "float": (int, float), "dict": dict, "tuple": list}


@dataclass(frozen=True, repr=False)
class Judgement(Brief):
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
    kind : str
        The class of the model.
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
        model, relative to the sum of its terms' sizes. Of a sum of a linear part and trees, the
        trees' share; the last addition is rounded, too, by at most 2^-53 of either score.
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
    kind: str
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

    def asked(self) -> Options:
        """Return what was said of the place it goes to."""
        return Options(**{**self.options, "present": frozenset(self.options["present"])})

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
        certificate, sealed = cls.read(path)
        if not sealed:
            raise DataError(f"{BROKEN}.", path=path)
        return certificate

    @classmethod
    def read(cls, path: str | PathLike[str]) -> tuple[Self, bool]:
        """Return a certificate, and whether every byte of it is as it was written."""
        try:
            text = Path(path).read_bytes().decode()
            said = json.loads(text)
            version = said.pop("format")
            said.pop("seal")
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}.", path=path) from None
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            raise DataError("is not a certificate.", path=path) from None
        if version != FORMAT:
            raise DataError(f"has format {version!r:.50}, but must have {FORMAT}.", path=path)
        try:
            certificate = cls._of(said)
        except (TypeError, KeyError, ValueError, AttributeError):
            raise DataError("is not a certificate.", path=path) from None
        if certificate.target not in TARGETS:
            raise DataError(f"is for {certificate.target!r:.50}, an unknown target.", path=path)
        return certificate, certificate.to_json() == text

    @classmethod
    def _of(cls, said: dict[str, Any]) -> Self:
        """Return the certificate that says this; a TypeError if no certificate does."""
        for one in fields(cls):
            kind = next(kind for name, kind in _KINDS.items() if str(one.type).startswith(name))
            given = said[one.name]
            if not isinstance(given, kind) and not (given is None and "None" in str(one.type)):
                raise TypeError
        beside = [said["files"][key]["name"] for key in ("export", "grid", "probes")]
        if said["number"] not in NUMBERS or any(Path(name).name != name for name in beside):
            raise ValueError
        said["judgements"] = tuple(Judgement(**one) for one in said["judgements"])
        said["gaps"] = tuple(Gap(**one) for one in said["gaps"])
        for name in ("names", "thresholds", "classes", "refusals", "warnings"):
            said[name] = tuple(said[name])
        if not all(name.isprintable() for name in said["names"]):  # judges put them into programs
            raise ValueError
        certificate = cls(**said)
        certificate.asked()
        hashed = [said["probes"], *said["files"].values()]
        if (
            not all(isinstance(one["sha256"], str) for one in hashed)
            or "most" not in said["probes"]
            or not isinstance(said["probes"]["tolerance"], float)
        ):
            raise ValueError
        return certificate

    # ---- for people ----

    def text(self, path: str | PathLike[str] | None = None, sample: str = "the data") -> str:
        """Return what holds, line by line.

        Parameters
        ----------
        path : str or path-like, optional
            Where the export is; by default beside the certificate.
        sample : str
            What the rows are called that were given.
        """
        lines = [f"{self.target} ({self.engine}): {self.size}", self._proved(sample)]
        lines += [f"gap: {gap.feature} in ({gap.above:g}, {gap.up_to:g}]" for gap in self.gaps[:5]]
        lines += [f"gap: and {len(self.gaps) - 5} more"] if len(self.gaps) > 5 else []
        lines += [f"allowed: {code}" for code in self.refusals]
        lines += [f"warning: {warning}" for warning in self.warnings]
        where = self.files["export"]["name"] if path is None else os.fspath(path)
        lines += target_named(self.target).steps(where, self.asked())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    def _proved(self, sample: str) -> str:
        n = max((one.n_rows for one in self.judgements), default=0)
        ran = any(one.ran for one in self.judgements)
        gaps = f"exact outside {len(self.gaps)} gaps"
        outcome = gaps if self.outcome == "exact outside gaps" else self.outcome
        said = [
            f"{outcome}: {n:,} probe rows give {self._nearness()}, by {self.judge}"
            f"{'' if ran else ' (no engine was run)'}",
            *self._moved(),
            *self._changed(sample),
        ]
        return "; ".join(said)

    def _nearness(self) -> str:
        grid, tolerance = self.files["grid"]["name"], self.probes["tolerance"]
        if tolerance > 0:
            return f"the scores of {grid} within {tolerance:.2g}"
        return f"the bits of {grid}" if self.outcome == "bounded" else "the same bits"

    def _moved(self) -> list[str]:
        said = []
        if self.leaves in ("grid", "nearest"):
            said.append(
                f"leaves moved by at most {self.moved:.2g}, scores by at most {self.bound:.2g}"
            )
        elif self.bound > 0:
            said.append(
                f"scores differ by at most {self.bound:.2g} of the sum of their terms' sizes"
            )
        return [*said, f"{self.shift:g} is added to every score"] if self.shift else said

    def _changed(self, sample: str) -> list[str]:
        said = []
        if "changed_rankings" in self.data:
            n, total = self.data["changed_rankings"], self.data["queries"]
            pairs = f" ({self.data['swapped_pairs']:,} pairs swap)"
            what = f"{n:,} of {total:,} rankings of {sample} change{pairs}"
            said.append(what if n else f"no ranking of {sample} changes")
        if "changed_labels" in self.data:
            n = self.data["changed_labels"]
            which = ", ".join(f"{a} to {b}: {m:,}" for a, b, m in self.data["label_changes"])
            said.append(
                f"{n:,} labels of {sample} change ({which})"
                if n
                else f"no label of {sample} changes"
            )
        return said


def _seal(said: dict[str, Any]) -> str:
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
