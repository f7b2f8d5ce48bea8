"""Names of rankings: 12 hexadecimal digits of the time in milliseconds, then 20 of chance."""

from __future__ import annotations

import os
import re
from collections import deque

_FORM = re.compile(r"[0-9a-f]{32}", re.ASCII)
_DIGITS = 20  # of chance
_chance: deque[str] = deque()  # asked of the system in large pieces; each is taken once


def new_ranking_id(now: float) -> str:
    """Return an id for a ranking of this time, in seconds since 1970; nobody can guess it."""
    try:
        chance = _chance.popleft()
    except IndexError:
        digits = os.urandom(128 * _DIGITS).hex()
        pieces = [digits[i : i + _DIGITS] for i in range(0, len(digits), _DIGITS)]
        chance = pieces.pop()
        _chance.extend(pieces)
    return f"{int(now * 1000):012x}{chance}"


def time_of_ranking(ranking_id: str) -> float | None:
    """Return when a ranking was made, in seconds since 1970; None if this is no id of one.

    >>> time_of_ranking("0199f0c2c80000000000000000000000")
    1760680921.088
    >>> time_of_ranking("q1") is None
    True
    """
    return int(ranking_id[:12], 16) / 1000 if _FORM.fullmatch(ranking_id) else None
