"""The threat table names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_threat_has_a_test_that_is_there() -> None:
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 15
    for row in rows:
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", row)
        assert named, row
        for file, function in named:
            texts = [p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob(file)]
            assert any(f"def {function}(" in text for text in texts), f"{file}::{function}"
