"""Memory that is given back to the system: pages of mapped files, and what was freed.

A part is mapped from a file. What of it was read stays in the memory of the process as long as
nobody else wants the room, and counts as its memory: whoever watches over that, such as Dask, ends
processes for it. To give pages back costs little: they are found again in the system's cache.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from pathlib import Path
from typing import Any

from rankwright.data.dataset import Dataset

MOST = 250_000_000
"""Bytes of mapped files that a process keeps between two parts, those of its libraries included."""

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


def give_back() -> bool:
    """Give the pages of all parts back if there are many; return whether there were."""
    if not _maps or mapped() <= MOST:
        return False
    for known in list(_maps):
        known.madvise(mmap.MADV_DONTNEED)  # read only: what is needed is read again
    return True


def give_freed_back() -> None:
    """Give back what was freed; glibc keeps it otherwise, for the next who asks."""
    found = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if found is not None:
        found(0)


def mapped() -> int:
    """Return the bytes of files that are in the memory of this process."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[2])
    except (OSError, ValueError, IndexError):  # no Linux
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
