"""Files of online learners: whatever is wrong with them is a DataError, or does no harm."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rankwright as rw
from tests.contracts.test_online import LEARNERS, make_data

X, Y, QID = make_data(n_queries=10)
ODD: list[Any] = [None, "text", -1, 1.5, {"float": "nan"}, 10**30]


@pytest.fixture(params=LEARNERS)
def content(request: pytest.FixtureRequest, tmp_path: Path) -> bytes:
    model = clone(LEARNERS[request.param]).partial_fit(X, Y, QID)
    rw.save(model, tmp_path / "good.rw")
    return (tmp_path / "good.rw").read_bytes()


def parts(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        header = json.loads(archive.read("header.json"))
        arrays = {
            name: np.load(io.BytesIO(archive.read(f"{name}.npy"))) for name in header["arrays"]
        }
    return header, arrays


def packed(header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("header.json", json.dumps({**header, "arrays": list(arrays)}))
        for name, array in arrays.items():
            npy = io.BytesIO()
            np.save(npy, array)
            archive.writestr(f"{name}.npy", npy.getvalue())
    return buffer.getvalue()


def changed_arrays(array: Any) -> Iterator[Any]:
    yield array.astype(np.float32)
    yield array.astype(np.int8)
    yield array.reshape(-1)[: max(array.size - 1, 0)]
    yield np.concatenate([array, array])
    yield array[..., None]
    yield np.zeros(0)
    if array.dtype.kind == "f" and array.size:
        for value in (np.nan, np.inf):
            other = array.copy()
            other.flat[0] = value
            yield other
    if array.size:
        yield np.full_like(array, 100)
        yield -np.abs(array) - 1


def assert_harmless(content: bytes, path: Path) -> bool:
    """Return whether the file was refused; a model that was not must work."""
    path.write_bytes(content)
    try:
        model = rw.load(path)
    except rw.DataError:
        return True
    with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # a kernel may overflow
        assert len(model.predict(X)) == len(X)
    return False


def test_arrays_that_cannot_be(content: bytes, tmp_path: Path) -> None:
    header, arrays = parts(content)
    refused = 0
    for name, array in arrays.items():
        without = {key: value for key, value in arrays.items() if key != name}
        assert assert_harmless(packed(header, without), tmp_path / "model.rw"), name
        for other in changed_arrays(array):
            refused += assert_harmless(
                packed(header, {**arrays, name: other}), tmp_path / "model.rw"
            )
    assert refused >= 4 * len(arrays)


def test_values_that_cannot_be(content: bytes, tmp_path: Path) -> None:
    header, arrays = parts(content)
    for part in ("fitted", "params"):
        for name in header[part]:
            for value in ODD:
                changed = {**header, part: {**header[part], name: value}}
                assert_harmless(packed(changed, arrays), tmp_path / "model.rw")
    for name in header["fitted"]:
        fitted = {key: value for key, value in header["fitted"].items() if key != name}
        refused = assert_harmless(packed({**header, "fitted": fitted}, arrays), tmp_path / "m.rw")
        # The first files lack what was left open.
        assert refused or name in ("variant_", "threshold_step_", "fit_intercept_")


def test_another_kind_of_learner(content: bytes, tmp_path: Path) -> None:
    header, arrays = parts(content)
    params = header["params"]
    if header["fitted"]["variant_"] != "last" or params.get("kernel") is not None:
        return
    for variant in ("voted", "averaged"):
        changed = {**header, "fitted": {**header["fitted"], "variant_": variant}}
        assert assert_harmless(packed(changed, arrays), tmp_path / "model.rw")
    if "kernel" in params:
        changed = {**header, "params": {**params, "kernel": "rbf"}}
        assert assert_harmless(packed(changed, arrays), tmp_path / "model.rw")
