"""Experiments: how they are declared, run, and remembered."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from rankwright.comparison.keys import key
from rankwright.comparison.store import TrialStore, open_trial_store
from rankwright.data.writing import make_folder
from rankwright.experiments.findings import Findings
from rankwright.showing import Brief

Scale = Literal["quick", "full"]
T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Experiment(Brief):
    """One table or figure of a paper.

    Attributes
    ----------
    paper : str
        ``"slam"``, ``"domination"``, ``"prank"``, ``"xendcg"`` or ``"predtron"``.
    name : str
        Name of the result file.
    source : str
        What it reproduces, such as ``"Figure 4"``.
    title : str
        One line.
    run : callable
        From a :class:`Context` to :class:`Findings`; None if the data that it needs are not there.
    """

    paper: str
    name: str
    source: str
    title: str
    run: Callable[[Context], Findings | None]


@dataclass(repr=False)
class Context(Brief):
    """What an experiment may use.

    Attributes
    ----------
    scale : str
        ``"full"`` is the paper's size, ``"quick"`` shows the orderings in seconds.
    data : Path, optional
        Folder of public data sets.
    cache : Path, optional
        Folder where finished pieces are kept, so that an interrupted run can resume.
    tell : callable
        Called with what is running, the number of its pieces that are done, and of all.
    """

    scale: Scale = "quick"
    data: Path | None = None
    cache: Path | None = None
    tell: Callable[[str, int, int], Any] = field(default=lambda what, done, total: None)
    _store: TrialStore | None = field(default=None, init=False, repr=False)

    @property
    def quick(self) -> bool:
        """Whether seconds matter more than decimals."""
        return self.scale == "quick"

    def pick(self, quick: T, full: T) -> T:
        """Return what belongs to the scale."""
        return quick if self.quick else full

    @contextlib.contextmanager
    def remembering(self) -> Iterator[TrialStore]:
        """Open the store of finished pieces, unless it is open."""
        if self._store is not None:
            yield self._store
            return
        if self.cache is not None:
            make_folder(self.cache)
        with open_trial_store(None if self.cache is None else self.cache / "pieces.jsonl") as store:
            self._store = store
            try:
                yield store
            finally:
                self._store = None

    def once(self, what: dict[str, Any], compute: Callable[..., Any], *args: Any) -> Any:
        """Return ``compute(*args)``, from the store if it was computed before.

        ``what`` must name everything that the value depends on; the value must be JSON.
        """
        with self.remembering() as store:
            name = key(what="piece", piece=what)
            found = store.find(name)
            if found is None:
                store.add(name, {"value": compute(*args)})
                found = store.results[name]
            return found["value"]

    def each(self, what: str, items: Iterable[T]) -> Iterator[T]:
        """Go through pieces of work and tell of them."""
        pieces = list(items)
        for done, item in enumerate(pieces):
            self.tell(what, done, len(pieces))
            yield item
        self.tell(what, len(pieces), len(pieces))

    def folder(self, *names: str) -> Path | None:
        """Return the first of these folders that the data have, or None."""
        found = (self.data / name for name in names if self.data is not None)
        return next((path for path in found if path.is_dir()), None)
