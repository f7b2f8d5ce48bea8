"""fit_stream: the same model as in memory, with checkpoints."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rankwright as rw
from rankwright import streaming
from rankwright.streaming import StreamProgress

LEARNERS: dict[str, Any] = {
    "slam": rw.SLAMPerceptron(n_epochs=2, variant="averaged"),
    "online": rw.OnlineRanker("listnet", n_epochs=1),
    "prank": rw.PRank("averaged", n_epochs=2),
    "predtron-ranker": rw.PredtronRanker(variant="voted", n_epochs=1),
    "predtron-classifier": rw.PredtronClassifier(n_epochs=2),
    "predtron-ordinal": rw.PredtronOrdinal("loss_driven", norm="l1", n_epochs=1),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


class StoppedError(Exception):
    pass


class StopAfter:
    """A callback that fails after some pieces, as if the process were killed there."""

    def __init__(self, n_pieces: int) -> None:
        self.left = n_pieces

    def __call__(self, progress: StreamProgress) -> None:
        self.left -= progress.n_docs > 0 and progress.learned
        if self.left < 0:
            raise StoppedError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "train.txt"
    ds = rw.data.make_mslr_like(n_queries=200, mean_docs=8, random_state=1)
    rw.write_letor(rw.Dataset(ds.X[:, :10] / (1 + abs(ds.X[:, :10]).max(0)), ds.y, ds.qid), path)
    return path


def assert_same(a: Any, b: Any, rtol: float = 0.0) -> None:
    mine, theirs = (
        {name: value for name, value in vars(model).items() if name.endswith("_")}
        for model in (a, b)
    )
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        if isinstance(value, str):
            assert value == theirs[name]
            continue
        np.testing.assert_allclose(value, theirs[name], rtol, err_msg=name)


@every_learner
def test_a_stream_gives_the_bits_of_the_whole_file(name: str, data: Path) -> None:
    ds = rw.read(data)
    learner = clone(LEARNERS[name])
    assert rw.fit_stream(learner, data) is learner
    whole = clone(LEARNERS[name]).set_params(shuffle=False).fit(ds.X, ds.y, ds.qid)
    # A link is taken through all weights at the start of each piece.
    assert_same(learner, whole, rtol=1e-12 if name == "predtron-ordinal" else 0.0)


@every_learner
@pytest.mark.parametrize("n_pieces", [0, 1, 3, 6])
def test_a_stopped_run_resumes_with_the_same_bits(
    name: str, n_pieces: int, data: Path, tmp_path: Path
) -> None:
    checkpoint, learner = tmp_path / "run.rw", clone(LEARNERS[name])
    places: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_every": 1}
    with pytest.raises(StoppedError):
        rw.fit_stream(learner, data, **places, callback=StopAfter(n_pieces))
    assert not learner.has_begun  # what was given is as it was
    assert checkpoint.exists() == (n_pieces > 0)
    skipped: list[bool] = []
    rw.fit_stream(
        learner, data, **places, resume=True, callback=lambda p: skipped.append(not p.learned)
    )
    assert sum(skipped) == n_pieces
    assert_same(learner, rw.fit_stream(clone(LEARNERS[name]), data))
    assert os.listdir(tmp_path) == []


def test_the_model_is_written_before_the_checkpoint_goes(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "model.rw"
    arguments: dict[str, Any] = {"out": out, "checkpoint_every": 100}

    def fail(model: Any, path: Any) -> None:
        if path == out:
            raise OSError("no space left")
        rw.save(model, path)

    with monkeypatch.context() as patch:
        patch.setattr("rankwright.streaming.save", fail)
        with pytest.raises(OSError, match="no space left"):
            rw.fit_stream(rw.SLAMPerceptron(), data, **arguments)
    assert os.listdir(tmp_path) == ["model.rw.checkpoint"]
    learner = rw.fit_stream(rw.SLAMPerceptron(), data, resume=True, **arguments)
    assert os.listdir(tmp_path) == ["model.rw"]
    assert_same(rw.load(out), learner)


def test_a_learner_starts_from_scratch(data: Path) -> None:
    ds = rw.read(data)
    learner = rw.SLAMPerceptron(kernel="rbf").fit(ds.X, ds.y, ds.qid).set_params(kernel=None)
    assert_same(rw.fit_stream(learner, data), rw.fit_stream(rw.SLAMPerceptron(), data))


def test_a_checkpoint_does_not_mark_the_learner(data: Path, tmp_path: Path) -> None:
    seen: list[bool] = []
    rw.fit_stream(
        rw.SLAMPerceptron(),
        data,
        checkpoint=tmp_path / "run.rw",
        checkpoint_every=1,
        callback=lambda progress: seen.append("place_" in vars(progress.learner)),
    )
    assert set(seen) == {False}


def test_the_callback_counts_documents(data: Path) -> None:
    seen: list[StreamProgress] = []
    rw.fit_stream(rw.SLAMPerceptron(n_epochs=2), data, callback=seen.append)
    total = rw.read(data).n_docs
    assert {progress.total for progress in seen} == {total}
    assert sum(progress.n_docs for progress in seen) == 2 * total
    assert sum(progress.n_docs == 0 for progress in seen) == 2  # the passes begin


def test_what_a_run_says_goes_to_its_logger(
    data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rankwright.streaming")
    checkpoint = tmp_path / "run.rw"
    places: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_every": 1}
    for resume in (True, False, True):
        with pytest.raises(StoppedError):
            rw.fit_stream(rw.SLAMPerceptron(), data, **places, resume=resume, callback=StopAfter(2))
    assert caplog.messages == [
        f"{checkpoint}: no checkpoint yet, starting from the beginning",
        f"{checkpoint}: not used, since this run does not resume",
        f"{checkpoint}: resuming after 64 rounds",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"learner": rw.LinearRanker()}, "learner must be an online learner, but is LinearRanker"),
        ({"path": "no.txt"}, "no.txt: there is no such file"),
        ({"path": "a.parquet"}, "a stream is LETOR text, but a.parquet is a table"),
        ({"resume": True}, "resume needs a checkpoint, or out, to know where it may be"),
        ({"checkpoint_every": -1}, "checkpoint_every must be an integer of at least 0, but is -1"),
        (
            {"path": "-", "learner": rw.SLAMPerceptron(n_epochs=2)},
            "read twice, but n_epochs is 2: set",
        ),
        ({"path": "-", "resume": True, "out": "m.rw"}, "standard input cannot be read twice, so"),
        (
            {"path": "-", "learner": rw.PRank(n_epochs=1)},
            "PRank needs all labels before the first document",
        ),
        ({"learner": rw.SLAMPerceptron("dcg")}, "metric must be one of ndcg"),
    ],
)
def test_runs_that_cannot_be(arguments: dict[str, Any], message: str, data: Path) -> None:
    given = {"learner": rw.SLAMPerceptron(), "path": data, **arguments}
    with pytest.raises((ValueError, TypeError), match=message):
        rw.fit_stream(**given)


def test_it_is_found_beside_the_learners() -> None:
    assert rw.online.fit_stream is rw.fit_stream


def test_a_pipe_is_learned_to_its_end(tmp_path: Path, monkeypatch: Any) -> None:
    ds = rw.data.make_mslr_like(n_queries=200, mean_docs=8, random_state=1)
    data = tmp_path / "d.txt"
    rw.write_letor(ds, data)
    monkeypatch.setattr(streaming, "FIRST", 100)
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=[data.read_bytes()]).start()
    learner = rw.fit_stream(rw.SLAMPerceptron(missing="median", n_epochs=1), pipe)
    assert learner.n_rounds_ == 200
    assert learner.fill_.shape == learner.scale_.shape == (learner.n_features_in_,)
