"""What is not exported, and why."""

from __future__ import annotations

from rankwright.exceptions import DataError


class Refusal(DataError):  # noqa: N818 - it is no fault
    """A model, or data, that an engine would get wrong.

    Parameters
    ----------
    code : str
        What it is called in ``allow``, if it may be allowed.
    reason : str
        What would be wrong.
    remedy : str
        What to do.
    judgement : bool, default False
        Whether it is a matter of judgement: then it may be allowed, and the certificate says so.
    """

    def __init__(self, code: str, reason: str, remedy: str, *, judgement: bool = False) -> None:
        self.code, self.reason, self.remedy, self.judgement = code, reason, remedy, judgement
        way = f", or allow it: --allow {code}" if judgement else ""
        super().__init__(f"{reason}. What to do: {remedy}{way}.")
