"""Probes before the judges: an interpreter of the engine's rule, and engines that are at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.exports.certificate import Judgement
from rankwright.exports.rules import Rules
from rankwright.exports.targets.target import Judge, Options, Rows, Target, Verdicts

_BLOCK = 1 << 15  # rows that are judged at once, or fewer if they are wide:
_CELLS = 1 << 23
_REPLAYED = 1000  # probes that are written down


@dataclass(frozen=True)
class Hearing:
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
    difference : str, optional
        The first probe that a judge has otherwise.
    """

    n_rows: int
    digest: str
    judgements: tuple[Judgement, ...]
    rows: Rows
    verdicts: Verdicts
    difference: str | None = None


@dataclass(frozen=True)
class NamedJudge:
    """Someone who scores rows as the engine does.

    Attributes
    ----------
    name : str
        An engine with its version, or our interpreter.
    ran : bool
        Whether it is the engine itself.
    judge : callable
        Scores rows.
    """

    name: str
    ran: bool
    judge: Judge


def judges_of(target: Target, content: bytes, rules: Rules, options: Options) -> list[NamedJudge]:
    """Return who can score with a file: our interpreter, and engines that are at hand."""
    interpreter = target.interpreter(content, rules, options)
    found = [NamedJudge(f"our interpreter of {target.judged_by}", False, interpreter)]
    for engine in target.engines(content, rules, options):
        found.append(NamedJudge(engine.name, True, engine.judge))
    return found


def judged(
    judges: list[NamedJudge],
    rules: Rules,
    reference: Judge,
    blocks: Iterable[Rows],
    tolerance: float = 0.0,
) -> Hearing:
    """Return what judges say of probes; each that differs from the model is remembered.

    Without a tolerance, a score that is not the same bits differs.
    """
    rows, scores, n_rows = hashlib.sha256(), hashlib.sha256(), 0
    replayed = _Replayed(rules.n_features)
    n_differ, first = [0] * len(judges), None
    for X in _in_large_blocks(blocks, rules.n_features):
        ours = reference(X)
        for i, one in enumerate(judges):
            theirs = one.judge(X)
            places = differences(ours, theirs, tolerance)
            n_differ[i] += len(places)
            if first is None and len(places):
                told = _told_difference(one.name, ours, theirs, X, int(places[0]), rules)
                first = f"probe {n_rows + int(places[0]) + 1:,}: {told}"
        rows.update(np.ascontiguousarray(X).tobytes())
        scores.update(_bits(ours.scores).tobytes())
        replayed.add(X, ours)
        n_rows += len(X)
    said = tuple(
        Judgement(one.name, one.ran, n_rows, n) for one, n in zip(judges, n_differ, strict=True)
    )
    # Of rows and scores apart: how many are judged at once does not matter.
    digest = hashlib.sha256((rows.hexdigest() + scores.hexdigest()).encode()).hexdigest()
    return Hearing(n_rows, digest, said, replayed.rows, replayed.verdicts(), first)


def differences(ours: Verdicts, theirs: Verdicts, tolerance: float = 0.0) -> Ints:
    """Return the rows whose score, or label, is not the same bits, or not within a tolerance."""
    differ = np.zeros(0, dtype=bool)
    if theirs.scores is not None:
        differ = _bits(ours.scores) != _bits(theirs.scores)
        if tolerance > 0:  # NaN is not near anything
            # What is added to sums that differ is added, and rounded, in both.
            room = tolerance + np.spacing(np.abs(np.asarray(ours.scores)))
            differ &= ~(np.abs(np.asarray(ours.scores) - theirs.scores) <= room)
        differ = differ if differ.ndim == 1 else differ.any(axis=1)
    if ours.labels is not None and theirs.labels is not None:
        other = ours.labels != theirs.labels
        differ = other if len(differ) == 0 else differ | other
    return np.flatnonzero(differ)


def first_difference(ours: Verdicts, theirs: Verdicts) -> int | None:
    """Return the first row whose score, or label, is not the same bits; None if there is none."""
    places = differences(ours, theirs)
    return int(places[0]) if len(places) else None


def _bits(scores: Floats | None) -> NDArray[np.int64]:
    # -0.0 is 0.0 to whoever ranks, and engines differ in it.
    return (np.asarray(scores, dtype=np.float64) + 0.0).view(np.int64)


def _told_difference(
    judge: str, ours: Verdicts, theirs: Verdicts, X: Rows, row: int, rules: Rules
) -> str:
    wants: Any = ours.scores
    has: Any = theirs.scores
    what = ""
    if has is None or (_bits(wants)[row] == _bits(has)[row]).all():
        wants, has, what = ours.labels, theirs.labels, "label "
    assert wants is not None
    assert has is not None
    values = ", ".join(
        f"{name}={value:.9g}" for name, value in zip(rules.names, X[row], strict=True) if value != 0
    )
    values = values if len(values) < 200 else f"{values[:200]} ..."
    return (
        f"{judge} gives {what}{has[row]} where the model gives {what}{wants[row]}, for "
        f"{values or 'a row of zeros'}"
    )


def _in_large_blocks(blocks: Iterable[Rows], n_features: int) -> Iterator[Rows]:
    """Yield rows in larger blocks."""
    most = max(1, min(_BLOCK, _CELLS // n_features))
    held: list[Rows] = []
    for block in blocks:
        held.append(block)
        if sum(map(len, held)) >= most:
            yield np.concatenate(held)
            held = []
    if held:
        yield np.concatenate(held)


class _Replayed:
    """Some of the probes: those that drew the smallest numbers, in their order."""

    def __init__(self, n_features: int) -> None:
        self.rng, self.drawn = np.random.default_rng(0), np.zeros(0)
        self.rows: Rows = np.zeros((0, n_features))
        self.scores, self.labels = np.zeros(0), np.zeros(0, dtype=np.int64)
        self.labelled = False

    def add(self, X: Rows, verdicts: Verdicts) -> None:
        """Let rows draw, and keep those that are among the smallest of all."""
        n = len(self.drawn)
        drawn = np.append(self.drawn, self.rng.random(len(X)))
        keep = np.sort(np.argsort(drawn)[:_REPLAYED])
        old, new = keep[keep < n], keep[keep >= n] - n

        def kept(before: NDArray[Any], now: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([before[old], now[new]]) if n else now[new]

        self.drawn = drawn[keep]
        self.rows = kept(self.rows, X)
        self.scores = kept(self.scores, np.asarray(verdicts.scores))
        if verdicts.labels is not None:
            self.labels, self.labelled = kept(self.labels, verdicts.labels), True

    def verdicts(self) -> Verdicts:
        """Return what the model says of them."""
        return Verdicts(self.scores, self.labels if self.labelled else None)
