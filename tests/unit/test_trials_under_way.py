"""Several trials of a search at a time: what they come to does not depend on who is first."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import rankwright as rw
from rankwright.comparison import Choice, Range, Trial, tune
from rankwright.comparison.handing import opened
from rankwright.comparison.samplers import choose_sampler
from rankwright.comparison.space import Space, draw_parameters
from rankwright.exceptions import DataError

SPACE: Space = {"alpha": Range(1e-3, 10.0, log=True), "loss": Choice(("listnet", "xendcg"))}
RANKER = rw.LinearRanker("listnet", alpha=0.1, standardize=True)


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=24, n_features=6, mean_docs=10)


class Waiting(Future[Any]):
    """A result that is there when somebody asks for it."""

    def __init__(self, executor: Backwards) -> None:
        super().__init__()
        self.executor = executor

    def result(self, timeout: float | None = None) -> Any:
        self.executor.do_all()
        return super().result(timeout)


class Backwards(Executor):
    """Does what was submitted only when a result is asked for, and the last of it first."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Waiting, bytes]] = []
        self.at_a_time: list[int] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Waiting:
        self.waiting.append((Waiting(self), kwargs["call"]))
        return self.waiting[-1][0]

    def do_all(self) -> None:
        if self.waiting:
            self.at_a_time.append(len(self.waiting))
        while self.waiting:
            future, call = self.waiting.pop()
            function, given = pickle.loads(call)
            future.set_result(function(**{name: opened(value) for name, value in given.items()}))


class Listening:
    """A sampler that writes down what it knows when it is asked."""

    learns = True

    def __init__(self, *_: Any) -> None:
        self.n_told = 0
        self.asked: list[tuple[int, int, int]] = []

    def ask(self, number: int, under_way: Sequence[dict[str, Any]]) -> dict[str, Any]:
        self.asked.append((number, self.n_told, len(under_way)))
        return draw_parameters(SPACE, number)

    def tell(self, params: dict[str, Any], value: float) -> None:
        self.n_told += 1


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> list[Listening]:
    """Return the samplers of all searches of a test."""
    made: list[Listening] = []

    def make(*given: Any) -> Listening:
        made.append(Listening(*given))
        return made[-1]

    module = import_module("rankwright.comparison.tune")
    monkeypatch.setattr(module, "choose_sampler", lambda *_: make)
    return made


def values(trials: list[Trial]) -> list[Any]:
    return [(t.number, t.params, t.value, t.folds) for t in trials]


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["number"] for line in path.read_text("utf-8").splitlines()[1:]]


def test_random_trials_are_all_under_way_and_written_in_their_order(
    data: rw.Dataset, tmp_path: Path
) -> None:
    options: Any = {"n_trials": 5, "n_folds": 2}
    here = tune(RANKER, data, SPACE, **options)
    executor = Backwards()
    told: list[int] = []
    there = tune(
        *(RANKER, data, SPACE),
        executor=executor,
        path=tmp_path / "s.jsonl",
        callback=lambda trial: told.append(trial.number),
        **options,
    )
    assert executor.at_a_time == [10]  # folds of trials
    assert told == numbers(tmp_path / "s.jsonl") == [0, 1, 2, 3, 4]
    assert values(there.trials) == values(here.trials)


@pytest.mark.parametrize("n_parallel", [1, 3])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_a_sampler_knows_depends_on_numbers_alone(
    n_parallel: int, elsewhere: bool, data: rw.Dataset, tmp_path: Path, listening: list[Listening]
) -> None:
    path = tmp_path / "s.jsonl"
    options: Any = {"n_folds": 2, "sampler": "optuna", "n_parallel": n_parallel, "path": path}
    # Trial t is chosen when all before t - n_parallel + 1 are told; the others are under way.
    expected = [(t, max(0, t - n_parallel + 1), min(t, n_parallel - 1)) for t in range(1, 8)]
    executor = Backwards() if elsewhere else None
    tune(RANKER, data, SPACE, n_trials=8, executor=executor, **options)
    assert listening[-1].asked == expected
    assert numbers(path) == list(range(8))
    if executor is not None:
        assert executor.at_a_time[0] == 2 * n_parallel
    # Killed with five trials on disk: what is there is told when its turn comes, and not at once.
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:6]))
    tune(RANKER, data, SPACE, n_trials=8, executor=executor, **options)
    assert listening[-1].asked == expected[4:]
    assert numbers(path) == list(range(8))


@pytest.mark.parametrize("n_parallel", [1, 3])
def test_optuna_is_a_function_of_the_seed_and_the_number_under_way(
    n_parallel: int, data: rw.Dataset, tmp_path: Path
) -> None:
    pytest.importorskip("optuna", reason="needs the extra tune")
    path = tmp_path / "s.jsonl"
    # Only after ten trials does it learn from them.
    options: Any = {"n_folds": 2, "sampler": "optuna", "n_parallel": n_parallel}
    whole = tune(RANKER, data, SPACE, n_trials=16, path=path, **options)
    elsewhere = tune(RANKER, data, SPACE, n_trials=16, executor=Backwards(), **options)
    assert values(elsewhere.trials) == values(whole.trials)
    lines = path.read_bytes().splitlines(keepends=True)
    for kept in (3, 12, 14):
        path.write_bytes(b"".join(lines[: 1 + kept]))
        again = tune(RANKER, data, SPACE, n_trials=16, path=path, **options)
        assert values(again.trials) == values(whole.trials)
    other = tune(RANKER, data, SPACE, n_trials=16, **options | {"n_parallel": 2})
    assert values(other.trials)[:10] == values(whole.trials)[:10]
    assert values(other.trials) != values(whole.trials)


def test_optuna_keeps_away_from_what_is_under_way() -> None:
    pytest.importorskip("optuna", reason="needs the extra tune")
    space: Space = {"alpha": Range(0.0, 1.0)}
    sampler = choose_sampler("optuna")(space, 0, True)
    for i in range(20):
        sampler.tell({"alpha": i / 20}, -abs(i / 20 - 0.5))
    alone = sampler.ask(20, [])
    assert sampler.ask(20, []) == alone
    assert sampler.ask(20, [{"alpha": 7.0}]) == alone  # the estimator's own, outside
    beside = sampler.ask(20, [alone] * 5)
    assert abs(beside["alpha"] - alone["alpha"]) > 0.02


def test_a_study_has_one_number_of_trials_under_way(data: rw.Dataset, tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="needs the extra tune")
    path = tmp_path / "s.jsonl"
    options: Any = {"n_folds": 2, "sampler": "optuna", "path": path}
    tune(RANKER, data, SPACE, n_trials=1, n_parallel=3, **options)
    assert json.loads(path.read_text("utf-8").splitlines()[0])["n_parallel"] == 3
    before = path.read_bytes()
    text = "is a study of another search: n_parallel (there 3) differ. Choose another file."
    for n_parallel in (1, 2):
        with pytest.raises(DataError, match=re.escape(text)):
            tune(RANKER, data, SPACE, n_trials=2, n_parallel=n_parallel, **options)
    assert path.read_bytes() == before


def test_random_trials_need_no_number(data: rw.Dataset) -> None:
    text = "n_parallel is for sampler='optuna': 'random' has as many trials under way as there"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        tune(RANKER, data, SPACE, n_parallel=2)
    with pytest.raises(ValueError, match=r"^n_parallel must be a positive integer, but is 0\."):
        tune(RANKER, data, SPACE, n_parallel=0, sampler="optuna")
