"""Averages of rankers: bags of queries, members on one scale, weights by validation."""

import typing

from rankwright.packages import shown_by

if typing.TYPE_CHECKING:
    from rankwright.ensemble.names import *  # noqa: F403
else:
    __getattr__, __dir__ = shown_by("rankwright.ensemble")
