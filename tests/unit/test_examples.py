"""The examples run, and say what their pages say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def table(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, list[float]]:
    """Run an example; return its rows, numbers only."""
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    lines = capsys.readouterr().out.replace("%", "").splitlines()[1:]
    n = {"spam": 4, "stars": 3, "tags": 3}[name]
    rows = [line.split() for line in lines]
    return {" ".join(row[:-n]): [float(word) for word in row[-n:]] for row in rows}


def test_spam_costs_less_with_costs_and_even_less_if_one_may_ask(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = table("spam", capsys)
    per_mail = [row[-1] for row in rows.values()]
    assert per_mail == sorted(per_mail, reverse=True)
    assert rows["costs, may ask"][2] > 5  # per cent are asked


def test_stars_that_pay_for_distance_are_less_often_far_off(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = table("stars", capsys)
    assert rows["pays for distance"][1] <= rows["counts mistakes"][1]


def test_tags_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table("tags", capsys)
    assert min(row[0] for row in rows.values()) > 95
