"""Boosted trees: LightGBM grows them, our losses say where to."""

import typing

from rankwright.packages import shown_by

if typing.TYPE_CHECKING:
    from rankwright.trees.names import *  # noqa: F403
else:
    __getattr__, __dir__ = shown_by("rankwright.trees")
