"""Data in parts on a Dask cluster: same bits on any number of workers, whoever is lost."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import make_mslr_like
from rankwright.data.dataset import Dataset
from rankwright.data.each import EachHere
from rankwright.data.parts import LocalParts, Parts
from rankwright.exceptions import DataError, DataWarning
from tests.part_samples import write_parts
from tests.systems.conftest import package
from tests.systems.dask_sample import cluster_of, kill_one

package("distributed")
from rankwright.dask import DaskParts, check_versions  # noqa: E402
from rankwright.dask.each import DaskEach  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # distributed's own, of sockets and ports
LOSSES = ("xendcg", "listnet", "domination", "smooth-slam", "rank_logistic", "slam")
ON_ANY = [("xendcg", "l1"), ("domination", "l2"), ("rank_logistic", "elasticnet")]
OTHERS = [
    (loss, penalty)
    for loss in LOSSES
    for penalty in ("l1", "l2", "elasticnet")
    if (loss, penalty) not in ON_ANY
]
on_two_workers = pytest.mark.parametrize("client", [2], indirect=True)  # what is slow


@pytest.fixture(scope="module", params=[1, 2, 3])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    with cluster_of(request.param) as client:
        yield client


@pytest.fixture(scope="module")
def there(client: Any, part_paths: list[Path]) -> DaskParts:
    return DaskParts(client, part_paths)


def numbers(part: Dataset, factor: float, own: int = 0) -> tuple[float, int, int]:
    return factor * float(part.X.sum()), part.n_docs, own


def halved(part: Dataset) -> Dataset:
    return part.with_features(part.X / 2)


def fitted(parts: Parts, **params: Any) -> dict[str, Any]:
    ranker = rw.LinearRanker(**params).fit_parts(parts)
    names = ("coef_", "objective_", "gap_", "violation_", "n_iter_", "stop_")
    return {name: np.asarray(getattr(ranker, name)).tolist() for name in names}


def test_parts_are_the_same_wherever_they_are(there: DaskParts, local_parts: LocalParts) -> None:
    assert len(there) == len(local_parts) == 5
    known = [(p.fingerprint, p.n_docs, p.labels) for p in there.facts.parts]
    assert known == [(p.fingerprint, p.n_docs, p.labels) for p in local_parts.facts.parts]
    assert there.map(numbers, 2.0) == local_parts.map(numbers, 2.0)
    own = [5.0, 4.0, 3.0, 2.0, 1.0]
    assert there.map(numbers, EachHere(own), 7) == local_parts.map(numbers, EachHere(own), 7)
    half, half_here = there.transformed(halved), local_parts.transformed(halved)
    assert half.map(numbers, 2.0) == half_here.map(numbers, 2.0)
    assert repr(there).startswith("DaskParts(5 parts, ")


def params_of(loss: str, penalty: Any) -> dict[str, Any]:
    if loss == "slam":
        return {"loss": loss, "penalty": penalty, "alpha": 0.1, "tol": 0.2}
    return {"loss": loss, "penalty": penalty, "alpha": 0.01, "standardize": True}


@pytest.mark.parametrize(("loss", "penalty"), ON_ANY, ids="-".join)
def test_linear_rankers_have_the_same_bits(
    loss: str, penalty: Any, there: DaskParts, local_parts: LocalParts
) -> None:
    params = params_of(loss, penalty)
    assert fitted(there, **params) == fitted(local_parts, **params)


@on_two_workers
@pytest.mark.parametrize(("loss", "penalty"), OTHERS, ids="-".join)
def test_other_linear_rankers_have_the_same_bits(
    loss: str, penalty: Any, there: DaskParts, local_parts: LocalParts
) -> None:
    params = params_of(loss, penalty)
    assert fitted(there, **params) == fitted(local_parts, **params)


@on_two_workers
@pytest.mark.parametrize(
    "more", [{"solver": "lbfgs"}, {"relax": True, "standardize": True}], ids=str
)
def test_l_bfgs_and_refits_have_the_same_bits(
    more: Any, there: DaskParts, local_parts: LocalParts
) -> None:
    params: Any = {"loss": "listnet", "penalty": "l1", "alpha": 0.02, **more}
    assert fitted(there, **params) == fitted(local_parts, **params)


# ---- workers that are lost ----


@pytest.mark.parametrize("at", range(1, 11))
def test_a_worker_that_is_killed_changes_no_bit(
    at: int, part_paths: list[Path], local_parts: LocalParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = {"loss": "xendcg", "alpha": 0.01, "standardize": True}
    trips = 0
    results = DaskEach.results

    def watched(self: DaskEach) -> list[Any]:
        nonlocal trips
        trips += 1
        if trips == at:
            kill_one(self.client)
        return results(self)

    with cluster_of(2) as client:
        parts = DaskParts(client, part_paths)
        monkeypatch.setattr(DaskEach, "results", watched)
        assert fitted(parts, **params) == fitted(local_parts, **params)
    assert trips > 15


def ends(part: Dataset) -> None:
    if part.n_docs < 60:
        os._exit(1)


def test_a_part_that_ends_every_worker_is_named(part_paths: list[Path]) -> None:
    with cluster_of(2) as client:
        parts = DaskParts(client, part_paths)
        with pytest.raises(DataError, match=r"part-1\.txt: every worker that worked on this"):
            parts.map(ends)
        assert len(parts.map(numbers, 1.0)) == 5  # the cluster, and the parts, live on


# ---- what is refused ----


def test_a_cluster_without_workers_is_refused(part_paths: list[Path]) -> None:
    text = r"^the cluster tcp://\S+ has no workers\. Start some"
    with cluster_of(0) as client, pytest.raises(DataError, match=text):
        DaskParts(client, part_paths)


def _other_versions() -> dict[str, str]:
    return {"rankwright": "0.0.1"}


def test_what_is_no_connected_client_is_refused(part_paths: list[Path]) -> None:
    with pytest.raises(TypeError, match=r"must be a distributed.Client, but is a str.*Client\(a"):
        DaskParts("tcp://scheduler:8786", part_paths)
    with cluster_of(1) as client:
        pass
    with pytest.raises(DataError, match="the client must be connected to a cluster, but is closed"):
        DaskParts(client, part_paths)


def test_workers_of_other_versions_are_refused(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_versions(client)
    monkeypatch.setattr("rankwright.dask.cluster.versions", _other_versions)
    text = r"but tcp://\S+ has rankwright 0\.1\.0 \(\w+\), and this one 0\.0\.1\."
    monkeypatch.setattr(client, "run", lambda *_, **__: {"tcp://a:1": {"rankwright": "0.1.0 (ab)"}})
    with pytest.raises(DataError, match=text):
        check_versions(client)


def test_bad_parts_are_refused_before_anything_is_learned(client: Any, tmp_path: Path) -> None:
    data = make_mslr_like(n_queries=10, n_features=4)
    first, second = data.split((0.5, 0.5))
    for name, part in (("a", first), ("b", second), ("whole", data)):
        rw.write(part, tmp_path / f"{name}.txt")
    (tmp_path / "wrong.txt").write_text("1 qid:x 1:0.5\n1 qid:x 1:oops\n")
    (tmp_path / "empty.txt").write_text("# nothing\n")

    def names(*given: str) -> list[Path]:
        return [tmp_path / f"{name}.txt" for name in given]

    with pytest.raises(DataError, match=r"whole\.txt, qid: every query must be in one part"):
        DaskParts(client, names("a", "whole"))
    with pytest.raises(DataError, match=r"wrong\.txt, line 2"):
        DaskParts(client, names("a", "wrong"))
    with pytest.raises(DataError, match=r"none\.txt"):
        DaskParts(client, names("a", "none"))
    with pytest.warns(DataWarning, match=r"empty\.txt: has no documents, and is left out"):
        assert len(DaskParts(client, names("a", "empty", "b"))) == 2


def test_a_file_that_changed_is_not_read_again(tmp_path: Path) -> None:
    paths = write_parts(tmp_path)
    with cluster_of(1) as client:
        parts = DaskParts(client, paths)
        assert len(parts.map(numbers, 1.0)) == 5
        data = make_mslr_like(n_queries=3, n_features=8, random_state=9)
        rw.write(data, paths[2])
        kill_one(client)
        with pytest.raises(DataError, match=re.escape("part-2.txt: has changed since it was read")):
            parts.map(numbers, 1.0)


# ---- what it costs ----


def nothing(part: Dataset) -> None:
    return None


def test_a_round_trip_takes_milliseconds(tmp_path: Path) -> None:
    """Measured: 12 to 28 ms for 8 parts on a quiet machine; a busy one may take longer."""
    paths = []
    for i, part in enumerate(make_mslr_like(n_queries=80, n_features=4).split((0.125,) * 8)):
        paths.append(tmp_path / f"{i}.txt")
        rw.write(part, paths[-1])
    with cluster_of(2) as client:
        parts = DaskParts(client, paths)
        seconds = []
        for _ in range(20):
            begin = time.perf_counter()
            parts.map(nothing)
            seconds.append(time.perf_counter() - begin)
    assert sorted(seconds)[10] < 0.5


def test_without_dask_nothing_of_it_is_loaded() -> None:
    import subprocess
    import sys

    code = (
        "import sys, rankwright as rw; rw.LinearRanker; rw.read_parts; rw.compare; rw.evaluate\n"
        "assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
