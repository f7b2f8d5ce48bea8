"""Data for other processes: written once, mapped by each of them."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwright.data.arrays import fingerprint, map_arrays, write_arrays
from rankwright.data.dataset import Dataset
from rankwright.evaluation.folds import Fold
from rankwright.exceptions import DataError


@dataclass(frozen=True)
class OnDisk:
    """A fold or a data set in a folder, which travels in its place.

    ``fingerprint`` is looked at by a process that may see another folder under this name.
    """

    folder: Path
    fold: str | None  # its name; None for a data set
    fingerprint: str | None = None

    def open(self) -> Fold | Dataset:
        """Map the files into memory."""
        try:
            data: Fold | Dataset
            if self.fold is None:
                data = map_arrays(self.folder, "all")
            else:
                data = Fold.map(self.fold, self.folder)
        except (OSError, KeyError, ValueError):
            seen = ""
        else:
            seen = _hash(data) if self.fingerprint else ""
            if self.fingerprint is None or seen == self.fingerprint:
                return data
        what = "has other data" if seen else "cannot be read"
        raise DataError(
            f"{what} on {socket.gethostname()}. Name a folder that all machines share.",
            path=self.folder,
        )


class Handing:
    """Writes folds and data sets to a folder, each once."""

    def __init__(self, folder: Path, *, check: bool = False) -> None:
        self.folder, self.check = folder, check
        self._written: dict[int, tuple[Any, OnDisk]] = {}  # by id; the object, so that it stays

    def __call__(self, value: Any) -> Any:
        """Return what travels in place of a value: itself, if it is no data."""
        if not isinstance(value, Fold | Dataset):
            return value
        if id(value) not in self._written:
            place = self.folder / str(len(self._written))
            place.mkdir(parents=True)
            if isinstance(value, Fold):
                value.write(place)
            else:
                write_arrays(value, place, "all")
            name = value.name if isinstance(value, Fold) else None
            seen = _hash(value) if self.check else None
            self._written[id(value)] = value, OnDisk(place, name, seen)
        return self._written[id(value)][1]


_opened: dict[OnDisk, Fold | Dataset] = {}


def opened(value: Any) -> Any:
    """Return a value that travelled; data is mapped once in a process."""
    if not isinstance(value, OnDisk):
        return value
    if value not in _opened:
        _opened[value] = value.open()
    return _opened[value]


def _hash(data: Fold | Dataset) -> str:
    return data.fingerprint if isinstance(data, Fold) else fingerprint(data)
