"""What ids and numbers of documents must be, in every body."""

from __future__ import annotations

from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.settings import Limits


def check_query(query: str, limits: Limits) -> None:
    """Raise unless this can be the id of a query."""
    check_name("query", query, limits)


def check_name(field: str, name: str, limits: Limits) -> None:
    """Raise unless this can be an id of an event, or a name of something."""
    if not 0 < len(name) <= limits.text or "\0" in name:
        raise _no_id(field, name, limits)


def check_ids(ids: list[str], limits: Limits) -> None:
    """Raise unless these can be the ids of a query's documents."""
    check_count_of(len(ids), limits)
    together, different = "".join(ids), set(ids)
    if len(together) > limits.text or "\0" in together or "" in different:
        for place, name in enumerate(ids):
            if not 0 < len(name) <= limits.text or "\0" in name:
                raise _no_id(f"documents[{place}].id", name, limits)
    if len(different) < len(ids):
        seen: dict[str, int] = {}
        for place, name in enumerate(ids):
            if seen.setdefault(name, place) != place:
                raise RefusedError(
                    422,
                    f"ids of documents must differ, but {seen[name]} and {place} are "
                    f"{name!r:.100}.",
                    f"documents[{place}].id",
                )


def check_count_of(n: int, limits: Limits) -> None:
    """Raise unless a query has as many documents as it may have."""
    if not 1 <= n <= limits.documents:
        text = f"a query must have from 1 to {limits.documents} documents, but has {n}."
        raise RefusedError(422, text, "documents")


def _no_id(field: str, name: str, limits: Limits) -> RefusedError:
    text = f"{field} must have from 1 to {limits.text} characters, none of them NUL: {name!r:.60}."
    return RefusedError(422, text, field)


def check_many(n: int, limits: Limits) -> None:
    """Raise unless a batch has as many queries as it may have."""
    if not 1 <= n <= limits.queries:
        raise RefusedError(
            422, f"a batch must have from 1 to {limits.queries} queries, but has {n}.", "queries"
        )
