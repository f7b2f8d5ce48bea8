"""Processes that are started: isolated from the current folder, and in one place."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rankwright as rw
from rankwright.processes import start_python

PACKAGE = Path(rw.__file__).parent
HOSTILE = ("numpy", "json", "struct", "pickle", "scipy", "sitecustomize", "usercustomize")
COMPARE = """
import os
import rankwright as rw
os.chdir({folder!r})
data = rw.data.make_mslr_like(n_queries=20, n_features=3, mean_docs=5)
result = rw.compare(data, ["random"], n_jobs=2)
print("finished")
"""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a folder whose modules leave a trace when they are imported."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in HOSTILE:
        (folder / f"{name}.py").write_text(
            f"open({str(tmp_path / 'trace')!r}, 'a').write('{name} ')\n"
        )
    return folder


def trace(hostile: Path) -> str:
    path = hostile.parent / "trace"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def python_path(*more: str) -> str:
    # Entries of the tests' own that hang on a folder would hit the process before it is ours.
    return os.pathsep.join([*more, *(path for path in sys.path if os.path.isabs(path))])


def test_compare_runs_nothing_from_the_current_folder(hostile: Path) -> None:
    rw.write_letor(
        rw.data.make_mslr_like(n_queries=20, n_features=3, mean_docs=5), hostile / "a.txt"
    )
    words = ["compare", "a.txt", "--models", "random", "-j", "2"]
    result = subprocess.run(
        [sys.executable, "-P", "-m", "rankwright", *words, "-o", "out"],
        cwd=hostile,
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert trace(hostile) == ""
    assert result.returncode == 0, result.stderr


def test_an_empty_or_relative_python_path_does_not_lead_into_the_current_folder(
    hostile: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    script = tmp_path / "script.py"
    script.write_text(COMPARE.format(folder=str(hostile)))
    result = subprocess.run(
        [sys.executable, "-P", script],
        cwd=elsewhere,
        env={**os.environ, "PYTHONPATH": python_path("", ".")},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert trace(hostile) == ""


def test_what_hangs_on_the_current_folder_adds_modules_and_replaces_none(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hostile / "beside_a_notebook.py").write_text("x = 7\n")
    monkeypatch.chdir(hostile)
    monkeypatch.setenv("PYTHONPATH", os.pathsep + python_path())
    monkeypatch.setattr(sys, "path", ["", ".", *sys.path])
    with start_python("import json, beside_a_notebook as b; print(b.x)", {}) as process:
        out, _ = process.communicate(timeout=60)
    assert out.strip() == b"7"
    assert trace(hostile) == ""


def test_models_of_a_notebook(tmp_path: Path) -> None:
    # A module beside it can be imported by workers; what is defined in it travels with the call.
    (tmp_path / "mine.py").write_text(
        "from rankwright.baselines import RandomRanker\nclass Mine(RandomRanker): pass\n"
    )
    session = """
import mine, rankwright as rw
from rankwright.evaluation import Entry
class Here(mine.Mine): pass
data = rw.data.make_mslr_like(n_queries=20, n_features=3, mean_docs=5)
entries = [Entry("mine", mine.Mine()), Entry("here", Here())]
result = rw.compare(data, entries, n_jobs=2)
print(sorted(s.name for s in result.standings), result.failures)
"""
    result = subprocess.run(
        [sys.executable, "-c", session],
        cwd=tmp_path,
        # As a notebook has it: with the current folder on its path.
        env={**os.environ, "PYTHONPATH": python_path(), "PYTHONSAFEPATH": ""},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert result.stdout == "['here', 'mine'] []\n", result.stderr


def test_a_current_folder_that_is_gone_is_no_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with start_python("import json; print(1)", {}) as process:
        assert process.communicate(timeout=60)[0].strip() == b"1"


def test_an_interrupt_is_not_for_the_child() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    code = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print(1)"
    with start_python(code, {}) as process:
        assert process.communicate(timeout=60)[0].strip() == b"1"
    assert process.returncode == 0
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


@pytest.mark.parametrize(("flag", "expected"), [("-I", "1 1 1"), ("-Es", "1 1 0"), ("-P", "0 0 0")])
def test_isolation_is_handed_on(flag: str, expected: str) -> None:
    script = f"""
import sys
sys.path[:0] = {[str(PACKAGE.parent)]!r}
from rankwright.processes import start_python
code = "f = sys.flags; print(f.ignore_environment, f.no_user_site, f.isolated, f.safe_path)"
with start_python(code, {{}}) as process:
    print(process.communicate()[0].decode())
"""
    result = subprocess.run(
        [sys.executable, flag, "-c", script],
        env={key: value for key, value in os.environ.items() if key != "PYTHONNOUSERSITE"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert result.stdout.split() == [*expected.split(), "True"], result.stderr


def starts_processes(path: Path) -> list[str]:
    """Return the names in a source that could start a process."""
    modules = {"subprocess", "multiprocessing", "pty", "joblib"}
    calls = re.compile(r"(system|popen|fork|forkpty|exec[lv]p?e?|(posix_)?spawn\w*)")
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in modules]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module] if node.module.split(".")[0] in modules else []
            found += [a.name for a in node.names if a.name == "ProcessPoolExecutor"]
            found += [a.name for a in node.names if "subprocess" in a.name]
            found += [a.name for a in node.names if node.module == "os" and calls.match(a.name)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_call = node.value.id == "os" and calls.fullmatch(node.attr)
            found += [f"os.{node.attr}"] if is_call else []
            found += [node.attr] if node.attr == "ProcessPoolExecutor" else []
            found += [node.attr] if "subprocess" in node.attr else []  # of asyncio
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            dynamic = node.func.id == "import_module" and node.args
            name = node.args[0].value if dynamic and isinstance(node.args[0], ast.Constant) else ""
            found += [str(name)] if str(name).split(".")[0] in modules else []
    return found


def test_the_search_for_processes_finds_them(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    for text in (
        "import subprocess",
        "from subprocess import run",
        "import multiprocessing.pool",
        "import os\nos.system('ls')",
        "import os\nos.posix_spawn('ls')",
        "from os import execv",
        "from concurrent.futures import ProcessPoolExecutor",
        "import_module('subprocess')",
        "import asyncio\nasyncio.create_subprocess_exec('ls')",
        "from asyncio import create_subprocess_exec",
    ):
        source.write_text(text)
        assert starts_processes(source), text
    source.write_text("import os\nos.register_at_fork(after_in_child=print)\nos.path.join()")
    assert starts_processes(source) == []


def test_processes_are_started_in_one_place() -> None:
    sources = {path: starts_processes(path) for path in sorted(PACKAGE.rglob("*.py"))}
    found = {path.relative_to(PACKAGE).as_posix(): names for path, names in sources.items()}
    # Workers and the service's supervisor name the type of their processes, and a local cluster
    # what multiprocessing starts beside Dask's.
    named = {"comparison/workers.py", "serve/supervisor.py", "dask/local_cluster.py"}
    allowed = {"processes.py", *named}
    assert {path for path, names in found.items() if names} <= allowed
    assert "processes.py" in {path for path, names in found.items() if names}


def test_a_module_runs_nothing_of_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a stranger ran')")
    (tmp_path / "runpy.py").write_text("raise SystemExit('a stranger ran')")
    script = (
        "import sys\nfrom rankwright.processes import start_module\nsys.path.insert(0, '')\n"
        "raise SystemExit(start_module('json.tool', ['--help'], []).wait())"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (done.returncode, "usage" in done.stdout) == (0, True), done.stderr
