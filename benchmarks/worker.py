"""One implementation in a process of its own: prepared once, then run on request."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

POLL_S = 0.01
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """What one call took, by part, and what it found out (for checks and for the record)."""

    seconds: dict[str, float]
    facts: dict[str, float] = field(default_factory=dict)


@dataclass
class Memory:
    """Resident memory of a worker in bytes; anonymous and file-mapped pages apart."""

    anonymous_before: int
    anonymous_peak: int = 0
    file_peak: int = 0
    total_peak: int = 0  # the kernel's own high-water mark

    def look(self, status: dict[str, int]) -> None:
        """Take a sample."""
        self.anonymous_peak = max(self.anonymous_peak, status.get("RssAnon", 0))
        self.file_peak = max(self.file_peak, status.get("RssFile", 0))
        self.total_peak = max(self.total_peak, status.get("VmHWM", 0))


# Called in the worker: imports and prepares, untimed, and returns what is to be run.
Make: TypeAlias = Callable[[], Callable[[], Run]]


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Call; return the result and the seconds."""
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


class Worker:
    """A process that holds a prepared implementation."""

    def __init__(self, make: Make) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make), daemon=True)
        self._process.start()
        theirs.close()
        self._receive()  # None: ready

    def run(self) -> Run:
        """Run once."""
        self._connection.send("run")
        return self._measured()

    def run_and_watch(self) -> tuple[Run, Memory]:
        """Run once and watch the memory from outside; a thread inside would need the GIL."""
        memory = Memory(self._status()["RssAnon"])
        self._connection.send("run")
        while not self._connection.poll(POLL_S):
            memory.look(self._status())
        memory.look(self._status())  # the results are still alive in the worker
        return self._measured(), memory

    def cpu_seconds(self) -> float:
        """Return the processor time of the worker and of the children it has waited for."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS_PER_S

    def close(self) -> None:
        """End the process."""
        if self._process.is_alive():
            self._connection.send("end")
        self._process.join()
        self._connection.close()

    def _measured(self) -> Run:
        run = self._receive()
        assert run is not None
        return run

    def _receive(self) -> Run | None:
        try:
            answer: Run | None = self._connection.recv()
        except EOFError:
            self._process.join()
            raise RuntimeError(f"worker ended with status {self._process.exitcode}") from None
        return answer

    def _status(self) -> dict[str, int]:
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        sizes = (line.split() for line in text.splitlines() if line.endswith(" kB"))
        return {name.rstrip(":"): int(value) * 1024 for name, value, _ in sizes}


def _serve(connection: Connection, make: Make) -> None:
    run = make()
    connection.send(None)
    while connection.recv() == "run":
        connection.send(run())
