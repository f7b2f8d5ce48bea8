"""Calls in processes of their own: one that crashes takes nothing with it.

A worker is a Python process that runs :func:`serve` (:mod:`rankwright.processes`). It has one
thread.

What can be imported travels by its name; classes and functions of a notebook, of a session or
within a function travel as they are (cloudpickle, on which scikit-learn's joblib stands too).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

from rankwright.blas import one_blas_thread
from rankwright.comparison.handing import opened
from rankwright.processes import WorkerError as WorkerError
from rankwright.processes import (
    begin_to_serve,
    how_it_ended,
    pickled,
    receive,
    send,
    sendable,
    start_python,
    waited_for,
)
from rankwright.processes import reason as reason

if TYPE_CHECKING:
    import subprocess

Listener: TypeAlias = Callable[[Any], None]

# One thread a process: cores are filled with processes, and the results are the same on any
# machine. Waiting threads of OpenMP must not spin.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RANKWRIGHT_NUM_THREADS": "1",
}


# ---- what a call says while it runs ----

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def tell(message: Any) -> None:
    """Say something from within a call to the one who submitted it, if that one listens."""
    listener = _listener.get()
    if listener is not None:
        listener(message)


@contextlib.contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Hear what calls in this block tell."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep numerical libraries to one thread, so that results do not depend on their number."""
    from threadpoolctl import threadpool_limits

    with one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        yield


# ---- the process that starts workers ----


def packed_call(function: Callable[..., Any], arguments: dict[str, Any]) -> bytes:
    """Return a call as bytes, with whatever of its code another process could not import."""
    return pickled((function, arguments))


class Worker:
    """A process that does one call after another; it is started with the first."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def run(
        self, function: Callable[..., Any], arguments: dict[str, Any], listener: Listener | None
    ) -> Any:
        """Call a function with arguments by name."""
        return self.send(packed_call(function, arguments), listener)

    def send(self, call: bytes, listener: Listener | None) -> Any:
        """Do a call that was pickled, perhaps by another process."""
        process = self._start()
        try:
            send(process.stdin, call)
            kind, content = receive(process.stdout)
            while kind == "told":
                if listener is not None:
                    listener(content)
                kind, content = receive(process.stdout)
        except (EOFError, BrokenPipeError):
            raise WorkerError(self._ended()) from None
        if kind == "failed":
            raise content
        return content

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            self._closed = True
            process = self._process
        if process is not None:
            process.kill()
            waited_for(process)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise WorkerError("was stopped.")
            if self._process is None:
                self._process = start_python(f"from {__name__} import serve; serve()", _ENVIRONMENT)
            return self._process

    def _ended(self) -> str:
        process, self._process = self._process, None
        return "its process ended." if process is None else how_it_ended(process)


def sent(value: Any) -> bytes | None:
    """Return a value that nothing depends on as bytes; None if it cannot be sent."""
    try:
        return pickled(value)
    except Exception:  # whatever its class thinks of being pickled
        return None


def arrived(content: bytes | None) -> Any:
    """Return the value that was sent."""
    return None if content is None else pickle.loads(content)


# ---- the worker ----


def serve() -> None:
    """Do calls until the input ends."""
    requests, replies = begin_to_serve()

    def reply(kind: str, content: Any) -> None:
        message = pickled((kind, content))
        try:
            send(replies, message)
        except BrokenPipeError:  # nobody is left to hear it
            os._exit(0)

    with one_thread(), listening(lambda message: reply("told", message)):
        while True:
            try:
                function, arguments = receive(requests)
            except EOFError:
                os._exit(0)
            except Exception as error:
                text = f"cannot be sent to another process: {reason(error)}"
                reply("failed", WorkerError(text))
                continue
            try:
                given = {name: opened(value) for name, value in arguments.items()}
                reply("done", function(**given))
            except BaseException as error:  # reported, whatever it is
                reply("failed", sendable(error))
