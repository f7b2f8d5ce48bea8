"""Names of rankings: 12 hexadecimal digits of the time in milliseconds, then 20 of chance."""

from __future__ import annotations

import os
import re

_FORM = re.compile(r"[0-9a-f]{32}", re.ASCII)


def new_ranking_id(now: float) -> str:
    """Return an id for a ranking of this time, in seconds since 1970; nobody can guess it."""
    return f"{int(now * 1000):012x}{os.urandom(10).hex()}"


def time_of_ranking(ranking_id: str) -> float | None:
    """Return when a ranking was made, in seconds since 1970; None if this is no id of one.

    >>> time_of_ranking("0199f0c2c80000000000000000000000")
    1760680921.088
    >>> time_of_ranking("q1") is None
    True
    """
    return int(ranking_id[:12], 16) / 1000 if _FORM.fullmatch(ranking_id) else None
