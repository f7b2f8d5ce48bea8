"""The commands of the files in ``deploy``, started here without containers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.client import Client
from tests.deploy_files import (
    compose,
    compose_command,
    health_command,
    image_command,
    unit,
    unit_command,
    with_options,
)
from tests.serve_process import running

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    model = rw.SLAMPerceptron("ndcg").fit(X, X[:, 0] > 0, np.repeat(range(10), 4))
    rw.save(model, tmp_path / "model.rw")
    (tmp_path / "tokens").write_text(f"rank,feedback {TOKEN}\n")
    (tmp_path / "tokens").chmod(0o600)
    return tmp_path


def here(command: list[str], folder: Path, **more: str) -> list[str]:
    """Return the arguments of ``serve`` with paths and the address of this machine."""
    there = {"port": "0", "host": "127.0.0.1", "token_file": str(folder / "tokens"), **more}
    found = with_options(command, **there)
    return [str(folder / "model.rw"), *found[3:]]


def healthy(port: int) -> bool:
    program, *rest = health_command()
    assert program == "python"
    rest[-1] = rest[-1].replace("8765", str(port))
    return subprocess.run([sys.executable, *rest], capture_output=True).returncode == 0


def teach(url: str, query: str) -> None:
    with Client(url, TOKEN) as client:
        ranking = client.rank(query, ids=["a", "b"], X=np.array([[1.0, 0, 0], [0, 1.0, 0]]))
        client.feedback(ranking, labels={"a": 0, "b": 1})


def test_what_the_image_runs(folder: Path) -> None:
    command = image_command()
    environment = {"RANKWRIGHT_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with running(here(command, folder, store=str(folder / "log.db")), folder, **environment) as one:
        assert healthy(one.port)
        teach(one.url, "q")
        with Client(one.url, TOKEN) as client:
            assert client.wait_learned().learned == 1
        port = one.port
        assert one.stop() == 0  # as STOPSIGNAL ends it
    assert not healthy(port)


def test_what_the_unit_runs(folder: Path) -> None:
    state = folder / "state"
    state.mkdir(mode=0o700)
    words = [
        word.replace("%S/rankwright", str(state)).replace("%d", str(folder))
        for word in unit_command()
    ]
    environment = dict(
        word.split("=", 1) for word in (unit()["Service"]["Environment"] or "").split()
    )
    arguments = [str(folder / "model.rw"), *with_options(words, port="0")[3:]]
    with running(arguments, state, **environment) as service:
        assert healthy(service.port)
        teach(service.url, "q")
        assert TOKEN not in service.output
    assert (state / "rankwright.db").exists()


def test_two_servers_of_the_compose_file_share_one_log(folder: Path, postgresql_url: str) -> None:
    environment = {
        name: "not asked for, on a socket" for name in compose()["services"]["first"]["environment"]
    }
    first, second = (
        here(compose_command(name), folder, store=postgresql_url, workers="1")
        for name in ("first", "second")
    )
    with (
        running(first, folder, **environment) as one,
        running(second, folder, **environment) as two,
    ):
        teach(one.url, "q1")
        teach(two.url, "q2")
        with Client(one.url, TOKEN) as client:
            ranking = client.rank("q3", ids=["a", "b"], X=np.eye(2, 3))
        with Client(two.url, TOKEN) as client:  # knows what the other has ranked
            client.feedback(ranking.ranking_id or "", labels={"a": 1, "b": 0})
            assert client.wait_learned().events == 3
        one.kill()
        teach(two.url, "q4")  # whoever learned: the other takes over
        with Client(two.url, TOKEN) as client:
            state = client.wait_learned(60)
            assert (state.events, state.learned) == (4, 4)
