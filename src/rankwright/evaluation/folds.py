"""Training, validation and test queries: from files, from LETOR's folders, or cut from one set."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from rankwright.data.arrays import fingerprint, map_arrays, write_arrays
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.formats import ENDINGS, TREC
from rankwright.data.joining import join_datasets
from rankwright.data.lazy import lazy
from rankwright.data.reading import read
from rankwright.data.splits import fold_queries
from rankwright.exceptions import DataError, DataWarning

Reader: TypeAlias = Callable[..., Dataset]
_PARTS = {"train": ("train",), "valid": ("vali", "valid", "validation"), "test": ("test",)}
_SUFFIXES = tuple(ending for ending, kind in ENDINGS.items() if ending and kind not in TREC)
_VALID_SHARE = 0.2


@dataclass(frozen=True, eq=False, repr=False)
class Fold:
    """Queries to fit on, to choose parameters on, and to measure on."""

    name: str
    train: Dataset
    valid: Dataset
    test: Dataset

    def __repr__(self) -> str:
        sizes = ", ".join(f"{part.n_queries} {name}" for name, part in self.parts().items())
        return f"Fold({self.name!r}: {sizes} queries, {self.train.n_features} features)"

    def parts(self) -> dict[str, Dataset]:
        """Return the three data sets by name."""
        return {"train": self.train, "valid": self.valid, "test": self.test}

    def joined(self) -> Dataset:
        """Return all queries as one data set; raise if an id is in more than one part."""
        return join_datasets(
            {f"the {name} queries of {self.name}": part for name, part in self.parts().items()}
        )

    def check(self) -> Fold:
        """Return the fold with the features of its training queries in all parts.

        Raises unless all have them and can be learned from and measured on.
        """
        wanted = replace(self.train.features, owner=f"the training queries of {self.name}")
        valid, test = (
            part.aligned(wanted, f"the {name} queries of {self.name}")
            for name, part in (("valid", self.valid), ("test", self.test))
        )
        return replace(self, valid=valid, test=test)._check_labels()

    def _check_labels(self) -> Fold:
        for name, part in self.parts().items():
            if not part.groups.has_preferences(part.y):
                labels = np.unique(part.y)
                what = f"all labels are {labels[0]:g}" if len(labels) == 1 else "labels are equal"
                raise DataError(
                    f"the {name} queries of {self.name} must have one with different labels, but "
                    f"{what} within each of its {part.n_queries}: there is nothing to rank."
                )
        return self

    @lazy
    def fingerprint(self) -> str:
        """A hash of everything in the three parts."""
        return fingerprint(*self.parts().values())

    def write(self, folder: Path) -> None:
        """Write the arrays to files that several processes can map into their memory."""
        for name, part in self.parts().items():
            write_arrays(part, folder, name)

    @classmethod
    def map(cls, name: str, folder: Path) -> Fold:
        """Return what :meth:`write` wrote, mapped into memory."""
        return cls(name, *(map_arrays(folder, part) for part in ("train", "valid", "test")))


def queries_of(folds: Sequence[Fold]) -> Dataset:
    """Return all queries of all folds as one data set, each once."""
    parts = {
        f"{name} of {fold.name}": part for fold in folds for name, part in fold.parts().items()
    }
    return join_datasets(parts, repeated="first")


# ---- ways to get folds ----


def split(
    train: Dataset, test: Dataset | None = None, valid: Dataset | None = None, random_state: int = 0
) -> list[Fold]:
    """Return one fold; parts that are not given are cut from the training queries.

    Without ``test``, 60 % of the queries are for training, 20 % for validation and 20 % for tests.
    Without ``valid``, 20 % of the training queries become validation queries.
    """
    if test is None:
        if valid is not None:
            raise ValueError("valid needs test: a test set is cut from training queries only.")
        _require_queries(train, 3, "training, validation and test queries")
        return [Fold("split", *train.split((0.6, 0.2, 0.2), random_state)).check()]
    if valid is None:
        _require_queries(train, 2, "training and validation queries")
        train, valid = train.split((1 - _VALID_SHARE, _VALID_SHARE), random_state)
    return [Fold("split", train, valid, test).check()]


def rotate(dataset: Dataset, n_folds: int, random_state: int = 0) -> list[Fold]:
    """Cut the queries into folds; each is tested on once, and the next one validates.

    Training uses the others, as in LETOR.
    """
    if n_folds < 3:
        raise ValueError(
            f"folds must be at least 3, for training, validation and test, but are {n_folds!r}."
        )
    _require_queries(dataset, n_folds, f"{n_folds} folds")
    parts = fold_queries(dataset.groups, n_folds, random_state)
    everything = np.arange(dataset.n_queries)
    folds = []
    for i, part in enumerate(parts):
        next_part = parts[(i + 1) % n_folds]
        rest = np.setdiff1d(everything, np.concatenate([part, next_part]))
        chosen = [dataset.select(queries) for queries in (rest, next_part, part)]
        folds.append(Fold(f"Fold{i + 1}", *chosen).check())
    return folds


def _require_queries(dataset: Dataset, least: int, what: str) -> None:
    if dataset.n_queries < least:
        found = f"{dataset.n_queries} quer{'y' if dataset.n_queries == 1 else 'ies'}"
        raise DataError(f"{what} need at least {least} queries, but there is {found}.")


def read_folds(folder: PathLike, reader: Reader = read) -> list[Fold]:
    """Read LETOR's layout: ``Fold1`` ... ``FoldK``, or one folder, with train, vali and test files.

    Parameters
    ----------
    folder : str or path-like
        The folder.
    reader : callable
        Reads one file; called with the path and, for the later files, ``n_features``.
    """
    found = fold_files(folder)
    numbers = {int(name[4:]) for name in found if name[4:].isdecimal()}
    missing = set(range(1, max(numbers, default=0))) - numbers
    if len(numbers) > 1 and missing:
        warnings.warn(
            f"{folder}: Fold{min(missing)} is missing; there are {len(found)} folds.",
            DataWarning,
            stacklevel=2,
        )
    folds = []
    for name, files in found.items():
        train = reader(files["train"])
        width = train.n_features
        others = [
            read_like(train, files["train"], files[part], reader) for part in ("valid", "test")
        ]
        folds.append(Fold(name, train, *others).check())
        if width != folds[0].train.n_features:
            raise DataError(
                f"must have the {folds[0].train.n_features} features of {folds[0].name}, but has "
                f"{width}.",
                path=files["train"],
            )
    return folds


def fold_files(folder: PathLike) -> dict[str, dict[str, Path]]:
    """Return the files of LETOR's layout, by the name of the fold and of the part."""
    root = Path(folder)
    if not root.is_dir():
        raise DataError("there is no such folder.", path=root)
    folders = sorted(
        (p for p in root.iterdir() if p.is_dir() and p.name.lower().startswith("fold")),
        key=lambda p: (len(p.name), p.name),
    )
    return {one.name: {part: _find(one, part) for part in _PARTS} for one in folders or [root]}


def read_like(train: Dataset, train_path: PathLike, path: PathLike, reader: Reader) -> Dataset:
    """Read a file whose documents must have the features of the training file."""
    wanted = replace(train.features, owner=os.fspath(train_path))
    return reader(path).aligned(wanted, os.fspath(path))


def has_folds(folder: PathLike) -> bool:
    """Tell whether a folder holds folds, or training queries, and not the parts of one table."""
    root = Path(folder)
    folds = any(p.is_dir() and p.name.lower().startswith("fold") for p in root.iterdir())
    return folds or bool(_files_of(root, "train"))


def _files_of(folder: Path, part: str) -> list[Path]:
    return [
        path
        for path in sorted(folder.iterdir())
        for stem in _PARTS[part]
        if any(path.name.lower() in (f"{stem}{s}", f"{stem}{s}.gz", f"{stem}{s}.zst")
               for s in _SUFFIXES)
    ]  # fmt: skip


def _find(folder: Path, part: str) -> Path:
    found = _files_of(folder, part)
    if len(found) != 1:
        what = "has none" if not found else f"has {', '.join(p.name for p in found)}"
        names = " or ".join(f"{stem}.txt" for stem in _PARTS[part])
        raise DataError(f"must have one {names} (.gz and .zst allowed), but {what}.", path=folder)
    return found[0]
