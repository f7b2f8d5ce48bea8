"""Data in parts of whole queries: more than fits into memory, on one machine or on several.

A part is a file of whole queries. What is computed of the data is computed part by part, by
functions that know nothing of where a part lies: :class:`LocalParts` has them on this machine, one
at a time in memory; other classes may have them elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, Unpack, runtime_checkable

from rankwright.data.dataset import Dataset
from rankwright.data.each import Each, EachHere
from rankwright.data.files import PathLike
from rankwright.data.formats import LETOR
from rankwright.data.lines import changed_error
from rankwright.data.part_facts import Facts, PartFacts, common_form, in_form, measure_part
from rankwright.data.part_files import (
    Reader,
    check_there,
    known_form,
    letor_form,
    part_paths,
    read_part,
    same_format,
    telling_once,
)
from rankwright.data.reading import ReadOptions, read
from rankwright.data.spool import Spool, Spooled
from rankwright.data.whole_queries import check_whole_queries
from rankwright.exceptions import DataError

Result = TypeVar("Result")


@runtime_checkable
class Parts(Protocol):
    """Data in parts of whole queries, and where functions of a part are computed.

    A function gets a part as a :class:`~rankwright.data.Dataset`, gathered, whose ``X`` may be
    mapped from a file and must not be written to. It is pure and importable, a function of a module
    or a ``functools.partial`` of one: it may run elsewhere, and more than once.
    """

    @property
    def facts(self) -> Facts:
        """What is known of the parts."""

    def __len__(self) -> int: ...

    def map(self, function: Callable[..., Result], *args: Any) -> list[Result]:
        """Return ``function(part, *args)`` for each part, in the order of the parts.

        Of an argument that is an :class:`~rankwright.data.each.EachHere`, each gets its own.
        """

    def tell(self, function: Callable[..., Result], *args: Any) -> Iterator[Result]:
        """Yield what :meth:`map` returns, one at a time where parts are."""

    def each(self, function: Callable[..., Any], *args: Any) -> Each:
        """Return ``function(part, *args)`` for each part; the results stay with the parts."""

    def transformed(self, function: Callable[..., Dataset], *args: Any) -> Parts:
        """Return the parts that ``function(part, *args)`` makes of these."""


def check_are_parts(value: Any, name: str = "parts") -> None:
    """Raise unless these are data in parts; a data set or the name of a folder is none yet."""
    if not isinstance(value, Parts):
        raise TypeError(
            f"{name} must be data in parts, but is a {type(value).__name__}. Read them: "
            "rankwright.read_parts(folder)."
        )


class LocalParts:
    """Parts in a spool of this machine, mapped into memory one at a time.

    Made by :func:`read_parts`. The spool goes when this object does.

    Parameters
    ----------
    spool : Spool
        Where the parts are.
    spooled : sequence of Spooled
        The parts.
    facts : Facts
        What is known of them.
    """

    def __init__(self, spool: Spool, spooled: Sequence[Spooled], facts: Facts) -> None:
        self.facts = facts
        self.spooled = list(spooled)
        self._spool = spool

    def __len__(self) -> int:
        return len(self.spooled)

    def map(self, function: Callable[..., Result], *args: Any) -> list[Result]:
        """Return ``function(part, *args)`` for each part, one after the other."""
        return list(self.tell(function, *args))

    def tell(self, function: Callable[..., Result], *args: Any) -> Iterator[Result]:
        """Yield ``function(part, *args)`` for each part, one after the other."""
        return EachHere(self.spooled).tell(_of_opened, function, *args)

    def each(self, function: Callable[..., Any], *args: Any) -> EachHere:
        """Return ``function(part, *args)`` for each part."""
        return EachHere(self.map(function, *args))

    def transformed(self, function: Callable[..., Dataset], *args: Any) -> LocalParts:
        """Return the parts that ``function(part, *args)`` makes of these, in a spool of theirs."""
        spool = Spool(self._spool.folder.parent)
        spooled, facts = [], []
        for part, known in zip(self.spooled, self.facts.parts, strict=True):
            made = function(part.open(), *args)
            spooled.append(spool.put(made))
            facts.append(measure_part(made, known.name))
            del made  # before the next is made: memory holds one
        return LocalParts(spool, spooled, Facts(tuple(facts)))

    def __repr__(self) -> str:
        known = self.facts
        form = f"{'sparse' if known.is_sparse else 'dense'} {known.dtype}"
        return (
            f"LocalParts({len(self)} parts, {known.n_docs} documents, {known.n_queries} queries, "
            f"{known.n_features} features, {form})"
        )


def _of_opened(part: Spooled, function: Callable[..., Result], *args: Any) -> Result:
    return function(part.open(), *args)


def read_parts(
    paths: PathLike | Iterable[PathLike],
    *,
    format: str | None = None,
    spool: PathLike | None = None,
    callback: Callable[[int, int], Any] | None = None,
    **options: Unpack[ReadOptions],
) -> LocalParts:
    """Read data in parts of whole queries, one part at a time.

    Each file is read once, and kept as plain arrays in a temporary folder that goes with the
    object. All parts have the same features, found by name; LETOR text is read as one text of all
    parts would be. Files without documents are left out, with a warning.

    Parameters
    ----------
    paths : str, path-like or list of them
        Files, folders or patterns such as ``"web/*.parquet"``. Files of a folder or a pattern are
        taken by name; names that begin with a dot or an underscore are left out.
    format : {"letor", "parquet", "csv", "tsv", "jsonl"}, optional
        The format of all files; by default their names tell.
    spool : str or path-like, optional
        Where the temporary folder is to be; by default where those are (``TMPDIR``).
    callback : callable, optional
        Called with the number of files that were read and of all files, after each.
    **options
        As for :func:`rankwright.read`.

    Raises
    ------
    DataError
        For a query in two parts, a part that is there twice, parts with different features, and for
        what :func:`rankwright.read` raises.

    Examples
    --------
    >>> import tempfile, rankwright as rw
    >>> folder = tempfile.mkdtemp()
    >>> for i, part in enumerate(rw.data.make_mslr_like(n_queries=10).split((0.5, 0.5))):
    ...     rw.write(part, f"{folder}/{i}.txt")
    >>> parts = read_parts(folder)
    >>> len(parts), parts.facts.n_queries
    (2, 10)
    """
    found = part_paths(paths)
    reader = partial(read, format=format)
    return spool_parts(found, reader, dict(options), format=format, spool=spool, callback=callback)


def spool_parts(
    paths: Sequence[str],
    reader: Reader,
    options: dict[str, Any],
    *,
    format: str | None = None,
    spool: PathLike | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> LocalParts:
    """Do what :func:`read_parts` does, with a reader of one file that is given."""
    kind = same_format(paths, format)
    options = {**known_form(paths, format), **options}
    check_there(paths)
    place = Spool(spool)
    spooled: list[Spooled] = []
    facts: list[PartFacts] = []
    told: set[str] = set()
    for i, path in enumerate(paths):
        with telling_once(told, path):
            part = read_part(path, reader, **options)
        if part is not None:
            spooled.append(place.put(part))
            facts.append(measure_part(part, path))
        del part  # before the next is read: memory holds one
        if callback is not None:
            callback(i + 1, len(paths))
    if not facts:
        raise DataError("there must be at least one document in all parts.", path=paths[0])
    if kind == LETOR and not are_alike(facts):
        options = {**options, **letor_form([part.name for part in facts], options)}
        for i, known in enumerate(facts):
            with telling_once(told, known.name):
                again = read_part(known.name, reader, **options)
            if again is None or again.n_docs != known.n_docs:
                raise changed_error(known.name)
            place.drop(spooled[i])
            spooled[i], facts[i] = place.put(again), measure_part(again, known.name)
            del again
    form = common_form(facts)
    for i, known in enumerate(facts):
        if not form.is_that_of(known):
            alike = in_form(spooled[i].open(), form)
            place.drop(spooled[i])
            spooled[i], facts[i] = place.put(alike), measure_part(alike, known.name)
    parts = LocalParts(place, spooled, Facts(tuple(facts)))
    check_whole_queries(parts)
    return parts


def are_alike(facts: Sequence[PartFacts]) -> bool:
    """Whether parts of LETOR text were read as if they were one."""
    forms = {(part.features.n, part.features.names is None, part.is_sparse) for part in facts}
    return len(forms) == 1
