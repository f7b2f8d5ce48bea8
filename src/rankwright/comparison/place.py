"""The folder of a comparison: what may be written there, and what is replaced.

A folder belongs to one comparison: of some data, with a seed, a number of trials and a metric to
choose by, as ``about.json`` says. Models may come and go.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rankwright.comparison.store import RESULT, json_value
from rankwright.data import disk
from rankwright.data.files import PathLike
from rankwright.data.lock import Lock
from rankwright.data.writing import check_writable_folder, make_folder, remove_leftovers, write_text
from rankwright.exceptions import DataError

_ABOUT = "about.json"
_FILES = (
    *("metrics.csv", "models.csv", "timings.csv", "pairs.csv", "per_query.csv"),
    *("leaderboard.tex", "comparison.json", "report.html"),
)
_KEPT = (
    "models",
    "model.rw",
    "exported.rw",
    "scores.txt",
    _ABOUT,
)  # in the folder too, and not a table
_HOW = "Choose another folder, or replace its results: overwrite=True (--overwrite)."


def check_comparison_folder(folder: PathLike, *, overwrite: bool = False) -> None:
    """Raise a DataError if a folder cannot be written to, or holds something else; make nothing."""
    check_writable_folder(folder)
    place = Path(folder)
    if overwrite or not place.is_dir() or (place / _ABOUT).is_file():
        return
    others = sorted(name for name in os.listdir(place) if not _is_own(name))
    if others:
        more = "" if len(others) == 1 else f" and {len(others) - 1} more"
        raise DataError(
            f"must be empty or hold a comparison, but holds {others[0]!r}{more}. {_HOW}",
            path=folder,
        )


@contextlib.contextmanager
def comparison_folder(
    folder: PathLike | None, about: Mapping[str, Any], *, overwrite: bool
) -> Iterator[Path]:
    """Make the folder, and keep others from writing to it; without one, a temporary folder.

    Parameters
    ----------
    folder : str or path-like, optional
        The folder.
    about : mapping
        What the comparison is of; a folder of another one is a DataError.
    overwrite : bool
        Remove the results that are there, whatever they are of, and nothing else.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="rankwright-") as temporary:
            yield Path(temporary)
        return
    check_comparison_folder(folder, overwrite=overwrite)
    place = Path(folder)
    make_folder(place / "models")
    with Lock(place / ".lock", "this folder", place):
        for models in (place / "models").iterdir():
            remove_leftovers(models)
        if overwrite:
            _clear(place)
        else:
            _check_about(place, json_value(about))
        write_text(place / _ABOUT, json.dumps(json_value(about), indent=1) + "\n")
        yield place


def _is_own(name: str) -> bool:
    return name in _FILES or name in _KEPT or name.startswith((".", "noise-"))


def _check_about(place: Path, about: dict[str, Any]) -> None:
    try:
        found = json.loads((place / _ABOUT).read_bytes())
        differ = [name for name in about if found[name] != about[name]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):  # not written, or damaged
        return
    if differ:
        what = [
            "the data" if name == "data" else f"{name} ({found[name]!r:.40}, not {about[name]!r})"
            for name in differ
        ]
        raise DataError(
            f"holds another comparison: {', '.join(what)} differ. {_HOW}"
            if len(what) > 1
            else f"holds another comparison: {what[0]} differs. {_HOW}",
            path=place,
        )


def _clear(place: Path) -> None:
    """Remove what a comparison wrote: tables, the page, and results with their models."""
    if not (place / _ABOUT).is_file():
        return  # something else: what is written replaces what has its name, and that is all
    for result in (place / "models").glob(f"*/*/{RESULT}"):
        disk.remove_folder(str(result.parent))
        with contextlib.suppress(OSError):  # it holds something else
            result.parent.parent.rmdir()
    noise = [path.name for path in place.glob("noise-*") if path.is_file()]
    for name in (*_FILES, *noise, _ABOUT):
        with contextlib.suppress(FileNotFoundError):
            disk.remove(str(place / name))
    disk.sync_folder(str(place))
