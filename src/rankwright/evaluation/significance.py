r"""Is one ranker really better than another? Tests that pair the two by query.

With :math:`d_q` the difference of a metric on query q of n, mean :math:`\bar d` and standard
deviation :math:`s`:

- **randomisation**: if the two rankers were exchangeable, each :math:`d_q` would have either sign
  with probability 1/2. The p-value is the share of sign patterns whose :math:`|\bar d|` is at least
  the one seen; all patterns for few queries, a seeded sample of them for many.
- **paired t**: :math:`t = \bar d \sqrt n / s` with n - 1 degrees of freedom.
- **effect size**: :math:`\bar d / s`.
- **detectable difference**: the :math:`|\bar d|` that the t-test would call significant with
  probability ``power``, for this many queries and this spread.
- **Holm**: p-values for all pairs together; the chance that any of them is below 0.05 by accident
  is at most 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.validation import Floats
from rankwright.evaluation.bootstrap import bootstrap_interval

_TIE = 1e-12  # differences below it are rounding
_BLOCK = 1 << 22  # signs made at a time


@dataclass(frozen=True)
class PairedComparison:
    """Two rankers on the same queries; differences are those of ``a`` minus ``b``.

    Attributes
    ----------
    a, b : str
        Their names.
    n_queries : int
        Queries on which the metric of both is defined.
    difference : float
        Mean difference.
    low, high : float
        Its 95 % bootstrap interval over queries.
    p_randomization, p_t : float
        Two-sided p-values of the randomisation test and the paired t-test.
    p_holm : float
        ``p_randomization``, corrected for all pairs that were compared.
    effect_size : float
        Mean difference over its standard deviation; NaN if that is 0.
    wins, ties, losses : int
        Queries on which a is better, equal, worse.
    detectable : float
        Smallest mean difference that this many queries would show with probability 0.8.
    """

    a: str
    b: str
    n_queries: int
    difference: float
    low: float
    high: float
    p_randomization: float
    p_t: float
    p_holm: float
    effect_size: float
    wins: int
    ties: int
    losses: int
    detectable: float

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_holm < 0.05

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON; NaN becomes None."""
        values = {**asdict(self), "significant": self.significant}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in values.items()}

    def __str__(self) -> str:
        verdict = "significant" if self.significant else "not significant"
        return (
            f"{self.a} - {self.b}: {self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}], "
            f"p = {self.p_holm:.4f} (Holm), {verdict}; {self.wins} won, {self.ties} tied, "
            f"{self.losses} lost"
        )


def compare_pairs(
    per_query: Mapping[str, ArrayLike],
    *,
    n_resamples: int = 10_000,
    random_state: int = 0,
    higher_is_better: bool = True,
) -> list[PairedComparison]:
    """Compare each two rankers by their values on the same queries.

    Parameters
    ----------
    per_query : mapping of str to array-like of shape (n_queries,)
        A metric's values by query, for each ranker; NaN for an undefined query.
    n_resamples : int, default 10,000
        Sign patterns of the randomisation test.
    random_state : int, default 0
        Seed. The results do not depend on the order of the queries.
    higher_is_better : bool, default True
        What counts as a win.

    Returns
    -------
    list of PairedComparison
        All pairs, in the order of the names.

    Examples
    --------
    >>> better, worse = [0.9, 0.8, 0.7, 0.9, 0.6, 0.8], [0.7, 0.7, 0.6, 0.5, 0.6, 0.5]
    >>> print(compare_pairs({"new": better, "old": worse})[0])
    new - old: +0.1833 [+0.0833, +0.2833], p = 0.0625 (Holm), not significant; 5 won, 1 tied, 0 lost
    """
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in per_query.items()}
    shapes = {column.shape for column in columns.values()}
    if len(columns) < 2 or len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise ValueError(
            "per_query must have vectors of one length for at least two rankers, but has "
            f"{ {name: column.shape for name, column in columns.items()} }."
        )
    pairs = list(combinations(columns, 2))
    differences = [_defined(columns[a] - columns[b]) for a, b in pairs]
    p_random = randomization_test(
        differences, n_resamples=n_resamples, random_state=random_state
    ).tolist()
    p_holm = holm(p_random).tolist()
    return [
        _paired(a, b, d, p, corrected, higher_is_better, random_state)
        for (a, b), d, p, corrected in zip(pairs, differences, p_random, p_holm, strict=True)
    ]


def _paired(
    a: str, b: str, d: Floats, p: float, corrected: float, higher: bool, random_state: int
) -> PairedComparison:
    n = len(d)
    spread = float(d.std(ddof=1)) if n > 1 else math.nan
    above, below = int((d > _TIE).sum()), int((d < -_TIE).sum())
    low, high = bootstrap_interval(d, random_state=random_state)
    mean = float(d.mean()) if n else math.nan
    return PairedComparison(
        a=a,
        b=b,
        n_queries=n,
        difference=mean,
        low=low,
        high=high,
        p_randomization=p,
        p_t=t_test(d),
        p_holm=corrected,
        effect_size=mean / spread if spread > 0 else math.nan,
        wins=above if higher else below,
        ties=n - above - below,
        losses=below if higher else above,
        detectable=detectable_difference(spread, n),
    )


def randomization_test(
    differences: list[Floats], *, n_resamples: int = 10_000, random_state: int = 0
) -> Floats:
    """Return the two-sided p-value of the randomisation test for each vector of differences.

    All :math:`2^n` sign patterns are tried if they are at most ``n_resamples``; otherwise the
    sample counts the pattern that was seen once more, so that p is never 0.
    """
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be a positive integer, but is {n_resamples!r}.")
    p = np.ones(len(differences))
    # A difference of 0 has no sign. Sorted, so that the order of queries does not matter.
    kept = [np.sort(d[np.abs(d) > _TIE]) for d in differences]
    for size in sorted({len(d) for d in kept} - {0}):
        chosen = [i for i, d in enumerate(kept) if len(d) == size]
        columns = np.column_stack([kept[i] for i in chosen])
        p[chosen] = _randomization(columns, n_resamples, random_state)
    return p


def _randomization(columns: Floats, n_resamples: int, random_state: int) -> Floats:
    n = len(columns)
    seen = np.abs(columns.sum(axis=0)) * (1 - 1e-12) - _TIE
    exact = n < 63 and 2**n <= n_resamples
    total = 2**n if exact else n_resamples
    rng = np.random.default_rng(random_state)
    extreme = np.zeros(columns.shape[1], dtype=np.int64)
    step = max(1, _BLOCK // n)
    for begin in range(0, total, step):
        rows = min(step, total - begin)
        if exact:
            bits: NDArray[Any] = (np.arange(begin, begin + rows)[:, None] >> np.arange(n)) & 1
        else:
            raw = np.frombuffer(rng.bytes(rows * (-(-n // 8))), dtype=np.uint8)
            bits = np.unpackbits(raw.reshape(rows, -1), axis=1, count=n)
        signs: NDArray[np.float64] = 1 - 2 * bits.astype(np.float64)
        extreme += (np.abs(signs @ columns) >= seen).sum(axis=0)
    return np.asarray(extreme / total if exact else (extreme + 1) / (total + 1))


def mean_interval(values: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return means of repeats over the last axis, and their 95 % intervals by Student's t.

    Of one repeat, the ends of the interval are NaN.

    Examples
    --------
    >>> mean, low, high = mean_interval([1.0, 2.0, 3.0])
    >>> f"{mean:.2f} [{low:.2f}, {high:.2f}]"
    '2.00 [-0.48, 4.48]'
    """
    from scipy.special import stdtrit

    sample = np.asarray(values, dtype=np.float64)
    n, mean = sample.shape[-1], sample.mean(axis=-1)
    if n < 2:
        return mean, mean * np.nan, mean * np.nan
    half = stdtrit(n - 1, 0.975) * sample.std(axis=-1, ddof=1) / math.sqrt(n)
    return mean, mean - half, mean + half


def t_test(differences: Floats) -> float:
    """Return the two-sided p-value of the paired t-test; NaN for fewer than two queries.

    Differences that are all alike leave no doubt: p is 0, or 1 if they are 0.
    """
    from scipy.special import stdtr

    n = len(differences)
    if n < 2:
        return math.nan
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if spread == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(n - 1, -abs(mean) * math.sqrt(n) / spread))


def detectable_difference(
    spread: float, n_queries: int, *, level: float = 0.05, power: float = 0.8
) -> float:
    """Return the smallest mean difference that a two-sided paired t-test shows.

    Parameters
    ----------
    spread : float
        Standard deviation of the differences by query.
    n_queries : int
        Number of queries.
    level : float, default 0.05
        p-value below which a difference counts as shown.
    power : float, default 0.8
        Probability of showing it.

    Examples
    --------
    >>> round(detectable_difference(0.2, 100), 4), round(detectable_difference(0.2, 400), 4)
    (0.0566, 0.0281)
    """
    from scipy.special import nctdtrinc, stdtrit

    if not 0 < level < 1 or not 0 < power < 1:
        raise ValueError(f"level and power must lie in (0, 1), but are {level!r}, {power!r}.")
    if n_queries < 2 or not spread >= 0:
        return math.nan
    threshold = stdtrit(n_queries - 1, 1 - level / 2)
    # The noncentrality whose t exceeds the threshold with this probability; the other tail is
    # negligible at any useful power.
    noncentrality = nctdtrinc(n_queries - 1, 1 - power, threshold)
    return float(noncentrality * spread / math.sqrt(n_queries))


def holm(p_values: ArrayLike) -> Floats:
    """Return p-values corrected for their number by Holm's step-down method.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def _defined(values: Floats) -> Floats:
    return values[~np.isnan(values)]
