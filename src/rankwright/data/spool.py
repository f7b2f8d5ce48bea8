"""Data sets on disk as plain arrays, to be mapped into memory again and again.

A spool is a temporary folder. It goes when nobody holds it any more; what a killed process left is
removed by the next one that makes a spool in the same place.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankwright.data import disk
from rankwright.data.alignment import Features
from rankwright.data.arrays import map_arrays, write_arrays
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.pages import know
from rankwright.data.writing import make_held_folder, remove_leftovers
from rankwright.exceptions import DataError

_NAME = "rankwright-spool"


@dataclass(frozen=True)
class Spooled:
    """A data set in a spool, which may travel to other processes of this machine in its place."""

    folder: Path
    name: str
    features: Features

    def open(self) -> Dataset:
        """Map the arrays into memory; they are read when they are looked at."""
        part = map_arrays(self.folder, self.name)
        part.features = self.features
        order = self.folder / f"{self.name}.order.npy"
        if order.exists():
            part.order = np.load(order)
            part.gathered = True
        return know(part)


class Spool:
    """A folder for data sets, as long as this object lives.

    Parameters
    ----------
    within : str or path-like, optional
        Where to make it; by default where temporary files go (``TMPDIR``). It needs the room of
        the features in float32, about 4 bytes a value.
    """

    def __init__(self, within: PathLike | None = None) -> None:
        place = os.fspath(within) if within is not None else tempfile.gettempdir()
        remove_leftovers(place, _NAME)
        with _telling(place):
            folder, held = make_held_folder(os.path.join(place, _NAME))
        self.folder = Path(folder)
        self._names = map(str, itertools.count())  # of threads, each gets its own
        self.close = weakref.finalize(self, _remove, folder, held, os.getpid())

    def put(self, dataset: Dataset) -> Spooled:
        """Write a data set; it may be forgotten then."""
        name = next(self._names)
        with _telling(str(self.folder.parent)):
            write_arrays(dataset, self.folder, name)
            if dataset.gathered:
                np.save(self.folder / f"{name}.order.npy", dataset.order)
        return Spooled(self.folder, name, dataset.features)

    def drop(self, spooled: Spooled) -> None:
        """Remove a data set; what is mapped stays readable."""
        for path in self.folder.glob(f"{spooled.name}.*.npy"):
            path.unlink()


@contextlib.contextmanager
def _telling(place: str) -> Iterator[None]:
    """Say of a place that nothing can be written there."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"cannot be written: {error.strerror or error}. Parts are kept there as arrays: name a "
            "place with more room (spool=..., or the environment variable TMPDIR).",
            path=place,
        ) from None


def _remove(folder: str, held: int, owner: int) -> None:
    if os.getpid() == owner:  # and not a child that was forked
        disk.remove_folder(folder)
        os.close(held)
