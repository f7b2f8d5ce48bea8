"""kill -9 of the whole service: the short form of ``make soak SOAK=service``."""

from __future__ import annotations

import pytest

from tests.soak import service


def test_nothing_that_was_acknowledged_is_lost_or_counted_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(service, "KILLS_OF_A_STORE", 10)  # SQLite, then PostgreSQL
    monkeypatch.setattr(service, "REPLAYS", 2)
    report = service.soak(20, seed=0)
    assert not report.failures
    assert report.done.total() == 20
    assert report.facts["events"] > 100
