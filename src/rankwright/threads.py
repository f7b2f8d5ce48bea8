"""How many threads the kernels may use."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import SupportsIndex

_ENVIRONMENT = "RANKWRIGHT_NUM_THREADS"
_MOST = 1024  # of threads that may be asked for; a larger number is a slip


def n_threads(n_jobs: int | None = None) -> int:
    """Return the number of threads to use.

    Parameters
    ----------
    n_jobs : int, optional
        A positive number is taken as it is, though the kernels never start more than four threads
        for each core; ``-1`` is every available core, ``-2`` all but one, and so on. ``None`` is
        the environment variable ``RANKWRIGHT_NUM_THREADS`` or, without it, ``-1``. Available are
        the cores that the process may run on, within the quota of its control group.
    """
    source = "n_jobs"
    if n_jobs is None:
        text = os.environ.get(_ENVIRONMENT, "-1")
        source = _ENVIRONMENT
        try:
            n_jobs = int(text)
        except ValueError:
            n_jobs = 0
    whole = isinstance(n_jobs, SupportsIndex) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs > _MOST:
        raise ValueError(
            f"{source} must be a non-zero integer of at most {_MOST}. Use -1 for all cores."
        )
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, available_cores() + 1 + int(n_jobs))


def available_cores() -> int:
    """Cores that this process may use, by affinity and control-group quota."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota = _own_quota()
    return cores if quota is None else max(1, min(cores, int(quota + 0.5)))


@cache  # for a prediction of one query, reading files would be most of the time
def _own_quota() -> float | None:
    return _group_quota(Path("/sys/fs/cgroup"))


def _group_quota(root: Path) -> float | None:
    """Cores granted by the control group (version 2, then 1), or None without a limit."""
    try:
        quota, period = (root / "cpu.max").read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        try:
            quota = (root / "cpu" / "cpu.cfs_quota_us").read_text(encoding="utf-8").strip()
            period = (root / "cpu" / "cpu.cfs_period_us").read_text(encoding="utf-8").strip()
        except OSError:
            return None
    try:
        cores = float(quota) / float(period)
    except (ValueError, ZeroDivisionError):  # "max"
        return None
    return cores if cores > 0 else None
