"""The service as a process of its own, as it is started from a shell."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

_PATIENCE = 120.0  # seconds: a machine may be busy


class ServiceProcess:
    """``rankwright serve`` with some arguments; ``url`` is where it listens."""

    def __init__(self, arguments: Sequence[str], folder: Path, **environment: str) -> None:
        self._output: list[str] = []
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rankwright", "serve", *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._ready.wait(_PATIENCE)
        found = re.search(r"http://\S+", self.output)
        if found is None:
            self.kill()
            raise RuntimeError(f"the service did not start: {self.output}")
        self.url = found[0]

    @property
    def output(self) -> str:
        """All that it has printed."""
        return "".join(self._output)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._output.append(line)
            if "http://" in line:
                self._ready.set()
        self._ready.set()

    def stop(self) -> int:
        """End it as a supervisor of services would; return its status."""
        self.process.terminate()
        return self._end()

    def kill(self) -> int:
        """End it at once."""
        self.process.kill()
        return self._end()

    def _end(self) -> int:
        status = self.process.wait(_PATIENCE)
        self._reader.join(10)
        if self.process.stdout is not None and not self._reader.is_alive():
            self.process.stdout.close()
        return status


@contextlib.contextmanager
def running(arguments: Sequence[str], folder: Path, **environment: str) -> Iterator[ServiceProcess]:
    """Give a service that runs, and end it."""
    service = ServiceProcess(arguments, folder, **environment)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()
        else:
            service.kill()
