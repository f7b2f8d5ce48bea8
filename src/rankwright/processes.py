"""How processes are started, and how those of Python are spoken to.

They run nothing which only lies in the current folder: ``python -c`` and empty entries of
``PYTHONPATH`` would make a ``numpy.py`` beside downloaded data part of the program.

A worker reads pickled messages from its standard input and writes others to its standard output,
each preceded by its length. It ends as soon as its input does: none outlives the process that
started it.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

Process: TypeAlias = subprocess.Popen[bytes]

LENGTH = struct.Struct("<Q")
"""What precedes a message."""


class WorkerError(RuntimeError):
    """A call that took its process with it, or whose error cannot be sent."""


def reason(error: BaseException) -> str:
    """Return what went wrong as one line."""
    if isinstance(error, WorkerError):
        return str(error)
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__


def start_python(code: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that runs Python code, with pipes as its standard input and output.

    What can be imported here can be imported there; it is as isolated from its environment as this
    process is. Ctrl-C is for this process alone: SIGINT is blocked in the other from its first
    instruction, and whoever started it must end it.

    Parameters
    ----------
    code : str
        What it runs.
    environment : mapping
        Variables of the environment to change.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # a child inherits it
    try:
        return subprocess.Popen(
            [sys.executable, *_flags(), "-c", f"import sys; sys.path[:] = {_paths()!r}; {code}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": _absolute_python_path(), **environment},
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_module(
    module: str, arguments: Sequence[str], descriptors: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Start a process that runs a module as a program, in a session of its own.

    It finds modules as one of :func:`start_python` does. Ctrl-C is for this process alone, which
    must end the other.

    Parameters
    ----------
    module : str
        Its name; it is the first argument that is seen from outside.
    arguments : sequence of str
        What the program is told.
    descriptors : sequence of int
        Open files that it has too.
    """
    code = 'import runpy; runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)'
    paths = f"import sys; sys.path[:] = {_paths()!r}; "
    return subprocess.Popen(
        [sys.executable, *_flags(), "-c", paths + code, module, *arguments],
        stdin=subprocess.DEVNULL,
        pass_fds=tuple(descriptors),
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": _absolute_python_path()},
    )


@dataclass(frozen=True)
class Ended:
    """A program that came to its end.

    Attributes
    ----------
    code : int
        Its exit code; 0 if all went well.
    out, errors : bytes
        What it wrote to its standard output, and to its standard error.
    """

    code: int
    out: bytes
    errors: bytes

    @property
    def said(self) -> str:
        """What it wrote to its standard error, as text."""
        return self.errors.decode(errors="replace")


def run_program(
    command: Sequence[str],
    *,
    folder: str | None = None,
    given: bytes = b"",
    user: str | None = None,
) -> Ended:
    """Run another program to its end; an OSError if there is none of this name.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments; no shell reads them.
    folder : str, optional
        Where it runs.
    given : bytes
        Its standard input.
    user : str, optional
        Who runs it, with nothing of this process's environment.
    """
    more: dict[str, Any] = {}
    if user is not None:
        more = {"user": user, "env": {"PATH": os.defpath, "HOME": folder or os.sep}}
    done = subprocess.run(
        command, cwd=folder, input=given, capture_output=True, check=False, **more
    )
    return Ended(done.returncode, done.stdout, done.stderr)


# ---- messages ----


def pickled(value: Any) -> bytes:
    """Return a value as bytes, with whatever of its code another process could not import."""
    import cloudpickle

    content: bytes = cloudpickle.dumps(value)
    return content


def send(stream: IO[bytes] | None, content: bytes) -> None:
    """Send a message that is packed."""
    assert stream is not None
    stream.write(LENGTH.pack(len(content)) + content)
    stream.flush()


def receive(stream: IO[bytes] | None) -> Any:
    """Wait for a message; EOFError if there will be none."""
    assert stream is not None
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(head)
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return pickle.loads(content)


def sendable(error: BaseException) -> BaseException:
    """Return the error as it is if it survives the journey, else its text."""
    try:
        again = pickle.loads(pickled(error))
    except Exception:
        return WorkerError(reason(error))
    if not isinstance(error, Exception) or str(again) != str(error):
        return WorkerError(reason(error))
    return error


def waited_for(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a process that ends, and close its pipes."""
    code = process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    return code


def how_it_ended(process: subprocess.Popen[bytes]) -> str:
    """Wait for the end of a process, and tell how it ended."""
    code = waited_for(process)
    if code < 0:
        return f"its process was ended by signal {-code} ({_signal_name(-code)})."
    return f"its process ended with exit code {code}."


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "without a name"


# ---- the worker's side ----


def begin_to_serve() -> tuple[IO[bytes], IO[bytes]]:
    """Make this process a worker; return where messages come from, and where answers go."""
    # Ctrl-C is for the process that started us, which blocked it here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what models print must not get between the replies
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=_end_with_input, args=(requests.fileno(),), daemon=True).start()
    return requests, replies


def _end_with_input(descriptor: int) -> None:
    """End the process when the other end of its input is closed, also in the middle of a call."""
    poll = select.poll()
    poll.register(descriptor, 0)  # hang-ups only: requests are read by the main thread
    poll.poll()
    os._exit(0)


# ---- what a process of Python finds ----


def _flags() -> list[str]:
    """Return the flags that keep a process apart: ours, and those of this process."""
    if sys.flags.isolated:
        return ["-I"]
    inherited = {"-E": sys.flags.ignore_environment, "-s": sys.flags.no_user_site}
    return ["-P", *(flag for flag, is_set in inherited.items() if is_set)]


def _paths() -> list[str]:
    """Return where modules are looked for.

    What hangs on the current folder comes last: it may add modules, such as one's own beside a
    notebook, and replace none.
    """
    texts = [path for path in sys.path if isinstance(path, str)]
    paths = [path for path in texts if os.path.isabs(path)]
    with suppress(FileNotFoundError):  # the current folder is gone
        paths += [os.path.abspath(path) for path in texts if not os.path.isabs(path)]
    return paths


def _absolute_python_path() -> str:
    """Return ``PYTHONPATH``, which start-up reads before any code runs, without such entries."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(path for path in given if os.path.isabs(path))
