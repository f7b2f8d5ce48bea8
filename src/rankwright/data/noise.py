"""Corrupted judgements: extra documents that are not relevant, and labels drawn at random.

What happens to a query depends on the seed and its id (and, for extra documents, on the set of
documents to draw from): it is the same for every model, thread count and order of queries in the
file. With one seed, the corruption at a larger share contains that at a smaller one, so that
curves over shares compare like with like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups, Ints
from rankwright.data.hashing import Keys, mix
from rankwright.data.kept import take_rows
from rankwright.data.streams import (
    as_uniform,
    check_seed,
    query_uniforms,
    shuffled_rows,
    stream_keys,
    uniforms,
)
from rankwright.data.validation import Floats

# Probabilities of labels 0..4 in section 5.4 of the XE-NDCG paper.
LABEL_NOISE = (0.5, 0.2, 0.15, 0.1, 0.05)

# Names of the streams of one seed.
_COUNT, _CHOICE, _LABEL, _DONOR = range(4)


def perturb_labels(
    dataset: Dataset,
    share: float,
    probabilities: Sequence[float] = LABEL_NOISE,
    random_state: int = 0,
) -> Dataset:
    """Give a share of each query's documents a random label.

    Of a query with m documents, ``share * m`` get a label drawn from ``probabilities``, which may
    be the one they had. Where that is no whole number, a coin of the query decides between the two
    next to it, so that the share is right on average also for short lists.

    Parameters
    ----------
    dataset : Dataset
        Judged documents.
    share : float in [0, 1]
        Share of the documents.
    probabilities : sequence of float
        Probabilities of labels 0, 1, ...; they add up to 1. By default those of section 5.4 of the
        XE-NDCG paper.
    random_state : int, default 0
        Seed.

    Returns
    -------
    Dataset
        The same documents with other labels.

    Examples
    --------
    >>> ds = Dataset([[1.0]] * 6, [0, 1, 2, 0, 0, 4], qid=[1, 1, 1, 1, 2, 2])
    >>> perturb_labels(ds, 0.5).y
    array([3., 0., 2., 0., 0., 4.])
    """
    seed = check_seed(random_state)
    if not (math.isfinite(share) and 0 <= share <= 1):
        raise ValueError(f"share must be a number from 0 to 1, but is {share!r}.")
    cumulated = np.cumsum(check_probabilities(probabilities))
    groups = dataset.groups
    chosen = _choose(groups, share, seed)
    # The last probability takes what rounding leaves.
    drawn = np.searchsorted(cumulated[:-1], uniforms(groups, seed, _LABEL), side="right")
    return dataset.with_labels(np.where(chosen, drawn, dataset.y))


def augment(dataset: Dataset, share: float, random_state: int = 0) -> Dataset:
    """Add documents of other queries to each query, as not relevant.

    A query with m documents gets ``share * m`` more, with label 0, behind its own (rounded by a
    coin of the query). They are drawn without replacement from the documents of all other queries.
    The draw depends on the seed, the query's id and the set of queries with their documents; it
    does not depend on their order in the file.

    Parameters
    ----------
    dataset : Dataset
        Judged documents.
    share : float >= 0
        Extra documents for each document; 0.4 makes every list 40 % longer.
    random_state : int, default 0
        Seed.

    Examples
    --------
    >>> ds = Dataset([[1.0], [2.0], [3.0], [4.0]], [2, 1, 2, 0], qid=[1, 1, 2, 2])
    >>> longer = augment(ds, 0.5)
    >>> longer.y, longer.qid
    (array([2., 1., 0., 2., 0., 0.]), array([1, 1, 1, 2, 2, 2]))
    >>> longer.X[:, 0]
    array([1., 2., 3., 3., 4., 2.])
    """
    seed = check_seed(random_state)
    if not (math.isfinite(share) and share >= 0):
        raise ValueError(f"share must be a number >= 0, but is {share!r}.")
    groups = dataset.groups
    extra = _counts(groups, share, seed)
    lacking = np.flatnonzero(extra > groups.n_rows - groups.sizes)
    if len(lacking):
        query = int(lacking[0])
        name = groups.names[query]
        raise ValueError(
            f"a query of {groups.sizes[query]} documents (qid {name}) needs {extra[query]} "
            f"documents of other queries, but there are {groups.n_rows - groups.sizes[query]}. "
            "Pass a smaller share or more queries."
        )
    drawn = _draw_donors(groups, extra, seed)
    # The extra documents of a query go behind its own.
    sizes = groups.sizes + extra
    own = np.repeat(np.cumsum(sizes) - sizes - groups.indptr[:-1], groups.sizes)
    is_own = np.zeros(int(sizes.sum()), dtype=bool)
    is_own[np.arange(groups.n_rows) + own] = True
    rows = np.empty(len(is_own), dtype=np.int64)
    rows[is_own] = np.arange(groups.n_rows)
    rows[~is_own] = drawn
    y = np.where(is_own, dataset.y[rows], 0.0)
    docs = None if dataset.doc_ids is None else dataset.doc_ids[rows]
    kept = take_rows(dataset.kept, rows)
    return Dataset.from_checked(
        dataset.X[rows], y, np.repeat(groups.names, sizes), dataset.features, docs, kept=kept
    )


def label_noise_up_to(max_label: float) -> tuple[float, ...]:
    """Return the XE-NDCG paper's label noise, cut to the labels 0..max_label that data has.

    >>> label_noise_up_to(4)
    (0.5, 0.2, 0.15, 0.1, 0.05)
    >>> [round(p, 4) for p in label_noise_up_to(2)]
    [0.5882, 0.2353, 0.1765]
    """
    kept = LABEL_NOISE[: max(2, math.floor(max_label) + 1)]
    return kept if len(kept) == len(LABEL_NOISE) else tuple(p / sum(kept) for p in kept)


def check_probabilities(probabilities: Sequence[float]) -> Floats:
    """Return probabilities of labels 0, 1, ... as an array."""
    given = np.asarray(probabilities, dtype=np.float64)
    valid = given.ndim == 1 and len(given) > 0 and bool((given >= 0).all())
    if not valid or abs(given.sum() - 1) > 1e-9:
        raise ValueError(
            "probabilities must be numbers >= 0, one for each label 0, 1, ..., that add up to 1, "
            f"but are {probabilities!r}."
        )
    return given


def _counts(groups: Groups, share: float, seed: int) -> Ints:
    """Return how many documents of each query a share is, rounded by a coin of the query."""
    counts: Ints = np.floor(share * groups.sizes + query_uniforms(groups, seed, _COUNT)).astype(
        np.int64
    )
    return counts


def _choose(groups: Groups, share: float, seed: int) -> NDArray[np.bool_]:
    """Choose a share of each query's documents."""
    counts = np.minimum(_counts(groups, share, seed), groups.sizes)
    order = shuffled_rows(groups, seed, _CHOICE)
    place = groups.positions()
    chosen = np.zeros(groups.n_rows, dtype=bool)
    chosen[order] = place < np.repeat(counts, groups.sizes)
    return chosen


def _draw_donors(groups: Groups, extra: Ints, seed: int) -> Ints:
    """Draw ``extra[q]`` rows for each query q, without replacement, from the other queries."""
    # Donors are numbered in an order that the file does not decide: queries by key. A query's own
    # documents are a run of these numbers, [first, first + size).
    by_key = np.argsort(groups.keys, kind="stable")
    donors = groups.rows_of(by_key)
    first = np.empty(groups.n_queries, dtype=np.int64)
    first[by_key] = np.cumsum(groups.sizes[by_key]) - groups.sizes[by_key]

    query = np.repeat(np.arange(groups.n_queries), extra)
    keys, n_others = stream_keys(groups, seed, _DONOR), groups.n_rows - groups.sizes
    numbers = _first_distinct(keys, n_others, extra)
    numbers += np.where(numbers >= first[query], groups.sizes[query], 0)
    return donors[numbers]


def _first_distinct(keys: Keys, below: Ints, wanted: Ints) -> Ints:
    """Return the first ``wanted[q]`` distinct numbers of each query's endless row of draws.

    The draws of query q are uniform integers below ``below[q]``.
    """
    begin = np.cumsum(wanted) - wanted
    result = np.empty(int(wanted.sum()), dtype=np.int64)
    # Half more than wanted is enough unless most of the numbers are wanted; then look further.
    n_draws = wanted + wanted // 2 + 4
    left = np.flatnonzero(wanted)
    while len(left):
        query = np.repeat(left, n_draws[left])
        starts = np.cumsum(n_draws[left]) - n_draws[left]
        time = np.arange(len(query)) - np.repeat(starts, n_draws[left])
        bits = mix(keys[query] + time.astype(np.uint64))
        numbers = (as_uniform(bits) * below[query]).astype(np.int64)
        # Stable: the earlier of equal draws comes first.
        order = np.argsort(query * (int(below.max()) + 1) + numbers, kind="stable")
        new = np.ones(len(query), dtype=bool)
        same = (np.diff(query[order]) == 0) & (np.diff(numbers[order]) == 0)
        new[order[1:][same]] = False
        n_new = np.cumsum(new)
        before = np.repeat(n_new[starts] - 1, n_draws[left])  # the first draw is always new
        kept = np.flatnonzero(new & (n_new - before <= wanted[query]))
        result[begin[query[kept]] + (n_new - before)[kept] - 1] = numbers[kept]
        found = np.bincount(query[kept], minlength=len(wanted))
        left = left[found[left] < wanted[left]]
        n_draws[left] *= 2
    return result
