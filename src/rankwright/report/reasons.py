r"""Why a document stands where it does, and which features count: small enough for a page.

A score is a sum over features, :math:`s(x) = c_0 + \sum_j c_j(x)`. What is the same for all
documents of a query ranks nothing, and scores of two models have different units. So the page shows

.. math:: z_j(x) = (c_j(x) - \bar c_j) / \sigma, \qquad \sum_j z_j(x) = (s(x) - \bar s) / \sigma,

with means over the documents of the query, and :math:`\sigma` the standard deviation of its scores.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.evaluation.importance import permutation_importance
from rankwright.metrics.metric import Metric
from rankwright.report.content import Content, System
from rankwright.report.rankings import RankedList, by_disagreement

N_REASONS = 5  # of a document and a model
BUDGET_REASONS = 130_000  # documents times models: 11 bytes each before packing
SECONDS = 4.0  # for one model and part; queries that it does not get to have no reasons
_MOST_EXPLAINED, _FEWEST_EXPLAINED = 20, 8  # documents of a query
_MOST_FEATURES = 255  # of a model, so that one byte names a feature
_STEP = 0.05  # of z, so that one byte holds it
_NONE = -128
_FIRST_RANKS = 10  # the page shows these first
_CELLS = 1 << 22  # contributions at a time
_N_BARS = 10
_SHUFFLED = 300_000  # scores that the importance of a model may take
_REPEATS = 2


@dataclass(frozen=True, eq=False)
class Reasons:
    """The weightiest contributions to some scores, in bytes.

    Attributes
    ----------
    systems : list of int
        The systems that can be asked.
    features : list of list of str
        For each of them the features that its bytes name.
    documents : dict of int to ndarray of int
        By query, the documents that are explained, as places in its list.
    packed : bytes
        For each query, document and system a sum, then for each ``N_REASONS`` features, then as
        many values; sums and values in steps of 0.05, a sum of -128 where nothing is known.
    """

    systems: list[int]
    features: list[list[str]]
    documents: dict[int, Ints]
    packed: bytes


def reasons_of(content: Content, lists: list[RankedList | None]) -> Reasons:
    """Return the reasons of the first documents, of as many queries as the page has room for."""
    asked = [i for i, system in enumerate(content.systems) if _can_explain(content, system)]
    chosen = _explained_documents(content, lists, asked)
    n = sum(len(documents) for documents in chosen.values())
    sums = np.full((n, len(asked)), _NONE, dtype=np.int8)
    features = np.full((n, len(asked), N_REASONS), _MOST_FEATURES, dtype=np.uint8)
    values = np.zeros((n, len(asked), N_REASONS), dtype=np.int8)
    names = []
    for k, i in enumerate(asked):
        found = _ask(content, content.systems[i], lists, chosen)
        kept, named = _one_byte_names(found.features)
        sums[:, k], features[:, k] = found.sums, named
        values[:, k] = np.where(named < _MOST_FEATURES, found.values, 0)
        names.append([found.names[j] for j in kept])
    packed = sums.tobytes() + features.tobytes() + values.tobytes()
    return Reasons(asked, names, chosen, packed)


def _can_explain(content: Content, system: System) -> bool:
    """Tell whether a system has a model that tells what features add."""
    model = system.model(0)
    if model is None:
        return False
    few = content.parts[0].test.select(np.arange(1))
    try:
        centred(model, few)
    except Exception:  # of a model of the user's: it has a row less on the page
        return False
    return True


def _explained_documents(
    content: Content, lists: list[RankedList | None], asked: list[int]
) -> dict[int, Ints]:
    """Return the documents to explain, by query: those that any model puts first."""
    kept = [q for q in by_disagreement(content).tolist() if lists[q] is not None] if asked else []
    if not kept:
        return {}
    room = BUDGET_REASONS // (len(kept) * len(asked))
    most = min(max(room, _FEWEST_EXPLAINED), _MOST_EXPLAINED)
    chosen: dict[int, Ints] = {}
    left = BUDGET_REASONS // len(asked)
    for q in kept:
        found = lists[q]
        assert found is not None
        ranks = found.best_ranks(asked)
        first = np.argsort(ranks, kind="stable")[:most]
        documents = np.sort(first[ranks[first] < _FIRST_RANKS])
        if len(documents) > left:
            break
        left -= len(documents)
        chosen[q] = documents
    return dict(sorted(chosen.items()))


@dataclass(frozen=True, eq=False)
class _Answers:
    names: list[str]
    sums: NDArray[np.int8]
    features: Ints  # (documents, N_REASONS), -1 for none
    values: NDArray[np.int8]


def _ask(
    content: Content,
    system: System,
    lists: list[RankedList | None],
    chosen: dict[int, Ints],
) -> _Answers:
    """Ask the models of a system, those queries first on which the systems disagree most."""
    n = sum(len(documents) for documents in chosen.values())
    begins = dict(
        zip(chosen, np.cumsum([0, *map(len, chosen.values())])[:-1].tolist(), strict=True)
    )
    sums = np.full(n, _NONE, dtype=np.int8)
    features = np.full((n, N_REASONS), -1, dtype=np.int64)
    values = np.zeros((n, N_REASONS), dtype=np.int8)
    names: list[str] = []
    first = np.cumsum([0, *(part.test.n_queries for part in content.parts)])
    order = [q for q in by_disagreement(content).tolist() if q in chosen]
    for number, part in enumerate(content.parts):
        mine = [q for q in order if first[number] <= q < first[number + 1]]
        model, end = system.model(number), time.perf_counter() + SECONDS
        for some in _query_pieces(mine, part.test, int(first[number])):
            if time.perf_counter() > end:
                break
            names, z = centred(model, part.test.select(np.array(some) - first[number]))
            begin = 0
            for q in some:
                found = lists[q]
                assert found is not None
                size = found.rows.stop - found.rows.start
                rows = z[begin : begin + size][found.shown[chosen[q]]]
                begin += size
                at = slice(begins[q], begins[q] + len(rows))
                sums[at] = _quantised(rows.sum(axis=1))
                width = min(N_REASONS, rows.shape[1])
                top = np.argsort(-np.abs(rows), axis=1, kind="stable")[:, :width]
                features[at, :width] = top
                values[at, :width] = _quantised(np.take_along_axis(rows, top, axis=1))
    return _Answers(names, sums, features, values)


def _query_pieces(queries: list[int], test: Dataset, first: int) -> list[list[int]]:
    """Cut queries into pieces whose contributions fit into memory."""
    pieces: list[list[int]] = []
    room = 0
    for q in queries:
        cells = int(test.groups.sizes[q - first]) * test.n_features
        if not pieces or cells > room:
            pieces.append([])
            room = _CELLS
        pieces[-1].append(q)
        room -= cells
    return pieces


def _quantised(z: Floats) -> NDArray[np.int8]:
    return np.clip(np.rint(z / _STEP), -127, 127).astype(np.int8)


def _one_byte_names(features: Ints) -> tuple[list[int], NDArray[np.uint8]]:
    """Return the features that are named most, and the places of all in them; 255 is another."""
    known, counts = np.unique(features[features >= 0], return_counts=True)
    kept = known[np.argsort(-counts, kind="stable")[:_MOST_FEATURES]]
    place = {int(j): i for i, j in enumerate(kept.tolist())}
    found, back = np.unique(features, return_inverse=True)
    bytes_of = np.array([place.get(int(j), _MOST_FEATURES) for j in found.tolist()], dtype=np.uint8)
    return kept.tolist(), bytes_of[back].reshape(features.shape)


def centred(model: Any, dataset: Dataset) -> tuple[list[str], Floats]:
    """Return the names of a model's features, and z of each document and feature."""
    from rankwright.estimator import as_model

    asked = as_model(model, dataset.n_features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = asked.align(dataset)
        added, _ = asked.contributions(dataset.X)
    z = np.array(added, dtype=np.float64)
    for rows in dataset.groups:
        z[rows] -= z[rows].mean(axis=0)
        spread = float(z[rows].sum(axis=1).std())
        z[rows] = z[rows] / spread if spread > 0 else 0.0
    names = dataset.feature_names or asked.feature_names()
    return list(names), z


# ---- importance ----


def importances(content: Content) -> list[dict[str, Any]]:
    """Return for each system with a model its most important features, measured on some queries.

    Importance is by how much the first metric gets worse when a feature is shuffled within its
    queries; of many features those are tried on which most of the scores hangs.
    """
    test = content.parts[0].test
    most = max(1, _SHUFFLED // (_N_BARS * _REPEATS * max(1, int(test.groups.sizes.mean()))))
    sample = test
    if test.n_queries > most:
        sample = test.select(np.linspace(0, test.n_queries - 1, most).astype(int))
    found = []
    for i, system in enumerate(content.systems):
        model = system.model(0)
        if model is None:
            continue
        try:
            rows = _feature_drops(model, sample, content.measures[content.main])
        except Exception:  # of a model of the user's: it has a chart less
            continue
        if rows:
            found.append({"system": i, "rows": rows, "queries": sample.n_queries})
    return found


def _feature_drops(model: Any, sample: Dataset, metric: Metric) -> list[dict[str, Any]]:
    from rankwright.estimator import as_model

    asked = as_model(model, sample.n_features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = asked.align(sample)
        strength = _strength(model, asked, sample)
        if strength is None or not strength.any():
            return []
        tried = np.argsort(-strength, kind="stable")[:_N_BARS]
        tried = tried[strength[tried] > 0]
        shuffled = permutation_importance(
            model, sample, metric, n_repeats=_REPEATS, features=tried.tolist()
        )
    order = np.argsort(-shuffled.mean, kind="stable").tolist()
    return [{"feature": shuffled.feature_names[j], "drop": float(shuffled.mean[j])} for j in order]


def _strength(model: Any, asked: Any, sample: Dataset) -> Floats | None:
    """Return how much of the scores hangs on each feature, or what the model says of itself."""
    try:
        some = sample.select(np.arange(min(sample.n_queries, 50)))
        return np.asarray(np.abs(centred(model, some)[1]).mean(axis=0))
    except TypeError:
        found: Floats | None = asked.feature_strength()
        return found
