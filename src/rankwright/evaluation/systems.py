"""What ranks: a model, scores, a table of scores or a run; asked the same way."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.parts import Parts
from rankwright.data.scores import run_of_frame
from rankwright.data.trec import Run, scores_by_id
from rankwright.data.validation import Floats, check_scores
from rankwright.evaluation.contest import Contest, Standing, held_against, means_of, ranked
from rankwright.evaluation.retrieval import Unjudged, per_query_of_run, scores_of_run
from rankwright.evaluation.segmented import segmented
from rankwright.evaluation.segments import column_of_segment, parts_by_each
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import per_query_on

ONLY = "split"  # the name of test queries that are not one fold of several


def timed_scores(model: Any, test: Dataset) -> tuple[Floats, float]:
    """Return scores, and the microseconds that one document took: the best of a few calls."""
    from rankwright.adapters import predicted
    from rankwright.estimator import as_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever fitted or loaded it has told
        asked = as_model(model, test.n_features)
        test = asked.align(test)
    rows = asked.rows(test)
    scores = np.asarray(predicted(model, rows), dtype=np.float64)
    if scores.shape != (test.n_docs,) or not np.isfinite(scores).all():
        raise ValueError("predict must return one finite score per document.")
    best, spent = math.inf, 0.0
    for _ in range(20):
        begin = time.perf_counter()
        predicted(model, rows)
        seconds = time.perf_counter() - begin
        best, spent = min(best, seconds), spent + seconds
        if spent > 0.2:
            break
    return scores, 1e6 * best / test.n_docs


def contest(
    systems: Mapping[str, Any],
    dataset: Dataset | Parts,
    metrics: Sequence[tuple[str, Metric]],
    *,
    reference: str | None = None,
    segments: Sequence[str] = (),
    unjudged: Unjudged = "irrelevant",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Contest:
    """Measure systems on the same queries, and test each against the reference.

    Parameters
    ----------
    systems : mapping of str to object
        Models, scores, tables of scores or runs, as :func:`rankwright.evaluate` takes them.
    dataset : Dataset or Parts
        Features, labels and queries. Of parts there are neither costs nor scores by document.
    metrics : sequence of (str, Metric)
        What to measure, by name.
    reference : str, optional
        The system that the others are held against, such as what runs today; the first by default.
    segments : sequence of str
        Kinds of queries to measure apart.
    unjudged : {"irrelevant", "remove"}, default "irrelevant"
        What becomes of documents of a run that have no label.
    random_state : int, default 0
        Seed of bootstrap and tests.
    n_jobs : int, optional
        Threads.
    """
    if len(systems) < 2:
        raise ValueError("there must be at least two systems to compare.")
    for name in systems:
        if not isinstance(name, str):
            raise TypeError(f"names of systems must be texts, but one is {name!r}.")
    held = next(iter(systems)) if reference is None else reference
    if held not in systems:
        raise ValueError(f"reference must be one of {list(systems)}, but is {reference!r}.")
    names = [name for name, _ in metrics]
    ways: dict[str, Any] = {"costs": isinstance(dataset, Dataset), "unjudged": unjudged}
    cut = parts_by_each(segments, bare_queries(dataset, segments)) if segments else []
    found = {
        name: systems_on(name, system, dataset, metrics, n_jobs, **ways)
        for name, system in systems.items()
    }
    values = {name: [one.values for one in each] for name, each in found.items()}
    means = means_of(values, random_state)
    standings = ranked(
        [Standing(name=name, **means[name], **each[0].costs) for name, each in found.items()],
        *metrics[0],
    )
    return Contest(
        metrics=names,
        measures=dict(metrics),
        standings=standings,
        pairs=held_against(standings, names[0], held, random_state, measure=metrics[0][1]),
        tests={ONLY: dataset} if isinstance(dataset, Dataset) else {},
        scores={
            (name, ONLY): each[0].scores
            for name, each in found.items()
            if isinstance(dataset, Dataset)
        },
        reference=held,
        segments=segmented(standings, cut, names, held, random_state),
        models={name: system for name, system in systems.items() if hasattr(system, "predict")},
    )


class OnQueries(NamedTuple):
    """What a system does: its metrics by query, its scores, and what it costs."""

    values: dict[str, Floats]
    scores: Floats
    costs: dict[str, Any]


def systems_on(
    name: str,
    system: Any,
    dataset: Dataset | Parts,
    metrics: Sequence[tuple[str, Metric]],
    n_jobs: int | None = None,
    **options: Any,
) -> list[OnQueries]:
    """Do what :func:`system_on` does, on a data set or on each of its parts."""
    if isinstance(dataset, Dataset):
        return [system_on(name, system, dataset, metrics, n_jobs, **options)]
    if not hasattr(system, "predict"):
        raise TypeError(f"data in parts are measured by models, but {name or 'this'} is none.")
    return dataset.map(_model_on_part, system, list(metrics), n_jobs)


def _model_on_part(
    part: Dataset, model: Any, metrics: Sequence[tuple[str, Metric]], n_jobs: int | None
) -> OnQueries:
    found = system_on("", model, part, metrics, n_jobs)
    return found._replace(scores=np.empty(0))  # which would be as many as documents


def bare_queries(dataset: Dataset | Parts, segments: Sequence[str]) -> list[Dataset]:
    """Return data sets with the queries in their order, and the columns that segments need."""
    if isinstance(dataset, Dataset):
        return [dataset]
    ways = [segments] if isinstance(segments, str) else segments
    wanted = [column for text in ways if (column := column_of_segment(text)) is not None]
    return dataset.map(_queries_of_part, wanted)


def _queries_of_part(part: Dataset, columns: Sequence[str]) -> Dataset:
    """Return a part without its features; as segments need it."""
    none = np.empty((part.n_docs, 0), dtype=np.float32)
    kept = {name: part.kept[name] for name in columns if name in part.kept}
    return Dataset.from_checked(none, np.array(part.y), np.array(part.qid), None, kept=kept)


def system_on(
    name: str,
    system: Any,
    dataset: Dataset,
    metrics: Sequence[tuple[str, Metric]],
    n_jobs: int | None = None,
    *,
    costs: bool = False,
    unjudged: Unjudged = "irrelevant",
) -> OnQueries:
    """Ask a system for scores, and measure them; and what it costs, if that is asked for."""
    kinds = [metric for _, metric in metrics]
    spent: dict[str, Any] = {}
    if isinstance(system, Run):
        values = per_query_of_run(kinds, system, dataset, unjudged)
        scores = scores_of_run(system, dataset)
    else:
        scores, spent = _scores_and_costs(name, system, dataset, costs)
        values = per_query_on(kinds, dataset, scores, n_jobs=n_jobs)
    by_name = dict(zip((name for name, _ in metrics), values, strict=True))
    return OnQueries(by_name, scores, spent)


def _scores_and_costs(
    name: str, system: Any, dataset: Dataset, costs: bool
) -> tuple[Floats, dict[str, Any]]:
    if hasattr(system, "predict"):
        from rankwright.estimator import as_model

        model = as_model(system, dataset.n_features)
        scores = model.predict_dataset(dataset)
        if not costs:
            return scores, {}
        strength = model.feature_strength()
        spent: dict[str, Any] = {"score_us": timed_scores(system, dataset)[1]}
        if strength is not None:
            spent["features_used"] = float(np.count_nonzero(strength))
            spent["n_features"] = len(strength)
        return scores, spent
    if hasattr(system, "columns"):
        return scores_by_id(run_of_frame(system, name), dataset, name or "scores"), {}
    return check_scores(system, dataset.n_docs), {}
