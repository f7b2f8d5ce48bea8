"""Calls in processes of their own: one that crashes takes nothing with it.

A worker is a Python process that runs :func:`serve`. It reads pickled calls from its standard input
and writes replies to its standard output, each preceded by its length. It has one thread, and ends
as soon as its input does: none outlives the process that started it.

What can be imported travels by its name; classes and functions of a notebook, of a session or
within a function travel as they are (cloudpickle, on which scikit-learn's joblib stands too).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import struct
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from rankwright.blas import one_blas_thread
from rankwright.comparison.handing import opened
from rankwright.processes import start_python

if TYPE_CHECKING:
    import subprocess

Listener: TypeAlias = Callable[[Any], None]

_LENGTH = struct.Struct("<Q")
# One thread a process: cores are filled with processes, and the results are the same on any
# machine. Waiting threads of OpenMP must not spin.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RANKWRIGHT_NUM_THREADS": "1",
}


class WorkerError(RuntimeError):
    """A call that took its process with it, or whose error cannot be sent."""


def reason(error: BaseException) -> str:
    """Return what went wrong as one line."""
    if isinstance(error, WorkerError):
        return str(error)
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__


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
    return _dumps((function, arguments))


def _dumps(value: Any) -> bytes:
    import cloudpickle

    content: bytes = cloudpickle.dumps(value)
    return content


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
        """Do a call that was packed, perhaps by another process."""
        process = self._start()
        try:
            _send(process.stdin, call)
            kind, content = _receive(process.stdout)
            while kind == "told":
                if listener is not None:
                    listener(content)
                kind, content = _receive(process.stdout)
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
            _wait(process)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise WorkerError("was stopped.")
            if self._process is None:
                self._process = start_python(f"from {__name__} import serve; serve()", _ENVIRONMENT)
            return self._process

    def _ended(self) -> str:
        process, self._process = self._process, None
        if process is None:
            return "its process ended."
        code = _wait(process)
        if code < 0:
            return f"its process was ended by signal {-code} ({_signal_name(-code)})."
        return f"its process ended with exit code {code}."


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "without a name"


def _wait(process: subprocess.Popen[bytes]) -> int:
    code = process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    return code


def _send(stream: IO[bytes] | None, content: bytes) -> None:
    assert stream is not None
    stream.write(_LENGTH.pack(len(content)) + content)
    stream.flush()


def _receive(stream: IO[bytes] | None) -> Any:
    assert stream is not None
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return pickle.loads(content)


def sent(value: Any) -> bytes | None:
    """Return a value that nothing depends on as bytes; None if it cannot be sent."""
    try:
        return _dumps(value)
    except Exception:  # whatever its class thinks of being pickled
        return None


def arrived(content: bytes | None) -> Any:
    """Return the value that was sent."""
    return None if content is None else pickle.loads(content)


# ---- the worker ----


def serve() -> None:
    """Do calls until the input ends."""
    # Ctrl-C is for the process that started us, which blocked it here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what models print must not get between the replies
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=_end_with_input, args=(requests.fileno(),), daemon=True).start()

    def reply(kind: str, content: Any) -> None:
        message = _dumps((kind, content))
        try:
            _send(replies, message)
        except BrokenPipeError:  # nobody is left to hear it
            os._exit(0)

    with one_thread(), listening(lambda message: reply("told", message)):
        while True:
            try:
                function, arguments = _receive(requests)
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
                reply("failed", _sendable(error))


def _end_with_input(descriptor: int) -> None:
    """End the process when the other end of its input is closed, also in the middle of a call."""
    poll = select.poll()
    poll.register(descriptor, 0)  # hang-ups only: requests are read by the main thread
    poll.poll()
    os._exit(0)


def _sendable(error: BaseException) -> BaseException:
    """Return the error as it is if it survives the journey, else its text."""
    try:
        again = pickle.loads(_dumps(error))
    except Exception:
        return WorkerError(reason(error))
    if not isinstance(error, Exception) or str(again) != str(error):
        return WorkerError(reason(error))
    return error
