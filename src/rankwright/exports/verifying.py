"""``verify``: an export proved again, later and elsewhere, from its certificate and the files."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankwright.exceptions import DataError
from rankwright.exports.certificate import BROKEN, Certificate
from rankwright.exports.judging import Hearing, NamedJudge, judged, judges_of
from rankwright.exports.probes import probe_blocks
from rankwright.exports.reference import Reference
from rankwright.exports.replay import replayed_probes
from rankwright.exports.rules import Labels, Rules, rules_of
from rankwright.exports.sample import SampleRows
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.target import Rows, Verdicts
from rankwright.exports.verification import Verification
from rankwright.scoring import load

T = TypeVar("T")


def verify(
    what: Any,
    path: str | PathLike[str] | None = None,
    *,
    log: str | PathLike[str] | None = None,
    data: Any = None,
    names: Sequence[str] | Mapping[str, str] | None = None,
) -> Verification:
    """Prove an export again; or compare what an engine logged with a model.

    Of an export: no byte of the certificate and of the files beside it was changed; every judge at
    hand gives the probes that were written down the certified scores; and, where the grid model is
    there, all probes that can be made from it, too.

    Parameters
    ----------
    what : str, path-like or model
        The certificate, ``*.cert.json``; the files that it names lie beside it. With ``log``, a
        certificate, a model file or a model.
    path : str or path-like, optional
        The export, if it lies elsewhere.
    log : str or path-like, optional
        A table with the columns ``query``, ``doc``, ``score`` and the features, as the engine
        logged them; an empty value is missing.
    data : Dataset or array-like, optional
        The rows that the export was made with: then all of its probes can be made again.
    names : sequence or mapping of str, optional
        With ``log``: what the engine calls the features, as for :func:`rankwright.export`.
    """
    if log is None:
        return verify_export(what, path, data)
    from rankwright.exports.production import verify_log

    if path is not None or data is not None:
        raise ValueError("a log is compared with a model alone: path and data are for exports.")
    return verify_log(what, log, names)


def verify_export(
    certificate: str | PathLike[str], path: str | PathLike[str] | None = None, data: Any = None
) -> Verification:
    """Prove an export again; see :func:`verify`."""
    said, sealed = Certificate.read(certificate)
    first = f"{Path(certificate).name}: {'as it was written' if sealed else BROKEN}"
    try:
        return _verified(said, sealed, Files.of(said, Path(certificate), path), data, first)
    except DataError as error:
        if sealed:
            raise
        return Verification(False, (first, str(error)), {"sealed": False})


def _verified(said: Certificate, sealed: bool, files: Files, data: Any, first: str) -> Verification:
    lines = [first, *files.lines()]
    facts: dict[str, Any] = {"sealed": sealed, "files": files.as_certified}
    passed = sealed and all(files.as_certified.values())
    try:
        judges = _judges(said, files.content)
        trials = _hearings(said, files, judges, data)
    except _UnreadableError as error:
        lines.append(f"{files.export.name}: {said.target} cannot read it: {error}")
        return Verification(False, tuple(lines), facts)
    for source, trial in trials.items():
        passed = passed and trial.difference is None
        lines.append(f"{trial.n_rows:,} probes {source}: {_outcome_of(trial)}")
    if data is not None or not said.data:
        passed = passed and _are_certified(trials, said, lines)
    facts["judges"] = [one.name for one in judges]
    facts["probes"] = {source: trial.n_rows for source, trial in trials.items()}
    facts["difference"] = next((t.difference for t in trials.values() if t.difference), None)
    return Verification(passed, tuple(lines), facts)


@dataclass(frozen=True)
class Files:
    """The files that a certificate speaks of.

    Attributes
    ----------
    export, grid, probes : Path
        Where they are.
    content : bytes
        The export.
    as_certified : dict
        For each file that is there, whether it is the certified one.
    """

    export: Path
    grid: Path
    probes: Path
    content: bytes
    as_certified: dict[str, bool]

    @classmethod
    def of(
        cls, said: Certificate, certificate: Path, path: str | PathLike[str] | None = None
    ) -> Files:
        """Find them beside a certificate, the export perhaps elsewhere."""
        places = {key: certificate.with_name(said.files[key]["name"]) for key in KEYS}
        places["export"] = places["export"] if path is None else Path(path)
        content, same = b"", {}
        for key, place in places.items():
            try:
                found = place.read_bytes()
            except OSError as error:
                if key == "export" or not isinstance(error, FileNotFoundError):
                    raise DataError(f"cannot be read: {error.strerror}.", path=place) from None
                continue
            same[key] = hashlib.sha256(found).hexdigest() == said.files[key]["sha256"]
            content = found if key == "export" else content
        return cls(**places, content=content, as_certified=same)

    def lines(self) -> list[str]:
        """Return what there is to say of each."""
        words = {True: "as certified", False: "not the certified file", None: "not there"}
        places = zip(KEYS, (self.export, self.grid, self.probes), strict=True)
        return [f"{place.name}: {words[self.as_certified.get(key)]}" for key, place in places]


def _hearings(
    said: Certificate, files: Files, judges: list[NamedJudge], data: Any
) -> dict[str, Hearing]:
    """Return what judges say of the probes of the table, and of those that are made again."""
    trials = {}
    if files.as_certified.get("probes"):
        rows, verdicts = _probes(said, files.probes)
        near = said.probes["tolerance"]
        table = judged(judges, _rules(said), lambda _: verdicts, [rows], near)
        trials[f"of {files.probes.name}"] = table
    if files.as_certified.get("grid"):
        trials[_ANEW] = _anew(said, files.grid, judges, data)
    if not trials:
        raise DataError(
            f"there are no probes: {files.probes.name} or {files.grid.name} must be beside it, as "
            "they were certified.",
            path=files.export,
        )
    return trials


def _anew(said: Certificate, path: Path, judges: list[NamedJudge], data: Any) -> Hearing:
    """Return what judges say of all probes, made again from the grid model."""
    grid = load(path)
    plain = copy.copy(grid)
    vars(plain).pop("arithmetic_", None)  # probes do not depend on it
    rules = rules_of(plain).named(said.names)
    sample = None if data is None else SampleRows.of(data, grid, said.number)
    if sample is not None and sample.digest() != said.data.get("sha256"):
        raise DataError("data must be the rows that the export was made with, but are others.")
    given = None if sample is None else sample.X
    most, present = said.probes["most"], said.asked().present
    rows = probe_blocks(rules, said.number, given, most, present, said.gaps)
    return judged(judges, rules, Reference(grid, rules), rows, said.probes["tolerance"])


def _are_certified(trials: dict[str, Hearing], said: Certificate, lines: list[str]) -> bool:
    """Return whether all probes and their scores are those that were certified, and say so."""
    if _ANEW not in trials:
        return True
    same: bool = trials[_ANEW].digest == said.probes["sha256"]
    lines.append(f"these probes and their scores are {'' if same else 'not '}those certified")
    return same


def _outcome_of(trial: Hearing) -> str:
    judges = ", ".join(one.judge for one in trial.judgements)
    if trial.difference is None:
        return f"no score differs, by {judges}"
    n = max(one.n_differ for one in trial.judgements)
    return f"{n:,} scores differ; the first: {trial.difference}"


def _rules(said: Certificate) -> Rules:
    """Return what an interpreter may know."""
    labels = None
    if said.classes:
        labels = Labels(said.classes, np.array(said.thresholds) if said.thresholds else None)
    return Rules(said.kind, said.names, labels=labels)


def _probes(said: Certificate, path: Path) -> tuple[Rows, Verdicts]:
    rows, scores = replayed_probes(path, said.names, said.number)
    labels = _rules(said).labels
    return rows, Verdicts(scores, None if labels is None else labels.of(scores))


class _UnreadableError(Exception):
    """An export that an engine, or our interpreter of it, stumbles over."""


def _reading(read: Callable[..., T], *given: Any) -> T:
    try:
        return read(*given)
    except Exception as error:  # a changed file may make its reader stumble in any way
        reason = " ".join(str(error).split()) or type(error).__name__
        raise _UnreadableError(f"{reason:.300}") from error


def _judges(said: Certificate, content: bytes) -> list[NamedJudge]:
    target = target_named(said.target)
    found = _reading(judges_of, target, content, _rules(said), said.asked())
    return [replace(one, judge=partial(_reading, one.judge)) for one in found]


KEYS = ("export", "grid", "probes")
"""The files that are written beside a certificate."""
_ANEW = "made from the grid model"
