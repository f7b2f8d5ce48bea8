"""Hashes are the same on every machine, for ever."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwright.data.hashing import combine, hash_ids, mix, scramble

WORD = 2**64


def slow_scramble(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def slow_mix(value: int) -> int:
    return slow_scramble((value + 0x9E3779B97F4A7C15) % WORD)


words = st.integers(0, WORD - 1)


@given(st.lists(words, min_size=1))
def test_mixing_is_that_of_splitmix64(values: list[int]) -> None:
    array = np.array(values, dtype=np.uint64)
    assert mix(array).tolist() == [slow_mix(value) for value in values]
    assert scramble(array).tolist() == [slow_scramble(value) for value in values]


def test_the_first_number_of_splitmix64_is_the_published_one() -> None:
    # SplitMix64 with seed 0 starts with this number.
    assert mix(np.array([0])).tolist() == [0xE220A8397B1DCDAF]


def test_scrambling_keeps_zero() -> None:
    assert scramble(np.array([0], dtype=np.uint64)).tolist() == [0]


def test_mixing_does_not_change_its_input() -> None:
    values = np.array([1, 2], dtype=np.uint64)
    mix(values)
    scramble(values)
    assert values.tolist() == [1, 2]


def test_negative_integers_wrap() -> None:
    assert mix(np.array([-1])).tolist() == [slow_mix(WORD - 1)]
    assert hash_ids(np.array([-1])).tolist() == [slow_mix(WORD - 1)]


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_and_its_text_have_the_same_key(value: int) -> None:
    key = hash_ids(np.array([value], dtype=np.int64))
    assert key.tolist() == [slow_mix(value % WORD)]
    np.testing.assert_array_equal(hash_ids(np.array([str(value)])), key)


@pytest.mark.parametrize(
    "text", ["01", "+1", "-0", "1.0", "1_0", " 1", "", "a", "grün", "٣", str(2**63), "9" * 5000]
)
def test_other_text_is_hashed_as_text(text: str) -> None:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    assert hash_ids(np.array([text])).tolist() == [int.from_bytes(digest, "little")]


def test_keys_depend_on_the_seed() -> None:
    keys = hash_ids(np.arange(100))
    seeded = [combine(seed, keys) for seed in (0, 1, -1)]
    for values in (keys, *seeded):
        assert len(np.unique(values)) == 100
    assert not (seeded[0] == seeded[1]).any()
    assert seeded[1].tolist() == [slow_mix(slow_mix(k) ^ slow_mix(1)) for k in keys.tolist()]
    # The seed and an id do not change places.
    assert combine(3, hash_ids(np.array([5])))[0] != combine(5, hash_ids(np.array([3])))[0]
    np.testing.assert_array_equal(combine(2**64 + 1, keys), seeded[1])


def test_close_integers_get_keys_far_apart() -> None:
    keys = hash_ids(np.arange(10_000))
    assert len(np.unique(keys)) == 10_000
    bits = np.unpackbits(keys.view(np.uint8)).mean()
    # 640 000 fair coins: five standard deviations are 0.5 * 5 / 800.
    assert abs(bits - 0.5) < 0.5 * 5 / 800
