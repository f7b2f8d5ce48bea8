"""Machines of a fit on the workers of a Dask cluster: processes beside them, one or two each.

Trees are grown in a child of the worker, not in the worker: LightGBM hangs, spins or aborts when
another machine is lost, and only the end of its process ends that. The driver runs the loop. It
waits for the first failure and not for all answers, ends all children then, and begins again behind
the last tree on the workers that there are.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rankwright.dask.recipe import Recipe
from rankwright.data.each import itself
from rankwright.exceptions import DataWarning
from rankwright.trees.children import Children, free_ports
from rankwright.trees.local_machines import balanced
from rankwright.trees.machines import MachineLostError, SeveralMachines
from rankwright.trees.networked import FitPlan, Seat

if TYPE_CHECKING:
    from distributed import Client, Future

_FEWEST = 2
_WAIT = 60  # seconds until there must be a worker again, where a nanny starts one
_LONG_TTL = 60  # seconds


class DaskMachines(SeveralMachines):
    """One process for each worker, or two for one that is alone.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    plan : FitPlan
        What all machines have in common.
    bins : bytes
        The bins of the features, packed.
    train, valid : sequence of (Future, int)
        Parts, and how many documents each has.
    n : int or None
        How many processes; one for each worker by default.
    restarts : int
        How many times they may be started again.
    """

    def __init__(
        self,
        client: Client,
        plan: FitPlan,
        bins: bytes,
        train: Sequence[tuple[Future, int]],
        valid: Sequence[tuple[Future, int]],
        n: int | None,
        restarts: int,
    ) -> None:
        super().__init__(plan.metric, plan.ranker.subsample, restarts)
        self.client, self.plan, self.bins, self.n = client, plan, bins, n
        self.train, self.valid = train, valid
        self.fit = ""
        self.workers: list[str] = []
        _warn_of_long_ttl(client)

    def start(self, trees: Sequence[str]) -> None:
        """Start processes on the workers that there are now."""
        try:
            self.client.wait_for_workers(1, timeout=_WAIT)
        except TimeoutError:
            raise MachineLostError("all workers were lost: the cluster has none.") from None
        threads: dict[str, int] = dict(self.client.nthreads())
        n = min(max(_FEWEST, self.n or len(threads)), len(self.train))
        self.fit, self.workers = uuid.uuid4().hex, sorted(threads)[:n]
        ranks = [list(range(i, n, len(self.workers))) for i in range(len(self.workers))]
        addresses = self._addresses([len(own) for own in ranks], n)
        shares = [balanced(parts, n) for parts in (self.train, self.valid)]
        # Once to the cluster, not once for each worker through the scheduler.
        common = self.client.submit(itself, (self.plan, self.bins, list(trees)), pure=False)
        futures = []
        for worker, own in zip(self.workers, ranks, strict=True):
            given = [[shares[0][rank], shares[1][rank]] for rank in own]
            each = max(1, threads[worker] // len(own))
            futures.append(
                self._submit(worker, open_machines, self.fit, common, given, own, addresses, each)
            )
        self._results(futures)
        self.ask("connect")

    def ask(self, what: str, *arguments: Any) -> list[Any]:
        """Return what each machine answers."""
        calls = [
            self._submit(worker, ask_machines, self.fit, what, arguments) for worker in self.workers
        ]
        return [answer for answers in self._results(calls) for answer in answers]

    def close(self) -> None:
        """End all processes on the workers that are still there."""
        there = [worker for worker in self.workers if worker in self.client.nthreads()]
        if there:  # a list with one who is gone would wait for a connection
            self.client.run(close_machines, self.fit, workers=there, on_error="return")
        self.workers = []

    def _submit(self, worker: str, function: Any, *args: Any) -> Future:
        return self.client.submit(
            function, *args, workers=[worker], allow_other_workers=False, pure=False
        )

    def _results(self, futures: Sequence[Future]) -> list[Any]:
        """Return all results; raise for the first failure, while others may hang for ever."""
        from distributed import KilledWorker, wait

        found: dict[Future, Any] = {}
        try:
            while len(found) < len(futures):
                waiting = [future for future in futures if future not in found]
                # Limits everywhere: what a lost worker had done is to be done again, by it alone.
                with contextlib.suppress(TimeoutError):
                    for future in wait(waiting, timeout=1, return_when="FIRST_COMPLETED").done:
                        found[future] = future.result(timeout=1)
                there = self.client.nthreads()
                for worker in self.workers:
                    if worker not in there:
                        raise MachineLostError(f"worker {worker} was lost: it left the cluster.")
        except KilledWorker:
            raise MachineLostError("a worker was lost: it ended in a task.") from None
        except BaseException:
            self.client.cancel(list(futures), force=True)
            raise
        return [found[future] for future in futures]

    def _addresses(self, counts: Sequence[int], n: int) -> list[str]:
        """Return an IPv4 address and a port for each machine."""
        known: list[str] = [""] * n
        while len(set(known)) < n:  # two workers of one host may find the same port
            calls = [
                self._submit(worker, open_ports, count)
                for worker, count in zip(self.workers, counts, strict=True)
            ]
            for i, found in enumerate(self._results(calls)):
                known[i :: len(self.workers)] = found
        return known


def _warn_of_long_ttl(client: Client) -> None:
    seconds = client.run_on_scheduler(_worker_ttl)
    if seconds is None or seconds > _LONG_TTL:
        length = "never" if seconds is None else f"only after {seconds:g} seconds"
        warnings.warn(
            f"a worker that stands still is {length} noticed by this cluster, and trees wait so "
            "long. Start the scheduler with distributed.scheduler.worker-ttl of 60s or less.",
            DataWarning,
            stacklevel=2,
        )


def _worker_ttl(dask_scheduler: Any) -> float | None:
    found: float | None = dask_scheduler.worker_ttl
    return found


# ---- on the workers ----

_running: dict[str, tuple[Children, list[Recipe]]] = {}
_lock = threading.Lock()


def open_ports(n: int) -> list[str]:
    """Return addresses of this worker's host at which nobody listens now."""
    from distributed import get_worker

    host = urlsplit(get_worker().address).hostname
    address = socket.gethostbyname(host or "localhost")  # LightGBM takes numbers only
    return [f"{address}:{port}" for port in free_ports(n)]


def open_machines(
    fit: str,
    common: tuple[FitPlan, bytes, list[str]],
    given: Sequence[Sequence[Sequence[Recipe]]],
    ranks: Sequence[int],
    addresses: Sequence[str],
    threads: int,
) -> None:
    """Start the machines of a fit that are this worker's, each with its parts."""
    plan, bins, trees = common
    parts = [made for both in given for own in both for made in own]
    seats = []
    for (train, valid), rank in zip(given, ranks, strict=True):
        files = [made.spooled for made in train], [made.spooled for made in valid]
        seats.append(Seat(plan, *files, bins, trees, addresses, rank, threads))
    children = Children(len(seats), threads)
    with _lock:
        _running[fit] = children, parts  # whose files are there as long as they are
    children.prepare(seats)


def ask_machines(fit: str, what: str, arguments: Sequence[Any]) -> list[Any]:
    """Return what the machines of this worker answer."""
    with _lock:
        found = _running.get(fit)
    if found is None:
        raise MachineLostError("a machine was lost: its worker was started anew.")
    return found[0].ask_all(what, *arguments)


def close_machines(fit: str) -> None:
    """End the machines of this worker."""
    with _lock:
        found = _running.pop(fit, None)
    if found is not None:
        found[0].kill()
