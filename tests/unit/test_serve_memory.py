"""What is remembered of answers to strangers stays small."""

from __future__ import annotations

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
