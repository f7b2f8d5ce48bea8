r"""How far the features of one sample of documents are from those of another.

- **shift** of the means: :math:`(\mu_1 - \mu_0) / \sqrt{(s_1^2 + s_0^2)/2}`.
- **population stability index**: with the shares :math:`p_i, q_i` of the two samples in bin i,
  :math:`\sum_i (p_i - q_i) \ln(p_i / q_i)`. By custom, below 0.1 nothing has changed to speak of,
  and from 0.25 on much has. The bins are the tenths of the first sample, what is below its smallest
  and above its largest value, and missing values. Half a document is added to each bin that either
  sample has, so that an empty one does not make the index infinite.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright.data.validation import Floats, Matrix

Singles = NDArray[np.float32]
Numbers = Floats | Singles
STABLE, UNSTABLE = 0.1, 0.25  # of the index
_MOST_ROWS = 200_000  # documents that moments are taken over


def mean_shift(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Floats:
    """Return how far means differ, in pooled standard deviations, by means and variances.

    0 where nothing varies or is known.

    >>> mean_shift((np.array([1.0]), np.array([4.0])), (np.array([4.0]), np.array([14.0])))
    array([1.])
    """
    spread = np.sqrt((first[1] + second[1]) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(spread > 0, (second[0] - first[0]) / spread, 0.0)
    return np.nan_to_num(shift)


def feature_moments(X: Matrix) -> tuple[Floats, Floats]:
    """Return mean and variance of each feature, over evenly taken rows; NaN is left out."""
    step = -(-X.shape[0] // _MOST_ROWS) or 1
    rows = X[::step]
    if sp.issparse(rows):
        matrix = rows.astype(np.float64)
        mean = np.asarray(matrix.mean(axis=0)).ravel()
        square = np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel()
        return mean, np.maximum(square - mean**2, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a feature that is never known is NaN
        return (
            np.nanmean(rows, axis=0, dtype=np.float64),
            np.nanvar(rows, axis=0, dtype=np.float64),
        )


def decile_edges(values: Numbers) -> Singles:
    """Return where bins end: tenths of what is known, from just below the smallest on.

    A bin has its upper end. Equal tenths are one bin. Ends are single precision, as values are
    when they are counted: a number that was read from a file in one precision and served in the
    other falls into the same bin.

    >>> decile_edges(np.array([0.0, 0.0, 0.0, 1.0]))[1:].round(2).tolist()
    [0.0, 0.10000000149011612, 0.4000000059604645, 0.699999988079071, 1.0]
    """
    known = _singles(values)
    known = known[~np.isnan(known)].astype(np.float64)
    if not len(known):
        return np.empty(0, dtype=np.float32)
    tenths = np.quantile(known, np.linspace(0.1, 1.0, 10)).astype(np.float32)
    below = np.nextafter(np.float32(known.min()), np.float32(-np.inf))
    return np.unique(np.append(below, tenths))


def bin_counts(values: Numbers, edges: Singles, n_bins: int) -> Floats:
    """Count values by bin; the last of ``n_bins`` is for those that are missing."""
    singles = _singles(values)
    missing = np.isnan(singles)
    places = np.searchsorted(edges, singles[~missing])
    counts = np.bincount(places, minlength=n_bins).astype(np.float64)
    counts[-1] = missing.sum()
    return counts


def _singles(values: Numbers) -> Singles:
    most = np.finfo(np.float32).max
    return np.clip(values, -most, most).astype(np.float32)


def stability_index(first: Floats, second: Floats) -> Floats:
    """Return the population stability index of each row of counts.

    Parameters
    ----------
    first, second : ndarray of shape (n_features, n_bins)
        Counts of the two samples.

    Examples
    --------
    >>> even, odd = np.array([[50.0, 50.0]]), np.array([[80.0, 20.0]])
    >>> stability_index(even, even).round(3), stability_index(even, odd).round(3)
    (array([0.]), array([0.406]))
    """
    used = (first > 0) | (second > 0)
    shares = []
    for counts in (first, second):
        filled = np.where(used, counts + 0.5, 0.0)
        shares.append(filled / np.maximum(filled.sum(axis=1, keepdims=True), 0.5))
    q, p = (np.where(used, share, 1.0) for share in shares)
    return np.asarray(((p - q) * np.log(p / q)).sum(axis=1))
