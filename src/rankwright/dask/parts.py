"""Data in parts that the workers of a cluster read where they work on them."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from rankwright.dask.cluster import check_versions, describe_cluster
from rankwright.dask.each import DaskEach, results_of
from rankwright.dask.machines import DaskMachines
from rankwright.dask.recipe import Recipe, made_first, pinned
from rankwright.data.dataset import Dataset
from rankwright.data.each import EachHere
from rankwright.data.files import PathLike
from rankwright.data.formats import LETOR
from rankwright.data.lines import changed_error
from rankwright.data.part_facts import Facts, PartFacts, common_form, in_form, measure_part
from rankwright.data.part_files import (
    Reader,
    known_form,
    letor_form,
    part_paths,
    read_part,
    same_format,
    telling_once,
)
from rankwright.data.parts import Parts, are_alike
from rankwright.data.reading import ReadOptions, read
from rankwright.data.whole_queries import check_whole_queries
from rankwright.exceptions import DataError, DataWarning
from rankwright.trees.networked import FitPlan

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")
Callback = Callable[[int, int], Any]


class DaskParts:
    """Data in parts of whole queries, on the workers of a Dask cluster.

    The same :class:`~rankwright.data.parts.Parts` as :func:`rankwright.read_parts` returns, with
    the same results, bit for bit, on any number of workers, also if some are lost on the way. Every
    worker must see the files under their names, and have the versions of this process.

    Parameters
    ----------
    client : distributed.Client
        Connected to a cluster with at least one worker. It is not closed.
    paths, format, **options
        As for :func:`rankwright.read_parts`.
    callback : callable, optional
        Called with the number of files that were read and of all files, after each.

    Attributes
    ----------
    facts : Facts
        What is known of the parts.
    """

    def __init__(
        self,
        client: Client,
        paths: PathLike | Iterable[PathLike],
        *,
        format: str | None = None,
        callback: Callback | None = None,
        **options: Unpack[ReadOptions],
    ) -> None:
        reader = partial(read, format=format)
        self._read(client, paths, reader, dict(options), format, callback)

    @classmethod
    def by_reader(
        cls,
        client: Client,
        paths: PathLike | Iterable[PathLike],
        reader: Reader,
        options: dict[str, Any],
        *,
        format: str | None = None,
        callback: Callback | None = None,
    ) -> DaskParts:
        """Return the parts that a reader of one file makes of files."""
        parts = cls.__new__(cls)
        parts._read(client, paths, reader, options, format, callback)
        return parts

    def _read(
        self,
        client: Client,
        paths: PathLike | Iterable[PathLike],
        reader: Reader,
        options: dict[str, Any],
        format: str | None,
        callback: Callback | None,
    ) -> None:
        check_versions(client)
        self.client = client
        # Workers have a working directory of their own.
        found = [path if "://" in path else os.path.abspath(path) for path in part_paths(paths)]
        kind = same_format(found, format)
        options = {**known_form(found, format), **options}
        each, facts = _read_on_workers(client, found, reader, options, callback)
        if kind == LETOR and not are_alike(facts):
            before = facts
            names = [part.name for part in facts]
            how = client.submit(letor_form, names, options, pure=False).result()
            each, facts = _read_on_workers(client, names, reader, {**options, **how}, None)
            for one, again in zip(before, facts, strict=True):
                if one.n_docs != again.n_docs:
                    raise changed_error(one.name)
        form = common_form(facts)
        if not all(map(form.is_that_of, facts)):
            each = each.map(in_form, form)
            facts = _measured(each)
        self._keep(each, facts)
        check_whole_queries(self)

    def _keep(self, each: DaskEach, facts: list[PartFacts]) -> Self:
        self.facts = Facts(tuple(facts))
        # Whoever reads a part again, because its worker was lost, must find the same.
        hashes = [part.fingerprint for part in facts]
        futures = self.client.map(pinned, each.futures, hashes, each.names, pure=False)
        self._each = DaskEach(self.client, futures, each.names)
        return self

    def __len__(self) -> int:
        return len(self._each)

    def map(self, function: Callable[..., Result], *args: Any) -> list[Result]:
        """Return ``function(part, *args)`` for each part, in the order of the parts."""
        return list(self.tell(function, *args))

    def tell(self, function: Callable[..., Result], *args: Any) -> Iterator[Result]:
        """Yield what :meth:`map` returns."""
        return self._each.tell(function, *args)

    def each(self, function: Callable[..., Any], *args: Any) -> DaskEach:
        """Return ``function(part, *args)`` for each part; the results stay on the workers."""
        return self._each.map(function, *args)

    def transformed(self, function: Callable[..., Dataset], *args: Any) -> DaskParts:
        """Return the parts that ``function(part, *args)`` makes of these, on the workers."""
        each = self._each.map(function, *args)
        other = DaskParts.__new__(DaskParts)
        other.client = self.client
        return other._keep(each, _measured(each))

    def machines(
        self, plan: FitPlan, bins: bytes, valid: Parts | None, n: int | None, restarts: int
    ) -> DaskMachines:
        """Return machines that grow trees of these parts, on the workers that have them."""
        if valid is not None and not isinstance(valid, DaskParts):
            raise TypeError(
                "valid must be parts on the same cluster as those that are learned from, but is a "
                f"{type(valid).__name__}: DaskParts(client, paths)."
            )
        watched = [] if valid is None else valid.sized()
        return DaskMachines(self.client, plan, bins, self.sized(), watched, n, restarts)

    def sized(self) -> list[tuple[Future, int]]:
        """Return the parts, and how many documents each has."""
        sizes = [part.n_docs for part in self.facts.parts]
        return list(zip(self._each.futures, sizes, strict=True))

    def __repr__(self) -> str:
        known = self.facts
        return (
            f"DaskParts({len(self)} parts, {known.n_docs} documents, {known.n_queries} queries, "
            f"{known.n_features} features; {describe_cluster(self.client)})"
        )


def _read_on_workers(
    client: Client,
    paths: Sequence[str],
    reader: Reader,
    options: dict[str, Any],
    callback: Callback | None,
) -> tuple[DaskEach, list[PartFacts]]:
    """Let each part be read by a worker; return them and what is known of them."""
    batch = uuid.uuid4().hex
    futures = client.map(
        made_first,
        [read_file] * len(paths),
        paths,
        [reader] * len(paths),
        [options] * len(paths),
        key=[f"rankwright-read-{batch}-{i}" for i in range(len(paths))],
        pure=False,
    )
    _follow(futures, callback)
    found = results_of(client, client.map(look_at, futures, paths, pure=False), paths)
    told: set[str] = set()
    for path, (notes, _) in zip(paths, found, strict=True):
        with telling_once(told, path):
            for note in notes:
                warnings.warn(note, DataWarning, stacklevel=6)
    # Those without documents are left out.
    kept = [i for i, (_, facts) in enumerate(found) if facts is not None]
    if not kept:
        raise DataError("there must be at least one document in all parts.", path=paths[0])
    each = DaskEach(client, [futures[i] for i in kept], [paths[i] for i in kept])
    return each, [found[i][1] for i in kept]


def _follow(futures: list[Future], callback: Callback | None) -> None:
    """Wait for all, and tell how many there are already."""
    from distributed import as_completed

    for done, _ in enumerate(as_completed(futures), 1):
        if callback is not None:
            callback(done, len(futures))


def _measured(each: DaskEach) -> list[PartFacts]:
    return list(each.tell(measure_part, EachHere(each.names)))


def read_file(path: str, reader: Reader, options: dict[str, Any]) -> Dataset | None:
    """Read one part; None if it has no documents."""
    return read_part(path, reader, **options)


def look_at(made: Recipe, name: str) -> tuple[list[str], PartFacts | None]:
    """Return what was warned of while a part was read, and what is known of it."""
    part = made.value
    return made.notes, None if part is None else measure_part(part, name)
