r"""The randomisation test of paired differences, and the interval that agrees with it.

With differences :math:`d_1 \dots d_n` of mean :math:`\bar d`, and signs :math:`s` drawn at random:
if the two rankers differed by :math:`\delta` and by chance else, each :math:`d_q - \delta` would
have either sign with probability 1/2. So

.. math::
    p(\delta) = P_s\Big(\Big|\sum_q s_q (d_q - \delta)\Big| \ge
        \Big|\sum_q (d_q - \delta)\Big|\Big),

and the interval of level :math:`1 - \alpha` holds every :math:`\delta` with :math:`p(\delta) \ge
\alpha`: it leaves 0 out exactly if :math:`p(0) < \alpha`.

Neither needs a search. With :math:`C = \sum_q s_q (d_q - \bar d)`, :math:`B = \sum_q s_q` and
:math:`u = \delta - \bar d \ge 0`, the event is :math:`|C - u B| \ge u n`, that is
:math:`u \le \max(C / (n + B), -C / (n - B))`; and below the mean, with B's sign turned. One pass
over the signs thus gives p and both ends at every level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankwright.data.validation import Floats

_TIE = 1e-12  # differences below it are rounding
_BLOCK = 1 << 19  # bytes of signs looked at at a time


@dataclass(frozen=True, eq=False)
class SignTest:
    """How far from the mean each pattern of signs reaches, above and below, in falling order."""

    mean: float
    above: Floats
    below: Floats
    exact: bool  # all patterns, not a sample of them

    @property
    def p_value(self) -> float:
        """Two-sided p-value; of a sample, the pattern that was seen counts once more."""
        reach = self.below if self.mean > 0 else self.above
        n, total = int(np.searchsorted(-reach, _slack(self.mean), "right")), len(reach)
        return n / total if self.exact else (n + 1) / (total + 1)

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the ends of the interval of level 1 - alpha; infinite if there are too few."""
        total = len(self.above)
        # p(delta) >= alpha: at least this many patterns reach it.
        least = alpha * total if self.exact else alpha * (total + 1) - 1
        place = math.ceil(least - 1e-9) - 1
        if place < 0:
            return -math.inf, math.inf
        low, high = self.mean - float(self.below[place]), self.mean + float(self.above[place])
        # What p counts as a tie with 0 must not look like a difference.
        slack = abs(self.mean) + _slack(self.mean)
        return (0.0 if abs(low) <= slack else low), (0.0 if abs(high) <= slack else high)


def _slack(mean: float) -> float:
    """Return minus the reach that counts as the mean's own."""
    return -(abs(mean) * (1 - _TIE) - _TIE)


def sign_tests(
    differences: list[Floats], *, n_resamples: int = 10_000, random_state: int = 0
) -> list[SignTest]:
    """Return the test of each vector of differences.

    All :math:`2^n` patterns of signs are tried if they are at most ``n_resamples``; else a seeded
    sample of them. The order of the differences does not matter.
    """
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be a positive integer, but is {n_resamples!r}.")
    tests: dict[int, SignTest] = {}
    kept = [np.sort(d) for d in differences]
    for size in sorted({len(d) for d in kept}):
        chosen = [i for i, d in enumerate(kept) if len(d) == size]
        columns = np.column_stack([kept[i] for i in chosen])
        for i, test in zip(chosen, _sign_test_of(columns, n_resamples, random_state), strict=True):
            tests[i] = test
    return [tests[i] for i in range(len(kept))]


def _sign_test_of(columns: Floats, n_resamples: int, random_state: int) -> list[SignTest]:
    n = len(columns)
    if n == 0:
        nothing = np.full(1, np.inf)
        return [SignTest(0.0, nothing, nothing, exact=True) for _ in columns.T]
    exact = n < 63 and 2**n <= n_resamples
    means = columns.mean(axis=0)
    centred = np.column_stack([columns - means, np.ones(n)])
    sums = _signed_sums(centred, 2**n if exact else n_resamples, exact, random_state)
    B = sums[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        tests = []
        for mean, C in zip(means.tolist(), sums[:, :-1].T, strict=True):
            above = np.maximum(C / (n + B), -C / (n - B))
            below = np.maximum(C / (n - B), -C / (n + B))
            # All signs alike: what was seen, and its mirror, reach everywhere.
            above[np.abs(B) == n] = below[np.abs(B) == n] = np.inf
            tests.append(SignTest(mean, -np.sort(-above), -np.sort(-below), exact))
    return tests


def _signed_sums(columns: Floats, total: int, exact: bool, random_state: int) -> Floats:
    """Return the sums of each column with signs, one row a pattern."""
    n, n_columns = columns.shape
    if exact:
        bits = (np.arange(total)[:, None] >> np.arange(n)) & 1
        return np.asarray((1.0 - 2.0 * bits) @ columns)
    # A byte has the signs of eight values: their sum is looked up, not made anew each time.
    n_bytes = -(-n // 8)
    eights = np.zeros((n_bytes * 8, n_columns))
    eights[:n] = columns
    signs = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    table = np.ascontiguousarray(eights.reshape(n_bytes, 8, n_columns).transpose(2, 0, 1)) @ signs.T
    rng = np.random.default_rng(random_state)
    sums = np.empty((total, n_columns))
    step, place = max(1, _BLOCK // n_bytes), 256 * np.arange(n_bytes)
    for begin in range(0, total, step):
        rows = min(step, total - begin)
        raw = np.frombuffer(rng.bytes(rows * n_bytes), dtype=np.uint8).reshape(rows, n_bytes)
        where = raw + place
        for column, sums_of_bytes in enumerate(table):
            sums[begin : begin + rows, column] = sums_of_bytes.ravel().take(where).sum(axis=1)
    return sums
