"""Pages of mapped files: how many stay in memory, and what is there after they were given back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import pages
from rankwright.data.dataset import Dataset
from rankwright.data.each import EachHere
from rankwright.data.part_facts import Facts, measure_part
from rankwright.data.parts import LocalParts
from rankwright.data.spool import Spool
from rankwright.trees import engine

N_DOCS, N_FEATURES, N_PARTS = 40_000, 100, 3
ONE = 4 * N_DOCS * N_FEATURES  # bytes of a part


@pytest.fixture(params=["dense", "sparse"])
def parts(request: pytest.FixtureRequest, tmp_path: Path) -> LocalParts:
    rng, spool = np.random.default_rng(0), Spool(tmp_path)
    spooled, facts = [], []
    for i in range(N_PARTS):
        X = rng.normal(size=(N_DOCS, N_FEATURES)).astype(np.float32)
        qid = (i * N_DOCS + np.arange(N_DOCS)) // 10
        part = rw.Dataset(X if request.param == "dense" else sp.csr_array(X), qid % 3, qid)
        spooled.append(spool.put(part))
        facts.append(measure_part(part, str(i)))
    return LocalParts(spool, spooled, Facts(tuple(facts)))


PARAMS = {"verbosity": -1, "feature_pre_filter": False}


@pytest.fixture
def loaded() -> None:
    """Load what bins need; libraries are mapped files, too."""
    for X in (np.eye(50, dtype=np.float32), sp.csr_array(np.eye(50, dtype=np.float32))):
        engine.binned_parts(PARAMS, [X], engine.bins_of(PARAMS, np.eye(50, dtype=np.float32), {}))


@pytest.fixture
def few(loaded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let half a part be many pages."""
    monkeypatch.setattr(pages, "MOST", pages.mapped() + ONE // 2)


def total(part: Dataset) -> float:
    return float(part.X.sum())


def test_pages_stay_while_they_are_few(parts: LocalParts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST", 1 << 60)
    opened = parts.spooled[0].open()
    before = pages.mapped()
    total(opened)
    assert not pages.give_back()
    assert pages.mapped() - before > 0.9 * ONE


def test_pages_are_given_back_and_read_again(parts: LocalParts, few: None) -> None:
    opened = parts.spooled[0].open()
    expected = total(opened)
    before = pages.mapped()
    assert pages.give_back()
    assert before - pages.mapped() > 0.9 * ONE
    assert total(opened) == expected


def test_parts_that_stay_open_are_not_all_in_memory(parts: LocalParts, few: None) -> None:
    """As the shares of a linear objective do."""
    before = pages.mapped()
    opened = EachHere(part.open() for part in parts.spooled)
    seen = []
    for _ in opened.tell(total):
        seen.append(pages.mapped() - before)
    assert max(seen) < 0.6 * ONE
    assert parts.map(total) == list(opened.tell(total))


def test_rows_that_go_into_bins_are_not_all_in_memory(
    parts: LocalParts, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_AT_A_TIME", N_DOCS * N_FEATURES // 10)
    matrices = [part.open().X for part in parts.spooled]
    first = matrices[0][:1000]
    taken = first.toarray() if sp.issparse(first) else np.array(first)
    seen = []
    give_back = pages.give_back

    def watched() -> bool:
        seen.append(pages.mapped())
        return give_back()

    monkeypatch.setattr(engine, "give_back", watched)
    before = pages.mapped()
    bins = engine.bins_of(PARAMS, taken, {})
    binned = engine.binned_parts(PARAMS, matrices, bins)
    assert binned.num_data() == N_PARTS * N_DOCS
    assert max(seen) - before < 1.1 * ONE
