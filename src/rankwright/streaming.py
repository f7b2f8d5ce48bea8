"""Learning from files larger than memory, with checkpoints.

A checkpoint is a model file whose model also knows its place in the data: which pass, how many
pieces of it, and a hash of all of the data. Learning is deterministic, so a run that resumes from
a checkpoint ends with the same bits as one that was never stopped.
"""

from __future__ import annotations

__all__ = ["StreamProgress", "fit_stream"]

import contextlib
import copy
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from rankwright.data import Dataset, disk, stream
from rankwright.data.files import STANDARD, PathLike, can_be_read_again, is_device
from rankwright.data.formats import LETOR, TABLES, format_of
from rankwright.data.missing import filled, medians, medians_of_stream
from rankwright.data.part_values import without_categories
from rankwright.data.parts import LocalParts
from rankwright.data.pieces import pieces_of_parts
from rankwright.data.validation import Floats, check_count
from rankwright.data.writing import remove_leftovers
from rankwright.exceptions import DataError
from rankwright.inputs import set_names
from rankwright.online.base import LearnerOfClasses, OnlineLearner
from rankwright.persistence import load, save
from rankwright.scaling import Moments
from rankwright.showing import Brief

Learner = TypeVar("Learner", bound=OnlineLearner)

EVERY = 10_000  # queries between checkpoints, by default
FIRST = 10_000  # documents of a pipe that its scale is measured on
PIECE = 32  # queries
BLOCK_BYTES = 2 << 20
_PLACE = {"pass": int, "pieces": int, "data": str}  # in a checkpoint; data is their hash
_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class StreamProgress(Brief):
    """Where a run over a stream is.

    Attributes
    ----------
    learner : OnlineLearner
        What has been learned so far; not to be changed.
    n_docs : int
        Documents of the last piece; 0 before the first one of a pass.
    total : int, optional
        Documents of a pass; None for standard input and pipes.
    learned : bool
        Whether the piece was learned now, and not in the run that is resumed.
    """

    learner: Any
    n_docs: int
    total: int | None
    learned: bool


def fit_stream(
    learner: Learner,
    path: PathLike | LocalParts,
    *,
    out: PathLike | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_every: int = EVERY,
    resume: bool = False,
    n_jobs: int | None = None,
    callback: Callable[[StreamProgress], Any] | None = None,
) -> Learner:
    """Learn from scratch from LETOR text or parts of any size, in the order of their queries.

    What comes out is what ``learner.fit`` makes of the whole with ``shuffle=False``: the same
    bits, but for kernels and for norms of Predtron other than l2, whose sums depend on the pieces.
    So a ranker is averaged over ``n_epochs`` passes, ten by default; but since a file larger than
    memory is not shuffled, its order should be one of chance.
    The scale of a learner that standardizes is measured in a pass of its own, and so are steps that
    depend on the lengths of documents; on the first 10,000 documents of what can be read only once.
    With a kernel, or norms l1 and group, such steps are those of the first piece.
    What the run has to say, such as where it resumes, goes to the logger ``rankwright.streaming``.

    Parameters
    ----------
    learner : OnlineLearner
        It is fitted when the run is over, and not changed before; ``n_epochs`` are the passes over
        the file. Where it must know all labels beforehand and was not told, they are looked for,
        and are its ``classes``.
    path : str, path-like or LocalParts
        LETOR text, or ``"-"`` for standard input, which is passed over once and not resumed; or
        data in parts of any format (:func:`rankwright.read_parts`).
    out : str or path-like, optional
        A model file to write at the end.
    checkpoint : str or path-like, optional
        A model file to write on the way; ``out`` with ``.checkpoint`` behind it, if there is an
        ``out``. It is removed when the run is complete, after the model was written.
    checkpoint_every : int, default 10000
        Queries between checkpoints; 0 for none.
    resume : bool, default False
        Whether to resume from the checkpoint, if there is one. It must be of the same learner,
        parameters and data.
    n_jobs : int, optional
        Threads of the parser.
    callback : callable, optional
        Called with a :class:`StreamProgress` before and after each piece.

    Examples
    --------
    >>> import tempfile, rankwright as rw
    >>> folder = tempfile.mkdtemp()
    >>> data = rw.data.make_mslr_like(n_queries=100, mean_docs=10)
    >>> rw.write_letor(data, f"{folder}/train.txt")
    >>> ranker = rw.SLAMPerceptron(n_epochs=2)
    >>> ranker = fit_stream(ranker, f"{folder}/train.txt", out=f"{folder}/model.rw")
    >>> ranker.n_rounds_, rw.load(f"{folder}/model.rw").n_rounds_
    (200, 200)
    """
    if not isinstance(learner, OnlineLearner):
        raise TypeError(f"learner must be an online learner, but is {learner!r}.")
    learner.check_params()
    place = _beside(out) if checkpoint is None else checkpoint
    parts = without_categories(path) if isinstance(path, LocalParts) else None
    run = _StreamRun(
        clone(learner),
        repr(path) if isinstance(path, LocalParts) else os.fspath(path),
        parts,
        None if place is None else os.fspath(place),
        checkpoint_every,
        resume,
        n_jobs,
        callback,
    )
    fitted = run.learn()
    if out is not None:
        save(fitted, out)
    run.drop_checkpoint()
    learner.__dict__.clear()  # also of what an earlier fit left
    learner.__dict__.update(fitted.__dict__)
    return learner


def _beside(out: PathLike | None) -> str | None:
    """Return where checkpoints are; beside a device, such as ``/dev/null``, there is no place."""
    return None if out is None or is_device(out) else f"{os.fspath(out)}.checkpoint"


def _check_text(path: str) -> None:
    """Raise unless a path is that of LETOR text."""
    if (kind := format_of(path)) != LETOR:
        what = "a table" if kind in TABLES else f"a TREC {kind} file"
        raise ValueError(
            f"a stream is LETOR text, but {path} is {what}. Convert it first: rankwright convert "
            f"{path} FILE.txt"
        )
    if path != STANDARD and not os.path.exists(path):
        raise DataError("there is no such file.", path=path)


def _first(pieces: Iterator[Dataset]) -> Iterator[Dataset]:
    """Yield the first pieces, until there are enough documents to measure."""
    n_docs = 0
    for piece in pieces:
        yield piece
        n_docs += piece.n_docs
        if n_docs >= FIRST:
            return


@dataclass
class _StreamRun:
    learner: Any
    path: str  # or what parts there are, for messages
    parts: Any
    checkpoint: str | None
    every: int
    resume: bool
    n_jobs: int | None
    callback: Callable[[StreamProgress], Any] | None
    total: int | None = None
    announced: dict[str, Any] = field(default_factory=dict)  # arguments of the first piece
    fill: Floats | None = None  # what stands for missing values

    def learn(self) -> Any:
        """Return the learner after all passes."""
        self._check()
        place = self._start()
        if self.learner.has_begun:
            self.fill = vars(self.learner).get("fill_")
        else:
            self.learner.begin_as_fit()
            self._look_ahead()
        for n_pass in range(place["pass"], self.learner.n_epochs):
            self._pass(n_pass, place["pieces"] if n_pass == place["pass"] else 0, place)
        return self.learner

    # ---- the rounds ----

    def _pass(self, n_pass: int, done: int, place: dict[str, Any]) -> None:
        since = 0
        recognise = partial(self._recognise, place, n_pass)
        pieces = self._pieces(on_count=self._begin_pass, on_digest=recognise)
        if self.learner.measures and not self._seekable:
            pieces = self._measure_first(pieces)
        for n_pieces, piece in enumerate(pieces, start=1):
            if n_pieces <= done:
                self._tell(piece.n_docs, learned=False)
                continue
            self.learner.partial_fit(piece.X, piece.y, piece.qid, **self.announced)
            self.announced = {}
            set_names(self.learner, piece.feature_names)
            if self.fill is not None:
                self.learner.fill_ = self.fill  # of all rows, not of the first piece
            self._tell(piece.n_docs)
            since += piece.n_queries
            if self._seekable and self.checkpoint and self.every and since >= self.every:
                self._save_checkpoint({**place, "pass": n_pass, "pieces": n_pieces})
                since = 0

    def _pieces(self, **watchers: Any) -> Iterator[Dataset]:
        """Yield pieces of the data, without missing values where the learner fills them in."""
        missing = self.learner.missing
        pieces = self._stream(**watchers)
        if missing == "error":
            return pieces
        if not self._seekable:
            pieces = self._fill_from_first(pieces)
        return map(self._filled, pieces)

    def _stream(self, **watchers: Any) -> Iterator[Dataset]:
        if self.parts is not None:
            return pieces_of_parts(self.parts, PIECE, **watchers)
        how = {"n_jobs": self.n_jobs, "block_bytes": BLOCK_BYTES, **watchers}
        return stream(self.path, PIECE, allow_nan=self.learner.missing != "error", **how)

    def _filled(self, piece: Dataset) -> Dataset:
        if self.fill is None:
            self.fill = np.zeros(piece.n_features)
        return piece.with_features(filled(piece.X, self.fill))

    def _begin_pass(self, n_docs: int) -> None:
        self.total = n_docs
        self._tell(0)

    def _tell(self, n_docs: int, learned: bool = True) -> None:
        if self.callback is not None:
            self.callback(StreamProgress(self.learner, n_docs, self.total, learned))

    def _recognise(self, place: dict[str, Any], n_pass: int, digest: str) -> None:
        """Keep the hash of the data: that of the checkpoint, and the same in every pass."""
        if n_pass == place["pass"] and place["data"]:
            if place["data"] != digest:
                raise DataError(
                    f"was made from other data than {self.path}. Start over instead of resuming.",
                    path=self.checkpoint,
                )
            _log.info("%s: resuming after %d rounds", self.checkpoint, self.learner.n_rounds_)
        elif place["data"] not in ("", digest):
            raise DataError("has changed since the pass before. Start over.", path=self.path)
        place["data"] = digest

    # ---- before the first round ----

    @property
    def _seekable(self) -> bool:
        """Whether the data can be read again."""
        return self.parts is not None or can_be_read_again(self.path)

    def _check(self) -> None:
        check_count("checkpoint_every", self.every, least=0)
        if self.parts is None:
            _check_text(self.path)
        if self.resume and self.checkpoint is None:
            raise ValueError("resume needs a checkpoint, or out, to know where it may be.")
        if self._seekable:
            return
        name = "standard input" if self.path == STANDARD else self.path
        if self.resume:
            raise ValueError(
                f"{name} cannot be read twice, so there is nothing to resume from: write the data "
                "to a file."
            )
        if self.learner.n_epochs > 1:
            raise ValueError(
                f"{name} cannot be read twice, but n_epochs is {self.learner.n_epochs}: set it to "
                "1, or write the data to a file."
            )

    def _start(self) -> dict[str, Any]:
        """Return the place to start from; a run that resumes has the checkpoint's learner."""
        beginning = {"pass": 0, "pieces": 0, "data": ""}
        if self.checkpoint is None or not self._seekable:
            return beginning
        if not os.path.exists(self.checkpoint):
            if self.resume:
                _log.info("%s: no checkpoint yet, starting from the beginning", self.checkpoint)
            return beginning
        if not self.resume:
            _log.info("%s: not used, since this run does not resume", self.checkpoint)
            return beginning
        return self._load_checkpoint(self.checkpoint)

    def _look_ahead(self) -> None:
        """Go over the data for what a learner must know beforehand: its scale, and all labels."""
        params = self.learner.get_params()
        learns_classes = isinstance(self.learner, LearnerOfClasses)
        wants_labels = learns_classes and params.get("classes") is None
        if not self._seekable:
            if wants_labels:
                raise ValueError(
                    f"{type(self.learner).__name__} needs all labels before the first document of "
                    "a stream: give classes, such as [0, 1, 2]."
                )
            return
        if self.learner.missing == "median":
            self.fill = medians_of_stream(self._stream)
        if not (wants_labels or self.learner.measures):
            return
        labels: set[float] = set()
        moments: Moments | None = None
        for piece in self._pieces():
            labels.update(piece.y.tolist())
            moments = moments or Moments(piece.n_features)
            moments.add(piece.X)
        if moments is not None:
            self.learner.measure(moments)
        if wants_labels and "classes" in params:
            self.learner.set_params(classes=sorted(labels))
        elif wants_labels:
            self.announced = {"classes": sorted(labels)}

    def _fill_from_first(self, pieces: Iterator[Dataset]) -> Iterator[Dataset]:
        """Take the medians of the first documents of what can be read only once."""
        first = list(_first(pieces))
        if first and self.learner.missing == "median":
            self.fill = medians([piece.X for piece in first])
        yield from first
        yield from pieces

    def _measure_first(self, pieces: Iterator[Dataset]) -> Iterator[Dataset]:
        """Measure the scale on the first documents of what can be read only once."""
        first = list(_first(pieces))
        if first:
            moments = Moments(first[0].n_features)
            for piece in first:
                moments.add(piece.X)
            self.learner.measure(moments)
        yield from first
        yield from pieces

    # ---- checkpoints ----

    def _save_checkpoint(self, place: dict[str, Any]) -> None:
        marked: Any = copy.copy(self.learner)
        marked.place_ = place
        save(marked, str(self.checkpoint))

    def drop_checkpoint(self) -> None:
        """Remove the checkpoint of a run that is complete, and what killed ones left of theirs."""
        if self.checkpoint is None or not self._seekable:
            return
        with contextlib.suppress(FileNotFoundError):
            disk.remove(self.checkpoint)
        path = Path(self.checkpoint)
        remove_leftovers(path.parent, path.name)

    def _load_checkpoint(self, path: str) -> dict[str, Any]:
        learner = load(path)
        place = vars(learner).pop("place_", None)
        found = place if isinstance(place, dict) else {}
        if {key: type(value) for key, value in found.items()} != _PLACE:
            raise DataError("is not a checkpoint of a stream.", path=path)
        if type(learner) is not type(self.learner):
            asked = type(self.learner).__name__
            raise DataError(f"is of a {type(learner).__name__}, not of a {asked}.", path=path)
        wanted, there = self.learner.get_params(), learner.get_params()
        if wanted.get("classes", ()) is None:
            wanted["classes"] = there["classes"]  # it was found in the data
        for key, value in wanted.items():
            if repr(value) != repr(there[key]):
                raise DataError(
                    f"was made with {key}={there[key]!r}, not {value!r}. Resume with the same "
                    "parameters, or start over.",
                    path=path,
                )
        self.learner = learner
        return found
