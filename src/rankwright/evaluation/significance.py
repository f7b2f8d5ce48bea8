r"""Is one ranker really better than another? Tests that pair the two by query.

With :math:`d_q` the difference of a metric on query q of n, mean :math:`\bar d` and standard
deviation :math:`s`:

- **randomisation**: if the two rankers were exchangeable, each :math:`d_q` would have either sign
  with probability 1/2. The p-value is the share of sign patterns whose :math:`|\bar d|` is at least
  the one seen (:mod:`rankwright.evaluation.randomization`).
- **paired t**: :math:`t = \bar d \sqrt n / s` with n - 1 degrees of freedom.
- **effect size**: :math:`\bar d / s`.
- **detectable difference**: the :math:`|\bar d|` that the t-test would call significant with
  probability ``power``, for this many queries and this spread.
- **Holm**: p-values for a family of pairs together; the chance that any of them is below 0.05 by
  accident is at most 0.05.
- **interval**: the differences that the randomisation test would not refute, at the level at which
  Holm's method tested the pair. It leaves 0 out exactly if the corrected p-value is below 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.validation import Floats
from rankwright.evaluation.randomization import SignTest, sign_tests
from rankwright.evaluation.views import pairs_html

_TIE = 1e-12  # differences below it are rounding
_LEVEL = 0.05


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
        Its 95 % interval, together with those of the other pairs of its family: it leaves 0 out
        exactly if ``p_holm`` is below 0.05. Infinite where there are too few queries to tell.
    p_randomization, p_t : float
        Two-sided p-values of the randomisation test and the paired t-test.
    p_holm : float
        ``p_randomization``, corrected for all pairs of the family.
    effect_size : float
        Mean difference over its standard deviation; NaN if that is 0.
    wins, ties, losses : int
        Queries on which a is better, equal, worse.
    detectable : float
        Smallest mean difference that this many queries would show with probability 0.8.
    higher_is_better : bool
        Whether larger values of the metric are better.
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
    higher_is_better: bool = field(default=True, repr=False)

    @property
    def better(self) -> bool:
        """Whether a is better than b, on average."""
        return self.difference > 0 if self.higher_is_better else self.difference < 0

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_holm < _LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON; NaN and infinities become None."""
        values = {**asdict(self), "significant": self.significant}
        del values["higher_is_better"]  # the metric says so
        return {
            k: None if isinstance(v, float) and not math.isfinite(v) else v
            for k, v in values.items()
        }

    def __repr__(self) -> str:
        verdict = "significant" if self.significant else "not significant"
        return (
            f"{self.a} - {self.b}: {self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}], "
            f"p = {self.p_holm:.4f} (Holm), {verdict}; {self.wins} won, {self.ties} tied, "
            f"{self.losses} lost"
        )


class Pairs(list[PairedComparison]):
    """A list of :class:`PairedComparison` that reads as a table."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no pairs"

    def _repr_html_(self) -> str:
        return pairs_html(self)


def compare_pairs(
    per_query: Mapping[str, ArrayLike],
    *,
    families: Sequence[Sequence[tuple[str, str]]] | None = None,
    n_resamples: int = 10_000,
    random_state: int = 0,
    higher_is_better: bool = True,
) -> Pairs:
    """Compare rankers two by two, by their values on the same queries.

    Parameters
    ----------
    per_query : mapping of str to array-like of shape (n_queries,)
        A metric's values by query, for each ranker; NaN for an undefined query.
    families : sequence of sequences of (str, str), optional
        The pairs to compare; p-values and intervals are corrected for the pairs of a family
        together. By default all pairs are one family.
    n_resamples : int, default 10,000
        Sign patterns of the randomisation test.
    random_state : int, default 0
        Seed. The results do not depend on the order of the queries.
    higher_is_better : bool, default True
        What counts as a win.

    Returns
    -------
    Pairs
        A list of :class:`PairedComparison`: all pairs, in the order of the names, or in that of the
        families.

    Examples
    --------
    >>> better, worse = [0.9, 0.8, 0.7, 0.9, 0.6, 0.8], [0.7, 0.7, 0.6, 0.5, 0.6, 0.5]
    >>> print(compare_pairs({"new": better, "old": worse})[0])
    new - old: +0.1833 [+0.0000, +0.4000], p = 0.0625 (Holm), not significant; 5 won, 1 tied, 0 lost
    """
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in per_query.items()}
    shapes = {column.shape for column in columns.values()}
    if len(columns) < 2 or len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise ValueError(
            "per_query must have vectors of one length for at least two rankers, but has "
            f"{ {name: column.shape for name, column in columns.items()} }."
        )
    if families is None:
        families = [list(combinations(columns, 2))]
    differences = [[_defined(columns[a] - columns[b]) for a, b in pairs] for pairs in families]
    tests = iter(
        sign_tests(
            [d for family in differences for d in family],
            n_resamples=n_resamples,
            random_state=random_state,
        )
    )
    found = Pairs()
    for pairs, family in zip(families, differences, strict=True):
        own = [next(tests) for _ in pairs]
        p = [test.p_value for test in own]
        rows = zip(pairs, family, own, holm(p).tolist(), holm_levels(p).tolist(), strict=True)
        for (a, b), d, test, corrected, level in rows:
            weakest = _LEVEL / len(pairs)  # what the first of Holm's steps asks for
            found.append(
                _paired(a, b, d, test, test.interval(level), corrected, weakest, higher_is_better)
            )
    return found


def _paired(
    a: str,
    b: str,
    d: Floats,
    test: SignTest,
    interval: tuple[float, float],
    corrected: float,
    level: float,
    higher: bool,
) -> PairedComparison:
    n = len(d)
    spread = float(d.std(ddof=1)) if n > 1 else math.nan
    above, below = int((d > _TIE).sum()), int((d < -_TIE).sum())
    mean = float(d.mean()) if n else math.nan
    return PairedComparison(
        a=a,
        b=b,
        n_queries=n,
        difference=mean,
        low=interval[0],
        high=interval[1],
        p_randomization=test.p_value,
        p_t=t_test(d),
        p_holm=corrected,
        effect_size=mean / spread if spread > 0 else math.nan,
        wins=above if higher else below,
        ties=n - above - below,
        losses=below if higher else above,
        detectable=detectable_difference(spread, n, level=level),
        higher_is_better=higher,
    )


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


def holm_levels(p_values: ArrayLike, level: float = _LEVEL) -> Floats:
    """Return the level at which Holm's method tests each hypothesis.

    The smallest p-value is compared with level / m, the next with level / (m - 1) and so on; where
    one is not below its level the method stops, and all that follow share that level. So a
    corrected p-value is below ``level`` exactly if the p-value is below what this returns.

    Examples
    --------
    >>> holm_levels([0.01, 0.04, 0.03]).round(4).tolist()
    [0.0167, 0.025, 0.025]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = level / np.arange(len(p), 0, -1)
    stopped = np.flatnonzero(p[order] >= steps)
    if len(stopped):
        steps[stopped[0] :] = steps[stopped[0]]
    levels = np.empty_like(p)
    levels[order] = steps
    return levels


def _defined(values: Floats) -> Floats:
    return values[~np.isnan(values)]
