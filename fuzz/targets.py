"""What is fuzzed: the readers of files that may come from strangers, or from a crash."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import scipy.sparse as sp

import rankwright as rw
from fuzz import mutators
from rankwright.comparison import read_lineup
from rankwright.comparison.store import open_trial_store, read_result
from rankwright.data.dataset import Dataset
from rankwright.data.scores import read_scores
from rankwright.data.trec import document_names
from rankwright.exceptions import DataError
from rankwright.trees.forest import Forest, ForestScorer

ABOUT, KEY = {"metric": "ndcg@10", "folds": 3}, "settings-version"
_THREE = Dataset(np.eye(3), [0, 1, 2], [1, 1, 1])
_WIDEST = 10_000  # features of a model that is asked for scores


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes
    ----------
    read : callable
        Reads a file. What it refuses is a DataError; any other error is a finding.
    file : str
        Its name.
    mutate : callable
        Returns another input of the same structure.
    """

    read: Callable[[Path], None]
    file: str
    mutate: mutators.Mutator


class BrokenRuleError(Exception):
    """What a reader must not do."""


def require(holds: bool, rule: str) -> None:
    """Raise unless a rule holds."""
    if not holds:
        raise BrokenRuleError(rule)


def check(target: Target, path: Path, data: bytes) -> bool:
    """Tell whether an input is accepted; raise what is neither that nor a clean refusal."""
    path.write_bytes(data)
    try:
        target.read(path)
    except DataError as error:
        require(error.path == str(path), "a refusal names the file")
        require("\n" not in str(error), f"a message is one line, not {error}")
        return False
    return True


def _model(path: Path) -> None:
    scored = None
    with suppress(DataError):  # a scorer need not look at all that the model does
        scorer = rw.load(path, scorer=True)
        scored = _predicted(scorer, scorer.n_features)
    model = rw.load(path)
    predicted = _predicted(model, model.n_features_in_)
    require(scored is None or scored == predicted, "a scorer predicts what the model does")


def _predicted(model: Any, n_features: int) -> str:
    """Return predictions as text; or what is said instead of them."""
    if n_features > _WIDEST:
        return "too wide"
    try:
        return str(model.predict(np.ones((2, n_features))).tolist())
    except ValueError as error:  # scores may overflow: that is for the one who asks for them
        require("\n" not in str(error), f"a message is one line, not {error}")
        return str(error)


def _trees(path: Path) -> None:
    text = path.read_bytes().decode("latin-1")
    n_features = text.partition("\nfeature_infos=")[2].partition("\n")[0].count(" ") + 1
    try:
        forest = Forest.from_text(text, n_features)
    except DataError as error:
        raise DataError(error.message, path=path) from None
    if n_features > _WIDEST:
        return
    booster = lightgbm.Booster(model_str=text)
    require(booster.num_trees() == forest.n_trees, "LightGBM reads the trees that were checked")
    scorer, X = ForestScorer(forest), np.zeros((2, n_features))
    same = np.array_equal(scorer.scores(X, threads=1), booster.predict(X, num_threads=1))
    require(same, "scores are LightGBM's")
    if forest.node_count.all():
        scorer.contributions(X, threads=1)
    forest.importance("gain")


def _table(path: Path) -> None:
    rw.read(path)


def _qrels(path: Path) -> None:
    found = rw.data.read_qrels(path)
    pairs = zip(found.qid.tolist(), document_names(found), strict=True)
    require(len(set(pairs)) == found.n_docs, "a document occurs once in a query")


def _run(path: Path) -> None:
    found = rw.data.read_run(path)
    require(bool(np.isfinite(found.scores).all()), "scores are finite")


def _stream(path: Path) -> None:
    """Piece by piece, a file has the rows that it has when it is read whole."""
    streamed: list[Any] | None = None
    try:
        pieces = rw.stream(path, 2, block_bytes=64, n_jobs=1)
        streamed = [document for piece in pieces for document in _documents(piece)]
    except DataError as error:
        refusal = error
    try:
        whole = _documents(rw.read(path, n_jobs=1))
    except DataError:
        require(streamed is None, "what is refused whole is not streamed")
        raise
    if streamed is None:
        require("adjacent" in str(refusal), "what is read whole is streamed")
        raise refusal
    require(sorted(streamed) == sorted(whole), "a stream has the same rows")


def _documents(dataset: Dataset) -> list[Any]:
    X = sp.csr_array(dataset.X)
    X.eliminate_zeros()  # a piece may be dense, the whole sparse
    X.sort_indices()
    ends = zip(X.indptr, X.indptr[1:], strict=False)
    features = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends]
    return list(zip(map(str, dataset.qid), dataset.y.tolist(), features, strict=True))


def _scores(path: Path) -> None:
    read_scores(path, _THREE)


def _study(path: Path) -> None:
    with open_trial_store(path, ABOUT) as store:
        for key in store.results:
            store.find(key)


def _result(path: Path) -> None:
    found, why = read_result(path.parent, KEY)
    if found is None:
        raise DataError(f"is not a result: {why}.", path=path)


def _lineup(path: Path) -> None:
    for entry in read_lineup(path):
        entry.describe()


TARGETS = {
    "model": Target(_model, "input.rw", mutators.archive),
    "trees": Target(_trees, "input.txt", mutators.trees),
    "csv": Target(_table, "input.csv", mutators.lines),
    "jsonl": Target(_table, "input.jsonl", mutators.lines),
    "qrels": Target(_qrels, "input.qrels", mutators.compressed),
    "run": Target(_run, "input.run", mutators.compressed),
    "stream": Target(_stream, "input.txt", mutators.compressed),
    "scores": Target(_scores, "input.txt", mutators.compressed),
    "study": Target(_study, "input.jsonl", mutators.study),
    "result": Target(_result, "result.json", mutators.result),
    "lineup": Target(_lineup, "input.toml", mutators.lines),
}
