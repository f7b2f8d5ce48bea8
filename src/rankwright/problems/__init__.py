"""Prediction tasks for Predtron: representation, prediction, loss, loss-augmented argmax."""

import typing

from rankwright.packages import shown_by

if typing.TYPE_CHECKING:
    from rankwright.problems.names import *  # noqa: F403
else:
    __getattr__, __dir__ = shown_by("rankwright.problems")
