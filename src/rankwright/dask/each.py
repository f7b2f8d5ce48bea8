"""One value for each part, on the workers of a cluster."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.dask.recipe import kept, told
from rankwright.data.each import EachHere, itself
from rankwright.exceptions import DataError

if TYPE_CHECKING:
    from distributed import Client, Future

_LARGE = 100_000  # bytes; what is smaller goes with each task


class DaskEach:
    """One value for each part, on the workers of a cluster.

    Each is a future: Dask runs tasks where their part is, and computes what a lost worker had again
    from what it was computed of.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    futures : sequence of distributed.Future
        One for each part.
    names : sequence of str
        Names of the parts.
    """

    def __init__(self, client: Client, futures: Sequence[Future], names: Sequence[str]) -> None:
        self.client, self.futures, self.names = client, list(futures), list(names)

    def __len__(self) -> int:
        return len(self.futures)

    def map(self, function: Callable[..., Any], *args: Any) -> DaskEach:
        """Return ``function(value, *args)`` for each part; the results stay on the workers."""
        return self._submit(kept, function, args)

    def tell(self, function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Yield ``function(value, *args)`` for each part, in the order of the parts."""
        return iter(self._submit(told, function, args).results())

    def _submit(self, task: Any, function: Callable[..., Any], args: Sequence[Any]) -> DaskEach:
        given = [self._once(arg) for arg in args]
        columns = [_for_each_part(arg, len(self)) for arg in given]
        # Names of their own: nothing is asked for twice, and Dask need not hash the arguments.
        batch = f"{_task_name(function)}-{uuid.uuid4().hex}"
        keys = [f"{batch}-{i}" for i in range(len(self))]
        if all(a is b for a, b in zip(given, args, strict=True)):
            futures = self.client.map(
                task, self.futures, [function] * len(self), *columns, key=keys, pure=False
            )
        else:
            futures = self._submit_at_home(task, function, columns, keys)
        return DaskEach(self.client, futures, self.names)

    def _once(self, arg: Any) -> Any:
        """Return an argument; one that is large, such as a model, as a future: it is sent once."""
        if arg is None or isinstance(arg, bool | int | float | str | DaskEach | EachHere):
            return arg
        import cloudpickle

        size = arg.nbytes if isinstance(arg, np.ndarray) else len(cloudpickle.dumps(arg))
        return arg if size < _LARGE else self.client.submit(itself, arg, pure=False)

    def _submit_at_home(
        self, task: Any, function: Callable[..., Any], columns: list[Any], keys: list[str]
    ) -> list[Future]:
        """Submit tasks to where the parts are, and not to where a large argument is."""
        holders = self.client.who_has(self.futures)
        futures = []
        for i, own in enumerate(self.futures):
            homes = list(holders.get(own.key, ()))
            # Not for good: tasks for a worker that never returns would wait for ever.
            where = {"workers": homes, "allow_other_workers": True} if homes else {}
            given = [column[i] for column in columns]
            futures.append(
                self.client.submit(task, own, function, *given, key=keys[i], pure=False, **where)
            )
        return futures

    def results(self) -> list[Any]:
        """Return the values, here."""
        return results_of(self.client, self.futures, self.names)


def results_of(client: Client, futures: Sequence[Future], names: Sequence[str]) -> list[Any]:
    """Return the values of futures; what ended every worker that tried it is a DataError."""
    from distributed import KilledWorker

    try:
        found: list[Any] = client.gather(list(futures))
    except KilledWorker as error:
        pairs = zip(names, futures, strict=True)
        which = next((name for name, one in pairs if one.status == "error"), names[0])
        raise DataError(
            f"every worker that worked on this part ended ({error.task}). Most often there was "
            "too little memory: cut the data into more parts.",
            path=which,
        ) from None
    return found


def _for_each_part(arg: Any, n: int) -> list[Any]:
    if isinstance(arg, DaskEach):
        found = arg.futures
    elif isinstance(arg, EachHere):
        found = arg.values
    else:
        return [arg] * n
    if len(found) != n:
        raise ValueError(
            f"there must be a value for each of {n} parts, but there are {len(found)}."
        )
    return found


def _task_name(function: Any) -> str:
    """Return what the cluster's dashboard shows."""
    inner = getattr(function, "func", function)  # of a partial
    return f"rankwright-{getattr(inner, '__name__', type(inner).__name__).strip('_')}"
