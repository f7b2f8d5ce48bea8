"""One model on one fold: search on validation queries, measure on test queries, keep the result."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from rankwright import __version__
from rankwright.blas import one_blas_thread
from rankwright.comparison.entries import Entry
from rankwright.comparison.space import draw
from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.evaluation.folds import Fold
from rankwright.metrics.metric import mean_of_queries
from rankwright.metrics.parsing import parse

Progress: TypeAlias = Callable[[int, float], None]  # trial, its validation metric
_MOST_POINTS = 1000  # of a guarantee plot


@dataclass(frozen=True)
class Job:
    """What to do: everything that the result depends on, but the data."""

    entry: Entry
    fold: str
    metric: str  # by which parameters are chosen
    n_trials: int
    random_state: int

    def key(self, data: str) -> str:
        """Return a hash of the job and of the fingerprint of its data."""
        numbers = f"{self.n_trials} {self.random_state}"
        parts = [__version__, self.entry.describe(), self.fold, self.metric, data, numbers]
        text = "\n".join(parts)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a job.

    ``facts`` is plain data, ready for JSON; ``scores`` are those of the test documents; ``model``
    is the fitted model, or None if it must be read from ``path``.
    """

    facts: dict[str, Any]
    scores: Floats
    model: Any = None
    path: Path | None = None


def run_job(job: Job, fold: Fold, progress: Progress | None = None) -> Outcome:
    """Search, fit and score."""
    from sklearn.base import clone

    metric = parse(job.metric)
    best: Any = None
    best_value = -math.inf
    trials = []
    begin = time.perf_counter()
    for trial in range(job.n_trials if job.entry.space else 1):
        # The first trial is the estimator as it was given.
        params = draw(job.entry.space, trial - 1, job.random_state) if trial else {}
        model = clone(job.entry.estimator).set_params(**params)
        given = {"n_jobs": 1, "eval_metric": job.metric}
        model.set_params(**{k: v for k, v in given.items() if k in model.get_params()})
        start = time.perf_counter()
        notes = fit(model, fold, job.entry.scale)
        seconds = time.perf_counter() - start
        values = metric.per_query(fold.valid.y, model.predict(fold.valid.X), fold.valid.groups)
        value = mean_of_queries(values, job.metric)
        shown = {name: model.get_params()[name] for name in job.entry.space}
        trials.append({"params": shown, "valid": value, "seconds": seconds, "warnings": notes})
        signed = value if metric.higher_is_better else -value
        if signed > best_value or best is None:
            best, best_value, chosen = model, signed, trial
        if progress is not None:
            progress(trial, value)
    scores, microseconds = score(best, fold.test)
    facts = {
        "model": job.entry.name,
        "family": job.entry.family,
        "class": type(best).__name__,
        "fold": job.fold,
        "params": jsonable(trials[chosen]["params"]),
        "trial": chosen,
        "trials": [jsonable(trial) for trial in trials],
        "valid": trials[chosen]["valid"],
        "train_seconds": trials[chosen]["seconds"],
        "search_seconds": time.perf_counter() - begin,
        "score_us": microseconds,
        **facts_of(best, fold, job.metric),
    }
    return Outcome(facts, scores, best)


def fit(model: Any, fold: Fold, scale: bool = False) -> list[str]:
    """Fit a model, with the validation queries if it takes them; return its warnings."""
    from rankwright.estimator import as_model
    from rankwright.linear.scaling import standard_deviations

    X, y, qid = fold.train.X, fold.train.y, fold.train.qid
    extra = {}
    if as_model(model).takes_valid():
        extra["valid"] = fold.valid
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if scale:
            deviations = standard_deviations(X)
            scaled = X * (1 / deviations).astype(X.dtype)
            model.fit(sp.csr_array(scaled) if sp.issparse(X) else scaled, y, qid)
            as_model(model).unscale(deviations)
        else:
            model.fit(X, y, qid, **extra)
    return sorted({str(warning.message) for warning in caught})


def score(model: Any, test: Dataset) -> tuple[Floats, float]:
    """Return scores, and the microseconds that one document took: the best of a few calls."""
    scores = np.asarray(model.predict(test.X), dtype=np.float64)
    if scores.shape != (test.n_docs,) or not np.isfinite(scores).all():
        raise ValueError("predict must return one finite score per document.")
    best, spent = math.inf, 0.0
    for _ in range(20):
        begin = time.perf_counter()
        model.predict(test.X)
        seconds = time.perf_counter() - begin
        best, spent = min(best, seconds), spent + seconds
        if spent > 0.2:
            break
    return scores, 1e6 * best / test.n_docs


def facts_of(model: Any, fold: Fold, metric: str) -> dict[str, Any]:
    """Return what a fitted model tells about itself: size, features, curves, guarantees."""
    from rankwright.estimator import as_model

    asked = as_model(model, fold.train.n_features)
    strength = asked.feature_strength()
    facts: dict[str, Any] = {
        "n_features": fold.train.n_features,
        "features_used": None if strength is None else int(np.count_nonzero(strength)),
    }
    for name, examine in _EXAMINATIONS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                facts[name] = examine(asked, fold, metric)
        except Exception as error:  # a picture less is no reason to lose a model
            facts[name] = None
            facts.setdefault("notes", []).append(f"{name}: {error}")
    return facts


def _curves(model: Any, fold: Fold, metric: str) -> dict[str, list[float]] | None:
    """Return learning curves by name: what was recorded, round by round."""
    return model.curves() or None


def _path(model: Any, fold: Fold, metric: str) -> list[dict[str, float]] | None:
    """Return quality against the number of features, for models with a path of l1 penalties."""
    if not model.has_path or model.penalty != "l1":
        return None
    train = fold.train
    points = model.path(
        train.X, train.y, train.qid, n_alphas=12, valid=fold.valid, metric=parse(metric)
    )
    return [
        {"alpha": p.alpha, "n_features": p.n_features, "valid": p.quality, "loss": p.loss}
        for p in points
    ]


def _guarantee(model: Any, fold: Fold, metric: str) -> dict[str, Any] | None:
    """Return the loss beside its bound, for each of some test queries."""
    from rankwright.theory import certificate

    loss = model.loss_for(fold.test.y)
    if getattr(loss, "bound", None) is None:
        return None
    test = fold.test
    proof = certificate(loss, model.predict(test.X), test.y, test.groups)
    shown = np.linspace(0, proof.n_queries - 1, min(proof.n_queries, _MOST_POINTS)).astype(int)
    return {
        "promise": proof.bound.text,
        "mean_loss": proof.mean_value,
        "mean_bound": proof.mean_lower,
        "holds": proof.holds,
        "loss": proof.values[shown].tolist(),
        "bound": proof.lower[shown].tolist(),
        "queries": [str(q) for q in proof.query_ids[shown].tolist()],
    }


_EXAMINATIONS: dict[str, Callable[[Any, Fold, str], Any]] = {
    "curves": _curves,
    "path": _path,
    "guarantee": _guarantee,
}


# ---- on disk ----


def write_outcome(outcome: Outcome, folder: Path, key: str) -> Outcome:
    """Write a result; its folder appears under its name only when it is complete."""
    from rankwright.models import CLASSES
    from rankwright.persistence import save

    part = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    part.mkdir(parents=True)
    try:
        facts = {"key": key, **outcome.facts, "model_bytes": None}
        if type(outcome.model).__name__ in CLASSES:
            # What cannot be saved was still measured.
            with contextlib.suppress(TypeError):
                save(outcome.model, part / "model.rw")
                facts["model_bytes"] = (part / "model.rw").stat().st_size
        np.save(part / "scores.npy", outcome.scores)
        (part / "result.json").write_text(json.dumps(_no_nan(facts), indent=1), encoding="utf-8")
        if folder.exists():  # of another key
            shutil.rmtree(folder)
        os.replace(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return Outcome(facts, outcome.scores, outcome.model, folder)


def read_outcome(folder: Path, key: str) -> Outcome | None:
    """Return the result of this key, if it is there."""
    try:
        facts = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        scores = np.load(folder / "scores.npy", allow_pickle=False)
    except (OSError, ValueError):
        return None
    if not isinstance(facts, dict) or facts.get("key") != key:
        return None
    return Outcome(facts, scores, None, folder)


def jsonable(value: Any) -> Any:
    """Return a value as JSON can hold it; what it cannot hold becomes its text."""
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _no_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _no_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_no_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep numerical libraries to one thread, so that results do not depend on their number."""
    from threadpoolctl import threadpool_limits

    with one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        yield
