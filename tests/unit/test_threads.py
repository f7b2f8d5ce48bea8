"""How many threads there are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwright import threads
from rankwright.metrics import NDCG
from rankwright.threads import _group_quota, available_cores, n_threads


@pytest.fixture(autouse=True)
def _no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKWRIGHT_NUM_THREADS", raising=False)


def pretend_cores(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(threads, "available_cores", lambda: cores)


def test_a_positive_number_is_taken_as_it_is() -> None:
    assert [n_threads(n) for n in (1, 3, 64, 1024)] == [1, 3, 64, 1024]
    assert n_threads(int(np.int64(2))) == 2
    from_numpy: Any = np.int64(2)
    assert type(n_threads(from_numpy)) is int


def test_negative_numbers_count_from_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_cores(monkeypatch, 8)
    assert [n_threads(n) for n in (-1, -2, -8, -9, -100)] == [8, 7, 1, 1, 1]
    assert n_threads() == n_threads(None) == 8


def test_the_environment_decides_where_the_caller_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_cores(monkeypatch, 8)
    monkeypatch.setenv("RANKWRIGHT_NUM_THREADS", "3")
    assert n_threads() == 3
    assert n_threads(5) == 5
    monkeypatch.setenv("RANKWRIGHT_NUM_THREADS", "-2")
    assert n_threads() == 7


@pytest.mark.parametrize("n_jobs", [0, True, False, 1.5, 2.0, "2", 1025, 10**12])
def test_other_numbers_are_refused(n_jobs: Any) -> None:
    message = r"^n_jobs must be a non-zero integer of at most 1024\. Use -1 for all cores\.$"
    with pytest.raises(ValueError, match=message):
        n_threads(n_jobs)
    with pytest.raises(ValueError, match=message):
        NDCG().per_query([1.0], [1.0], n_jobs=n_jobs)


@pytest.mark.parametrize("text", ["0", "", "two", "1.5", "99999999999"])
def test_a_wrong_environment_is_named(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWRIGHT_NUM_THREADS", text)
    with pytest.raises(ValueError, match=r"^RANKWRIGHT_NUM_THREADS must be a non-zero integer of"):
        n_threads()


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("200000 100000\n", 2.0),
        ("50000 100000\n", 0.5),
        ("max 100000\n", None),
        ("100000 0\n", None),
    ],
)
def test_quota_of_control_groups_version_2(text: str, cores: float | None, tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert _group_quota(tmp_path) == cores


@pytest.mark.parametrize(
    ("quota", "period", "cores"),
    [
        ("150000\n", "100000\n", 1.5),
        ("-1\n", "100000\n", None),
        ("0\n", "100000\n", None),
        ("junk\n", "100000\n", None),
    ],
)
def test_quota_of_control_groups_version_1(
    quota: str, period: str, cores: float | None, tmp_path: Path
) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text(period)
    assert _group_quota(tmp_path) == cores


def test_version_2_goes_first(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("100000")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert _group_quota(tmp_path) == 1.0
    (tmp_path / "cpu.max").write_text("300000 100000")
    assert _group_quota(tmp_path) == 3.0


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert _group_quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text("")
    assert _group_quota(tmp_path) is None


@pytest.mark.parametrize(
    ("quota", "expected"), [(None, 4), (9.0, 4), (2.0, 2), (1.5, 2), (1.4, 1), (0.1, 1)]
)
def test_the_quota_limits_the_cores(
    quota: float | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    monkeypatch.setattr(threads, "_own_quota", lambda: quota)
    assert available_cores() == expected


def test_systems_without_affinity_count_their_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(threads, "_own_quota", lambda: None)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert available_cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == 1
