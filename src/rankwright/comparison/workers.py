"""Jobs in processes of their own: one that crashes takes nothing with it.

A worker is a Python process that runs :func:`main`. It reads pickled requests from its standard
input and writes replies to its standard output, each preceded by its length. It ends when its input
does, so none outlives the process that started it by more than its current job.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rankwright.comparison.job import Job, Outcome, one_thread, read_outcome, run_job, write_outcome
from rankwright.evaluation.folds import Fold
from rankwright.processes import start_python

if TYPE_CHECKING:
    import subprocess

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
    """A job that failed in its worker."""


class Worker:
    """A process that does one job after another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def run(
        self, job: Job, data: Path, folder: Path, key: str, progress: Callable[[int, float], None]
    ) -> Outcome:
        """Do a job on the fold in the folder ``data``; the result is written to ``folder``."""
        process = self._start()
        try:
            _send(process.stdin, (job, data, folder, key))
            while True:
                kind, content = _receive(process.stdout)
                if kind == "trial":
                    progress(*content)
                elif kind == "failed":
                    raise WorkerError(content)
                else:
                    break
        except (EOFError, BrokenPipeError):
            raise WorkerError(self._ended()) from None
        outcome = read_outcome(folder, key)
        if outcome is None:
            raise WorkerError(f"the result in {folder} cannot be read.")
        return outcome

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            self._closed = True
            process = self._process
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise WorkerError("the comparison was stopped.")
            if self._process is None:
                code = f"from {__name__} import main; main()"
                self._process = start_python(code, _ENVIRONMENT)
            return self._process

    def _ended(self) -> str:
        process, self._process = self._process, None
        if process is None:
            return "its process ended."
        code = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        if code < 0:
            return f"its process was ended by signal {-code} ({signal.Signals(-code).name})."
        return f"its process ended with exit code {code}."


def _send(stream: IO[bytes] | None, message: Any) -> None:
    assert stream is not None
    content = pickle.dumps(message)
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


def main() -> None:
    """Do jobs until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what models print must not get between the replies
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    folds: dict[Path, Fold] = {}
    while True:
        try:
            job, data, folder, key = _receive(requests)
        except EOFError:
            return
        except Exception as error:
            _send(replies, ("failed", f"cannot be sent to another process: {describe(error)}"))
            continue
        try:
            if data not in folds:
                folds[data] = Fold.map(job.fold, data)
            with one_thread():
                outcome = run_job(job, folds[data], lambda *trial: _send(replies, ("trial", trial)))
            write_outcome(outcome, folder, key)
        except BaseException as error:  # reported, whatever it is
            _send(replies, ("failed", describe(error)))
        else:
            _send(replies, ("done", None))


def describe(error: BaseException) -> str:
    """Return what went wrong as one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__
