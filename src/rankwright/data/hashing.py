"""Stable 64-bit hashes: the same on every machine, in every order, for ever."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.sparse import is_sparse

Keys = NDArray[np.uint64]


def mix(values: NDArray[Any]) -> Keys:
    """Scramble 64-bit integers (the finaliser of SplitMix64, a bijection)."""
    return scramble(np.asarray(values).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))


def scramble(z: Keys) -> Keys:
    """Do the same, but keep 0."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def combine(seed: int, keys: Keys) -> Keys:
    """Return keys that depend on a seed as well."""
    offset = mix(np.array([seed % 2**64], dtype=np.uint64))
    # The key of an integer id is its mix, as the offset is that of the seed: mixed once more, the
    # two do not change places.
    return mix(mix(keys) ^ offset)


def hash_ids(ids: NDArray[Any]) -> Keys:
    """Return one key for each id; an integer and its text have the same key.

    >>> bool(hash_ids(np.array([10]))[0] == hash_ids(np.array(["10"]))[0])
    True
    """
    if ids.dtype.kind in "iu":
        return mix(ids.astype(np.int64).view(np.uint64))
    import hashlib  # it loads OpenSSL

    keys = np.empty(len(ids), dtype=np.uint64)
    for i, text in enumerate(ids.tolist()):
        number = as_integer(text)
        if number is None:
            digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
            keys[i] = int.from_bytes(digest, "little")
        else:
            keys[i] = mix(np.array([number], dtype=np.int64).view(np.uint64))[0]
    return keys


def as_integer(text: str) -> int | None:
    """Return the integer whose usual text this is, if it fits 64 bits."""
    try:
        number = int(text)
    except ValueError:
        return None
    fits = -(2**63) <= number < 2**63
    return number if fits and str(number) == text else None


def row_keys(X: Any) -> Keys:
    """Hash each row: the sum of each value's hash times a random odd number, modulo 2^64.

    Without a hash of the value, the many zeros at the end of round numbers would reach the sum.
    A 0 adds nothing, so that sparse rows have the keys of dense ones.
    """
    bits = np.uint32 if X.dtype == np.float32 else np.uint64
    odd = mix(np.arange(X.shape[1])) | np.uint64(1)

    def value_keys(values: NDArray[Any]) -> Keys:
        # Adding 0 makes -0 and 0 the same value.
        positive_zero = values + values.dtype.type(0)
        return scramble(np.asarray(positive_zero.view(bits), dtype=np.uint64))

    keys = np.zeros(X.shape[0], dtype=np.uint64)
    if is_sparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        np.add.at(keys, rows, value_keys(X.data) * odd[X.indices])
        return keys
    step = max(1, (1 << 18) // max(1, X.shape[1]))
    for begin in range(0, X.shape[0], step):
        keys[begin : begin + step] = value_keys(X[begin : begin + step]) @ odd
    return keys
