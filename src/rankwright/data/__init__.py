"""Data sets: reading, writing, splitting, examining, generating, corrupting, fetching."""

import typing

from rankwright.packages import shown_by

if typing.TYPE_CHECKING:
    from rankwright.data.names import *  # noqa: F403
else:
    __getattr__, __dir__ = shown_by("rankwright.data")
