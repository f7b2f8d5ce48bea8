"""The data: LETOR folders, files that are cut into folds, and generated sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.quality.blind import Sealed
from rankwright import data as generators
from rankwright import read
from rankwright.data.dataset import Dataset
from rankwright.evaluation.folds import Fold, read_folds, rotate, split

N_FOLDS = 5  # of a file
N_DRAWS = 7  # of a generated set: as many as three hours allow
# Names of generators, and what they are asked for: sizes at which a search takes minutes.
GENERATED: dict[str, tuple[str, dict[str, Any]]] = {
    "mslr-like": ("make_mslr_like", {"n_queries": 500, "mean_docs": 80}),
    "web-like": ("make_web_like", {"n_queries": 400}),
}


def sets(folders: Sequence[Path], names: Sequence[str] | None = None) -> Iterator[Sealed]:
    """Yield the sets, each with its test labels put away; what is not asked for is not read.

    Parameters
    ----------
    folders : sequence of Path
        Each is a folder with Fold1, Fold2, ...; a folder of such folders; or a file, whose queries
        are cut into five folds, each of which is tested on once.
    names : sequence of str, optional
        Names of folders, files without their endings, or generated sets; all by default.
    """
    for name, make in _found(folders).items():
        if names is None or name in names:
            yield Sealed.of(name, make())


def _found(folders: Sequence[Path]) -> dict[str, Callable[[], list[Fold]]]:
    found: dict[str, Callable[[], list[Fold]]] = {}
    for folder in folders:
        if folder.is_file():
            found[folder.name.partition(".")[0]] = partial(_folds_of, folder)
            continue
        inner = [folder, *sorted(p for p in folder.glob("*") if p.is_dir())]
        inner += sorted(p for p in folder.glob("letor/*") if p.is_dir())
        for path in inner:
            if any(path.glob("Fold*")):
                found[path.resolve().name] = partial(read_folds, path)
    for name, (generator, options) in GENERATED.items():
        if not hasattr(generators, generator):
            print(f"{name}: left out, there is no {generator}.")
            continue
        found[name] = partial(_draws, getattr(generators, generator), options)
    return found


def _folds_of(path: Path) -> list[Fold]:
    return rotate(read(path), N_FOLDS)


def _draws(generator: Callable[..., Dataset], options: dict[str, Any]) -> list[Fold]:
    """Return folds of sets that have nothing in common."""
    return [
        replace(split(generator(**options, random_state=i))[0], name=f"draw{i + 1}")
        for i in range(N_DRAWS)
    ]
