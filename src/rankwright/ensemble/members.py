"""Members of an ensemble: what they may be, and their copies with seeds of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from rankwright.estimator import Ranker
from rankwright.models import NAMES, make_model
from rankwright.scoring.rules import RULES, ScoreRule
from rankwright.suggestions import meant
from rankwright.trees.grafting import is_fitted_base


@dataclass
class Member:
    """A ranker to fit, or one that is fitted already and is used as it is."""

    name: str
    number: int
    ranker: Any
    is_whole: bool = False


def kinds_of(members: Any) -> list[tuple[str, Any]]:
    """Return the kinds of members with their names; raise for what can be none.

    A kind is a ranker, a name that ``make_model`` knows, or a pair of a name and one of these.
    """
    if isinstance(members, str) or not isinstance(members, Sequence):
        members = [members]
    if not members:
        raise ValueError("members must be at least one ranker, but are none.")
    found: list[tuple[str, Any]] = []
    for item in members:
        name, ranker = item if isinstance(item, tuple) and len(item) == 2 else ("", item)
        own = ranker if isinstance(ranker, str) else type(ranker).__name__
        found.append((_free_name(name or own, found, bool(name)), _as_member(ranker)))
    return found


def copies(
    members: Any, n_models: int, random_state: int, settings: dict[str, Any]
) -> Iterator[Member]:
    """Yield ``n_models`` copies of each kind: all kinds once, then all of them again, ...

    A fitted ranker comes once. Copy k has the seed ``random_state + k``, and ``settings`` where it
    has such parameters.
    """
    kinds = kinds_of(members)
    number = 0
    for k in range(n_models):
        for name, ranker in kinds:
            if is_fitted_base(ranker):
                if k == 0:
                    yield Member(name, number, ranker, is_whole=True)
                    number += 1
                continue
            copy = clone(ranker)
            for key, value in ranker.get_params(deep=False).items():
                if isinstance(value, Ranker) and is_fitted_base(value):  # a base to go on from
                    copy.set_params(**{key: value})
            wanted = {"random_state": random_state + k, **settings}
            known = copy.get_params(deep=False)
            copy.set_params(**{key: value for key, value in wanted.items() if key in known})
            yield Member(name if n_models == 1 else f"{name} {k + 1}", number, copy)
            number += 1


def _free_name(name: Any, found: list[tuple[str, Any]], given: bool) -> str:
    taken = [other for other, _ in found]
    if given and (not isinstance(name, str) or "__" in name or name in taken):
        raise ValueError(
            f"names of members must be texts, all different and without '__', but one is {name!r}."
        )
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return str(free)


def _as_member(given: Any) -> Ranker:
    """Return a ranker, made if it is a name; raise unless its scores are a sum that can be one."""
    if isinstance(given, str) and given not in NAMES:
        told = meant(given, NAMES)
        raise ValueError(
            f"members must be rankers or names of them, but {given!r:.60} is none.{told}"
        )
    ranker = make_model(given) if isinstance(given, str) else given
    kind = type(ranker).__name__
    if not isinstance(ranker, Ranker):
        raise TypeError(
            "members must be rankers of the library, such as BoostedRanker and LinearRanker, but "
            f"one is {' '.join(repr(given).split()):.80}."
        )
    rule = RULES.get(kind)
    kernel = ranker.get_params(deep=False).get("kernel")
    if kernel is None and (rule is ScoreRule or isinstance(rule, tuple)):
        return ranker
    raise TypeError(
        f"members must be weighted sums of features or of trees, but {kind} is none here: take a "
        "linear ranker, without a kernel, or BoostedRanker."
    )
