"""``rankwright train --stream``: learning from files larger than memory, with checkpoints.

A checkpoint is a model file whose model also knows its place in the data: which pass, how many
pieces of it, and by what the data are recognised. Learning is deterministic, so a run that goes on
from a checkpoint ends with the same bits as one that was never stopped.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankwright.cli.meter import Meter, meter
from rankwright.data.files import STANDARD, suffix
from rankwright.exceptions import DataError

if TYPE_CHECKING:
    from rankwright.data import Dataset

EVERY = 10_000  # queries between checkpoints, by default
PIECE = 32  # queries
BLOCK_BYTES = 2 << 20
_HEAD = 1 << 20  # bytes by which a file is recognised, with its size
_PLACE = ("pass", "pieces", "size", "head")


@dataclass
class StreamTraining:
    """A training run over a stream.

    Attributes
    ----------
    learner : Any
        A learner with ``partial_fit``.
    name : str
        Its name on the command line.
    path : str
        LETOR text, or ``-``.
    out : str
        The model file to write.
    every : int
        Queries between checkpoints; 0 for none.
    resume : bool
        Whether to go on from the last checkpoint.
    jobs : int, optional
        Threads of the parser.
    """

    learner: Any
    name: str
    path: str
    out: str
    every: int
    resume: bool
    jobs: int | None

    def run(self, explicit: bool) -> Any:
        """Train, write the model and return it; ``explicit`` if checkpoints were asked for."""
        from rankwright.persistence import save

        self._check(explicit)
        place = self._start()
        self._find_classes()
        with meter() as shown:
            for n_pass in range(place["pass"], self._n_epochs()):
                self._pass(n_pass, place["pieces"] if n_pass == place["pass"] else 0, place, shown)
        save(self.learner, self.out)
        if self._seekable:
            Path(self._checkpoint).unlink(missing_ok=True)
        return self.learner

    # ---- the rounds ----

    def _pass(self, n_pass: int, done: int, place: dict[str, Any], shown: Meter) -> None:
        since = 0
        for n_pieces, piece in enumerate(self._pieces(shown.start_pass), start=1):
            if n_pieces <= done:
                shown.skip(piece.n_docs)
                continue
            self.learner.partial_fit(piece.X, piece.y, piece.qid)
            shown.learn(self.learner, piece.n_docs)
            since += piece.n_queries
            if self._seekable and self.every and since >= self.every:
                self._save_checkpoint({**place, "pass": n_pass, "pieces": n_pieces})
                since = 0

    def _pieces(self, on_count: Callable[[int], None] | None = None) -> Iterator[Dataset]:
        from rankwright.data import stream

        return stream(
            self.path, PIECE, n_jobs=self.jobs, block_bytes=BLOCK_BYTES, on_count=on_count
        )

    def _n_epochs(self) -> int:
        return int(self.learner.get_params().get("n_epochs", 1))

    # ---- before the first round ----

    @property
    def _seekable(self) -> bool:
        """Whether the data can be read again."""
        return self.path != STANDARD and os.path.isfile(self.path)

    @property
    def _checkpoint(self) -> str:
        return f"{self.out}.checkpoint"

    def _check(self, explicit: bool) -> None:
        from rankwright.data.frames import SUFFIXES
        from rankwright.models import MODELS, model_class

        if not hasattr(self.learner, "partial_fit"):
            online = [name for name in MODELS if hasattr(model_class(name), "partial_fit")]
            raise ValueError(
                f"--stream needs a model that learns online, but is {self.name}. There are "
                f"{', '.join(online)}."
            )
        if suffix(self.path) in SUFFIXES:
            raise ValueError(
                f"--stream reads LETOR text, but {self.path} is a table. Convert it first: "
                f"rankwright convert {self.path} FILE.txt"
            )
        if self.every < 0:
            raise ValueError(f"--checkpoint-every must be at least 0, but is {self.every}.")
        if self.path != STANDARD and not os.path.exists(self.path):
            raise DataError("there is no such file.", path=self.path)
        if self._seekable:
            return
        name = "standard input" if self.path == STANDARD else self.path
        if self.resume or (explicit and self.every):
            raise ValueError(
                f"{name} cannot be read twice, so there is nothing to resume from: leave out "
                "--resume and --checkpoint-every, or write the data to a file."
            )
        if self._n_epochs() > 1:
            raise ValueError(f"{name} cannot be read twice, but n_epochs is {self._n_epochs()}.")

    def _start(self) -> dict[str, Any]:
        """Return the place to start from; with --resume, the learner is the checkpoint's."""
        place = {"pass": 0, "pieces": 0, **self._fingerprint()}
        if not self._seekable:
            return place
        for part in glob.glob(f"{_hidden(self._checkpoint)}.*.part"):
            os.unlink(part)  # of a run that was killed while it wrote
        if not os.path.exists(self._checkpoint):
            if self.resume:
                typer.echo(f"{self._checkpoint}: no checkpoint yet, starting anew", err=True)
            return place
        if not self.resume:
            typer.echo(f"{self._checkpoint}: not used without --resume, and written over", err=True)
            return place
        found = self._load_checkpoint(place)
        typer.echo(f"{self._checkpoint}: going on after {self.learner.n_rounds_} rounds", err=True)
        return found

    def _fingerprint(self) -> dict[str, Any]:
        if not self._seekable:
            return {"size": 0, "head": ""}
        with open(self.path, "rb") as stream:
            digest = hashlib.sha256(stream.read(_HEAD)).hexdigest()
        return {"size": os.path.getsize(self.path), "head": digest}

    def _find_classes(self) -> None:
        """Look for all labels where a learner must know them beforehand."""
        params = self.learner.get_params()
        if params.get("classes", ()) is not None or hasattr(self.learner, "classes_"):
            return
        if not self._seekable:
            raise ValueError(
                f"{self.name} needs all labels before the first document of a stream: pass "
                "-p 'classes=[0, 1, 2]'."
            )
        labels: set[float] = set()
        for piece in self._pieces():
            labels.update(piece.y.tolist())
        self.learner.set_params(classes=sorted(labels))

    # ---- checkpoints ----

    def _save_checkpoint(self, place: dict[str, Any]) -> None:
        from rankwright.persistence import save

        self.learner.place_ = place
        try:
            save(self.learner, self._checkpoint)
        finally:
            del self.learner.place_

    def _load_checkpoint(self, fresh: dict[str, Any]) -> dict[str, Any]:
        from rankwright.persistence import load

        asked = {**self.learner.get_params()}
        learner = load(self._checkpoint)
        place = vars(learner).pop("place_", None)
        known = isinstance(place, dict) and sorted(place) == sorted(_PLACE)
        if not known or any(type(place[key]) is not type(fresh[key]) for key in _PLACE):
            raise DataError("is not a checkpoint of a stream.", path=self._checkpoint)
        if type(learner) is not type(self.learner):
            raise DataError(
                f"is of a {type(learner).__name__}, not of {self.name}.", path=self._checkpoint
            )
        there = learner.get_params()
        if asked.get("classes", ()) is None:
            asked["classes"] = there["classes"]  # it was found in the data
        different = [key for key in asked if repr(asked[key]) != repr(there[key])]
        if different:
            key = different[0]
            raise DataError(
                f"was made with {key}={there[key]!r}, not {asked[key]!r}. Go on with the same "
                "parameters, or start anew without --resume.",
                path=self._checkpoint,
            )
        if (place["size"], place["head"]) != (fresh["size"], fresh["head"]):
            raise DataError(
                f"was made from other data than {self.path}. Start anew without --resume.",
                path=self._checkpoint,
            )
        self.learner = learner
        found: dict[str, Any] = place
        return found


def _hidden(path: str) -> str:
    """Return how temporary files of a path begin."""
    return glob.escape(str(Path(path).with_name(f".{Path(path).name}")))
