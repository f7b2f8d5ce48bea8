"""A PostgreSQL server of our own: an unprivileged one, in a temporary folder, on a socket only."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rankwright.exports.targets.databases import _postgres_programs

_PATIENCE = 60.0  # seconds


def find_postgresql() -> Path | None:
    """Return the folder of the server's programs; None if there is no server."""
    return _postgres_programs()


def _short_folder() -> str:
    """Return a folder with a short path, as sockets need; in memory where there is enough."""
    memory = "/dev/shm"
    there = os.path.isdir(memory) and os.access(memory, os.W_OK)
    return memory if there and shutil.disk_usage(memory).free > 2 << 30 else "/tmp"


class PostgreSQLServer:
    """A server that can be stopped, killed and started again.

    Durable as it comes: tests are about that. Everyone who reaches the socket may connect.
    """

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self.user = "nobody" if os.geteuid() == 0 else None  # the server refuses root
        self.folder = tempfile.mkdtemp(prefix="pg", dir=_short_folder())
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._run(
            "initdb", "-D", f"{self.folder}/data", "--locale=C", "--encoding=UTF8", "--no-sync",
            "--username=tester", "--auth=trust",
        )  # fmt: skip
        self.start()

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            encoding="utf-8",
            user=self.user,
            cwd=self.folder,
            timeout=_PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *settings: str, under: Sequence[str] = ()) -> None:
        """Start it, under another program if there is one, and wait until it answers."""
        # Not its own group: a tester that ends takes the server along.
        with open(f"{self.folder}/log", "ab") as log:
            self._process = subprocess.Popen(
                [
                    *under, self._programs / "postgres",
                    "-D", f"{self.folder}/data", "-k", self.folder,
                    "-c", "listen_addresses=", "-c", "shared_buffers=32MB",
                    "-c", "max_connections=200", *(f"-c{setting}" for setting in settings),
                ],
                stdout=log,
                stderr=log,
                user=self.user,
                cwd=self.folder,
            )  # fmt: skip
        end = time.monotonic() + _PATIENCE
        while not self._answers():
            assert self._process.poll() is None, Path(f"{self.folder}/log").read_text()
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.05)

    def _answers(self) -> bool:
        from sqlalchemy import create_engine
        from sqlalchemy.exc import SQLAlchemyError
        from sqlalchemy.pool import NullPool

        address = "postgresql+pg8000://tester@/postgres"
        socket = f"{self.folder}/.s.PGSQL.5432"
        engine = create_engine(
            address, connect_args={"unix_sock": socket, "timeout": 5}, poolclass=NullPool
        )
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql("SELECT 1")
        except (SQLAlchemyError, OSError):
            return False
        return True

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements, each in a transaction of its own."""
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        engine = create_engine(
            f"postgresql+pg8000://tester@/{database}",
            connect_args={"unix_sock": f"{self.folder}/.s.PGSQL.5432"},
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
        )
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def new_url(self) -> str:
        """Make a database, and return where it is."""
        name = f"ranking{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return f"postgresql://tester@/{name}?host={self.folder}"

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT is its fast way, SIGQUIT as if the power went."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_PATIENCE)
            self._process = None

    def close(self) -> None:
        """Stop it, and remove everything."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)
