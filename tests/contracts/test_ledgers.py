"""Guarantees on random and hostile streams, in pieces and at once; ``make soak`` has more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.online import GuaranteeLog
from rankwright.online.ledger import Ledger
from tests.soak import bounds


@pytest.mark.parametrize("name", bounds.LEDGERS)
def test_no_stream_exceeds_a_bound(name: str) -> None:
    count = 100 if name.startswith("warm") else 200
    outcomes = [outcome for _, outcome in bounds.streams(name, count, seed=0)]
    assert [fault for outcome in outcomes for fault in outcome.faults] == []
    ratios = [outcome.ratio for outcome in outcomes]
    assert np.count_nonzero(ratios) > 0.3 * count  # bounds that say something
    assert max(ratios) > 0.25


@pytest.mark.parametrize("name", ["prank", "online-ranker", "predtron-predicted-l2"])
def test_a_ledger_that_forgets_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(self: Ledger, name: str, values: Any) -> None:
        known = self.totals.get(name, 0.0) if name in ("loss", "mistakes") else 0.0
        self.totals[name] = known + float(np.sum(values))

    monkeypatch.setattr(Ledger, "add", forget)
    faults = [fault for _, outcome in bounds.streams(name, 60, seed=1) for fault in outcome.faults]
    assert any("above the bound" in fault for fault in faults)
    assert any("in pieces" in fault for fault in faults)


def test_margins_of_pieces_before_the_first_positive_one() -> None:
    """All rows but the last are on the wrong side of the comparator."""
    d = 200
    side = np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    u = np.append(side / np.sqrt(d), 0.0)
    X = np.vstack([np.eye(d), side / np.sqrt(d)])
    y = np.append(side < 0, 1).astype(int)
    log, learner = GuaranteeLog(u), rw.PRank(classes=[0, 1])
    for rows in (slice(d), slice(d, None)):
        log.partial_fit(learner, X[rows], y[rows])
    # D(1): each of 200 margins -1/sqrt(200) is 1 + 1/sqrt(200) short, the last is not; c = 2.
    charge = d + np.sqrt(d)
    by_hand = ((np.sqrt(2) + np.sqrt(2 + 4 * charge)) / 2) ** 2
    assert log.entries[-1].loss == 201
    assert log.entries[-1].bound == pytest.approx(by_hand, rel=1e-12)


def test_classes_that_the_first_piece_lacks() -> None:
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(60, 3)), rng.normal(size=(3, 4))
    y = (X @ U[:, :3].T + U[:, 3]).argmax(axis=1)
    order = np.argsort(y == 2, kind="stable")  # those of class 2 come last
    X, y = X[order], y[order]
    for learner in (rw.PredtronClassifier(), rw.PredtronOrdinal()):
        log = GuaranteeLog(U)
        for rows in np.array_split(np.arange(60), 6):
            log.partial_fit(learner, X[rows], y[rows], classes=[0, 1, 2])
        assert learner.classes_.tolist() == [0, 1, 2]
        assert all(entry.loss <= entry.bound for entry in log.entries)
    with pytest.raises(ValueError, match=r"^the first call of partial_fit needs classes"):
        GuaranteeLog(U).partial_fit(rw.PredtronClassifier(), X, y)
    with pytest.raises(TypeError, match=r"^classes are for learners that predict one of them,"):
        GuaranteeLog(np.ones(3)).partial_fit(rw.SLAMPerceptron(), X, y, classes=[0, 1, 2])
    prank = rw.PRank()
    log = GuaranteeLog(np.ones(5))
    log.partial_fit(prank, X[:5], y[:5], classes=[0, 1, 2])
    assert len(prank.thresholds_) == 2


@pytest.mark.parametrize(
    ("name", "stream"),
    [("budget-slam-misordered", 3283), ("budget-predtron-predicted-l2", 36)],
)
def test_an_update_of_documents_that_are_all_but_equal(name: str, stream: int) -> None:
    """What is left of its length is rounding, and may be negative."""
    assert bounds.play(name, 3, stream).faults == []
