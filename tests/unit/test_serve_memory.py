"""What is remembered of answers to strangers stays small."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rankwright.serve.http.memory import keep_answers


def test_answers_are_kept_and_refusals_are_not() -> None:
    asked = []

    @keep_answers
    def half(n: int) -> int:
        asked.append(n)
        if n % 2:
            raise ValueError("odd")
        return n // 2

    assert [half(4), half(4), half(6)] == [2, 2, 3]
    assert asked == [4, 6]
    for _ in range(2):
        with pytest.raises(ValueError, match="odd"):
            half(3)
    assert asked == [4, 6, 3, 3]
    for n in range(0, 4096, 2):
        assert half(n) == n // 2
    n_asked = len(asked)
    assert half(4) == 2  # it was forgotten with the others, and is asked again
    assert len(asked) == n_asked + 1


def test_workers_load_no_whole_models() -> None:
    code = """
import sys
from importlib import import_module
import rankwright.serve.worker
from rankwright.serve.http.app import _MODULES
for name in _MODULES:
    import_module(f"rankwright.serve.{name}")
heavy = {"sklearn", "lightgbm", "pandas", "polars", "pyarrow", "scipy.optimize", "scipy.stats"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
