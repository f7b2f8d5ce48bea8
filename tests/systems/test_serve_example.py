"""The example of the service: it learns, is killed, goes on, and proves what it learned."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_loss_stays_below_the_bound_and_replay_has_the_same_bits(
    capfd: pytest.CaptureFixture[str],
) -> None:
    runpy.run_path(str(EXAMPLES / "serve.py"), run_name="__main__")
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "rounds  cumulative loss  bound  version"
    rows = [line.split() for line in lines[1:] if line[:6].strip().isdigit()]
    rounds = [int(row[0]) for row in rows]
    assert rounds == [50, 100, 150, 200, 250, 300]
    losses, bounds = ([float(row[i]) for row in rows] for i in (1, 2))
    assert all(loss <= bound for loss, bound in zip(losses, bounds, strict=True))
    assert losses == sorted(losses)
    assert losses[-1] - losses[2] < losses[2]  # the second half costs less than the first
    assert rows[-1][3] == "1+300"
    assert "killed; started again" in lines
    assert lines[-1] == "the same bits: 300 events, version 1+300"
