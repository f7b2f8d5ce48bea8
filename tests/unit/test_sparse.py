"""Sparse matrices with wrong indices are refused at every door, before compiled code sees them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.sparse import as_csr
from rankwright.estimator import Model
from rankwright.evaluation import explain
from rankwright.evaluation.folds import Fold
from rankwright.models import CLASSES
from rankwright.predtron import Predtron
from rankwright.problems import Multiclass
from rankwright.theory import MarginReport, link_radius
from rankwright.theory.gradients import radius

N, D = 60, 5
Y = np.arange(N) % 3
QID = np.arange(N) // 6


def good(kind: Any = sp.csr_array) -> Any:
    rng = np.random.default_rng(0)
    return kind(rng.random((N, D)) * (rng.random((N, D)) < 0.5))


def with_index(value: int) -> Callable[[Any], None]:
    def change(X: Any) -> None:
        X.indices[7] = value

    return change


def with_offset(row: int, value: int) -> Callable[[Any], None]:
    def change(X: Any) -> None:
        X.indptr[row] = value

    return change


def with_array(name: str, make: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda X: setattr(X, name, make(getattr(X, name)))


WRONG: dict[str, Callable[[Any], None]] = {
    "an index that is too large": with_index(D),
    "an index far away": with_index(40_000_000),
    "a negative index": with_index(-1),
    "a large negative index": with_index(-40_000_000),
    "an offset behind the entries": with_offset(N, 40_000_000),
    "an offset that decreases": with_offset(5, 0),
    "a large offset in the middle": with_offset(5, 40_000_000),
    "a negative offset": with_offset(5, -5),
    "a first offset that is not 0": with_offset(0, 1),
    "too few offsets": with_array("indptr", lambda a: a[:-1]),
    "too many offsets": with_array("indptr", lambda a: np.append(a, a[-1])),
    "too few indices": with_array("indices", lambda a: a[:-1]),
    "indices that are no integers": with_array("indices", lambda a: a.astype(float)),
    "indices in a list": with_array("indices", lambda a: a.tolist()),
    "two-dimensional data": with_array("data", lambda a: a[:, None]),
}
every_fault = pytest.mark.parametrize("fault", WRONG)


def wrong(fault: str, kind: Any = sp.csr_array) -> Any:
    X = good(kind)
    WRONG[fault](X)
    return X


# ---- what is refused ----


@every_fault
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("wide", [False, True])
def test_wrong_csr_matrices_are_refused(fault: str, kind: Any, wide: bool) -> None:
    X = good(kind)
    if wide:
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    WRONG[fault](X)
    with pytest.raises(ValueError, match=r"^X"):
        as_csr(X)


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csc_matrix])
@pytest.mark.parametrize("change", [with_index(N), with_index(-1), with_offset(3, 40_000_000)])
def test_wrong_csc_matrices_are_refused(kind: Any, change: Callable[[Any], None]) -> None:
    X = good(kind)
    change(X)
    with pytest.raises(ValueError, match=r"^X.* column "):
        as_csr(X)


@pytest.mark.parametrize("kind", [sp.coo_array, sp.coo_matrix])
@pytest.mark.parametrize(
    ("which", "value"), [("row", N), ("row", -1), ("col", D), ("col", -40_000_000)]
)
def test_wrong_coo_matrices_are_refused(kind: Any, which: str, value: int) -> None:
    X = good(kind)
    getattr(X, which)[7] = value
    with pytest.raises(ValueError, match=rf"^X has .* but its entry 7 is in .* {value}\.$"):
        as_csr(X)


def test_coo_matrices_with_too_many_values_are_refused() -> None:
    X = good(sp.coo_array)
    X.data = np.append(X.data, 1.0)
    with pytest.raises(ValueError, match=r"^X's rows must be \d+ integers"):
        as_csr(X)


def test_wrong_block_and_list_matrices_are_refused() -> None:
    blocks = sp.bsr_array(np.ones((6, 4)), blocksize=(3, 2))
    assert as_csr(blocks).nnz == 24
    blocks.indices[1] = 2
    with pytest.raises(ValueError, match=r"^X has 2 columns, but an entry of row 0 is in column 2"):
        as_csr(blocks)
    lists = sp.lil_array(np.eye(3))
    lists.rows[1] = [9]
    with pytest.raises(ValueError, match="9"):
        as_csr(lists)
    lists.rows[1] = [1, 2]
    with pytest.raises(ValueError, match="as many columns as values"):
        as_csr(lists)


def test_messages() -> None:
    X = wrong("an index far away")
    row = int(np.searchsorted(X.indptr, 7, side="right")) - 1
    with pytest.raises(ValueError, match="X") as error:
        as_csr(X)
    assert str(error.value) == (
        f"X has 5 columns, but an entry of row {row} is in column 40000000."
    )
    X = wrong("a negative offset")
    with pytest.raises(ValueError, match="X") as error:
        as_csr(X, "valid.X")
    assert str(error.value) == (
        f"valid.X.indptr must start with 0, never decrease and end with at most {X.nnz}, the "
        f"number of entries, but row 4 goes from {X.indptr[4]} to -5."
    )
    X = wrong("too few offsets")
    with pytest.raises(ValueError, match=r"^X.indptr must be 61 integers, but is int32 of shape"):
        as_csr(X)


# ---- what is right ----


def test_a_good_matrix_is_not_copied() -> None:
    X = good(sp.csr_matrix)
    checked = as_csr(X)
    assert isinstance(checked, sp.csr_array)
    for name in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(checked, name), getattr(X, name))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_every_format_gives_the_same_matrix(form: str) -> None:
    X = good()
    checked = as_csr(X.asformat(form))
    assert checked.has_canonical_format
    np.testing.assert_array_equal(checked.toarray(), X.toarray())


def test_flags_that_are_out_of_date_are_not_believed() -> None:
    X = good()
    assert X.has_canonical_format
    row = int(np.argmax(np.diff(X.indptr) >= 2))
    i = X.indptr[row]
    X.indices[[i, i + 1]] = X.indices[[i + 1, i]]  # no longer sorted
    X.indices[X.indptr[-1] - 1] = X.indices[X.indptr[-1] - 2]  # and one comes twice
    assert X.has_canonical_format  # it still says
    expected = X.toarray()
    checked = as_csr(X)
    np.testing.assert_array_equal(checked.toarray(), expected)
    for begin, end in zip(checked.indptr[:-1], checked.indptr[1:], strict=True):
        assert (np.diff(checked.indices[begin:end]) > 0).all()


def test_room_behind_the_entries_is_not_looked_at() -> None:
    X = good()
    expected = X.toarray()
    X.data, X.indices = np.append(X.data, np.nan), np.append(X.indices, 99)
    np.testing.assert_array_equal(rw.Dataset(X, Y).X.toarray(), expected)


def test_values_that_lie_apart() -> None:
    X = good()
    X.data = np.repeat(X.data, 2)[::2]
    model = rw.LinearRanker("listnet").fit(good(), np.arange(good().shape[0]))
    np.testing.assert_array_equal(model.predict(X), model.predict(good()))


def test_offsets_and_indices_of_two_types() -> None:
    X = good()
    X.indptr = X.indptr.astype(np.int64)
    np.testing.assert_array_equal(as_csr(X).toarray(), good().toarray())


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_empty_matrices(shape: tuple[int, int]) -> None:
    for form in ("csr", "csc", "coo"):
        assert as_csr(sp.csr_array(shape).asformat(form)).shape == shape


# ---- every door ----


def _labels(name: str) -> Any:
    if name in ("PredtronMultilabel", "TopicRankers"):
        return np.column_stack([Y > 0, Y > 1]).astype(int)
    return np.column_stack([Y, 2 - Y]) if name == "PredtronLabelRanker" else Y


def _fit(name: str, model: Any, X: Any) -> Any:
    more = {} if name == "TopicRankers" else {"qid": QID}
    return model.fit(X, _labels(name), **more)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("name", CLASSES)
def test_every_model_refuses_them(name: str, kind: Any) -> None:
    make = getattr(import_module(CLASSES[name]), name)
    X = wrong("an index that is too large", kind)
    with pytest.raises(ValueError, match=r"^X has 5 columns"):
        _fit(name, make(), X)
    model = _fit(name, make(), good(kind))
    used = 0
    for method in (
        "predict", "decision_function", "rank", "contributions", "staged_predict", "explain",
    ):  # fmt: skip
        # Contributions are those of the weights, unless a class knows better.
        plain = getattr(make, method, None) is Model.contributions
        if hasattr(model, method) and not (plain and model.linear_weights() is None):
            used += 1
            with pytest.raises(ValueError, match=r"^X has 5 columns"):
                list(getattr(model, method)(X))
    assert used > 0
    if hasattr(model, "partial_fit"):
        with pytest.raises(ValueError, match=r"^X has 5 columns"):
            model.partial_fit(X, _labels(name), QID)


def test_other_doors_refuse_them() -> None:
    X = wrong("an index that is too large")
    model = rw.LinearRanker().fit(good(), Y, QID)
    doors: list[Callable[[], Any]] = [
        lambda: rw.Dataset(X, Y, QID),
        lambda: explain(model, X),
        lambda: radius(X),
        lambda: link_radius(X, "l2"),
        lambda: MarginReport(X, Y, QID, np.ones(D)),
        lambda: Predtron(Multiclass(3)).fit(X, list(Y)),
        lambda: model.score(X, Y, QID),
    ]
    for door in doors:
        with pytest.raises(ValueError, match=r"^X has 5 columns"):
            door()


@pytest.mark.parametrize("name", ["PredtronMultilabel", "TopicRankers"])
def test_sparse_labels_are_looked_at_too(name: str) -> None:
    make = getattr(import_module(CLASSES[name]), name)
    labels = sp.csr_array(_labels(name))
    labels.indices[3] = 40_000_000
    with pytest.raises(ValueError, match=r"^[Yy] has 2 columns"):
        make().fit(good(), labels)
    model = make().fit(good(), _labels(name))
    with pytest.raises(ValueError, match=r"^[Yy] has 2 columns"):
        model.score(good(), labels)


def test_mapped_folds_are_looked_at(tmp_path: Path) -> None:
    data = rw.Dataset(good(), Y, QID)
    Fold("split", data, data, data).write(tmp_path)
    indices = np.load(tmp_path / "valid.indices.npy")
    indices[7] = 40_000_000
    np.save(tmp_path / "valid.indices.npy", indices)
    with pytest.raises(ValueError, match=r"^valid\.X has 5 columns"):
        Fold.map("split", tmp_path)


def test_nobody_asks_scikit_learn_behind_the_door() -> None:
    package = Path(rw.__file__).parent
    for path in package.rglob("*.py"):
        if path.name == "inputs.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                doors = {"validate_data", "check_X_y", "validation"}
                assert not doors & {a.name for a in node.names}, path


# ---- no crash: processes of their own, or a fault would end the tests ----

CRASHES = {
    "predict, an index far away": "ranker.predict(far(40_000_000))",
    "predict, a negative index": "ranker.predict(far(-40_000_000))",
    "predict, a large offset": "ranker.predict(offset(40_000_000))",
    "LinearRanker.fit, an index far away": "rw.LinearRanker().fit(far(40_000_000), y, qid)",
    "LinearRanker.fit, a large offset": "rw.LinearRanker().fit(offset(40_000_000), y, qid)",
    "SLAMPerceptron.fit, an index far away": "SLAMPerceptron().fit(far(40_000_000), y, qid)",
    "SLAMPerceptron.fit, a negative index": "SLAMPerceptron().fit(far(-40_000_000), y, qid)",
}
SCRIPT = """
import os, sys
import numpy as np, scipy.sparse as sp
import rankwright as rw
from rankwright.online import SLAMPerceptron
y, qid = np.arange(200) % 3, np.arange(200) // 10
def far(value):
    indices = np.arange(200, dtype=np.int32) % 5
    X = sp.csr_matrix((np.ones(200), indices, np.arange(201)), shape=(200, 5))
    X.indices[7] = value
    return X
def offset(value):
    X = far(1)
    X.indptr[100] = value
    return X
ranker = rw.LinearRanker(n_jobs=1).fit(far(1), y, qid)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            eval(line)
        except ValueError:
            os._exit(7)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def ends() -> dict[str, int]:
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input="\n".join(CRASHES.values()),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    return dict(zip(CRASHES, map(int, result.stdout.split()), strict=True))


@pytest.mark.parametrize("what", CRASHES)
def test_nothing_crashes(what: str, ends: dict[str, int]) -> None:
    assert ends[what] == 7  # a ValueError, neither a signal nor a result
