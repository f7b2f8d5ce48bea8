"""Whether every query is in one part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.hashing import Keys
from rankwright.data.part_facts import PartFacts
from rankwright.exceptions import DataError

if TYPE_CHECKING:
    from rankwright.data.parts import Parts


def check_whole_queries(parts: Parts) -> None:
    """Raise unless no query is in two parts, and no part is there twice.

    Ids are told apart by their hashes: of n different ones, two are taken for the same with a
    probability of about n^2 / 2^65.
    """
    facts = parts.facts.parts
    _check_no_part_twice(facts)
    keys = parts.map(query_keys)
    everything = np.concatenate(keys)
    order = np.argsort(everything, kind="stable")
    ordered = everything[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(same) == 0:
        return
    owner = np.repeat(np.arange(len(keys)), [len(own) for own in keys])
    first, second = owner[order[same[0]]], owner[order[same[0] + 1]]
    name = parts.map(_id_of_key, ordered[same[0]])[second]
    more = "" if len(same) == 1 else f"; {len(same) - 1} more are cut, too"
    raise DataError(
        f"every query must be in one part, but {name!r} is in {facts[first].name} as well{more}. "
        "Gather them first: rankwright partition FILE... -o FOLDER --parts N",
        path=facts[second].name,
        field="qid",
    )


def query_keys(part: Dataset) -> Keys:
    """Return the hash of each query's id; an integer and its text have the same."""
    return part.groups.keys


def _id_of_key(part: Dataset, key: Any) -> Any:
    """Return the id of the query with this hash; None if there is none."""
    found = np.flatnonzero(part.groups.keys == key)
    return part.groups.names[found[0]].item() if len(found) else None


def _check_no_part_twice(parts: Sequence[PartFacts]) -> None:
    seen: dict[str, str] = {}
    for part in parts:
        if part.fingerprint in seen:
            raise DataError(
                f"holds the same documents as {seen[part.fingerprint]}: name each part once.",
                path=part.name,
            )
        seen[part.fingerprint] = part.name
