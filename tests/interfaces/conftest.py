"""What the tests of the command line share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from typer.testing import CliRunner

from rankwright import cli

Cli: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Run the real ``main()`` in a folder of its own; return exit code, output and errors.

    Commands start processes only where a test asks for them (``-j 2``): their imports take seconds.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKWRIGHT_NUM_THREADS", "1")

    def call(*words: Any) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["rankwright", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = map(unescaped, capsys.readouterr())
        return int(end.value.code or 0), out, err

    return call


def unescaped(text: str) -> str:
    """Return a text with names that are no text as Python has them, not as they are shown."""
    return re.sub(r"\\udc([89a-f][0-9a-f])", lambda byte: chr(0xDC00 + int(byte[1], 16)), text)


class Runner(CliRunner):
    """Typer's, with streams as ``main()`` makes them."""

    @contextmanager
    def isolation(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        """Stand in for the streams of the process."""
        with super().isolation(*arguments, **options) as streams:
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
            yield streams
