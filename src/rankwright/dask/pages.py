"""Pages of mapped files, given back before a worker is ended for them.

A part is mapped from a file. What of it was read stays in the memory of the process as long as
nobody else wants the room, and counts as memory of the worker: Dask ends workers at 95 % of their
limit. To give pages back costs nothing but that they are found again, in the system's cache.
"""

from __future__ import annotations

import mmap
import os
import weakref
from pathlib import Path
from typing import Any

from rankwright.data.dataset import Dataset

_MOST = 0.4  # of a worker's limit; Dask moves values to the disk from 60 % on
_maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def know(part: Dataset) -> Dataset:
    """Remember what a part is mapped from, and return it."""
    X = part.X
    for array in (X.data, X.indices) if part.is_sparse else (X,):
        found: Any = array
        while found is not None and not isinstance(found, mmap.mmap):
            found = getattr(found, "base", None)
        if found is not None:
            _maps.add(found)
    return part


def give_back(limit: float | None) -> bool:
    """Give the pages of all parts back if a process is near its limit; return whether it was."""
    if not limit or resident() <= _MOST * limit:
        return False
    for mapped in list(_maps):
        mapped.madvise(mmap.MADV_DONTNEED)  # read only: what is needed is read again
    return True


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):  # no Linux
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def own_limit() -> float | None:
    """Return the memory that the worker around us may have; None without a limit."""
    from distributed import get_worker

    try:
        limit: float | None = get_worker().memory_manager.memory_limit
    except ValueError:  # no worker
        return None
    return limit
