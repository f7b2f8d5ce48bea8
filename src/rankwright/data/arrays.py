"""A data set as plain arrays: hashed, written, and mapped into the memory of several processes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright.data.alignment import Features
from rankwright.data.dataset import Dataset
from rankwright.data.sparse import as_csr
from rankwright.data.texts import pack, unpack


def fingerprint(*datasets: Dataset) -> str:
    """Return a hash of features with their names, labels and query ids of one data set or several.

    Examples
    --------
    >>> one = Dataset([[0.5], [1.0]], [0, 1], [7, 7])
    >>> fingerprint(one) == fingerprint(Dataset([[0.5], [1.0]], [0, 1], [7, 7]))
    True
    >>> fingerprint(one) == fingerprint(Dataset([[0.5], [1.0]], [1, 0], [7, 7]))
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for dataset in datasets:
        for name, array in _arrays(dataset).items():
            digest.update(f"{name} {array.dtype} {array.shape} ".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def write_arrays(dataset: Dataset, folder: Path, name: str) -> None:
    """Write a data set to ``name.*.npy``, for :func:`map_arrays`."""
    kept = {"kept": np.frombuffer(json.dumps(list(dataset.kept)).encode(), dtype=np.uint8)}
    for i, column in enumerate(dataset.kept.values()):
        kept |= pack(f"kept{i}", column)
    if dataset.doc_ids is not None:
        kept |= pack("docs", dataset.doc_ids)
    for key, array in {**_arrays(dataset), **kept}.items():
        np.save(folder / f"{name}.{key}.npy", array, allow_pickle=False)


def map_arrays(folder: Path, name: str) -> Dataset:
    """Return a data set whose arrays are files, mapped into memory."""
    files = {path.name.split(".")[-2]: path for path in folder.glob(f"{name}.*.npy")}
    arrays = {key: np.asarray(np.load(path, mmap_mode="r")) for key, path in files.items()}
    if "X" in arrays:
        X: Any = arrays["X"]
    else:
        shape = tuple(arrays["shape"].tolist())
        X = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        X = as_csr(X, f"{name}.X")
    names = unpack("names", arrays).tolist() if "names_ends" in arrays else None
    categories = json.loads(arrays["categories"].tobytes()) if "categories" in arrays else {}
    features = Features(int(X.shape[1]), names, categories=categories)
    kept = json.loads(arrays["kept"].tobytes()) if "kept" in arrays else []
    columns = {column: unpack(f"kept{i}", arrays) for i, column in enumerate(kept)}
    docs = unpack("docs", arrays) if any(key.startswith("docs") for key in arrays) else None
    return Dataset.from_checked(X, arrays["y"], unpack("qid", arrays), features, docs, kept=columns)


def _arrays(dataset: Dataset) -> dict[str, NDArray[Any]]:
    labels = {"y": dataset.y, **pack("qid", dataset.qid)}
    if dataset.feature_names is not None:
        labels |= pack("names", np.array(dataset.feature_names, dtype=object))
    if dataset.features.categories:
        levels = json.dumps(dict(dataset.features.categories)).encode()
        labels["categories"] = np.frombuffer(levels, dtype=np.uint8)
    if not dataset.is_sparse:
        return {"X": dataset.X, **labels}
    X = dataset.X
    shape = np.array(X.shape)
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": shape, **labels}
