"""Collections of topics: one shared sparse matrix, one column of relevance for each topic."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.validation import Floats, Matrix
from rankwright.experiments.experiment import Context


@dataclass(frozen=True)
class Collection:
    """Documents to train on and to test on, and which are relevant to which topic."""

    name: str
    train: Matrix
    test: Matrix
    relevant_train: Floats  # documents x topics
    relevant_test: Floats
    settings: dict[str, Any]

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.relevant_train.shape[1])


def collections(context: Context) -> list[Collection]:
    """Return the collections that are there, or a generated one."""
    found = []
    topics = context.folder("topics")
    if topics is not None and (topics / "rcv1v2-subset1.a.svm.gz").exists():
        found.append(_rcv1(topics, context.pick(4, None)))
    multilabel = context.folder("multilabel")
    if multilabel is not None and (multilabel / "corel5k.svm.gz").exists():
        found.append(_corel(multilabel, context.pick(4, None)))
    return found or [generated(*context.pick((600, 2000, 4), (4000, 20000, 20)))]


def generated(n_docs: int, n_words: int, n_topics: int) -> Collection:
    """Return documents of words by Zipf's law; half of the topics are strong, half are weak.

    A topic has twelve words of its own. Its documents hold three of them if it is strong and one if
    it is weak; other documents hold them by chance.
    """
    rng = np.random.default_rng(7)
    frequency = 1 / np.arange(3, n_words + 3)
    words = rng.choice(n_words, (n_docs, 60), p=frequency / frequency.sum())
    relevant = np.zeros((n_docs, n_topics))
    rows, columns = [np.repeat(np.arange(n_docs), 60)], [words.ravel()]
    for topic in range(n_topics):
        own = rng.choice(np.arange(n_words // 20, n_words), 12, replace=False)
        members = rng.choice(n_docs, max(n_docs // 25, 20), replace=False)
        relevant[members, topic] = 1
        n_own = 3 if topic % 2 == 0 else 1
        rows.append(np.repeat(members, n_own))
        columns.append(rng.choice(own, (len(members), n_own)).ravel())
    i, j = np.concatenate(rows), np.concatenate(columns)
    counts = sp.csr_array((np.ones(len(i)), (i, j)), shape=(n_docs, n_words))
    idf = np.log(n_docs / np.maximum(np.bincount(counts.indices, minlength=n_words), 1))
    X = sp.csr_array(counts.log1p() * idf)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_array(sp.diags_array(1 / np.maximum(lengths, 1e-12)) @ X)
    half = n_docs // 2
    settings = {"documents": n_docs, "words": n_words, "topics": n_topics}
    return Collection("generated", X[:half], X[half:], relevant[:half], relevant[half:], settings)


def _rcv1(folder: Path, most: int | None) -> Collection:
    a, labels_a = _multilabel(folder / "rcv1v2-subset1.a.svm.gz")
    b, labels_b = _multilabel(folder / "rcv1v2-subset1.b.svm.gz", a.shape[1])
    counts = np.minimum(labels_a.sum(axis=0), labels_b.sum(axis=0))
    chosen = np.flatnonzero(counts >= 20)
    if most is not None:
        chosen = chosen[np.linspace(0, len(chosen) - 1, most).astype(int)]
    settings = {"topics": len(chosen), "topics with at least": "20 documents in each half"}
    name = "RCV1-v2 subset"
    return Collection(name, a, b, labels_a[:, chosen], labels_b[:, chosen], settings)


def _corel(folder: Path, most: int | None) -> Collection:
    X, labels = _multilabel(folder / "corel5k.svm.gz")
    n = 4000  # of 5,000 images, as in the thesis
    easy = np.flatnonzero((labels[n:].sum(axis=0) >= 3) & (labels[:n].sum(axis=0) >= 20))
    if most is not None:
        easy = easy[np.linspace(0, len(easy) - 1, most).astype(int)]
    settings = {"topics": len(easy), "topics with at least": "3 test and 20 training images"}
    return Collection(
        "Corel5k, easy", X[:n], X[n:], labels[:n][:, easy], labels[n:][:, easy], settings
    )


def _multilabel(path: Path, n_features: int | None = None) -> tuple[Matrix, Floats]:
    from sklearn.datasets import load_svmlight_file

    X, labels = load_svmlight_file(str(path), multilabel=True, n_features=n_features)
    most = int(max(max(row, default=0) for row in labels)) + 1
    relevant = np.zeros((X.shape[0], max(most, 110)))
    for i, row in enumerate(labels):
        relevant[i, np.asarray(row, dtype=int)] = 1
    return sp.csr_array(X), relevant
