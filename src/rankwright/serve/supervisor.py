"""The process that is started, and keeps the others alive.

Workers answer requests, one process learns. Whoever dies is started again, at once the first time
and then after longer and longer pauses. All of them end with the supervisor, however it ends: they
hold the reading end of a pipe that nobody writes to.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from rankwright.processes import start_module
from rankwright.serve.http.telemetry import shared_counts
from rankwright.serve.settings import Settings

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_LIVED = 10.0  # seconds after which a death is a new one
_START = 60.0  # seconds for the workers to be ready
_END = 4.0  # seconds for them to end


class Child:
    """A process that is started again when it dies."""

    def __init__(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        descriptors: Sequence[int],
        say: Callable[[str], None],
    ) -> None:
        self.name = name
        self._module = module
        self._arguments = list(arguments)
        self._descriptors = tuple(descriptors)
        self._say = say
        self._pause = 0.0
        self._again = 0.0  # when to start it
        self._begun = 0.0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        self._begun = time.monotonic()
        self.process = start_module(self._module, self._arguments, self._descriptors)

    def look(self) -> None:
        """Start it again if it died, and the pause is over."""
        now = time.monotonic()
        if self.process is not None:
            code = self.process.poll()
            if code is None:
                return
            if now - self._begun > _LIVED:
                self._pause = 0.0
            self._say(f"the {self.name} ended with {code}, and is started again")
            self.process, self._again = None, now + self._pause
            self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        if now >= self._again:
            self.start()

    def gave_up(self) -> bool:
        """Tell whether it ended by itself: a start that failed, not one that was killed."""
        return self.process is not None and (self.process.poll() or 0) > 0

    def signal(self, number: int) -> None:
        """Send a signal, if it lives."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)

    def ended_by(self, deadline: float) -> bool:
        """Tell whether it has ended, waiting until a time."""
        if self.process is not None:
            try:
                self.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                return False
        return True


class Supervisor:
    """Workers and the learner, kept alive until the end.

    Parameters
    ----------
    settings : Settings
        Of the service.
    listener : socket
        Where workers answer.
    say : callable
        Told of every process that died, in a line.
    """

    def __init__(
        self, settings: Settings, listener: socket.socket, say: Callable[[str], None]
    ) -> None:
        self._stop = threading.Event()
        self._alive = os.pipe()
        self._ready = os.pipe()
        self._counts = shared_counts(settings.workers)
        told = json.dumps(dataclasses.asdict(settings))
        given = {
            "listener": listener.fileno(),
            "alive": self._alive[0],
            "ready": self._ready[1],
            "counts": self._counts.fileno(),
        }
        self.workers = []
        for worker in range(settings.workers):
            orders = json.dumps({"settings": json.loads(told), "worker": worker, **given})
            module, descriptors = "rankwright.serve.worker", list(given.values())
            self.workers.append(Child(f"worker {worker}", module, [orders], descriptors, say))
        self.children = list(self.workers)
        module, alive = "rankwright.serve.learning.learner", self._alive[0]
        self.children.append(Child("learner", module, [told, str(alive)], [alive], say))

    def start(self) -> None:
        """Start all, and return when the workers answer; RuntimeError if one of them cannot."""
        for child in self.children:
            child.start()
        ready, deadline = 0, time.monotonic() + _START
        while ready < len(self.workers) and not self._stop.is_set():
            readable, _, _ = select.select([self._ready[0]], [], [], 0.1)
            if readable:
                ready += os.read(self._ready[0], 4096).count(b"\n")
            for child in self.children:
                if child in self.workers and child.gave_up():
                    raise RuntimeError(f"the {child.name} ended before it was ready.")
                child.look()
            if time.monotonic() > deadline:
                raise RuntimeError(f"the workers were not ready after {_START:g} s.")

    def run(self) -> None:
        """Keep all alive until :meth:`end`."""
        while not self._stop.wait(0.1):
            for child in self.children:
                child.look()

    @property
    def ending(self) -> bool:
        """Whether the end was asked for."""
        return self._stop.is_set()

    def end(self) -> None:
        """Let :meth:`run` return."""
        self._stop.set()

    def close(self) -> None:
        """End all: kindly, and after a while not so."""
        for child in self.children:
            child.signal(signal.SIGTERM)
        deadline = time.monotonic() + _END
        for child in self.children:
            if not child.ended_by(deadline):
                child.signal(signal.SIGKILL)
                child.ended_by(time.monotonic() + _END)
        for descriptor in (*self._alive, *self._ready):
            os.close(descriptor)
        self._counts.close()
