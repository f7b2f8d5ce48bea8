"""PAMIR: its twin, its draws, streams, messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import Groups
from rankwright.data.hashing import combine, mix
from rankwright.online import PAMIR
from tests.reference import online as reference

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing")

Floats = Any


def make_data(seed: int = 0, n_queries: int = 20, d: int = 6) -> tuple[Floats, Floats, Any]:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries) * 7 + 3, rng.integers(1, 12, n_queries))
    X = rng.normal(size=(len(qid), d)) * (rng.random((len(qid), d)) < 0.7)
    y = np.clip(np.round(X @ rng.normal(size=d) + 0.5 * rng.normal(size=len(qid)) + 1), 0, 3)
    return X, y, qid


def below(bits: int, n: int) -> int:
    return (bits * n) >> 64


def draws(y: Floats, qid: Any, seed: int) -> Any:
    """Return the draw of each round: query, better and worse document, from the documentation."""
    ids = list(dict.fromkeys(qid.tolist()))
    keys = Groups.from_qid(qid).keys
    labels = [y[qid == i] for i in ids]
    able = [q for q in range(len(ids)) if len(set(labels[q])) > 1]
    able.sort(key=lambda q: int(keys[q]))
    own = {q: int(combine(seed, keys[q : q + 1])[0]) for q in able}

    def scrambled(number: int) -> int:
        return int(mix(np.array([number], dtype=np.uint64))[0])

    def draw(t: int) -> tuple[int, int, int]:
        q = able[below(scrambled(seed ^ scrambled(t)), len(able))]
        order = np.argsort(labels[q], kind="stable")
        ranked = labels[q][order]
        n_lowest = int((ranked == ranked[0]).sum())
        high = n_lowest + below(scrambled(own[q] ^ scrambled(2 * t)), len(order) - n_lowest)
        n_below = int((ranked < ranked[high]).sum())
        low = below(scrambled(own[q] ^ scrambled(2 * t + 1)), n_below)
        return q, int(order[high]), int(order[low])

    return draw


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_kernel_is_its_twin(seed: int, C: float, kind: Any) -> None:
    X, y, qid = make_data(seed)
    queries = [(X[qid == i], y[qid == i]) for i in dict.fromkeys(qid.tolist())]
    run = reference.pamir(queries, draws(y, qid, seed), 300, C)
    expected = {"last": run.w, "averaged": run.averaged(), "voted": run.voted()}
    for variant, coef in expected.items():
        which: Any = variant
        model = PAMIR(C, n_triplets=300, variant=which, random_state=seed)
        (rounds,) = model.fit_rounds(kind(X), y, qid)
        np.testing.assert_allclose(model.coef_, coef, atol=1e-10)
        np.testing.assert_allclose(rounds.losses, run.losses, atol=1e-10)
        assert model.n_rounds_ == 300
        assert model.n_updates_ == np.count_nonzero(rounds.losses)
        assert model.cumulative_loss_ == pytest.approx(sum(run.losses), abs=1e-10)


def test_a_triplet_has_the_weight_of_its_better_document_times_its_query_s() -> None:
    X, y, qid = make_data(0)
    rng = np.random.default_rng(0)
    a = rng.uniform(0, 3, len(y)) * (rng.random(len(y)) < 0.8)
    c = 1.0 + np.unique(qid, return_inverse=True)[1]
    ids = list(dict.fromkeys(qid.tolist()))
    queries = [(X[qid == i], y[qid == i]) for i in ids]
    run = reference.pamir(queries, draws(y, qid, 0), 300, 0.1, [(a * c)[qid == i] for i in ids])
    model = PAMIR.paper(C=0.1, n_triplets=300)
    (rounds,) = model.fit_rounds(X, y, qid, sample_weight=a, query_weight=c)
    np.testing.assert_allclose(model.coef_, run.w, atol=1e-10)
    np.testing.assert_allclose(rounds.losses, run.losses, atol=1e-10)
    assert model.n_updates_ == np.count_nonzero(rounds.losses)


def test_every_triplet_is_drawn_about_equally_often() -> None:
    # One-hot documents and tiny steps: the weights count the draws.
    y = np.array([0.0, 0, 1, 1, 2])
    C, n = 1e-9, 60_000
    counts = PAMIR.paper(C=C, n_triplets=n).fit(np.eye(5), y).coef_ / C / n
    # Better: one of the three with y > 0. Worse: 2 below those of label 1, 4 below that of label 2.
    one, two = 1 / 3 * 1 / 2, 1 / 3 * 1 / 4
    expected = [-(2 * one + two)] * 2 + [1 / 3 - two] * 2 + [1 / 3]
    np.testing.assert_allclose(counts, expected, atol=0.01)


def test_the_order_of_the_queries_changes_no_bit() -> None:
    X, y, qid = make_data()
    fitted = PAMIR(n_triplets=500).fit(X, y, qid)
    order = np.argsort((qid * 5) % 13, kind="stable")
    np.testing.assert_array_equal(
        PAMIR(n_triplets=500).fit(X[order], y[order], qid[order]).coef_, fitted.coef_
    )
    other = PAMIR(n_triplets=500, random_state=1).fit(X, y, qid)
    assert np.abs(other.coef_ - fitted.coef_).max() > 1e-3


@pytest.mark.parametrize("variant", ["last", "averaged", "voted"])
def test_two_calls_are_two_epochs(variant: Any, tmp_path: Any) -> None:
    X, y, qid = make_data()
    twice = PAMIR(variant=variant, n_epochs=2).fit(X, y, qid)
    once = PAMIR(variant=variant).partial_fit(X, y, qid)
    rw.save(once, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw").partial_fit(X, y, qid)
    np.testing.assert_array_equal(again.coef_, twice.coef_)
    assert again.n_rounds_ == twice.n_rounds_ == 2 * 10 * len(y)


def test_it_learns() -> None:
    train, test = rw.data.make_mslr_like(n_queries=80, mean_docs=30).split((0.7, 0.3))
    scale = np.maximum(train.X.std(axis=0), 1e-9)
    model = PAMIR(1e-3, variant="averaged").fit(train.X / scale, train.y, train.qid)
    assert model.score(test.X / scale, test.y, test.qid) > 0.75


def test_nothing_to_compare() -> None:
    model = PAMIR(variant="averaged").fit(np.eye(3), np.ones(3))
    assert not model.coef_.any()
    model.partial_fit(np.eye(3), [0.0, 0, 1])
    assert model.coef_[2] > 0
    same = PAMIR().fit(np.ones((4, 2)), [0.0, 1, 0, 1])  # x+ = x-
    assert not same.coef_.any()
    assert same.n_updates_ == 0


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"C": 0.0}, "C must be a positive number, but is 0.0."),
        ({"C": np.inf}, "C must be a positive number, but is inf."),
        ({"n_triplets": 0}, "n_triplets must be a positive integer or None, but is 0."),
        ({"variant": "best"}, "variant must be one of last, averaged, voted, but is 'best'."),
        ({"n_epochs": 0}, "n_epochs must be a positive integer, but is 0."),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], text: str) -> None:
    X, y, qid = make_data()
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        PAMIR(**parameters).fit(X, y, qid)
    assert str(caught.value) == text
