"""Trees on a Dask cluster: the bits of machines of one host, whoever is lost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import rankwright as rw
from rankwright.data.parts import LocalParts
from rankwright.trees import BoostedRanker
from tests.part_samples import at_tree
from tests.systems.conftest import package
from tests.systems.dask_sample import cluster_of, kill_one

package("distributed")
from rankwright.dask import DaskParts, machines  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # distributed's own, of sockets and ports
OPTIONS: dict[str, Any] = {
    "n_estimators": 8,
    "num_leaves": 6,
    "min_child_samples": 5,
    "n_jobs": 1,
    "colsample": 0.7,
}


@pytest.fixture(scope="module")
def expected(local_parts: LocalParts) -> BoostedRanker:
    return BoostedRanker(**OPTIONS).fit_parts(local_parts, local_parts)


def pids_of_machines() -> list[int]:
    """Return the processes that grow trees for this worker."""
    found = [children for children, _ in machines._running.values()]
    return [child.process.pid for children in found for child in children.all]


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_the_bits_are_those_of_one_host(
    n_workers: int, part_paths: list[Path], expected: BoostedRanker
) -> None:
    with cluster_of(n_workers) as client:
        parts = DaskParts(client, part_paths)
        ranker = BoostedRanker(**OPTIONS).fit_parts(parts, parts)
        assert client.run(pids_of_machines) == {worker: [] for worker in client.nthreads()}
    assert ranker.model_text_ == expected.model_text_
    assert ranker.evals_result_ == expected.evals_result_


@pytest.mark.filterwarnings("ignore:weights='valid' follows the noise")
def test_grafts_and_averages_have_the_bits_of_one_host(
    part_paths: list[Path], local_parts: LocalParts
) -> None:
    few = {**OPTIONS, "n_estimators": 3}
    members: Any = [BoostedRanker(**few, base="linear"), rw.LinearRanker(standardize=True)]
    rankers: list[Any] = [
        BoostedRanker(**few, base="linear"),  # its penalty by folds
        BoostedRanker(**few, base="auto"),
        rw.EnsembleRanker(members, 1, bag=0.8, weights="valid", n_jobs=1),
    ]
    watched: list[Any] = [None, local_parts, local_parts]
    expected = [
        bits(own.fit_parts(local_parts, v)) for own, v in zip(rankers, watched, strict=True)
    ]
    with cluster_of(2) as client:
        parts = DaskParts(client, part_paths)
        watched = [None, parts, parts]
        found = [bits(own.fit_parts(parts, v)) for own, v in zip(rankers, watched, strict=True)]
    assert found == expected


def bits(ranker: Any) -> tuple[Any, ...]:
    """Return all that scores are made of."""
    state = vars(ranker)
    names = ("linear_coef_", "linear_spread_", "member_weights_", "member_scales_")
    return ranker.model_text_, *(state[name].tolist() for name in names if name in state)


@pytest.mark.parametrize("tree", [1, 4, 7])
def test_a_machine_that_is_killed(
    tree: int, part_paths: list[Path], expected: BoostedRanker
) -> None:
    with cluster_of(2) as client:
        parts = DaskParts(client, part_paths)

        def kill() -> None:
            pids = [pid for own in client.run(pids_of_machines).values() for pid in own]
            os.kill(pids[-1], signal.SIGKILL)

        begin = time.monotonic()
        callback = at_tree(tree, kill)
        ranker = BoostedRanker(**OPTIONS).fit_parts(parts, parts, callback=callback)
        assert time.monotonic() - begin < 60
        assert client.run(pids_of_machines) == {worker: [] for worker in client.nthreads()}
    assert ranker.model_text_ == expected.model_text_


@pytest.mark.parametrize(("n_workers", "tree"), [(2, 1), (2, 4), (2, 7), (3, 4)])
def test_a_worker_that_is_killed(
    n_workers: int, tree: int, part_paths: list[Path], expected: BoostedRanker
) -> None:
    with cluster_of(n_workers) as client:
        parts = DaskParts(client, part_paths)
        pids: list[int] = []

        def kill() -> None:
            pids.extend(pid for own in client.run(pids_of_machines).values() for pid in own)
            kill_one(client)

        ranker = BoostedRanker(**OPTIONS).fit_parts(parts, parts, callback=at_tree(tree, kill))
        assert ranker.model_text_ == expected.model_text_
        deadline = time.monotonic() + 10
        while any(os.path.exists(f"/proc/{pid}") for pid in pids):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_validation_parts_must_be_there_too(
    part_paths: list[Path], local_parts: LocalParts
) -> None:
    with cluster_of(1) as client, pytest.raises(TypeError, match="valid must be parts on the same"):
        BoostedRanker(**OPTIONS).fit_parts(DaskParts(client, part_paths), local_parts)
