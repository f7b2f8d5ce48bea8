"""``rankwright train --stream``: the same model as in memory, whatever happens on the way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright import streaming
from rankwright.cli import app
from rankwright.cli.train_stream import train_stream
from rankwright.data import make_mslr_like
from rankwright.models import make_model
from tests.interfaces.conftest import Runner

STREAMED = ["slam-perceptron", "online", "prank", "widrow-hoff", "multiclass-perceptron"]
runner = Runner()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "train.txt"
    ds = make_mslr_like(n_queries=200, mean_docs=8, random_state=1)
    rw.write_letor(rw.Dataset(ds.X[:, :10] / (1 + abs(ds.X[:, :10]).max(0)), ds.y, ds.qid), path)
    return path


def run(*arguments: Any) -> Any:
    return runner.invoke(app, ["train", *map(str, arguments)])


def state(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@pytest.mark.parametrize("model", STREAMED)
def test_a_stream_trains_the_model_of_the_whole_file(
    model: str, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model.rw"
    result = run(data, "--stream", "--model", model, "-o", out, "-p", "n_epochs=2", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    streamed = rw.load(out)
    ds = rw.read(data)
    whole = rw.models.make_model(model, **streamed.get_params()).fit(ds.X, ds.y, ds.qid)
    assert state(streamed).keys() == state(whole).keys()
    for name, value in state(whole).items():
        np.testing.assert_array_equal(value, state(streamed)[name], err_msg=name)
    assert facts["rounds"] == whole.n_rounds_
    assert facts["cumulative_loss"] == whole.cumulative_loss_
    assert os.listdir(tmp_path) == ["model.rw"]  # no checkpoint is left


def stopping_after(n: int, kind: Any = rw.SLAMPerceptron) -> Callable[..., None]:
    """Return partial_fit that fails in call n, as if the process were stopped there."""
    original, calls = kind.partial_fit, 0

    def partial_fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > n:
            raise KeyboardInterrupt
        return original(self, *args, **kwargs)

    return partial_fit


def test_resuming_gives_the_same_bits(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [data, "--stream", "--model", "slam-perceptron", "-p", "n_epochs=3"]
    arguments += ["-p", "variant=averaged", "--checkpoint-every", 40]
    assert run(*arguments, "-o", tmp_path / "whole.rw").exit_code == 0
    n_pieces = -(-200 // streaming.PIECE)
    for stop in (0, 1, 2, 3, n_pieces, n_pieces + 1, 3 * n_pieces - 1):
        out = tmp_path / f"{stop}.rw"
        with monkeypatch.context() as patch:
            patch.setattr(rw.SLAMPerceptron, "partial_fit", stopping_after(stop))
            assert run(*arguments, "-o", out).exit_code != 0
        assert not out.exists()
        result = run(*arguments, "-o", out, "--resume")
        assert result.exit_code == 0, result.output
        assert ("no checkpoint yet" if stop < 2 else "resuming after") in result.stderr
        assert out.read_bytes() == (tmp_path / "whole.rw").read_bytes()
        assert not out.with_name(f"{stop}.rw.checkpoint").exists()


@pytest.mark.parametrize("model", [*STREAMED, "pamir", "predtron-ranker"])
def test_every_learner_resumes(
    model: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = rw.models.model_class(model)
    arguments = [data, "--stream", "--model", model, "--checkpoint-every", 64]
    assert run(*arguments, "-o", tmp_path / "whole.rw").exit_code == 0
    with monkeypatch.context() as patch:
        patch.setattr(kind, "partial_fit", stopping_after(5, kind))
        assert run(*arguments, "-o", tmp_path / "model.rw").exit_code != 0
    result = run(*arguments, "-o", tmp_path / "model.rw", "--resume")
    assert "resuming after" in result.stderr
    assert (tmp_path / "model.rw").read_bytes() == (tmp_path / "whole.rw").read_bytes()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_again_and_again(data: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rankwright", "train", str(data), "--stream"]
    command += ["--model", "slam-perceptron"]
    command += ["-p", "n_epochs=12", "--checkpoint-every", "64", "-o"]
    whole, out = tmp_path / "whole.rw", tmp_path / "model.rw"
    checkpoint = tmp_path / "model.rw.checkpoint"
    assert run(*command[4:], whole).exit_code == 0
    moment = random.Random(0)
    for _ in range(3):
        with subprocess.Popen([*command, str(out), "--resume"], stderr=subprocess.DEVNULL) as child:
            # Somewhere behind the first checkpoint of this run, or before it.
            before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
            while child.poll() is None:
                now = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
                if now != before:
                    break
                time.sleep(0.001)
            time.sleep(moment.random() * 0.05)
            child.send_signal(signal.SIGKILL)
    subprocess.run([*command, str(out), "--resume"], check=True, capture_output=True)
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["model.rw", "whole.rw"]


def test_what_a_killed_run_left_of_a_checkpoint_is_removed(data: Path, tmp_path: Path) -> None:
    (tmp_path / ".model.rw.checkpoint.0123abcd.part").write_bytes(b"half")
    assert run(data, "--stream", "--model", "prank", "-o", tmp_path / "model.rw").exit_code == 0
    assert os.listdir(tmp_path) == ["model.rw"]


def test_beside_a_device_there_is_no_place_for_checkpoints(data: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [data, "--stream", "--model", "slam-perceptron", "-o", pipe]
    result = run(*command, "--checkpoint-every", 5)
    assert str(result.exception).startswith(f"there is no place for checkpoints beside {pipe}: ")
    seen: list[str] = []
    rw.fit_stream(
        rw.SLAMPerceptron(),
        data,
        out=os.devnull,
        checkpoint_every=5,
        callback=lambda _: seen.extend(os.listdir("/dev")),
    )
    assert not [name for name in seen if name.endswith(".checkpoint")]


def test_standard_input(data: Path, tmp_path: Path) -> None:
    arguments = ["train", "-", "--stream", "--model", "slam-perceptron", "-o"]
    content = data.read_bytes()
    pipe = [sys.executable, "-m", "rankwright", *arguments, str(tmp_path / "piped.rw")]
    subprocess.run(pipe, input=content, check=True, capture_output=True)
    run(data, *arguments[2:], tmp_path / "file.rw", "-p", "n_epochs=1")
    assert (tmp_path / "piped.rw").read_bytes() == (tmp_path / "file.rw").read_bytes()
    for option in (["--resume"], ["--checkpoint-every", "5"], ["-p", "n_epochs=2"]):
        result = runner.invoke(app, [*arguments, str(tmp_path / "no.rw"), *option], input=content)
        assert isinstance(result.exception, ValueError)
        assert "standard input cannot be read twice" in str(result.exception)
        assert not (tmp_path / "no.rw").exists()


def test_labels_are_found_in_files_and_asked_for_in_pipes(data: Path, tmp_path: Path) -> None:
    result = run(data, "--stream", "--model", "prank", "-o", tmp_path / "model.rw")
    assert result.exit_code == 0
    assert rw.load(tmp_path / "model.rw").classes_.tolist() == sorted(set(rw.read(data).y.tolist()))
    arguments = ["train", "-", "--stream", "--model", "prank", "-o", str(tmp_path / "pipe.rw")]
    result = runner.invoke(app, arguments, input=data.read_bytes())
    assert "PRank needs all labels before the first document" in str(result.exception)
    pipe = [sys.executable, "-m", "rankwright", *arguments, "-p", "classes=[0,1,2,3,4]"]
    subprocess.run(pipe, input=data.read_bytes(), check=True, capture_output=True)
    assert rw.load(tmp_path / "pipe.rw").classes_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stream"], "--stream needs a model that learns online, but is linear"),
        (["--resume", "--model", "prank"], "--resume and --checkpoint-every need --stream"),
        (["--checkpoint-every", 3], "--resume and --checkpoint-every need --stream"),
        (
            ["--stream", "--model", "prank", "--checkpoint-every", -1],
            "--checkpoint-every must be at least 0, but is -1",
        ),
        (
            ["--stream", "--model", "slam-perceptron", "-p", "update=paper"],
            "needs radius, max_docs and v_max, or eta, before partial_fit or a stream",
        ),
        (
            ["--stream", "--model", "slam-perceptron", "--paper"],
            "on the command line by -p eta=...",
        ),
    ],
)
def test_options_that_cannot_be(
    arguments: list[Any], message: str, data: Path, tmp_path: Path
) -> None:
    result = run(data, "-o", tmp_path / "model.rw", *arguments)
    assert isinstance(result.exception, ValueError)
    assert message in str(result.exception)
    assert os.listdir(tmp_path) == []


def test_other_files(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "no.txt", "there is no such file"),
        (tmp_path / "a.parquet", "a stream is LETOR text, but"),
    ):
        result = run(path, "--stream", "--model", "prank", "-o", tmp_path / "model.rw")
        assert message in str(result.exception)


def test_checkpoints_of_something_else_are_refused(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, checkpoint = tmp_path / "model.rw", tmp_path / "model.rw.checkpoint"
    arguments = [data, "--stream", "--model", "slam-perceptron", "-o", out]
    with monkeypatch.context() as patch:
        patch.setattr(rw.SLAMPerceptron, "partial_fit", stopping_after(3))
        run(*arguments, "--checkpoint-every", 1)
    content = checkpoint.read_bytes()

    def refusal(*more: Any) -> str:
        result = run(*arguments, "--resume", *more)
        assert isinstance(result.exception, rw.DataError)
        assert not out.exists()
        return str(result.exception)

    assert "was made with metric='ndcg', not 'map'" in refusal("-p", "metric=map")
    assert "is of a SLAMPerceptron, not of a PRank" in refusal("--model", "prank")
    other = tmp_path / "other.txt"
    other.write_bytes(data.read_bytes() + b"1 qid:99999 1:1\n")
    arguments[0] = other
    assert "was made from other data than" in refusal()
    arguments[0] = data
    ds = rw.read(data)
    rw.save(rw.SLAMPerceptron().fit(ds.X, ds.y, ds.qid), checkpoint)
    assert "is not a checkpoint of a stream" in refusal()
    for broken in (b"", content[:-30], b"PK\x03\x04" + b"\0" * 100):
        checkpoint.write_bytes(broken)
        refusal()
    checkpoint.write_bytes(content)
    result = run(*arguments)  # without --resume it is not looked at
    assert "not used, since this run does not resume" in result.stderr
    assert result.exit_code == 0


def test_data_that_changed_far_behind_are_other_data(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same size, the same first MiB: one label near the end is another."""
    lines = data.read_bytes().splitlines(keepends=True)
    path, out = tmp_path / "long.txt", tmp_path / "model.rw"
    content = b"".join(line.replace(b"qid:", b"qid:q%d-" % i) for i in range(16) for line in lines)
    path.write_bytes(content)
    arguments = [path, "--stream", "--model", "slam-perceptron", "-o", out]
    with monkeypatch.context() as patch:
        patch.setattr(rw.SLAMPerceptron, "partial_fit", stopping_after(3))
        run(*arguments, "--checkpoint-every", 1)
    place = content.rindex(b"\n", 0, -1) + 1
    assert place > 1 << 20
    digit = content[place : place + 1]
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"1" if digit == b"0" else b"0")
    result = run(*arguments, "--resume")
    assert isinstance(result.exception, rw.DataError)
    assert str(result.exception) == (
        f"{out}.checkpoint: was made from other data than {path}. Start over instead of resuming."
    )
    assert result.stderr == ""
    assert not out.exists()
    path.write_bytes(content)
    assert "resuming after" in run(*arguments, "--resume").stderr


def test_data_that_change_between_passes_are_an_error(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(data.read_bytes())
    original = rw.SLAMPerceptron.partial_fit

    def changing(self: Any, *args: Any) -> Any:
        if getattr(self, "n_rounds_", 0) == 100:
            path.write_bytes(data.read_bytes() + b"1 qid:99999 1:1\n")
        return original(self, *args)

    monkeypatch.setattr(rw.SLAMPerceptron, "partial_fit", changing)
    monkeypatch.setattr(streaming, "PIECE", 100)
    arguments = ["--stream", "--model", "slam-perceptron", "-o", tmp_path / "m.rw"]
    result = run(path, *arguments, "-p", "n_epochs=2")
    assert isinstance(result.exception, rw.DataError)
    assert "data.txt: has changed since the pass before. Start over." in str(result.exception)
    assert not (tmp_path / "m.rw").exists()


def test_plain_lines_when_piped(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwright.progress._BETWEEN_LINES", 0.0)
    result = run(data, "--stream", "--model", "slam-perceptron", "-o", tmp_path / "model.rw")
    lines = result.stderr.splitlines()
    assert len(lines) == 10 * -(-200 // streaming.PIECE) + 9  # passes after the first begin
    assert lines[-1].startswith("2,000 rounds, ")
    assert " documents/s, mean loss 0." in lines[-1]


def test_a_bar_on_a_terminal(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    arguments = [data, "--stream", "--model", "slam-perceptron", "--checkpoint-every", 64]
    train_stream(
        make_model("slam-perceptron", shuffle=False),
        *("slam-perceptron", [str(data)], str(tmp_path / "a.rw")),
        checkpoint_every=64, resume=False, jobs=None,
    )  # fmt: skip
    assert "2,000 rounds, " in capsys.readouterr().err
    assert run(*arguments, "-o", tmp_path / "b.rw").exit_code == 0
    assert (tmp_path / "a.rw").read_bytes() == (tmp_path / "b.rw").read_bytes()
