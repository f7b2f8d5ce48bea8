"""One thread for BLAS, beside forks.

OpenBLAS sets the number of its threads under a lock. Were a thread in there while another one
forks, the child would wait for that lock for ever.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_users = 0  # blocks of all threads that want one thread
_limits: Any = None  # what they found
_lock = threading.RLock()  # a signal may come, and its handler fork, while it is held
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


@cache
def _libraries() -> ThreadpoolController:
    """Return the BLAS of numpy and scipy; to look for it takes 2 ms, as long as a small fit."""
    import scipy.linalg  # noqa: F401  # what is loaded later would not be found

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS have one thread inside; no fork happens while the number changes.

    The number is one for all threads of the process: the first block changes it, the last one to
    end restores it. Sums in one block must not change because another one ended.
    """
    global _users, _limits
    with _lock:
        if _users == 0:
            _limits = _libraries().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limits.restore_original_limits()
