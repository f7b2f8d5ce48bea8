"""Probes before the judges: an interpreter of the engine's rule, and engines that are at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.exports.certificate import Judgement
from rankwright.exports.gaps import admitted
from rankwright.exports.probes import probe_blocks
from rankwright.exports.rules import Rules
from rankwright.exports.sample import Sample
from rankwright.exports.targets.target import Gap, Judge, Options, Rows, Target, Verdicts

_BLOCK = 1 << 15  # rows that are judged at once
_REPLAYED = 1000  # probes that are written down


@dataclass(frozen=True)
class Trial:
    """What came out.

    Attributes
    ----------
    n_rows : int
        How many probes there were.
    digest : str
        The hash of all rows and what the model says of them.
    judgements : tuple of Judgement
        What each judge said.
    rows : ndarray
        Some of the probes, spread over all.
    verdicts : Verdicts
        What the model says of these.
    """

    n_rows: int
    digest: str
    judgements: tuple[Judgement, ...]
    rows: Rows
    verdicts: Verdicts


def judged(
    target: Target,
    content: bytes,
    rules: Rules,
    options: Options,
    reference: Judge,
    sample: Sample | None,
    most: int | None,
    gaps: Sequence[Gap] = (),
) -> Trial:
    """Return what the judges say of a file; a DataError at the first row that one has otherwise."""
    interpreter = f"our interpreter of {target.judged_by}"
    judges = [(interpreter, False, target.interpreter(content, rules, options))]
    for engine in target.engines(content, rules, options):
        judges.append((engine.name, True, engine.judge))
    hasher, n_rows, kept = hashlib.sha256(), 0, []
    data = None if sample is None else sample.X
    for probes in _joined(probe_blocks(rules, target.number, data, most)):
        X = admitted(probes, rules.names, options.present, gaps)
        ours = reference(X)
        for name, _, judge in judges:
            _require_equal(name, ours, judge(X), X, rules)
        _feed(hasher, X, ours)
        kept.append((X, ours))
        n_rows += len(X)
    rows, verdicts = _some(kept, rules.n_features)
    judgements = tuple(Judgement(name, ran, n_rows, 0) for name, ran, _ in judges)
    return Trial(n_rows, hasher.hexdigest(), judgements, rows, verdicts)


def first_difference(ours: Verdicts, theirs: Verdicts) -> int | None:
    """Return the first row whose score, or label, is not the same bits; None if there is none."""
    differ = np.zeros(0, dtype=bool)
    if theirs.scores is not None:
        differ = _bits(ours.scores) != _bits(theirs.scores)
        differ = differ if differ.ndim == 1 else differ.any(axis=1)
    if ours.labels is not None and theirs.labels is not None:
        other = ours.labels != theirs.labels
        differ = other if len(differ) == 0 else differ | other
    places = np.flatnonzero(differ)
    return int(places[0]) if len(places) else None


def _bits(scores: Floats | None) -> NDArray[np.int64]:
    # -0.0 is 0.0 to whoever ranks, and engines differ in it.
    return (np.asarray(scores, dtype=np.float64) + 0.0).view(np.int64)


def _require_equal(name: str, ours: Verdicts, theirs: Verdicts, X: Rows, rules: Rules) -> None:
    row = first_difference(ours, theirs)
    if row is None:
        return
    wants = ours.scores if theirs.scores is not None else ours.labels
    has = theirs.scores if theirs.scores is not None else theirs.labels
    assert wants is not None
    assert has is not None
    values = ", ".join(
        f"{name}={value:.9g}" for name, value in zip(rules.names, X[row], strict=True) if value != 0
    )
    raise DataError(
        f"{name} gives {has[row]} where the model gives {wants[row]}, for {values:.300}: nothing "
        "was written."
    )


def _joined(blocks: Iterator[Rows]) -> Iterator[Rows]:
    """Yield rows in larger blocks."""
    held: list[Rows] = []
    for block in blocks:
        held.append(block)
        if sum(map(len, held)) >= _BLOCK:
            yield np.concatenate(held)
            held = []
    if held:
        yield np.concatenate(held)


def _feed(hasher: Any, X: Rows, verdicts: Verdicts) -> None:
    hasher.update(np.ascontiguousarray(X).tobytes())
    hasher.update(_bits(verdicts.scores).tobytes())


def _some(kept: list[tuple[Rows, Verdicts]], n_features: int) -> tuple[Rows, Verdicts]:
    """Return rows spread over all of them."""
    if not kept:
        return np.zeros((0, n_features)), Verdicts(np.zeros(0))
    total = sum(len(X) for X, _ in kept)
    at = np.unique(np.linspace(0, total - 1, min(total, _REPLAYED)).astype(np.int64))
    rows, scores, labels, begin = [], [], [], 0
    for X, verdicts in kept:
        mine = at[(at >= begin) & (at < begin + len(X))] - begin
        rows.append(X[mine])
        scores.append(np.asarray(verdicts.scores)[mine])
        if verdicts.labels is not None:
            labels.append(verdicts.labels[mine])
        begin += len(X)
    return np.concatenate(rows), Verdicts(
        np.concatenate(scores), np.concatenate(labels) if labels else None
    )
