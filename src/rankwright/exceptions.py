"""What rankwright raises and warns.

::

    ValueError
      DataError          a file or array that cannot be used; knows path, line and field
    UserWarning
      DataWarning        usable, but probably not what was meant
      ConvergenceWarning a solver that stopped before its tolerance was met
"""

from __future__ import annotations

import os

__all__ = ["ConvergenceWarning", "DataError", "DataWarning"]


class DataError(ValueError):
    """Input that cannot be used.

    Parameters
    ----------
    message : str
        What must hold, what came, what to do.
    path : str or path-like, optional
        The file.
    line : int, optional
        The line in the file, from 1.
    field : str, optional
        The part of the line, such as ``"label"`` or ``"feature 12"``.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        self.message = message
        self.path = None if path is None else os.fspath(path)
        self.line = line
        self.field = field
        place = [] if self.path is None else [_printable(self.path)]
        if line is not None:
            place.append(f"line {line}")
        if field is not None:
            place.append(_printable(field))
        text = "\n".join(_printable(row) for row in message.split("\n"))
        super().__init__(f"{', '.join(place)}: {text}" if place else text)


def _printable(text: str) -> str:
    """Write out control characters: names of files and columns may come from strangers.

    Bytes of a name that are not UTF-8 stay what Python makes of them, so that it is still the name.
    """
    return "".join(
        c if c.isprintable() or "\ud800" <= c <= "\udfff" else ascii(c)[1:-1] for c in text
    )


class DataWarning(UserWarning):
    """Input that can be used, but probably is not what was meant."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before its tolerance was met."""
