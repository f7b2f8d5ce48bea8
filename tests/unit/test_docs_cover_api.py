"""The documentation names everything public, and its shell examples are true."""

from __future__ import annotations

import doctest
import importlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.public import modules
from tests.warm_start import warm_command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(p for p in sorted(DOCS.rglob("*.md")) if "_build" not in p.parts)]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^```{code-block} \w+\n:caption: (\S+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FRACTION = re.compile(r"-?\d+\.\d{5,}")  # its last digits depend on the platform


@pytest.mark.parametrize("name", modules())
def test_api_page_names_everything_public(name: str) -> None:
    page = (DOCS / "api" / f"{name.removeprefix('rankwright.')}.md").read_text(encoding="utf-8")
    listed = re.findall(r"^(?:   |\.\. py:data:: )(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(importlib.import_module(name).__all__)


def test_api_index_has_a_row_for_each_page_with_the_names_that_rankwright_repeats() -> None:
    import rankwright

    text = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    rows = {
        name: (page, set(re.findall(r"`(\w+)`", names)))
        for name, page, names in re.findall(
            r"^\| \[`(rankwright[.\w]+)`\]\(([.\w]+)\.md\) \|.*\|(.*)\|$", text, re.MULTILINE
        )
    }
    assert {name: page for name, (page, _) in rows.items()} == {
        name: name.removeprefix("rankwright.") for name in modules()
    }
    repeated: dict[str, set[str]] = {name: set() for name in rows}
    for name, module in rankwright._WHERE.items():
        repeated[module].add(name)
    assert {name: names for name, (_, names) in rows.items()} == repeated
    contents = re.search(r"```{toctree}\n:hidden:\n\n(.*?)```", text, re.DOTALL)
    assert contents is not None
    assert contents[1].split() == [page for page, _ in rows.values()]


def test_guide_has_a_row_for_each_metric() -> None:
    from rankwright.metrics import METRICS

    page = (DOCS / "guide" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` `(\w+)` \|", page, re.MULTILINE)
    assert dict(rows) == {name: kind.__name__ for name, kind in METRICS.items()}


def test_guide_names_each_finding_of_the_doctor() -> None:
    page = (DOCS / "guide" / "data.md").read_text(encoding="utf-8").partition("## The doctor")[2]
    source = Path(str(importlib.import_module("rankwright.data.doctor").__file__)).read_text(
        encoding="utf-8"
    )
    names = set(re.findall(r'Finding\(\s*"(\w+)"', source))
    assert names == set(re.findall(r"^\| `(\w+_\w+)` \|", page, re.MULTILINE))


def test_guide_names_each_command_and_option() -> None:
    import typer.main

    from rankwright.cli import app

    page = (DOCS / "guide" / "cli.md").read_text(encoding="utf-8")
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"\n## {name}\n" in page
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("-") or f"`{option}" in page, (name, option)


def test_guide_has_a_page_for_each_target() -> None:
    from rankwright.exports import TARGETS

    text = (DOCS / "guide" / "ship.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)`.* \| \[.*\]\(ship/(\w+)\.md\) \|$", text, re.MULTILINE)
    assert sorted(rows) == sorted((name, name) for name in TARGETS)
    assert {page.stem for page in (DOCS / "guide" / "ship").glob("*.md")} == set(TARGETS)
    assert re.findall(r"^ship/(\w+)$", text, re.MULTILINE) == [name for name, _ in rows]


def test_guide_names_each_model_with_its_class() -> None:
    from rankwright.models import MODELS

    page = (DOCS / "guide" / "cli.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| `(\w+)` \|", page, re.MULTILINE)
    assert dict(rows) == {name: kind for name, (_, kind) in MODELS.items()}


def test_guide_says_which_commands_have_the_common_options() -> None:
    import typer.main

    from rankwright.cli import app

    group: Any = typer.main.get_command(app)
    readers = {
        name: {option for parameter in command.params for option in parameter.opts}
        for name, command in group.commands.items()
        if any(
            parameter.name == "data" and not parameter.opts[0].startswith("-")
            for parameter in command.params
        )
    }
    assert len(readers) >= 10
    page = (DOCS / "guide" / "cli.md").read_text(encoding="utf-8")
    assert "\nEvery command that reads `DATA` has these options; " in page
    common = {"--format", "--label", "--qid", "--doc-id", "--features", "--ignore", "--jobs"}
    assert all(common <= options for options in readers.values())
    assert all(f"`{option} " in page for option in common)


def test_index_links_each_page_of_the_guide() -> None:
    pages = {f"guide/{page.name}" for page in (DOCS / "guide").glob("*.md")} - {"guide/index.md"}
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\((guide/[\w.]+)", text)) == pages
    listed = re.findall(
        r"^- \[.*?\]\(([\w.]+)\)",
        (DOCS / "guide" / "index.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert {f"guide/{page}" for page in listed} == pages


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """Give the folder of a command that is loaded."""
    with warm_command() as folder:
        yield folder


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if _BLOCK.search(p.read_text(encoding="utf-8"))],
    ids=lambda page: page.stem,
)
def test_console_blocks_show_what_happens(page: Path, programs: Path) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("polars")
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    done = 0
    for block in _BLOCK.finditer(text):
        # The Python examples before a block make the files that it uses, in their ``folder``.
        _run_python(text[done : block.start()], names)
        done = block.end()
        write_files(text[: block.start()], names["folder"])
        commands, expected = _split(block[1])
        assert _run_shell(commands, names["folder"], programs) == expected


def write_files(text: str, folder: str) -> None:
    """Write the files that a page shows, which have their names as captions."""
    for name, content in _FILE.findall(text):
        Path(folder, name).write_text(content, encoding="utf-8")
        Path(folder, name).chmod(0o755)


def _run_python(text: str, names: dict[str, Any]) -> None:
    for example in doctest.DocTestParser().get_examples(text):
        if example.exc_msg is None:
            with redirect_stdout(io.StringIO()):
                exec(compile(example.source, "<docs>", "single"), names)


def _split(block: str) -> tuple[list[str], list[str]]:
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return parts[1::2], [_rounded(output) for output in parts[2::2]]


def _run_shell(commands: list[str], folder: str, programs: Path) -> list[str]:
    """Run commands in one shell, with programs of its own; return what each prints.

    Each works in one process: others would import for seconds, and the results are the same.
    """
    script = "".join(f"{c}\nstatus=$?; printf '\\0'; (exit $status)\n" for c in commands)
    here = [str(programs), str(Path(sys.executable).parent)]
    path = os.pathsep.join([*here, os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "RANKWRIGHT_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return [_rounded(output) for output in done.stdout.split("\0")[: len(commands)]]


def _rounded(text: str) -> str:
    return _FRACTION.sub(lambda number: f"{float(number[0]):.4g}", text).rstrip("\n")
