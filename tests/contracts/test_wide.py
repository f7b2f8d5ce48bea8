"""Bits that do not depend on the machine, on the cut of a stream, or on the rows beside a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from rankwright import _kernels
from rankwright.data.products import linear_scores, multiply_transposed
from rankwright.linear import DominationRank, LinearRanker
from rankwright.losses import SLAM, XENDCG, SmoothSLAM
from rankwright.online import (
    PAMIR,
    MulticlassPerceptron,
    OnlineRanker,
    PRank,
    SLAMPerceptron,
    WidrowHoff,
)
from rankwright.predtron import PredtronClassifier, PredtronOrdinal, PredtronRanker

RANKERS: dict[str, Any] = {
    "slam": SLAMPerceptron(),
    "slam-map-averaged": SLAMPerceptron("map", variant="averaged"),
    "slam-cutoff-voted": SLAMPerceptron("ndcg@3", variant="voted"),
    "slam-weights": SLAMPerceptron(lambda y: y, "printed", eta=0.1),
    "xendcg": OnlineRanker("xendcg"),
    "xendcg-averaged": OnlineRanker(XENDCG(random_state=7), schedule="sqrt", variant="averaged"),
    "xendcg-fixed": OnlineRanker(XENDCG(gamma=0.5, eps=0.1, normalize="ideal_dcg")),
    "listnet-voted": OnlineRanker("listnet", schedule="inverse", variant="voted"),
    "smooth-slam": OnlineRanker(SmoothSLAM("map")),
    "slam-loss": OnlineRanker(SLAM("ndcg@5")),
}
LINEAR: dict[str, Any] = {
    "linear": LinearRanker("listnet", max_iter=3),
    "domination": DominationRank(max_iter=3),
    "slam": SLAMPerceptron(),
    "online": OnlineRanker("xendcg"),
    "pamir": PAMIR(),
    "prank": PRank(),
    "widrow-hoff": WidrowHoff(),
    "multiclass": MulticlassPerceptron(),
    "predtron-ranker": PredtronRanker(),
    "predtron-ordinal": PredtronOrdinal(),
    "predtron-classifier": PredtronClassifier(),
}
every_ranker = pytest.mark.parametrize("name", RANKERS)
every_linear = pytest.mark.parametrize("name", LINEAR)
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])
pytestmark = [
    pytest.mark.filterwarnings("ignore:this model"),
    pytest.mark.filterwarnings("ignore:.*max_iter"),
]


def make_data(
    seed: int, d: int = 21, n_queries: int = 25, dtype: Any = np.float32
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 14, n_queries))
    X = rng.normal(size=(len(qid), d)).astype(dtype)
    return X, np.clip(np.round(X[:, 0] + rng.normal(size=len(qid)) + 1), 0, 4), qid


def bits(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else value


def state(model: Any) -> dict[str, Any]:
    return {name: bits(value) for name, value in vars(model).items() if name.endswith("_")}


@pytest.fixture
def narrow() -> Any:
    """Return a way to run without AVX2; leave everything as it was."""

    def run(f: Any) -> Any:
        _kernels.use_avx2(False)
        try:
            return f()
        finally:
            _kernels.use_avx2(True)

    return run


# --- machines ----------------------------------------------------------------------------------


@every_type
@pytest.mark.parametrize("d", [1, 7, 8, 9, 21, 136, 3000])
def test_products_have_the_same_bits_without_avx2(d: int, dtype: Any, narrow: Any) -> None:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(37, d)).astype(dtype)
    w, g = rng.normal(size=d), rng.normal(size=37) * (rng.random(37) < 0.7)
    products: list[Any] = [lambda: linear_scores(X, w)[0], lambda: multiply_transposed(X, g)]
    for f in products:
        np.testing.assert_array_equal(f(), narrow(f))
    np.testing.assert_allclose(linear_scores(X, w)[0], X.astype(np.float64) @ w, atol=1e-10)
    np.testing.assert_allclose(multiply_transposed(X, g), X.T.astype(np.float64) @ g, atol=1e-10)


@every_ranker
def test_rounds_have_the_same_bits_without_avx2(name: str, narrow: Any) -> None:
    X, y, qid = make_data(3)

    def fit() -> dict[str, Any]:
        return state(clone(RANKERS[name]).fit(X, y, qid))

    assert fit() == narrow(fit)


# --- streams -----------------------------------------------------------------------------------


@every_type
@every_ranker
def test_random_cuts_of_a_stream_have_the_same_bits(name: str, dtype: Any) -> None:
    for seed in range(4):
        X, y, qid = make_data(seed, dtype=dtype)
        whole = clone(RANKERS[name]).partial_fit(X, y, qid)
        queries = np.unique(qid)
        rng = np.random.default_rng(seed)
        some = rng.random(len(queries)) < 0.3
        for cut in (some, np.ones(len(queries), dtype=bool)):  # also one query a call
            parts = clone(RANKERS[name])
            for group in np.split(queries, np.flatnonzero(cut[1:]) + 1):
                rows = np.isin(qid, group)
                parts.partial_fit(X[rows], y[rows], qid[rows])
            assert state(parts) == state(whole)


@every_ranker
def test_one_document_a_call(name: str) -> None:
    X, y, _ = make_data(5)
    rows = np.arange(len(y))
    whole = clone(RANKERS[name]).partial_fit(X, y, rows)
    parts = clone(RANKERS[name])
    for i in rows:
        parts.partial_fit(X[i : i + 1], y[i : i + 1], rows[i : i + 1])
    assert state(parts) == state(whole)


# --- rows --------------------------------------------------------------------------------------


@every_type
@every_linear
def test_a_prediction_depends_on_its_own_row_alone(name: str, dtype: Any) -> None:
    X, y, qid = make_data(1, dtype=dtype)
    model = clone(LINEAR[name])
    for parameter in ("n_epochs", "standardize"):  # weights that are no whole numbers
        if parameter in model.get_params():
            model.set_params(**{parameter: 2 if parameter == "n_epochs" else True})
    model.fit(X, y, qid)
    ask = getattr(model, "decision_function", model.predict)
    scores = ask(X)
    for size in (1, 2, 3, 4, 5, 11, 60):
        parts = [ask(X[i : i + size]) for i in range(0, len(X), size)]
        np.testing.assert_array_equal(np.concatenate(parts), scores)
    np.testing.assert_array_equal(ask(X[::-1]), scores[::-1])
    many = np.tile(X, (30, 1))  # several parts, and threads
    np.testing.assert_array_equal(ask(many)[-len(X) :], scores)
    np.testing.assert_allclose(ask(sp.csr_array(X)), scores, rtol=1e-10, atol=1e-12)


@every_type
@every_linear
def test_what_is_not_finite_is_found(name: str, dtype: Any) -> None:
    X, y, qid = make_data(2, dtype=dtype)
    X[:, 4] = 0  # whose weight is 0, and must hide nothing
    model = clone(LINEAR[name]).fit(X, y, qid)
    assert not np.any(np.atleast_2d(model.coef_)[:, 4])
    for value, message in (
        (np.nan, r"no missing values, but row 17, feature 5 is NaN"),
        (np.inf, r"X must be finite, but row 17, feature 5 is inf"),
        (-np.inf, r"X must be finite, but row 17, feature 5 is -inf"),
    ):
        bad = X.copy()
        bad[17, 4] = value
        with pytest.raises(ValueError, match=message):
            model.predict(bad)
    with pytest.raises(ValueError, match=r"X has 20 features, but \w+ is expecting 21"):
        model.predict(X[:, :20])
    with pytest.raises(ValueError, match=r"0 sample"):
        model.predict(X[:0])


def test_scores_that_overflow_are_told_by_row() -> None:
    X, y, qid = make_data(2, dtype=np.float64)
    model = LinearRanker("listnet", max_iter=3).fit(X, y, qid)
    X[9] = np.where(model.coef_ > 0, 1e308, -1e308)
    model.coef_ *= 1e3
    with pytest.raises(ValueError, match=r"the score of row 9 is not finite: scale the features"):
        model.predict(X)


def test_arrays_that_are_not_plain_are_read_as_they_are() -> None:
    X, y, qid = make_data(6)
    model = LinearRanker("listnet", max_iter=3).fit(X, y, qid)
    scores = model.predict(X)

    class Other(np.ndarray[Any, Any]):
        pass

    wide = np.zeros((len(X), 2 * X.shape[1]), dtype=X.dtype)
    wide[:, ::2] = X
    same = [np.asfortranarray(X), wide[:, ::2], X.astype(">f4"), X.view(Other), X.tolist()]
    for other in same:
        np.testing.assert_array_equal(model.predict(other), scores)
    whole = np.ones_like(X, dtype=np.int64)
    np.testing.assert_array_equal(model.predict(whole), model.predict(whole.astype(np.float64)))
    masked = np.ma.masked_array(X, mask=np.zeros_like(X, dtype=bool))
    masked[3, 2] = np.ma.masked
    with pytest.raises(ValueError, match=r"miss|mask"):
        model.predict(masked)


@every_type
def test_the_largest_size(dtype: Any, narrow: Any) -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 7, 64, 1000):
        values = (rng.normal(size=n) * 10.0 ** rng.integers(-30, 30, n)).astype(dtype)
        for special in ((), (np.inf,), (-np.inf,), (np.nan,), (np.nan, -np.inf), (-np.nan,)):
            given = np.append(values, np.array(special, dtype=dtype))
            rng.shuffle(given)
            kept = given[~np.isnan(given)]
            largest = np.abs(kept).max(initial=0)
            found = _kernels.largest_size(given, skip_nan=True)
            assert found == largest == narrow(lambda g=given: _kernels.largest_size(g, True))
            plain = _kernels.largest_size(given)
            assert np.isnan(plain) if len(kept) < len(given) else plain == largest
