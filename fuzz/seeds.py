"""Write the seeds of the Python targets: ``python -m fuzz.seeds``; a few kB in ``fuzz/corpus``."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import zstandard

import rankwright as rw
from fuzz.targets import ABOUT, KEY
from rankwright.comparison.store import open_trial_store, write_result
from rankwright.linear import TopicRankers
from rankwright.models import MODELS, make_model

CORPUS = Path(__file__).parent / "corpus"
Seeds = Iterator[tuple[str, bytes]]

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(12, 3)), 2)
Y = np.tile([0, 1, 2], 4)
QID = np.repeat([1, 2, 3], 4)


def _models() -> Seeds:
    params = {"boosted": {"n_estimators": 2, "num_leaves": 3, "min_child_samples": 1}}
    labels = {"predtron-multilabel": np.eye(3)[Y], "predtron-label-ranker": np.eye(3)[Y]}
    models = [(name, make_model(name, **params.get(name, {}))) for name in MODELS]
    models += [
        (f"{name}-rbf", make_model(name, kernel="rbf")) for name in ("prank", "predtron-classifier")
    ]
    models += [("voted", make_model("slam-perceptron", variant="voted"))]
    models += [("slam", make_model("linear", loss=rw.losses.SLAM(), penalty="l1"))]
    fitted = [(name, model.fit(X, labels.get(name, Y), QID)) for name, model in models]
    fitted += [("topics", TopicRankers().fit(X, np.eye(3)[Y]))]
    for name, model in fitted:
        path = CORPUS / "seed.rw"
        rw.save(model, path)
        yield f"{name}.rw", path.read_bytes()
        path.unlink()


def _trees() -> Seeds:
    for leaves in (2, 4):
        model = rw.BoostedRanker(n_estimators=2, num_leaves=leaves, min_child_samples=1)
        yield f"{leaves}_leaves.txt", model.fit(X, Y, QID).model_text_.encode()


def _csv() -> Seeds:
    yield "plain.csv", b"qid,label,a,b\n1,0,0.5,1\n1,1,1e3,-2\n2,2,,3\n"
    yield "ids.csv", b"doc_id,label,qid,f1\nD1,0,a,1\nD2,1,a,2\nD3,0,007,3\n"
    yield "quotes.csv", b'"qid","label","x ""y"""\r\n"1","1","0.25"\r\n'
    yield "types.csv", b"qid,label,flag,day\n1,1,true,2020-01-01\n2,0,false,2020-01-02\n"
    yield "commas.csv", b"qid;label;a;b\n1;0;0,5;1\n1;1;-2,25;3\n"
    yield "mark.csv", b"\xef\xbb\xbfqid,label,a\n1,0,1\n"


def _jsonl() -> Seeds:
    yield "plain.jsonl", b'{"qid": 1, "label": 0, "a": 0.5}\n{"qid": 1, "label": 1, "a": null}\n'
    yield "ids.jsonl", b'{"doc_id": "D1", "qid": "a", "label": 2, "f": true, "g": {"h": [1]}}\n'


def _qrels() -> Seeds:
    text = b"q1 0 D1 2\nq1 0 D2 0\n\nq2\t0\tD1\t-1\n"
    yield "plain.qrels", text
    yield "compressed.gz", gzip.compress(text, mtime=0)


def _run() -> Seeds:
    text = b"q1 Q0 D1 1 0.5 x\nq1 Q0 D2 2 -1e-3 x\r\nq2 Q0 D1 0 7 x\n"
    yield "plain.run", text
    yield "compressed.zst", zstandard.compress(text)


def _stream() -> Seeds:
    texts = {
        "plain": b"1 qid:1 1:0.5 3:2\n0 qid:1 2:1e3 # docid = D1\n2 qid:2 1:-1\n",
        "text": b"# first\n\n0 qid:a 0:1\r\n1 qid:b 4:.5e1\n",
        "bare": b"1 1:1 2:2\n0 2:3\n",
        "again": b"1 qid:1 1:1\n0 qid:2 1:2\n0 qid:1 1:3\n",
    }
    for name, text in texts.items():
        yield f"{name}.txt", text
        yield f"{name}.txt.gz", gzip.compress(text, mtime=0)
        yield f"{name}.txt.zst", zstandard.compress(text)
    two = [texts["plain"], b"0 qid:3 2:7\n"]
    yield "two.txt.gz", b"".join(gzip.compress(text, mtime=0) for text in two)
    yield "two.txt.zst", b"".join(zstandard.compress(text) for text in two)


def _scores() -> Seeds:
    yield "plain.txt", b"0.5\n-1\n1e-3\n"
    yield "blank.txt", b" 1 \r\n2\n3\n\n\n"
    yield "short.txt", b"1\n"
    yield "compressed.gz", gzip.compress(b"1\n2\n3\n", mtime=0)


def _lineup() -> Seeds:
    yield "names.toml", b"[models.xendcg-linear]\n[models.random]\n"
    yield (
        "search.toml",
        b'[models.small]\nmodel = "linear"\nparams = { loss = "listnet", penalty = "l1" }\n'
        b"search = { alpha = { low = 1e-4, high = 1.0, log = true } }\n",
    )
    yield (
        "trees.toml",
        b'[models.trees]\nmodel = "boosted"\nfamily = "trees"\n[models.trees.params]\n'
        b"n_estimators = 5\n[models.trees.search]\nnum_leaves = [4, 8]\n",
    )
    yield (
        "online.toml",
        b'[models.p]\nmodel = "slam-perceptron"\nscale = true\nparams = { n_epochs = 2 }\n'
        b"search = { n_epochs = { low = 1, high = 9, integer = true } }\n",
    )


def _study() -> Seeds:
    path = CORPUS / "seed.jsonl"
    one: list[dict[str, Any]] = [{"value": 0.5, "params": {"alpha": 0.1}}]
    for name, results in {"empty": [], "one": one}.items():
        with open_trial_store(path, ABOUT) as store:
            for i, result in enumerate([*results, {"value": None, "folds": [0.5, None]}]):
                store.add(f"{i}-version", result)
        yield f"{name}.jsonl", path.read_bytes()
        path.unlink()
    (CORPUS / ".seed.jsonl.lock").unlink(missing_ok=True)


def _result() -> Seeds:
    with TemporaryDirectory() as name:
        folder = Path(name) / "result"
        for kind, files in {"bare": {}, "files": {"scores.npy": b"0"}}.items():
            write_result(folder, KEY, {"model": "linear", "valid": 0.5, "trials": [1]}, files)
            yield f"{kind}.json", (folder / "result.json").read_bytes()


SEEDS = {
    "model": _models,
    "trees": _trees,
    "csv": _csv,
    "jsonl": _jsonl,
    "qrels": _qrels,
    "run": _run,
    "stream": _stream,
    "scores": _scores,
    "study": _study,
    "result": _result,
    "lineup": _lineup,
}


def main() -> None:
    """Write them all."""
    warnings.simplefilter("ignore")
    for target, seeds in SEEDS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
