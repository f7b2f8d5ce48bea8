"""The name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(name: object, known: Iterable[str]) -> str:
    """Return the end of a message about a name that is not known: the nearest that is.

    Examples
    --------
    >>> meant("ndgc", ["ndcg", "ap", "rr"])
    " Did you mean 'ndcg'?"
    >>> meant("x", ["ndcg", "ap", "rr"])
    ''
    """
    by_lower = {text.lower(): text for text in known}
    near = get_close_matches(str(name).lower()[:100], by_lower, 1)
    return f" Did you mean {by_lower[near[0]]!r}?" if near else ""
