"""Features from texts: by hand, and what goes wrong."""

from __future__ import annotations

import pickle
from math import log
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from rankwright.linear import DominationRank
from rankwright.text import BigramVectorizer, SinghalVectorizer

TEXTS = ["Oil, oil; WHEAT_wheat once", "oil-oil oil 12", "the 12 wheat"]


def test_singhal_by_hand() -> None:
    vectorizer = SinghalVectorizer()
    X = vectorizer.fit_transform(TEXTS).toarray()
    # "once" and "the" occur once in all texts.
    assert vectorizer.get_feature_names_out().tolist() == ["12", "oil", "wheat"]
    unique, mean_unique = [2, 2, 2], (2 + 2 + 2) / 3
    idf = [log(3 / 2), log(3 / 2), log(3 / 2)]
    counts = [[0, 2, 2], [1, 3, 0], [1, 0, 1]]
    mean_count = [(2 + 2) / 2, (1 + 3) / 2, (1 + 1) / 2]
    for i in range(3):
        pivot = 1 - 0.3 + 0.3 * unique[i] / mean_unique
        for j in range(3):
            tf = (1 + log(counts[i][j])) / (1 + log(mean_count[i])) / pivot if counts[i][j] else 0
            assert X[i, j] == pytest.approx(idf[j] * tf, rel=1e-6)
    assert X.dtype == np.float32


def test_d14_the_printed_parentheses_divide_the_wrong_thing() -> None:
    # Printed: 1 + log(d) / (1 + log dbar). For d = dbar = 8 that is not 1, and a document that
    # holds every word 8 times looks unlike one that holds every word once.
    d = mean = 8.0
    assert (1 + log(d)) / (1 + log(mean)) == 1
    assert 1 + log(d) / (1 + log(mean)) > 1.6
    once, often = "a b c", " ".join(["a b c"] * 8)
    X = SinghalVectorizer().fit(["a x x", "b y y", "c z z"] * 2).transform([once, often])
    np.testing.assert_allclose(X.toarray()[0], X.toarray()[1], rtol=1e-6)


def test_long_documents_count_less() -> None:
    texts = ["oil wheat", "oil rice corn barley wheat rye", "rice corn", "barley rye gold"]
    flat, pivoted = SinghalVectorizer(0.0), SinghalVectorizer(0.3)
    a, b = flat.fit_transform(texts).toarray(), pivoted.fit_transform(texts).toarray()
    oil = flat.vocabulary_["oil"]
    assert a[0, oil] == pytest.approx(a[1, oil])
    assert b[0, oil] > a[0, oil] > b[1, oil] > 0


def test_words_that_every_document_holds_are_gone() -> None:
    X = SinghalVectorizer().fit_transform(["a b b", "a c c", "a"])
    assert X.nnz == 2


def test_unknown_words_and_empty_texts() -> None:
    vectorizer = SinghalVectorizer().fit(TEXTS)
    X = vectorizer.transform(["gold", "", "gold oil"])
    assert np.diff(X.indptr).tolist() == [0, 0, 1]
    assert np.isfinite(X.data).all()


def test_bigrams_are_counted_within_texts() -> None:
    vectorizer = BigramVectorizer()
    X = vectorizer.fit_transform(["New York, new york", "york NEW", "in New York"])
    assert vectorizer.get_feature_names_out().tolist() == ["new york", "york new"]
    assert X.toarray().tolist() == [[2, 1], [0, 1], [1, 0]]
    assert isinstance(X, sp.csr_array)


def test_in_a_pipeline() -> None:
    pipeline = make_pipeline(SinghalVectorizer(), DominationRank("l1", 0.1))
    texts = ["oil price", "oil crude", "wheat price", "wheat crop", "oil tanker price"] * 3
    pipeline.fit(texts, [1, 1, 0, 0, 1] * 3)
    assert pipeline.predict(["oil"]) > pipeline.predict(["wheat"])


@pytest.mark.parametrize(
    ("vectorizer", "texts", "line"),
    [
        (SinghalVectorizer(1.5), TEXTS, "slope must lie between 0 and 1, but is 1.5."),
        (SinghalVectorizer(min_count=0), TEXTS, "min_count must be a positive integer, but is 0."),
        (SinghalVectorizer(), ["...", "?"], "texts must hold words, but hold none."),
        (SinghalVectorizer(), ["a b", "c"], "no word occurs 2 times in texts. Lower min_count, "),
        (BigramVectorizer(), ["a b"], "no pair of words occurs 2 times in texts. Lower "),
        (SinghalVectorizer(), "oil", "Iterable over raw text documents expected, string"),
    ],
)
def test_what_goes_wrong(vectorizer: Any, texts: Any, line: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        vectorizer.fit(texts)
    assert str(caught.value).startswith(line)


def test_parameters_and_pickles() -> None:
    for vectorizer in (SinghalVectorizer(0.2, min_count=1), BigramVectorizer(min_count=1)):
        assert clone(vectorizer).get_params() == vectorizer.get_params()
        expected = vectorizer.fit(TEXTS).transform(TEXTS).toarray()
        again = pickle.loads(pickle.dumps(vectorizer))
        np.testing.assert_array_equal(again.transform(TEXTS).toarray(), expected)
        np.testing.assert_array_equal(clone(vectorizer).fit_transform(TEXTS).toarray(), expected)
        with pytest.raises(NotFittedError):
            clone(vectorizer).transform(TEXTS)
