"""Machines of a fit as processes of this host, each with some of the parts."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

from rankwright.threads import n_threads
from rankwright.trees.children import Children, free_ports
from rankwright.trees.machines import SeveralMachines
from rankwright.trees.networked import FitPlan, Openable, Seat


class LocalMachines(SeveralMachines):
    """Processes of this host, which speak to each other on its loopback.

    Parameters
    ----------
    plan : FitPlan
        What all machines have in common.
    bins : bytes
        The bins of the features, packed.
    train, valid : sequence of (Openable, int)
        Parts, and how many documents each has.
    n : int
        How many processes.
    restarts : int
        How many times they may be started again.
    """

    def __init__(
        self,
        plan: FitPlan,
        bins: bytes,
        train: Sequence[tuple[Openable, int]],
        valid: Sequence[tuple[Openable, int]],
        n: int,
        restarts: int,
    ) -> None:
        super().__init__(plan.metric, plan.ranker.subsample, restarts)
        self.plan, self.bins, self.n = plan, bins, n
        self.shares = [balanced(parts, n) for parts in (train, valid)]
        self.children: Children | None = None

    def start(self, trees: Sequence[str]) -> None:
        """Start the processes."""
        threads = max(1, n_threads(self.plan.ranker.n_jobs) // self.n)  # they share the cores
        self.children = Children(self.n, threads)
        addresses = [f"127.0.0.1:{port}" for port in free_ports(self.n)]
        seats = [
            Seat(self.plan, train, valid, self.bins, list(trees), addresses, rank, threads)
            for rank, (train, valid) in enumerate(zip(*self.shares, strict=True))
        ]
        self.children.prepare(seats)
        self.children.ask_all("connect")

    def ask(self, what: str, *arguments: Any) -> list[Any]:
        """Return what each machine answers."""
        assert self.children is not None
        return self.children.ask_all(what, *arguments)

    def close(self) -> None:
        """End all processes."""
        if self.children is not None:
            self.children.end()
            self.children = None


def balanced(parts: Sequence[tuple[Any, int]], n: int) -> list[list[Any]]:
    """Deal out parts so that each of n has about as many documents, the largest parts first.

    Examples
    --------
    >>> balanced([("a", 5), ("b", 9), ("c", 3)], 2)
    [['b'], ['a', 'c']]
    """
    shares: list[list[Any]] = [[] for _ in range(n)]
    loads = [(0, i) for i in range(n)]
    for part, n_docs in sorted(parts, key=lambda pair: -pair[1]):
        load, i = heapq.heappop(loads)
        shares[i].append(part)
        heapq.heappush(loads, (load + n_docs, i))
    return shares
