"""Programs that are built and run in folders of their own, to judge exported source code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rankwright.exceptions import DataError
from rankwright.exports.rules import Rules
from rankwright.exports.targets.tables import Tables
from rankwright.exports.targets.target import Engine, Rows, Verdicts
from rankwright.processes import run_program


def first_line(command: Sequence[str]) -> str | None:
    """Return the first line that a command says; None if it cannot be run."""
    try:
        done = run_program(command)
    except OSError:
        return None
    if done.code != 0:
        return None
    return (done.out.decode(errors="replace") or done.said).partition("\n")[0]


def built(files: Mapping[str, bytes], command: Sequence[str]) -> dict[str, bytes]:
    """Return the files that a command makes of others."""
    with TemporaryDirectory() as folder:
        _write(folder, files)
        _run(folder, command, b"")
        made = [path for path in Path(folder).iterdir() if path.name not in files]
        return {path.name: path.read_bytes() for path in made}


def scoring_program(template: str, name: str, tables: Tables, rules: Rules) -> bytes:
    """Return a program that scores rows with exported code.

    ``LABEL{...}`` of the template is 0 if there are no labels, and ``, K`` which of the scores is
    asked for, if there are several.
    """
    n_scores = len(tables.get("bias", [0]))
    text = re.sub(r"LABEL\{(.*?)\}", "0" if rules.labels is None else r"\1", template)
    text = text.replace(", K)", ", k)" if n_scores > 1 else ")")
    text = text.replace("HAS_FILL", str(int("fill" in tables)))
    text = text.replace("N_SCORES", str(n_scores)).replace("N_FEATURES", str(rules.n_features))
    return text.replace("NAME", name).encode()


def engine_of(
    version: str,
    files: Mapping[str, bytes],
    build: Sequence[str],
    run: Sequence[str],
    tables: Tables,
    rules: Rules,
) -> Engine:
    """Return the engine that is made of files and run on rows."""
    program, n_scores = built(files, build), len(tables.get("bias", [0]))
    return Engine(
        version, lambda X: verdicts_of(program, run, X, n_scores, rules.labels is not None)
    )


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
    done = run_program(command, folder=folder, given=given)
    if done.code != 0:
        raise DataError(f"{command[0]} failed with {done.code}: {' '.join(done.said.split()):.300}")
    return done.out
