"""Machines as processes of this host: started, asked all at once, and ended."""

from __future__ import annotations

import os
import pickle
import select
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rankwright.data.spool import Spool
from rankwright.processes import (
    LENGTH,
    Process,
    how_it_ended,
    pickled,
    send,
    start_python,
    waited_for,
)
from rankwright.trees.machines import MachineLostError
from rankwright.trees.networked import Seat

# Waiting threads of OpenMP must not spin: machines wait for each other.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive"}
_LOOK = 1.0  # seconds between two looks at processes that do not answer
_LOOKS = 10  # at which a process must stand still to be given up; whoever stops us, too, is not


class ChildMachine:
    """A process that is a machine (:func:`rankwright.trees.networked.serve_machine`)."""

    def __init__(self, threads: int) -> None:
        code = "from rankwright.trees.networked import serve_machine; serve_machine()"
        own = {"RANKWRIGHT_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        self.process: Process = start_python(code, {**_ENVIRONMENT, **own})
        assert self.process.stdout is not None
        self.replies = self.process.stdout.fileno()
        self._read = bytearray()

    def send(self, what: str, *arguments: Any) -> None:
        """Send a call, which is short: it must fit into the pipe, whatever the process does."""
        with suppress(BrokenPipeError):  # it has ended, as its replies will tell
            send(self.process.stdin, pickled((what, arguments)))

    def read(self) -> Any:
        """Return the answer if it is there, or None; raise EOFError if there will be none.

        It comes piece by piece: a process may stop in the middle of it.
        """
        piece = os.read(self.replies, 1 << 20)
        if not piece:
            raise EOFError
        self._read += piece
        if len(self._read) < LENGTH.size:
            return None
        (size,) = LENGTH.unpack_from(self._read)
        if len(self._read) < LENGTH.size + size:
            return None
        content, self._read = bytes(self._read[LENGTH.size :]), bytearray()
        return pickle.loads(content)

    @property
    def stands_still(self) -> bool:
        """Whether someone has stopped the process (SIGSTOP)."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return False
        return stat.rpartition(") ")[2].startswith("T")


class Children:
    """Processes that are the machines of a fit."""

    def __init__(self, n: int, threads: int) -> None:
        self.all: list[ChildMachine] = []
        try:
            for _ in range(n):
                self.all.append(ChildMachine(threads))
        except BaseException:
            self.end()
            raise

    def prepare(self, seats: Sequence[Seat]) -> None:
        """Give each process its seat, by a file: calls must be short."""
        place = Spool()
        place.folder.chmod(0o700)  # what lies there is unpickled
        paths = [place.folder / str(seat.rank) for seat in seats]
        for seat, path in zip(seats, paths, strict=True):
            path.write_bytes(pickled(seat))
        self.ask([("prepare", str(path)) for path in paths])

    def ask_all(self, what: str, *arguments: Any) -> list[Any]:
        """Ask all processes the same."""
        return self.ask([(what, *arguments)] * len(self.all))

    def ask(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call each process, and return their answers; MachineLostError as soon as one is lost."""
        for child, call in zip(self.all, calls, strict=True):
            child.send(*call)
        answers: dict[int, Any] = {}
        poll = select.poll()
        waiting = {child.replies: i for i, child in enumerate(self.all)}
        for descriptor in waiting:
            poll.register(descriptor, select.POLLIN)
        still = [0] * len(self.all)
        looked = time.monotonic()
        while waiting:
            for descriptor, _ in poll.poll(1000 * _LOOK):
                i = waiting[descriptor]
                reply = self._reply(i)
                if reply is not None:
                    answers[i] = reply[0]
                    poll.unregister(descriptor)
                    del waiting[descriptor]
            if time.monotonic() - looked >= _LOOK:
                looked = time.monotonic()
                for i in waiting.values():
                    still[i] = still[i] + 1 if self.all[i].stands_still else 0
                    if still[i] >= _LOOKS:
                        raise self._lost(i, "its process was stopped, and stands still.")
        return [answers[i] for i in range(len(self.all))]

    def _reply(self, i: int) -> tuple[Any] | None:
        """Return the answer of a process in a tuple, or None if it is not all there."""
        child = self.all[i]
        try:
            found = child.read()
        except EOFError:
            raise self._lost(i, how_it_ended(child.process)) from None
        if found is None:
            return None
        kind, content = found
        if kind == "done":
            return (content,)
        if kind == "failed":
            raise content
        time.sleep(0.2)  # who complains of the network is seldom who was lost
        for j, other in enumerate(self.all):
            if other.process.poll() is not None:
                raise self._lost(j, how_it_ended(other.process))
        raise self._lost(i, content)

    def _lost(self, i: int, why: str) -> MachineLostError:
        which = f"machine {i + 1} of {len(self.all)}"
        return MachineLostError(f"{which} was lost: {why.removesuffix('.')}.")

    def kill(self) -> None:
        """End all processes at once; another thread that asks them hears of it."""
        for child in self.all:
            child.process.kill()
        for child in self.all:
            child.process.wait()

    def end(self) -> None:
        """End all processes, and forget them."""
        self.kill()
        for child in self.all:
            waited_for(child.process)
        self.all = []


def free_ports(n: int) -> list[int]:
    """Return ports that nobody listens at now."""
    sockets = [socket.socket() for _ in range(n)]
    try:
        for one in sockets:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
