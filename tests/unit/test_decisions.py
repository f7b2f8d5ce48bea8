"""What scores decide, at the places where a decision changes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankwright.scoring.decisions import by_rounding


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 5, 40, 1000])
def test_rounding_takes_halves_up_and_nothing_below(n_ranks: int) -> None:
    halves = np.arange(-1.5, n_ranks + 2)
    far = [0.0, -0.0, 5e-324, -1e300, 1e300, 0.49999999999999994]
    for scores in (halves, np.nextafter(halves, -9e9), np.nextafter(halves, 9e9), np.array(far)):
        # As in cpp/widrow_hoff.hpp, from the definition.
        expected = [min(max(math.floor(s + 0.5), 1), n_ranks) - 1 for s in scores.tolist()]
        for _ in range(2):
            found = by_rounding(scores, n_ranks)
            assert found.dtype == np.int64
            assert found.tolist() == expected
            found[:] = 7  # whoever gets them may write to them
