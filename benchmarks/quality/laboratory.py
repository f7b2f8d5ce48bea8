"""A set, from folds to figures: searched blindly, judged when all is written."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.blind import Sealed
from benchmarks.quality.contenders import OWN, TRIALS, is_ours, library
from rankwright.comparison import Comparison, Entry, Event, compare
from rankwright.comparison.keys import code_hash
from rankwright.evaluation import compare_pairs
from rankwright.evaluation.contest import Standing, held_against, means_of, ranked

CHOICE = "ndcg@10"
LETOR = ("letor:ndcg@5", "letor:ndcg@10", "letor:map")
PROCESSES = 2  # of one thread each

Values = Mapping[str, Sequence[Mapping[str, NDArray[Any]]]]


class OutOfTimeError(Exception):
    """The time is over; what is finished is kept."""


def run_set(
    sealed: Sealed,
    entries: Sequence[Entry],
    folder: Path,
    *,
    n_trials: int = TRIALS,
    n_jobs: int = PROCESSES,
    deadline: float = float("inf"),
    told: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Search all contenders on all folds of a set, then measure them; return plain values.

    Parameters
    ----------
    sealed : Sealed
        The folds, without their test labels.
    entries : sequence of Entry
        The contenders.
    folder : Path
        Where what is finished is kept.
    n_trials, n_jobs : int
        Trials of each contender on each fold; processes.
    deadline : float
        When to stop, as ``time.monotonic()`` counts; the search that ends after it is the last.
    told : callable
        Hears a line for each search that ends.
    """

    def tell(event: Event) -> None:
        if event.kind == "trial":
            return
        what = event.text or f"{event.value:.4f} on validation queries, {event.seconds:.0f} s"
        told(f"{sealed.name} {event.fold} {event.model}: {event.kind}, {what}")
        if event.kind != "kept" and time.monotonic() > deadline:
            raise OutOfTimeError

    comparison = compare(
        list(sealed.folds),
        list(entries),
        metrics=[CHOICE],
        n_trials=n_trials,
        n_jobs=n_jobs,
        folder=folder / sealed.name,
        callback=tell,
    )
    values = sealed.judge(comparison, [entry.name for entry in entries], [CHOICE, *LETOR])
    return {
        "code": code_hash(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "budget": comparison.card["budget"],
        "folds": [fold.name for fold in sealed.folds],
        "n_queries": sum(fold.test.n_queries for fold in sealed.folds),
        "failures": comparison.troubles(),
        **_figures(values, comparison, sealed),
    }


def _figures(values: Values, comparison: Comparison, sealed: Sealed) -> dict[str, Any]:
    """Return means, intervals and tests, of each contender and of each library's own choice."""
    libraries = list(dict.fromkeys(map(library, values)))
    chosen = {name: chosen_on_validation(name, values, comparison, sealed) for name in libraries}
    systems = {**values, **{_as_chosen(name): parts for name, (parts, _) in chosen.items()}}
    means = means_of(systems)
    standings = ranked([Standing(name=name, **means[name]) for name in values], CHOICE)
    figures = {
        name: {
            m: {
                "mean": means[name]["means"][m],
                "low": means[name]["low"][m],
                "high": means[name]["high"][m],
                "mean_of_folds": fmean(means[name]["fold_means"][m]),
            }
            for m in (CHOICE, *LETOR)
        }
        for name in systems
    }
    seconds = {s.name: round(s.search_seconds or 0.0, 1) for s in comparison.standings}
    return {
        "contenders": {
            name: {**figures[name], "seconds": seconds[name], **_choices(name, comparison, sealed)}
            for name in values
        },
        "order": [s.name for s in standings],
        "pairs": [pair.to_dict() for pair in held_against(standings, CHOICE)],
        "chosen": {
            name: {**figures[_as_chosen(name)], "picks": picks}
            for name, (_, picks) in chosen.items()
        },
        "ours_against_peers": _against_peers(means, list(values)),
    }


def chosen_on_validation(
    whose: str, values: Values, comparison: Comparison, sealed: Sealed
) -> tuple[list[Mapping[str, NDArray[Any]]], list[str]]:
    """Return the values of what a user of a library would take, and its names, fold by fold.

    That is the contender of the library that does best on the validation queries; of equal ones the
    first. Test labels have no part in it.
    """
    mine = [name for name in values if library(name) == whose]
    picks = [
        max(mine, key=lambda name, fold=fold.name: comparison.outcomes[name, fold].valid)  # type: ignore[misc]
        for fold in sealed.folds
    ]
    return [values[name][i] for i, name in enumerate(picks)], picks


def _against_peers(
    means: Mapping[str, Mapping[str, Any]], contenders: Sequence[str]
) -> list[dict[str, Any]]:
    """Test our choice against each peer, and against each library's choice, as two families."""
    peers = [name for name in contenders if not is_ours(name)]
    if not peers or len(peers) == len(contenders):
        return []
    libraries = list(dict.fromkeys(map(library, peers)))
    ours = _as_chosen(OWN)
    families = [[(ours, n) for n in peers], [(ours, _as_chosen(n)) for n in libraries]]
    by_query = {name: found["per_query"][CHOICE] for name, found in means.items()}
    return [pair.to_dict() for pair in compare_pairs(by_query, families=families)]


def _choices(name: str, comparison: Comparison, sealed: Sealed) -> dict[str, Any]:
    facts = [comparison.outcomes[name, fold.name].facts for fold in sealed.folds]
    return {
        "params": [f["params"] for f in facts],
        "trial": [f["trial"] for f in facts],
        "valid": [f["valid"] for f in facts],
    }


def _as_chosen(name: str) -> str:
    """Return the name under which a library's choice is measured."""
    return f"{name}-chosen"


def ranks(record: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the mean rank and the mean of the metric over the sets, of who was in all of them."""
    studied = record["sets"].values()
    everywhere = set.intersection(*(set(found["contenders"]) for found in studied))
    return {
        name: {
            "rank": fmean(
                [n for n in found["order"] if n in everywhere].index(name) + 1 for found in studied
            ),
            "mean": float(
                np.mean([found["contenders"][name][CHOICE]["mean"] for found in studied])
            ),
        }
        for name in sorted(everywhere)
    }
