"""Names of rankings: 12 hexadecimal digits of the time in milliseconds, then 20 of chance."""

from __future__ import annotations

import os
import re

_FORM = re.compile(r"[0-9a-f]{32}", re.ASCII)
_CHANCE = 10  # bytes of an id that nobody can guess


class RankingIds:
    """A maker of ids. Chance comes in large pieces: asking the system for it takes time."""

    def __init__(self) -> None:
        self._chance = ""
        self._place = 0

    def new(self, now: float) -> str:
        """Return an id for a ranking of this time, in seconds since 1970."""
        begin, end = self._place, self._place + 2 * _CHANCE
        if end > len(self._chance):
            self._chance = os.urandom(256 * _CHANCE).hex()
            begin, end = 0, 2 * _CHANCE
        self._place = end
        return f"{int(now * 1000):012x}{self._chance[begin:end]}"


def time_of_ranking(ranking_id: str) -> float | None:
    """Return when a ranking was made, in seconds since 1970; None if this is no id of one.

    >>> time_of_ranking("0199f0c2c80000000000000000000000")
    1760711002.112
    >>> time_of_ranking("q1") is None
    True
    """
    return int(ranking_id[:12], 16) / 1000 if _FORM.fullmatch(ranking_id) else None
