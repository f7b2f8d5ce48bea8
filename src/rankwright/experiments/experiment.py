"""Experiments: how they are declared, run, and remembered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from rankwright import __version__
from rankwright.data.writing import make_folder, write_text
from rankwright.experiments.findings import Findings

Scale = Literal["quick", "full"]
T = TypeVar("T")


@dataclass(frozen=True)
class Experiment:
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


@dataclass
class Context:
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

    @property
    def quick(self) -> bool:
        """Whether seconds matter more than decimals."""
        return self.scale == "quick"

    def pick(self, quick: T, full: T) -> T:
        """Return what belongs to the scale."""
        return quick if self.quick else full

    def once(self, key: dict[str, Any], compute: Callable[..., Any], *args: Any) -> Any:
        """Return ``compute(*args)``, from the cache if it was computed before.

        ``key`` must name everything that the value depends on; the value must be JSON.
        """
        if self.cache is None:
            return compute(*args)
        text = json.dumps({"library": __version__, **key}, sort_keys=True)
        path = self.cache / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
        if path.exists():
            return json.loads(path.read_text(encoding="utf-8"))["value"]
        value = compute(*args)
        make_folder(self.cache)
        write_text(path, json.dumps({"key": text, "value": value}))
        return value

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
