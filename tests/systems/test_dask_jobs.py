"""Comparisons and the command line on a Dask cluster."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import Choice, Entry, Event, compare, noise_study, tune
from tests.part_samples import write_parts
from tests.systems.conftest import package
from tests.systems.dask_sample import cluster_of

package("distributed")
from rankwright.dask import DaskParts, jobs_executor  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # distributed's own, of sockets and ports


class Crashing(rw.LinearRanker):
    """A ranker that takes its process with it."""

    def loss_for(self, y: Any) -> Any:
        os.kill(os.getpid(), signal.SIGSEGV)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster_of(2) as client:
        yield client


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=40, n_features=8, mean_docs=10)


@pytest.fixture(scope="module")
def table(data: rw.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "data.txt"
    rw.write(data, path)
    return path


def test_a_model_that_crashes_fails_and_all_others_are_kept(
    client: Any, data: rw.Dataset, tmp_path: Path
) -> None:
    entries: list[Any] = ["xendcg-linear", Entry("crashes", Crashing()), "best-feature", "random"]
    alone = compare(data, ["xendcg-linear", "best-feature", "random"], n_trials=2)
    before = sorted(client.run(os.getpid).values())
    events: list[Event] = []
    options: Any = {"n_trials": 2, "folder": tmp_path / "run", "callback": events.append}
    found = compare(data, entries, executor=jobs_executor(client), **options)
    assert [(f.model, f.reason) for f in found.failures] == [
        ("crashes", "its process was ended by signal 11 (SIGSEGV).")
    ]
    assert found.metrics_csv() == alone.metrics_csv()
    assert sorted(client.run(os.getpid).values()) == before  # no worker was lost
    assert re.fullmatch(r"Dask at tcp://\S+, 2 workers, 2 threads", found.card["executor"])
    events.clear()
    compare(data, entries, executor=client.get_executor(), **options)
    assert sorted((e.kind, e.model) for e in events) == [
        ("failed", "crashes"),
        *(("kept", name) for name in ("best-feature", "random", "xendcg-linear")),
    ]


def test_a_worker_that_is_killed_costs_time_only(
    client: Any, data: rw.Dataset, tmp_path: Path
) -> None:
    alone = compare(data, ["xendcg-linear", "best-feature"], n_trials=3)
    pids = sorted(client.run(os.getpid).values())
    killed = False

    def kill(event: Event) -> None:
        nonlocal killed
        if not killed:
            os.kill(pids[0], signal.SIGKILL)
            killed = True

    found = compare(
        data,
        ["xendcg-linear", "best-feature"],
        n_trials=3,
        executor=client.get_executor(),
        folder=tmp_path / "run",
        callback=kill,
    )
    client.wait_for_workers(2, timeout=60)  # those that come later count them
    assert killed
    assert found.metrics_csv() == alone.metrics_csv()


def test_searches_and_noise_studies(client: Any, data: rw.Dataset, tmp_path: Path) -> None:
    ranker = rw.LinearRanker("listnet", standardize=True)
    space = {"alpha": Choice((0.1, 1.0, 5.0))}
    here = tune(ranker, data, space, n_trials=3)
    executor = jobs_executor(client)
    there = tune(ranker, data, space, n_trials=3, executor=executor, path=tmp_path / "s.jsonl")
    assert [(t.params, t.value) for t in there.trials] == [(t.params, t.value) for t in here.trials]
    options: Any = {"levels": [0.0, 0.5], "n_trials": 2}
    alone = noise_study(data, "labels", {"a": ranker}, **options)
    study = noise_study(data, "labels", {"a": ranker}, executor=executor, **options)
    np.testing.assert_array_equal(study.values, alone.values)


# ---- evaluate and predict ----


def test_evaluation_has_the_same_bits(client: Any, tmp_path: Path) -> None:
    paths = write_parts(tmp_path)
    parts, here = DaskParts(client, paths), rw.read_parts(paths)
    model: Any = rw.LinearRanker("listnet", standardize=True).fit_parts(here)
    one: Any = rw.evaluate(model, parts)
    other: Any = rw.evaluate(model, here)
    assert dict(one) == dict(other)
    for name in one:
        values = [found.results[name].per_query for found in (one, other)]
        np.testing.assert_array_equal(*values)


# ---- the command line ----


def run(*words: Any, code: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankwright", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == code, done.stderr
    return done


def test_commands_by_a_cluster(client: Any, tmp_path: Path) -> None:
    write_parts(tmp_path)
    data = f"{tmp_path}/part-*.txt"
    address = client.scheduler.address
    options = ("--model", "linear", "--alpha", "0.01")
    run("train", data, "-o", tmp_path / "here.rw", *options)
    told = run("train", data, "-o", tmp_path / "there.rw", *options, "--dask", address).stderr
    assert "2 workers" in told
    here, there = (rw.load(tmp_path / f"{name}.rw") for name in ("here", "there"))
    rows = rw.read(tmp_path / "part-0.txt").X
    np.testing.assert_array_equal(here.predict(rows), there.predict(rows))
    for where, more in (("here", ()), ("there", ("--dask", address))):
        run("predict", tmp_path / "here.rw", data, "-o", tmp_path / where, *more)
        found = run("evaluate", data, tmp_path / "here.rw", "--json", *more)
        (tmp_path / f"{where}.json").write_text(found.stdout)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    figures = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("here", "there")]
    assert figures[0] == figures[1]
    wrong = ("--model", "online", "--stream", "--dask", address)
    told = run("train", tmp_path / "part-0.txt", "-o", tmp_path / "m.rw", *wrong, code=2).stderr
    assert told.splitlines()[-1] == (
        "rankwright: --stream learns query by query on this machine: leave --dask out."
    )


def test_grafts_and_averages_by_a_cluster(client: Any, tmp_path: Path) -> None:
    write_parts(tmp_path)
    data = f"{tmp_path}/part-*.txt"
    members = "--param", "members=['linear', 'xendcg-trees']", "--param", "n_models=1"
    for name, more in (("graft", ()), ("ensemble", members)):
        options = ("--model", name, "--param", "n_estimators=2", "-j", 1, *more)
        words = "train", data, "--valid", data, "--allow-overlap", *options
        run(*words, "-o", tmp_path / "here.rw")
        run(*words, "-o", tmp_path / "there.rw", "--dask", client.scheduler.address)
        here, there = (rw.load(tmp_path / f"{place}.rw") for place in ("here", "there"))
        rows = rw.read(tmp_path / "part-0.txt").X
        np.testing.assert_array_equal(here.predict(rows), there.predict(rows))


def test_compare_by_a_cluster_of_its_own(tmp_path: Path, table: Path) -> None:
    run(
        *("compare", table, "-o", tmp_path / "run", "--dask", "local", "-j", 2),
        *("--models", "xendcg-linear,random", "--trials", 1),
    )
    card = json.loads((tmp_path / "run" / "comparison.json").read_text())["card"]
    assert re.fullmatch(r"Dask at tcp://\S+, 2 workers, 2 threads", card["executor"])
    page = (tmp_path / "run" / "report.html").read_text()
    assert "2 workers, 2 threads" in page


@contextlib.contextmanager
def calls_of(client: Any) -> Iterator[list[str]]:
    """Yield a list that has a name for each call that workers did in the block, in the end."""
    found: list[str] = []
    with package("distributed").get_task_stream(client) as stream:
        yield found
    found += [done["key"] for done in stream.data if done["key"].startswith("in_worker")]


SEARCH = ("--model", "linear", "-s", "alpha=0.001..1.0:log", "--folds", 2)
CURVES = ("--models", "xendcg-linear,random", "--trials", 2)


def trials_of(stdout: str) -> list[Any]:
    found = json.loads(stdout)["trials"]
    return [(t["number"], t["params"], t["value"], t["folds"]) for t in found]


@pytest.mark.parametrize(
    "more", [(), ("--sampler", "optuna", "--parallel", 2)], ids=["random", "optuna"]
)
def test_a_search_by_a_cluster(more: Any, client: Any, tmp_path: Path, table: Path) -> None:
    if more:
        package("optuna")
    words = ("tune", table, *SEARCH, *more, "--json")
    here = run(*words, "--trials", 4, "-j", 1)
    there = (*words, "--study", tmp_path / "s.jsonl", "--dask", client.scheduler.address)
    with calls_of(client) as calls:
        first = run(*there, "--trials", 3)
    assert len(calls) == 6  # on two folds
    assert "2 workers, 2 threads" in first.stderr.splitlines()[0]
    assert trials_of(first.stdout) == trials_of(here.stdout)[:3]
    with calls_of(client) as calls:
        second = run(*there, "--trials", 4)
    assert len(calls) == 2
    assert trials_of(second.stdout) == trials_of(here.stdout)
    assert re.findall(r"^trial \d", second.stderr, re.MULTILINE) == ["trial 3"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.jsonl"]


def test_a_noise_study_by_a_cluster(client: Any, tmp_path: Path, table: Path) -> None:
    words = ("noise-study", table, *CURVES, "--json")
    here = run(*words, "--levels", "0,.5", "-o", tmp_path / "here", "-j", 1)
    there = (*words, "-o", tmp_path / "there", "--dask", client.scheduler.address)
    with calls_of(client) as calls:
        told = run(*there, "--levels", "0").stderr
    assert len(calls) == 4
    assert "2 workers, 2 threads" in told.splitlines()[0]
    with calls_of(client) as calls:
        both = run(*there, "--levels", "0,.5")
    assert len(calls) == 4
    assert json.loads(both.stdout) == json.loads(here.stdout)


@pytest.mark.parametrize(
    ("words", "address"),
    [
        (("train", "none.txt", "-o", "m.rw"), "tcp://127.0.0.1:9"),
        (("tune", "none.txt", "--study", "s.jsonl", "-o", "m.rw"), "nothing://here"),
        (("noise-study", "none.txt", "-o", "study"), "nothing://here"),
    ],
    ids=["train", "tune", "noise-study"],
)
def test_a_scheduler_that_is_not_there_is_one_line(
    words: Any, address: str, tmp_path: Path
) -> None:
    """It comes first: the data that are named are not even there."""
    done = run(*words, "--dask", address, code=2, cwd=tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"rankwright: there must be a Dask scheduler at '{address}'")
    assert list(tmp_path.iterdir()) == []
