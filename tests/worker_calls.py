"""What tests let workers do: a process that is given one of these imports nothing else of them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.comparison.workers import tell
from rankwright.evaluation import Fold
from rankwright.threads import n_threads


def where(number: int = 0) -> tuple[int, int]:
    return os.getpid(), number


def fail(how: str) -> None:
    if how == "value":
        raise ValueError("two\nlines")
    if how == "end of file":
        raise EOFError("of a model")
    if how == "own":
        raise OwnError("a", "b")
    if how == "exit":
        sys.exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "leave":
        os._exit(7)


class OwnError(Exception):
    def __init__(self, a: str, b: str) -> None:
        super().__init__(a + b)


def say(number: int) -> int:
    tell(("begun", number))
    print("models may print")  # noqa: T201
    return number


def threads() -> dict[str, Any]:
    from threadpoolctl import threadpool_info

    return {
        "rankwright": n_threads(None),
        "others": max((pool["num_threads"] for pool in threadpool_info()), default=1),
    }


def total(data: Any) -> tuple[str, float, int]:
    part = data.train if isinstance(data, Fold) else data
    writable = int(part.X.flags.writeable) if isinstance(part.X, np.ndarray) else 0
    return type(data).__name__, float(part.X.sum()), writable


def unsendable() -> Any:
    return threading.Lock()


def meet(folder: str, name: str, other: str) -> None:
    """Wait for another call, which waits for this one."""
    (Path(folder) / name).touch()
    deadline = time.monotonic() + 60
    while not (Path(folder) / other).exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} is alone")
        time.sleep(0.01)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def hold(folder: str, talks: bool) -> None:
    """Say who this is, and stay for a while, talking or in silence."""
    (Path(folder) / str(os.getpid())).touch()
    for _ in range(12_000):
        if talks:
            tell("still here")
        time.sleep(0.01)
