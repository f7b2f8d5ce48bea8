"""The house: sizes of files and functions, comments, and imports without circles."""

from __future__ import annotations

import ast
import graphlib
import io
import re
import tokenize
import tomllib
from collections import defaultdict
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
PYTHON = sorted((ROOT / "src").rglob("*.py"))
CPP = sorted((ROOT / "cpp").glob("*.[hc]pp"))
NUMERIC = ("linear", "losses", "metrics", "online", "predtron", "problems", "solvers", "theory")


def test_there_is_something_to_look_at() -> None:
    assert len(PYTHON) > 150
    assert len(CPP) > 20


@pytest.mark.parametrize(("paths", "most"), [(PYTHON, 400), (CPP, 600)], ids=["Python", "C++"])
def test_a_file_holds_one_idea(paths: list[Path], most: int) -> None:
    lengths = {path: len(path.read_bytes().splitlines()) for path in paths}
    assert not {name: n for name, n in lengths.items() if n > most}


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from ``def`` to the end, without the docstring."""
    docstring = 0
    if ast.get_docstring(function) is not None:
        first = function.body[0]
        docstring = (first.end_lineno or 0) - first.lineno + 1
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def test_a_function_fits_on_a_screen() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": code_lines(node)
        for path in PYTHON
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and code_lines(node) > 60
    }
    assert not long


@pytest.mark.parametrize("room", NUMERIC)
def test_numbers_have_reasons(room: str) -> None:
    """At least 2 % of the lines where numerics are give a reason or an invariant."""
    comments = lines = 0
    for path in (ROOT / "src/rankwright" / room).glob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines += text.count("\n")
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            comments += token.type == tokenize.COMMENT and not token.string.startswith("# ----")
    assert comments >= 0.02 * lines, f"{room}: {comments} comments in {lines} lines"


def test_a_name_means_one_thing() -> None:
    """Classes and functions of different modules have different names."""
    homes = defaultdict(list)
    for path in PYTHON:
        module = path.relative_to(ROOT / "src/rankwright").with_suffix("").as_posix()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and (module, node.name) not in {
                ("cli/" + node.name, node.name),  # a command has the name of what it runs
                (module, "__getattr__"),
            }:
                homes[node.name].append(module)
    homes["run"] = []  # every experiment has one
    homes["routes"] = []  # every part of the API has some
    assert not {name: found for name, found in homes.items() if len(set(found)) > 1}


def is_guess(node: ast.AST) -> bool:
    """Tell whether a call asks a loss, a model or a solver whether it has something."""
    match node:
        case ast.Call(func=ast.Name("hasattr"), args=[asked, _]):
            pass
        case ast.Call(func=ast.Name("getattr"), args=[asked, _, _]):
            pass
        case _:
            return False
    name = ast.unparse(asked).rpartition(".")[2]
    return name in {"loss", "metric", "model", "objective", "prepared", "ranker", "solver"}


def test_nothing_is_guessed() -> None:
    """Protocols say what losses, models and solvers have."""
    guesses = {
        path.relative_to(ROOT / "src/rankwright").as_posix()
        for path in PYTHON
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if is_guess(node)
    }
    assert not guesses


def test_imports_go_in_no_circle() -> None:
    graph = grimp.build_graph("rankwright", cache_dir=None, exclude_type_checking_imports=True)
    order = graphlib.TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    )
    order.prepare()  # raises CycleError


def layers() -> list[str]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    found: list[str] = next(c["layers"] for c in contracts if c["type"] == "layers")
    return found


def test_every_room_has_its_layer() -> None:
    assert not [layer for layer in layers() if "(" in layer]  # which would be optional
    named = {name for layer in layers() for name in re.findall(r"rankwright\.(\w+)", layer)}
    there = {path.stem for path in (ROOT / "src/rankwright").glob("*.py")}
    there |= {path.parent.name for path in (ROOT / "src/rankwright").glob("*/__init__.py")}
    assert named == there - {"__init__", "__main__"}


def test_the_page_on_design_shows_the_layers() -> None:
    page = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?`) \|", page, flags=re.MULTILINE)
    shown = [row.replace("`", "").replace(", ", " | ") for row in rows]
    assert shown == [layer.replace("rankwright.", "") for layer in layers()]
