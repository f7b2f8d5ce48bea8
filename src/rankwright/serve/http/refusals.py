"""A request that is refused: its status and one line, made where it is found out."""

from __future__ import annotations


class RefusedError(Exception):
    """A request that cannot be served as it is.

    Attributes
    ----------
    status : int
        4xx, or 503.
    text : str
        One line: what must hold, what came, what to do.
    field : str, optional
        What it is about, as the caller wrote it: ``"documents[3].features"``.
    retry_after : int, optional
        Seconds after which it is worth to try again.
    """

    def __init__(
        self, status: int, text: str, field: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = " ".join(text.split())
        self.field = field
        self.retry_after = retry_after


Refusal = RefusedError
