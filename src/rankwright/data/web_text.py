"""The 125 text statistics of MSLR-WEB: five streams of a document against the words of a query.

With the count tf of each query term in a stream, the length L of the stream, and each term's idf:

- how many terms are covered (tf > 0), and their share; L; the sum of the idf;
- the sum, least, largest, mean and variance over terms of tf, of tf / L and of tf idf;
- whether all terms are covered; the cosine of (tf idf) and (idf);
- BM25, sum of idf tf (k + 1) / (tf + k (1 - b + b L / mean L));
- the query's log-likelihood, sum of log p(term), where p mixes tf / L with the term's share of all
  text, c = e^-idf / 10, in three ways: absolute discounting, (max(tf - d, 0) + d n c) / L, where n
  is the number of covered terms or 1; Dirichlet, (tf + m c) / (L + m); Jelinek-Mercer,
  (1 - w) tf / L + w c.

Where a stream is empty, its tf are 0, and the L below a fraction is 1.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[np.float32]

STREAMS = ("body", "anchor", "title", "url", "whole")
_SPREAD = ("sum", "min", "max", "mean", "var")
STATISTICS = (
    "covered_terms",
    "covered_share",
    "length",
    "idf",
    *(f"{of}_{what}" for what in ("tf", "tf_by_length", "tf_idf") for of in _SPREAD),
    "boolean",
    "cosine",
    "bm25",
    "lm_absolute",
    "lm_dirichlet",
    "lm_jelinek_mercer",
)
PAGE = (
    "url_slashes",
    "url_characters",
    "inlinks",
    "outlinks",
    "pagerank",
    "siterank",
    "quality",
    "quality_2",
    "query_url_clicks",
    "url_clicks",
    "url_dwell_time",
)
# In the order of MSLR-WEB: feature 1 is that of column 0.
NAMES = (*(f"{stream}_{name}" for name in STATISTICS for stream in STREAMS), *PAGE)

# Of BM25 and of the language models: the values that the makers of LETOR state.
K, B = 2.5, 0.8
DISCOUNT, DIRICHLET, MIX = 0.7, 2000.0, 0.1
# Mean lengths of the streams here, as BM25 wants them, a column.
MEAN_LENGTHS = np.array([[700.0], [5.0], [8.0], [8.0], [720.0]], dtype=np.float32)
# A word of idf 0 makes up a tenth of all text.
_COMMONEST = 0.1


def text_statistics(tf: Values, length: Values, idf: Values) -> Values:
    """Return the statistics, of shape (125, n_docs), in the order of `NAMES`.

    Parameters
    ----------
    tf : ndarray of shape (5, n_terms, n_docs)
        Counts.
    length : ndarray of shape (5, n_docs)
        Words in each stream.
    idf : ndarray of shape (5, n_terms, n_docs)
        Of each term, in each stream; the same for all documents of a query.
    """
    n_terms = tf.shape[1]
    words: Values = np.maximum(length, 1)[:, None]
    share = tf / words
    there = (tf > 0).astype(np.float32)
    covered = there.sum(axis=1)
    weighted: Values = tf * idf
    norms = np.sqrt((weighted**2).sum(axis=1) * (idf**2).sum(axis=1))
    cosine = (weighted * idf).sum(axis=1) / np.where(norms > 0, norms, 1)
    damped: Values = np.float32(K) * (1 - B + B * length / MEAN_LENGTHS)[:, None]
    bm25 = (idf * tf * np.float32(K + 1) / (tf + damped)).sum(axis=1)
    common = np.float32(_COMMONEST) * np.exp(-idf)
    # At least one word's worth is taken from the counts, so that no probability is 0.
    taken = np.float32(DISCOUNT) * np.maximum(covered, 1)[:, None]
    absolute = (np.maximum(tf - np.float32(DISCOUNT), 0) + taken * common) / words
    dirichlet = (tf + np.float32(DIRICHLET) * common) / (length[:, None] + np.float32(DIRICHLET))
    mixed = np.float32(1 - MIX) * share + np.float32(MIX) * common
    found: list[Values] = [covered, covered / np.float32(n_terms), length, idf.sum(axis=1)]
    for counts in (tf, share, weighted):
        found += _spread_out(counts)
    found += [(covered == n_terms).astype(np.float32), cosine, bm25]
    found += [np.log(p).sum(axis=1) for p in (absolute, dirichlet, mixed)]
    return np.concatenate(found, dtype=np.float32)


def _spread_out(counts: Values) -> list[Values]:
    """Return sum, least, largest, mean and variance over the terms."""
    total, mean = counts.sum(axis=1), counts.mean(axis=1)
    variance = ((counts - mean[:, None]) ** 2).mean(axis=1)
    return [total, counts.min(axis=1), counts.max(axis=1), mean, variance]
