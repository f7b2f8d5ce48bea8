"""Files that are read, worked on and forgotten, each by one task."""

from __future__ import annotations

import os
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankwright.dask.cluster import check_versions
from rankwright.dask.each import results_of
from rankwright.dask.recipe import told
from rankwright.data.each import itself

if TYPE_CHECKING:
    from distributed import Client, Future

_AHEAD = 2  # tasks for each thread, so that none waits while a result is written down


def map_files(
    client: Client, function: Callable[..., Any], paths: Sequence[str], model: Any, *args: Any
) -> Iterator[Any]:
    """Yield ``function(path, model, *args)`` for each file, in their order.

    Not more tasks than workers can do are under way, so that results do not fill the memory.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    function : callable
        Pure and importable.
    paths : sequence of str
        Files that all workers see.
    model : object
        May be large: it is sent once.
    *args
        Other arguments.
    """
    check_versions(client)
    most = _AHEAD * sum(client.nthreads().values())
    sent = client.submit(itself, model, pure=False)
    batch = uuid.uuid4().hex
    running: deque[tuple[str, Future]] = deque()
    for i, path in enumerate(paths):
        place = path if "://" in path else os.path.abspath(path)
        key = f"rankwright-file-{batch}-{i}"
        future = client.submit(told, place, function, sent, *args, key=key, pure=False)
        running.append((path, future))
        if len(running) > most:
            yield _next(client, running)
    while running:
        yield _next(client, running)


def _next(client: Client, running: deque[tuple[str, Future]]) -> Any:
    path, future = running.popleft()
    (found,) = results_of(client, [future], [path])
    return found
