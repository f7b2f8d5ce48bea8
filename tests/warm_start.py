"""The command line without the second that its imports take: for pages with many commands.

A server imports them once. The command ``rankwright`` hands its arguments, folder, environment and
streams to the server, which forks a process that is the command.

The trees are not imported before: they see a fork and would say so.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

_CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(asked).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(asked)
    sys.exit(int(server.recv(16)))
"""


@contextmanager
def warm_command() -> Iterator[Path]:
    """Give the folder of a command ``rankwright`` that works inside."""
    with TemporaryDirectory() as folder:  # its path is short, as that of a socket must be
        address, script = f"{folder}/socket", Path(folder) / "rankwright"
        script.write_text(_CLIENT.format(python=sys.executable, address=address), encoding="utf-8")
        script.chmod(0o755)
        server = subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            server.stdout.readline()  # it listens
            yield Path(folder)
        finally:
            server.terminate()
            server.communicate()


_IMPORTED = (
    "pyarrow.csv polars rich.table rankwright.cli rankwright.comparison rankwright.persistence"
)


def _serve(address: str) -> None:
    for name in _IMPORTED.split():
        with suppress(ImportError):
            import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait for commands
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b"listening\n")
        while True:
            client, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                client.sendall(str(_run(client)).encode())
                os._exit(0)
            client.close()


def _run(client: socket.socket) -> int:
    """Be the parent of one command; return its exit code."""
    size, streams, *_ = socket.recv_fds(client, 4, 3)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += client.recv(1 << 16)
    child = os.fork()
    if child:
        for stream in streams:
            os.close(stream)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    arguments, folder, environment = json.loads(asked)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    client.close()
    # What was known of the server's streams does not hold for these.
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["rankwright", *arguments]
    code = 1
    try:
        from rankwright.cli import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
