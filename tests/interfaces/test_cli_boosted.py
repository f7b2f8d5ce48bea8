"""``rankwright train --model boosted``: progress, early stopping, interrupts."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.cli import progress
from rankwright.trees import BoostingProgress
from tests.interfaces.conftest import Cli
from tests.signals import default_handlers, started

BOOSTED = ("--model", "boosted", "-p", "num_leaves=5")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("boosted")
    ds = rw.data.make_mslr_like(n_queries=60, mean_docs=15, n_features=10)
    for name, part in zip(("train", "valid"), ds.split((0.6, 0.4)), strict=True):
        rw.write_letor(part, folder / f"{name}.txt")
    return folder


def test_the_same_model_as_python(files: Path, tmp_path: Path, run: Cli) -> None:
    model = tmp_path / "model.rw"
    words = ["-p", "n_estimators=40", "-p", "early_stopping_rounds=5", "--json"]
    valid = ["--valid", files / "valid.txt", "--loss", "xendcg"]
    code, out, err = run("train", files / "train.txt", "-o", model, *BOOSTED, *valid, *words)
    assert (code, err) == (0, "")
    train, other = rw.read(files / "train.txt"), rw.read(files / "valid.txt")
    ranker = rw.BoostedRanker(num_leaves=5, n_estimators=40, early_stopping_rounds=5)
    ranker.fit(train.X, train.y, train.qid, valid=other)
    facts = json.loads(out)
    assert facts["iterations"] == ranker.n_iter_
    assert facts["best_score"] == ranker.best_score_
    assert rw.load(model).model_text_ == ranker.model_text_
    code, out, _ = run("predict", model, files / "valid.txt")
    assert code == 0
    np.testing.assert_array_equal([float(s) for s in out.split()], ranker.predict(other.X))


def test_without_validation_queries(files: Path, tmp_path: Path, run: Cli) -> None:
    code, out, _ = run("train", files / "train.txt", "-o", tmp_path / "m.rw", *BOOSTED)
    assert code == 0
    assert re.fullmatch(
        r".*m\.rw: BoostedRanker, xendcg, 10 of 10 features, 100 iterations, n_estimators, "
        r"[\d.]+ s\n",
        out,
    )


def test_validation_queries_are_for_trees(files: Path, tmp_path: Path, run: Cli) -> None:
    valid = ["--valid", files / "valid.txt"]
    code, _, err = run("train", files / "train.txt", "-o", tmp_path / "m.rw", *valid)
    assert code == 2
    assert err == (
        "rankwright: --valid is for models that grow until it is enough, not for linear.\n"
    )
    assert not (tmp_path / "m.rw").exists()


def test_bad_parameters_are_one_line(files: Path, tmp_path: Path, run: Cli) -> None:
    target = ["train", "does-not-exist.txt", "-o", tmp_path / "m.rw", *BOOSTED]
    code, _, err = run(*target, "--loss", "nope")
    assert code == 2
    assert err.startswith("rankwright: loss must be one of xendcg, ")
    code, _, err = run(*target, "-p", "learning_rate=-1")
    assert (code, err) == (
        2,
        "rankwright: learning_rate must be a positive number, but is -1.\n",
    )


# --- interrupts --------------------------------------------------------------------------------


def command(files: Path, out: Path, *words: str) -> list[Any]:
    train = [sys.executable, "-m", "rankwright", "train", files / "train.txt", "-o", out]
    return [*train, *BOOSTED, "--valid", files / "valid.txt", *words]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_keeps_the_best_model(
    files: Path, tmp_path: Path, number: int, code: int
) -> None:
    endless = ("-p", "n_estimators=1000000", "-p", "early_stopping_rounds=1000000", "--json")
    with started(command(files, tmp_path / "m.rw", *endless)) as process:
        assert process.stderr is not None
        line = process.stderr.readline()  # it has trees now
        assert re.match(
            r"tree \d+ of 1000000, ndcg@10 \S+ \(train\), \S+ \(valid\), "
            r"best \S+ at \d+, \d+:\d\d left",
            line,
        )
        assert not (tmp_path / "m.rw").exists()
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    facts = json.loads(out)
    assert facts["stop"] == "interrupted"
    model = rw.load(tmp_path / "m.rw")
    curve = model.evals_result_["valid"]["ndcg@10"]
    assert model.n_iter_ == int(np.argmax(curve)) + 1
    valid = rw.read(files / "valid.txt")
    assert model.score(valid.X, valid.y, valid.qid) == pytest.approx(max(curve))
    assert [path.name for path in tmp_path.iterdir()] == ["m.rw"]


def test_in_the_background_of_a_shell_an_interrupt_is_not_for_it(
    files: Path, tmp_path: Path
) -> None:
    words = ("-p", "n_estimators=1000000", "-p", "early_stopping_rounds=1000000")
    with started(command(files, tmp_path / "m.rw", *words), background=True) as process:
        assert process.stderr is not None
        process.stderr.readline()  # it has trees now
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline().startswith("tree ")  # and goes on
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143
    assert rw.load(tmp_path / "m.rw").stop_ == "interrupted"


def test_what_is_ignored_stays_ignored() -> None:
    with default_handlers():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with progress.interruptible() as interrupt:
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is interrupt
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.fixture
def in_the_foreground() -> Iterator[None]:
    with default_handlers():
        yield


@pytest.mark.usefixtures("in_the_foreground")
def test_a_second_interrupt_ends_at_once() -> None:
    with progress.interruptible() as interrupt:
        interrupt.may_wait = True
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt.signal == signal.SIGTERM
        assert interrupt.exit_code == 143
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    with progress.interruptible() as interrupt:
        with pytest.raises(SystemExit) as stop:
            os.kill(os.getpid(), signal.SIGTERM)  # nothing to keep yet
        assert stop.value.code == 143
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_live_bar_on_a_terminal(files: Path, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": terminal, "env": env}
    with started(command(files, tmp_path / "m.rw"), **streams) as process:
        os.close(terminal)
        seen = b""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if not select.select([controller], [], [], 1)[0]:
                continue
            try:
                part = os.read(controller, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        assert process.wait(timeout=60) == 0
    os.close(controller)
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", seen).decode()
    assert re.search(r"tree \d+ of 100, ndcg@10 0\.\d+ \(train\), 0\.\d+ \(valid\), best", text)


def test_lines_without_a_metric() -> None:
    nan = float("nan")
    line = str(BoostingProgress(10, 40, "ndcg@10", nan, nan, nan, 10, 25.0))
    assert line == "tree 10 of 40, 1:15 left"
