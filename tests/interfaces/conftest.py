"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from rankwright import cli

Cli: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Run the real ``main()`` in a folder of its own; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*words: Any) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["rankwright", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return call
