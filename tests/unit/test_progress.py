"""Bars and lines: on a terminal, in a notebook, and where there is neither."""

from __future__ import annotations

import math
import sys
import types
from typing import Any

import pytest

from rankwright import progress
from rankwright.progress import Bar, display


@pytest.fixture
def every_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(progress, "_BETWEEN_PICTURES", 0.0)


def work() -> None:
    with display() as show:
        bar = show.bar("fits", total=4)
        quiet = show.bar("hidden", total=2, quiet=True)
        bar.update("one", done=1)
        quiet.update("nobody needs a line of it", advance=1)
        show.line("a: [/x] 0.5")
        bar.update("all", advance=3)


@pytest.mark.usefixtures("every_update")
def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    work()
    assert capsys.readouterr().err.splitlines() == ["fits: one", "a: [/x] 0.5", "fits: all"]


def test_a_log_is_not_flooded(capsys: pytest.CaptureFixture[str]) -> None:
    work()
    assert capsys.readouterr().err.splitlines() == ["a: [/x] 0.5"]


def test_bars_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    work()
    shown = capsys.readouterr().err
    for text in ("fits", "4/4", "hidden", "1/2", "all", "a: [/x] 0.5"):
        assert text in shown


def test_bytes_are_shown_as_such(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with display("bytes") as show:
        show.bar("[/a].zip", total=4e6).update(done=2e6)
    assert "[/a].zip" in (shown := capsys.readouterr().err)
    assert "2.0/4.0 MB" in shown


def test_nothing_where_standard_error_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    work()


class Notebook:
    """What IPython shows."""

    def __init__(self) -> None:
        self.pictures: list[str] = []

    def display(self, what: Any, *, display_id: bool) -> Notebook:
        assert display_id
        self.update(what)
        return self

    def update(self, what: Any) -> None:
        bundle = what._repr_mimebundle_()
        assert list(bundle) == ["text/plain"]
        self.pictures.append(bundle["text/plain"])


def install(monkeypatch: pytest.MonkeyPatch, **names: Any) -> None:
    module = types.ModuleType("IPython")
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, "IPython", module)


@pytest.mark.usefixtures("every_update")
def test_text_in_a_notebook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = Notebook()
    shell = types.SimpleNamespace(kernel=object())
    install(monkeypatch, get_ipython=lambda: shell, display=notebook)
    work()
    last = notebook.pictures[-1].splitlines()
    assert last[0] == "a: [/x] 0.5"
    assert last[1].startswith("fits [########################] 100%")
    assert last[1].endswith("all")
    assert last[2].startswith("hidden [############............]  50%")
    assert capsys.readouterr() == ("", "")


def test_ipython_on_a_terminal_is_no_notebook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, get_ipython=types.SimpleNamespace)
    work()
    assert capsys.readouterr().err == "a: [/x] 0.5\n"


def test_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("rankwright.progress.time.monotonic", lambda: now)
    bar = Bar("x", 10, lambda bar: None)
    assert math.isnan(bar.seconds_left)
    now = 106.0
    bar.update(done=4)
    assert bar.seconds_left == 6.0 * (10 - 4) / 4
    bar.restart(5)
    assert (bar.done, bar.total) == (0, 5)
    assert math.isnan(bar.seconds_left)
