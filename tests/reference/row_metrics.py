"""Twins of the metrics that look at more than labels and scores, for one query at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from tests.reference.metrics import (
    Discount,
    Empty,
    Gain,
    Ties,
    Values,
    _dcg_of,
    _depth,
    _discount,
    _empty_value,
    _gain,
    _unknown,
    all_orders,
    dcg,
    stable_order,
)


def _rows_over_orders(s: Values, value: Callable[[list[int]], float], ties: Ties) -> float:
    if ties == "order":
        return value(stable_order(s))
    if ties != "average":
        raise _unknown("ties", ties)
    values = [value(order) for order in all_orders(s)]
    return math.fsum(values) / len(values)


def _covered(y: Values, subtopics: Sequence[str], threshold: float) -> list[set[str]]:
    return [
        set(text.split()) if label >= threshold else set()
        for label, text in zip(y, subtopics, strict=True)
    ]


def _novelty_of(lists: Sequence[set[str]], depth: int, alpha: float) -> float:
    """Add up what each subtopic of each list gains: less, the more often it has been seen."""
    seen: dict[str, int] = {}
    total = 0.0
    for r, topics in enumerate(lists[:depth], 1):
        for topic in topics:
            total += _discount(r, "log2") * (1 - alpha) ** seen.get(topic, 0)
            seen[topic] = seen.get(topic, 0) + 1
    return total


def _greedy(lists: Sequence[set[str]], alpha: float, ties: Ties) -> list[set[str]]:
    """Take the list that adds most, again and again; of equals, the first (by its topics)."""
    waiting, chosen = [sorted(topics) for topics in lists if topics], list[list[str]]()
    while waiting:
        seen = [topic for topics in chosen for topic in topics]
        gains = [math.fsum((1 - alpha) ** seen.count(t) for t in topics) for topics in waiting]
        best = [topics for topics, g in zip(waiting, gains, strict=True) if g > max(gains) - 1e-12]
        chosen.append(best[0] if ties == "order" else min(best))
        waiting.remove(chosen[-1])
    return [set(topics) for topics in chosen]


def alpha_ndcg(
    y: Values,
    s: Values,
    *,
    subtopics: Sequence[str],
    k: int | None = None,
    alpha: float = 0.5,
    threshold: float = 1.0,
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """Discounted gain of subtopics, fading with repetition, over that of the greedy order.

    Parameters
    ----------
    y, s, k, threshold, empty
        As in `metrics.ap`.
    subtopics : sequence of str
        What each document is about, separated by spaces.
    alpha : float
        What a subtopic loses each time it comes again.
    ties : {"order", "average"}
        The tie rule.

    Returns
    -------
    float
        The value.
    """
    covered = _covered(y, subtopics, threshold)
    if not any(covered):
        return _empty_value(empty)
    depth = _depth(len(covered), k)
    best = _novelty_of(_greedy(covered, alpha, ties), depth, alpha)

    def of(order: list[int]) -> float:
        return _novelty_of([covered[row] for row in order], depth, alpha) / best

    return _rows_over_orders(s, of, ties)


def err_ia(
    y: Values,
    s: Values,
    *,
    subtopics: Sequence[str],
    k: int | None = None,
    alpha: float = 0.5,
    threshold: float = 1.0,
    ties: Ties = "order",
    empty: Empty = "skip",
    denominator: Literal["subtopics", "full"] = "subtopics",
) -> float:
    """Mean over the subtopics of the ERR of the documents about one, each enough by `alpha`.

    Parameters
    ----------
    y, s, subtopics, k, alpha, threshold, ties, empty
        As in `alpha_ndcg`.
    denominator : {"subtopics", "full"}
        Divide the mean by nothing else, or by the ERR of `k` documents that are all about it.

    Returns
    -------
    float
        The value.
    """
    covered = _covered(y, subtopics, threshold)
    whole = 1.0
    if denominator == "full":
        ranks = range(len(covered) if k is None else k)
        whole = math.fsum((1 - alpha) ** r / (r + 1) for r in ranks)
    topics = set[str]().union(*covered)
    if not topics:
        return _empty_value(empty)
    depth = _depth(len(covered), k)

    def of(order: list[int]) -> float:
        total = 0.0
        for topic in topics:
            still_looking = 1.0
            for r, row in enumerate(order[:depth], 1):
                if topic in covered[row]:
                    total += still_looking / r
                    still_looking *= 1 - alpha
        return total / len(topics) / whole if denominator == "full" else total * alpha / len(topics)

    return _rows_over_orders(s, of, ties)


def unique_ndcg(
    y: Values,
    s: Values,
    *,
    duplicates: Sequence[str],
    k: int | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "order",
    empty: Empty = "skip",
    short: Literal["keep", "zero"] = "keep",
) -> float:
    """NDCG of the documents that are the first of their key.

    Parameters
    ----------
    y, s, k, gain, discount, ties, empty, short
        As in `metrics.ndcg`.
    duplicates : sequence of str
        Keys; the empty one is like no other. Of tied documents of a key one stays: the first by
        "order", the lowest or highest label by "worst" and "best", any of them by "average".

    Returns
    -------
    float
        The value.
    """
    keys = [key or f"row {row}" for row, key in enumerate(duplicates)]
    rows: dict[str, list[int]] = {}
    for row in stable_order(s):
        rows.setdefault(keys[row], []).append(row)
    if short == "zero" and k is not None and len(rows) < k:
        return 0.0
    highest = sorted((max(float(y[row]) for row in same) for same in rows.values()), reverse=True)
    best = _dcg_of(highest, k, gain, discount)
    if best == 0.0:
        return _empty_value(empty)
    rivals = [[row for row in same if s[row] == s[same[0]]] for same in rows.values()]
    choices = list(itertools.product(*(same[:1] if ties == "order" else same for same in rivals)))
    options: dict[str, Any] = {"k": k, "gain": gain, "discount": discount, "ties": ties}
    values = []
    for chosen in choices:
        left = sorted(chosen)
        values.append(dcg([y[row] for row in left], [s[row] for row in left], **options) / best)
    if ties == "average":
        return math.fsum(values) / len(values)
    return min(values) if ties == "worst" else max(values)


def exposure_disparity(
    y: Values,
    s: Values,
    *,
    group: Sequence[str],
    k: int | None = None,
    target: Literal["documents", "relevance"] = "documents",
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "order",
    empty: Empty = "skip",
) -> float:
    """Half the sum over groups of the distance between exposure and what is due.

    Parameters
    ----------
    y, s, k, gain, discount, empty
        As in `metrics.ndcg`.
    group : sequence of str
        The group of each document.
    target : {"documents", "relevance"}
        What is due to a group: its share of the documents, or of the gains.
    ties : {"order", "average"}
        With "average", exposures are means over all orders.

    Returns
    -------
    float
        The value.
    """
    due = [1.0 if target == "documents" else _gain(float(label), gain) for label in y]
    if len(set(group)) < 2 or math.fsum(due) == 0:
        return _empty_value(empty)
    depth = _depth(len(due), k)
    whole = math.fsum(_discount(r, discount) for r in range(1, depth + 1))
    orders = [stable_order(s)] if ties == "order" else list(all_orders(s))
    distances = []
    for name in set(group):
        seen = [
            _discount(r, discount)
            for order in orders
            for r, row in enumerate(order[:depth], 1)
            if group[row] == name
        ]
        own = math.fsum(d for d, g in zip(due, group, strict=True) if g == name)
        distances.append(abs(math.fsum(seen) / len(orders) / whole - own / math.fsum(due)))
    return math.fsum(distances) / 2
