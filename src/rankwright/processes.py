"""How processes are started: those of Python run nothing which only lies in the current folder.

``python -c`` and empty entries of ``PYTHONPATH`` would make a ``numpy.py`` beside downloaded data
part of the program.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


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
