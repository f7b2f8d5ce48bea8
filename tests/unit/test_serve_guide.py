"""The guide to the service says what its code says."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer.main

from rankwright.serve.settings import Limits

PAGE = (Path(__file__).parents[2] / "docs/guide/serve.md").read_text(encoding="utf-8")


def shown_limit(name: str, value: float) -> str:
    """Return a limit as the table has it."""
    if name in ("body", "waiting"):
        return f"{int(value) >> 20} MB"
    units = {"text": " characters", "seconds": " s"}
    return "none" if value == 0 else f"{value:,g}{units.get(name, '')}"


def test_the_table_of_limits_has_all_of_them_with_their_defaults() -> None:
    table = PAGE.partition("<!-- limits: begin -->")[2].partition("<!-- limits: end -->")[0]
    lines = [line.split("|") for line in table.strip().splitlines()[2:]]
    rows = [(cells[1].strip(" `"), cells[2].strip(), cells[3].strip()) for cells in lines]
    assert [(name, default) for name, default, _ in rows] == [
        (one.name, shown_limit(one.name, getattr(Limits(), one.name))) for one in fields(Limits)
    ]
    for name, _, option in rows:
        assert option == ("" if name in ("text", "waiting") else f"`--max-{name}`")


def test_the_command_line_has_the_defaults_of_the_settings() -> None:
    from rankwright.cli import app

    group: Any = typer.main.get_command(app)
    options = {one.name: one.default for one in group.commands["serve"].params}
    limits = Limits()
    assert options["max_body"] << 20 == limits.body
    for name in ("documents", "queries", "seconds", "rate", "connections"):
        assert options[f"max_{name}"] == getattr(limits, name), name


def test_every_route_is_in_the_table_and_no_other() -> None:
    from rankwright.serve.http import (
        experiments_api,
        feedback_api,
        health_api,
        models_api,
        rank_api,
    )

    modules = (experiments_api, feedback_api, health_api, models_api, rank_api)
    stub: Any = None
    known = {route.path for module in modules for route in module.routes(stub)}
    named = set(re.findall(r"(?:GET|POST)?`?,? ?`?(/(?:v1/[\w/]+|healthz|readyz|metrics))", PAGE))
    named = {re.sub(r"/models/\d+$", "/models/{model}", path) for path in named}
    assert known <= named
    assert named - known <= {"/metrics"}
