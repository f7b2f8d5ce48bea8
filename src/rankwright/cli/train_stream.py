"""``rankwright train --stream``: learning from files larger than memory, with checkpoints.

A checkpoint is a model file whose model also knows its place in the data: which pass, how many
pieces of it, and a hash of all of the data. Learning is deterministic, so a run that resumes from
a checkpoint ends with the same bits as one that was never stopped.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankwright.cli.meter import Meter, meter
from rankwright.data import disk
from rankwright.data.files import STANDARD, suffix
from rankwright.data.writing import remove_leftovers
from rankwright.exceptions import DataError

if TYPE_CHECKING:
    from rankwright.data import Dataset

EVERY = 10_000  # queries between checkpoints, by default
PIECE = 32  # queries
BLOCK_BYTES = 2 << 20
_PLACE = {"pass": int, "pieces": int, "data": str}  # in a checkpoint; data is their hash


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
        Whether to resume from the last checkpoint.
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
        if self._keeps_place:
            self._drop_checkpoint()
        return self.learner

    # ---- the rounds ----

    def _pass(self, n_pass: int, done: int, place: dict[str, Any], shown: Meter) -> None:
        since = 0
        recognise = partial(self._recognise, place, n_pass)
        for n_pieces, piece in enumerate(self._pieces(shown.start_pass, recognise), start=1):
            if n_pieces <= done:
                shown.skip(piece.n_docs)
                continue
            self.learner.partial_fit(piece.X, piece.y, piece.qid)
            shown.learn(self.learner, piece.n_docs)
            since += piece.n_queries
            if self._keeps_place and self.every and since >= self.every:
                self._save_checkpoint({**place, "pass": n_pass, "pieces": n_pieces})
                since = 0

    def _pieces(
        self,
        on_count: Callable[[int], None] | None = None,
        on_digest: Callable[[str], None] | None = None,
    ) -> Iterator[Dataset]:
        from rankwright.data import stream

        return stream(
            self.path,
            PIECE,
            n_jobs=self.jobs,
            block_bytes=BLOCK_BYTES,
            on_count=on_count,
            on_digest=on_digest,
        )

    def _recognise(self, place: dict[str, Any], n_pass: int, digest: str) -> None:
        """Keep the hash of the data: that of the checkpoint, and the same in every pass."""
        if n_pass == place["pass"] and place["data"]:
            if place["data"] != digest:
                raise DataError(
                    f"was made from other data than {self.path}. Start over without --resume.",
                    path=self._checkpoint,
                )
            rounds = self.learner.n_rounds_
            typer.echo(f"{self._checkpoint}: resuming after {rounds} rounds", err=True)
        elif place["data"] not in ("", digest):
            raise DataError("has changed since the pass before. Start over.", path=self.path)
        place["data"] = digest

    def _n_epochs(self) -> int:
        return int(self.learner.get_params().get("n_epochs", 1))

    # ---- before the first round ----

    @property
    def _seekable(self) -> bool:
        """Whether the data can be read again."""
        return self.path != STANDARD and os.path.isfile(self.path)

    @property
    def _keeps_place(self) -> bool:
        """Whether there are checkpoints: not beside standard output."""
        return self._seekable and self.out != STANDARD

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
        asked = self.resume or (explicit and bool(self.every))
        if asked and self.out == STANDARD:
            raise ValueError(
                "there is no place for checkpoints beside standard output: leave out --resume and "
                "--checkpoint-every, or write the model to a file."
            )
        if self._seekable:
            return
        name = "standard input" if self.path == STANDARD else self.path
        if asked:
            raise ValueError(
                f"{name} cannot be read twice, so there is nothing to resume from: leave out "
                "--resume and --checkpoint-every, or write the data to a file."
            )
        if self._n_epochs() > 1:
            raise ValueError(f"{name} cannot be read twice, but n_epochs is {self._n_epochs()}.")

    def _start(self) -> dict[str, Any]:
        """Return the place to start from; with --resume, the learner is the checkpoint's."""
        place = {"pass": 0, "pieces": 0, "data": ""}
        if not self._keeps_place:
            return place
        if not os.path.exists(self._checkpoint):
            if self.resume:
                typer.echo(
                    f"{self._checkpoint}: no checkpoint yet, starting from the beginning", err=True
                )
            return place
        if not self.resume:
            typer.echo(f"{self._checkpoint}: not used without --resume, and written over", err=True)
            return place
        return self._load_checkpoint()

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

    def _drop_checkpoint(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            disk.remove(self._checkpoint)
        path = Path(self._checkpoint)
        remove_leftovers(path.parent, path.name)

    def _load_checkpoint(self) -> dict[str, Any]:
        from rankwright.persistence import load

        asked = {**self.learner.get_params()}
        learner = load(self._checkpoint)
        place = vars(learner).pop("place_", None)
        found = place if isinstance(place, dict) else {}
        if {key: type(value) for key, value in found.items()} != _PLACE:
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
                f"was made with {key}={there[key]!r}, not {asked[key]!r}. Resume with the same "
                "parameters, or start over without --resume.",
                path=self._checkpoint,
            )
        self.learner = learner
        return found
