"""On a terminal: names with square brackets are names, whatever rich takes them for."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.models import make_model

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals to open")

CLOSING, COLOUR = "[/old]", "[red]x"  # the first one would be an error of markup, the second vanish
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)")


def on_a_terminal(*words: str, folder: Path) -> tuple[int, str]:
    """Run a command with all its streams on a terminal; return exit code and what it shows."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rankwright", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        shown, deadline = b"", time.monotonic() + 120
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    block = os.read(ours, 65536)
                except OSError:  # the other side is closed
                    break
                if not block:
                    break
                shown += block
        else:
            process.kill()
        os.close(ours)
    return process.returncode, ESCAPES.sub("", shown.decode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "[" / "old]"  # a path that holds the text "[/old]"
    place.mkdir(parents=True)
    rows = "".join(f"{i % 3},q{i // 5},{i % 3 + 0.1 * (i % 7)},{i % 4}\n" for i in range(60))
    (place / "a.csv").write_text(f"label,qid,{CLOSING},{COLOUR}\n{rows}")
    return tmp_path


def test_info(folder: Path) -> None:
    code, shown = on_a_terminal("info", "[/old]/a.csv", folder=folder)
    assert code == 0, shown
    assert "[/old]/a.csv" in shown


def test_train_and_formula(folder: Path) -> None:
    model = ["--model", "domination-rank", "-p", "n_induced=2"]
    code, shown = on_a_terminal("train", "[/old]/a.csv", *model, "-o", "[/old]/m.rw", folder=folder)
    assert code == 0, shown
    assert "[/old]/m.rw" in shown
    code, shown = on_a_terminal("formula", "[/old]/m.rw", folder=folder)
    assert code == 0, shown
    assert CLOSING in shown
    assert COLOUR in shown


def test_compare(folder: Path) -> None:
    words = ["--models", "best-feature,random", "-o", "[/old]/out", "-j", "1"]
    code, shown = on_a_terminal("compare", "[/old]/a.csv", *words, folder=folder)
    assert code == 0, shown
    assert "[/old]/out" in shown


@pytest.mark.parametrize(
    "words",
    [["info", "[/old]/none.csv"], ["[/x]"], ["train", "a", "--model", "[/x]", "-o", "m.rw"]],
)
def test_errors_are_one_message(words: list[str], folder: Path) -> None:
    code, shown = on_a_terminal(*words, folder=folder)
    assert code == 2, shown
    assert "Traceback" not in shown
    assert "[/" in shown


def test_tables_show_cells_as_they_are(folder: Path) -> None:
    code = (
        "from rankwright.cli.terminal import doing, print_table\n"
        "with doing('Reading [/old]'): pass\n"
        "print_table(['a[/b]', '[bold]c'], [['[/d]', '[red]e[/red]']])\n"
        "print_table(['a[/b]', '[bold]c'], [['[/d]', '[red]e[/red]']], err=True)\n"
    )
    (folder / "show.py").write_text(code)
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "show.py"], stdout=theirs, stderr=theirs, cwd=folder, timeout=60
    )
    os.close(theirs)
    shown = ESCAPES.sub("", os.read(ours, 65536).decode())
    os.close(ours)
    assert done.returncode == 0, shown
    for cell in ("a[/b]", "[bold]c", "[/d]", "[red]e[/red]"):
        assert shown.count(cell) == 2


def test_what_is_missing_most_is_said_first(capsys: Any) -> None:
    from rankwright.cli.terminal import with_missing
    from rankwright.data.columns import Columns

    X = np.where(np.arange(8)[:, None] <= np.arange(7), np.nan, 1.0)
    ds = rw.Dataset(X, np.zeros(8), feature_names=[*"abcdefg"], allow_nan=True)
    with_missing(ds, "a.csv", Columns(), make_model("linear"))
    assert capsys.readouterr().err == (
        "a.csv: g 87.5%, f 75.0%, e 62.5%, d 50.0%, c 37.5% and 2 more missing: their medians "
        "count in linear and online models (--missing).\n"
    )


def test_names_with_commas_and_blanks() -> None:
    from rankwright.cli.columns import _split

    assert _split(["a, b", " c,"]) == ["a", "b", "c"]
