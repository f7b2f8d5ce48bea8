"""Programs that are built and run in folders of their own, to judge exported source code."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rankwright.exceptions import DataError
from rankwright.exports.targets.target import Rows, Verdicts


def first_line(command: Sequence[str]) -> str | None:
    """Return the first line that a command says; None if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return (done.stdout or done.stderr).decode(errors="replace").partition("\n")[0]


def built(files: Mapping[str, bytes], command: Sequence[str]) -> dict[str, bytes]:
    """Return the files that a command makes of others."""
    with TemporaryDirectory() as folder:
        _write(folder, files)
        _run(folder, command, b"")
        made = [path for path in Path(folder).iterdir() if path.name not in files]
        return {path.name: path.read_bytes() for path in made}


def verdicts_of(
    files: Mapping[str, bytes], command: Sequence[str], X: Rows, n_scores: int, has_labels: bool
) -> Verdicts:
    """Return what a program says of rows.

    It reads them as doubles of this machine, and writes the scores and the place of the label of
    each row, which is 0 if there are no labels.
    """
    rows = np.ascontiguousarray(X, dtype=np.float64)
    with TemporaryDirectory() as folder:
        _write(folder, files)
        said = np.frombuffer(_run(folder, command, rows.tobytes()))
    if len(said) != len(rows) * (n_scores + 1):
        raise DataError(f"{command[0]} scored {len(said) // (n_scores + 1)} of {len(rows)} rows.")
    table = said.reshape(-1, n_scores + 1)
    scores = table[:, 0] if n_scores == 1 else table[:, :-1]
    return Verdicts(scores, table[:, -1].astype(np.int64) if has_labels else None)


def _write(folder: str, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = Path(folder) / name
        path.write_bytes(content)
        path.chmod(0o700)


def _run(folder: str, command: Sequence[str], given: bytes) -> bytes:
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, check=False)
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise DataError(f"{command[0]} failed with {done.returncode}: {said:.300}")
    return done.stdout
