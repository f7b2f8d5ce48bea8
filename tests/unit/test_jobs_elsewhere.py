"""Searches and noise studies by executors of others: same values, nothing lost by a crash."""

from __future__ import annotations

import os
import re
import signal
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import Choice, Fit, Trial, noise_study, tune
from rankwright.comparison.workers import WorkerError


class Crashing(rw.LinearRanker):
    """A ranker whose penalty of 13 takes its process with it."""

    def loss_for(self, y: Any) -> Any:
        if self.alpha == 13.0:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().loss_for(y)


RANKER = Crashing("listnet", standardize=True)
SPACE = {"alpha": Choice((0.5, 2.0, 13.0))}
SEGFAULT = "its process was ended by signal 11 (SIGSEGV)."


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=24, n_features=6, mean_docs=10)


def values(trials: list[Trial]) -> list[Any]:
    return [(t.number, t.params, t.value, t.folds, t.error) for t in trials]


class Gone(Executor):
    """An executor that lost its processes."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_trials_by_an_executor(data: rw.Dataset, tmp_path: Path) -> None:
    options: Any = {"n_trials": 4, "n_folds": 2, "random_state": 1}
    here = tune(RANKER, data, SPACE, n_jobs=2, **options)
    crashed = [t.number for t in here.trials if t.params["alpha"] == 13.0]
    assert 0 < len(crashed) < 4
    told: list[Trial] = []
    options["path"] = tmp_path / "study.jsonl"
    with ThreadPoolExecutor(2) as executor:
        there = tune(RANKER, data, SPACE, executor=executor, callback=told.append, **options)
        assert values(there.trials)[0] == values(here.trials)[0]
        assert repr(values(there.trials)) == repr(values(here.trials))  # with NaN
        assert [t.error for t in there.trials if t.number in crashed] == [SEGFAULT] * len(crashed)
        assert told == there.trials
        told.clear()
        again = tune(RANKER, data, SPACE, executor=executor, callback=told.append, **options)
    assert told == []
    assert repr(values(again.trials)) == repr(values(here.trials))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.jsonl"]


def test_an_executor_that_is_gone_says_nothing_about_parameters(
    data: rw.Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "study.jsonl"
    text = "trial 0 was lost with its executor: CancelledError. Finished trials are kept"
    with pytest.raises(WorkerError, match=f"^{re.escape(text)}"):
        tune(RANKER, data, SPACE, n_trials=2, executor=Gone(), path=path)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1
    assert not tune(RANKER, data, SPACE, n_trials=1, path=path).trials[0].error


def test_fits_of_a_noise_study_by_an_executor(data: rw.Dataset, tmp_path: Path) -> None:
    models = {"a": RANKER, "b": Crashing("xendcg", alpha=13.0), "c": Crashing("xendcg")}
    whole = {name: model for name, model in models.items() if name != "b"}
    options: Any = {"levels": [0.0, 0.4], "n_trials": 2}
    here = noise_study(data, "labels", whole, **options)
    fits: list[Fit] = []
    options |= {"path": tmp_path / "fits.jsonl", "callback": lambda fit, *_: fits.append(fit)}
    with ThreadPoolExecutor(2) as executor:
        text = rf"b at level [\d.]+, trial \d: {re.escape(SEGFAULT)}"
        with pytest.raises(WorkerError, match=f"^{text}$"):
            noise_study(data, "labels", models, executor=executor, **options)
        assert sorted({(fit.model, fit.kept) for fit in fits}) == [("a", False), ("c", False)]
        assert len(fits) == 8  # whatever ran beside the one that crashed
        fits.clear()
        there = noise_study(data, "labels", whole, executor=executor, **options)
    assert [fit.kept for fit in fits] == [True] * 8
    np.testing.assert_array_equal(there.values, here.values)
