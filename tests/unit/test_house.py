"""The house: every room has its layer, and the page on design shows them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def layers() -> list[str]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    found: list[str] = next(c["layers"] for c in contracts if c["type"] == "layers")
    return found


def test_every_room_has_its_layer() -> None:
    assert not [layer for layer in layers() if "(" in layer]  # which would be optional
    named = {name for layer in layers() for name in re.findall(r"rankwright\.(\w+)", layer)}
    there = {path.stem for path in (ROOT / "src/rankwright").glob("*.py")}
    there |= {path.parent.name for path in (ROOT / "src/rankwright").glob("*/__init__.py")}
    assert named == there - {"__init__", "__main__"}


def test_the_page_on_design_shows_the_layers() -> None:
    page = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?`) \|", page, flags=re.MULTILINE)
    shown = [row.replace("`", "").replace(", ", " | ") for row in rows]
    assert shown == [layer.replace("rankwright.", "") for layer in layers()]
