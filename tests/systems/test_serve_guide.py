"""What the guide to the service shows is what happens: its calls, its Python, its back-ups."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankwright.client import Client
from tests.postgresql import PostgreSQLServer, find_postgresql
from tests.serve_process import ServiceProcess, running
from tests.systems.conftest import missing
from tests.unit.test_docs_cover_api import _run_python

PAGE = (Path(__file__).parents[2] / "docs/guide/serve.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8765"


def rankwright(*arguments: str, cwd: Path | str) -> str:
    command = [sys.executable, "-m", "rankwright", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder() -> str:
    """Give the folder of the page, with its model."""
    names: dict[str, object] = {"__name__": "__main__"}
    _run_python(PAGE, names)
    folder = str(names["folder"])
    script = re.findall(r"^\$ (columns=.*)\n\$ rankwright (train .*?) \|", PAGE, re.MULTILINE)
    ((columns, train),) = script
    words = train.replace("$columns", columns.partition('"')[2].rstrip('"')).split()
    rankwright(*words, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def service(folder: str) -> Iterator[ServiceProcess]:
    with running(["model.rw", "--port", "0"], Path(folder)) as found:
        yield found


def calls() -> list[tuple[str, str]]:
    """Return the calls of curl on the page, with their answers."""
    found = re.findall(r"^\$ (curl (?:.|\n)*?')\n(\{.*)$", PAGE, re.MULTILINE)
    assert len(found) == 4
    return found


def test_the_first_line_is_what_is_printed(service: ServiceProcess) -> None:
    (line,) = re.findall(r"^serving model.rw.*$", PAGE, re.MULTILINE)
    assert service.output.strip() == line.replace(ADDRESS, service.url)


def test_the_calls_are_answered_as_shown(service: ServiceProcess) -> None:
    made = ""
    (shown,) = set(re.findall(r'"ranking_id": ?"(\w+)"', PAGE))
    for command, expected in calls():
        script = command.replace(ADDRESS, service.url).replace(shown, made or shown)
        done = subprocess.run(["bash", "-c", script], capture_output=True, encoding="utf-8")
        answer = done.stdout
        if not made:
            ids = re.findall(r'"ranking_id":"(\w+)"', answer)
            assert ids, answer + done.stderr
            made = ids[0]
        assert numbers(answer.replace(made, shown)) == numbers(expected)


def numbers(text: str) -> str:
    """Return a text with fractions of six digits: their last ones depend on the platform."""
    return re.sub(r"-?\d+\.\d{5,}", lambda found: f"{float(found[0]):.6g}", text)


def test_the_python_of_the_page_runs(service: ServiceProcess, tmp_path: Path) -> None:
    first, second = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", first.replace(ADDRESS, service.url)],
        capture_output=True,
        encoding="utf-8",
    )
    assert done.stderr == ""
    ids, state = done.stdout.splitlines()
    assert ids == "('p1', 'p2')"
    assert state.endswith(" True")
    with Client(service.url) as client:
        client.download(1, tmp_path / "newer.rw", learned=True)
        exec(second.replace('"newer.rw"', repr(str(tmp_path / "newer.rw"))), {"client": client})
        assert client.experiments()[-1].running is False


def test_back_ups_hold_what_was_accepted(
    service: ServiceProcess, folder: str, tmp_path: Path
) -> None:
    with Client(service.url) as client:
        client.feedback_with_features("q", {"a": [1, 2, 3], "b": [3, 2, 1]}, {"a": 1, "b": 0})
        events = client.wait_learned().events
    (statement,) = re.findall(r"VACUUM INTO 'backup.db'", PAGE)
    with sqlite3.connect(f"{folder}/rankwright.db") as connection:
        connection.execute(statement.replace("backup.db", f"{tmp_path}/one.db"))
        with sqlite3.connect(tmp_path / "two.db") as other:
            connection.backup(other)  # what .backup does
        other.close()
    connection.close()
    for name in ("one.db", "two.db"):
        said = rankwright("replay", name, "-o", "check.rw", cwd=tmp_path)
        assert said.startswith("the same bits: ")
        with (
            running([f"{folder}/model.rw", "--store", name, "--port", "0"], tmp_path) as again,
            Client(again.url) as client,
        ):
            assert client.state().events == events


def test_a_dump_of_postgresql_holds_what_was_accepted(
    folder: str, postgresql_url: str, postgresql: PostgreSQLServer, tmp_path: Path
) -> None:
    programs = find_postgresql()
    if programs is None or not (programs / "pg_dump").exists():
        missing("pg_dump")
    model = f"{folder}/model.rw"
    with running([model, "--store", postgresql_url, "--port", "0"], tmp_path) as one:
        with Client(one.url) as client:
            client.feedback_with_features("q", {"a": [1, 2, 3], "b": [3, 2, 1]}, {"a": 1, "b": 0})
            client.wait_learned()
        dump = [
            str(programs / "pg_dump"),
            "--format=custom",
            f"--file={tmp_path}/dump",
            postgresql_url,
        ]
        subprocess.run(dump, check=True, capture_output=True)
    empty = postgresql.new_url()
    restore = [str(programs / "pg_restore"), "--no-owner", f"--dbname={empty}", f"{tmp_path}/dump"]
    subprocess.run(restore, check=True, capture_output=True)
    assert rankwright("replay", empty, "-o", "check.rw", cwd=tmp_path).startswith(
        "the same bits: 1 event"
    )
