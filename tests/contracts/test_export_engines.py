"""Engines that are on every machine: LightGBM, SQLite, and a C compiler where there is one."""

from __future__ import annotations

import shutil

import pytest

from rankwright.exports.targets.target import Options
from tests.contracts.exported_engines import (
    disagreement,
    random_forests,
    random_linear,
    random_sums,
)

ENGINES = {"lightgbm": Options(), "sql": Options(dialect="sqlite"), "c": Options()}


def needs(target: str) -> None:
    if target == "c" and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")


@pytest.mark.parametrize("target", ENGINES)
@pytest.mark.parametrize("seed", range(8))
def test_forests_have_the_same_bits(target: str, seed: int) -> None:
    needs(target)
    assert disagreement(target, ENGINES[target], random_forests(target, seed)) is None


@pytest.mark.parametrize("target", ["sql", "c"])
def test_linear_models_have_the_same_bits(target: str) -> None:
    needs(target)
    for case in random_linear(target, 1, ENGINES[target]):
        assert disagreement(target, ENGINES[target], case) is None


@pytest.mark.parametrize("target", ["sql", "c"])
@pytest.mark.parametrize("seed", range(3))
def test_sums_have_the_same_bits(target: str, seed: int) -> None:
    needs(target)
    for case in random_sums(target, seed, ENGINES[target]):
        assert disagreement(target, ENGINES[target], case) is None
