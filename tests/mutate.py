"""Break the source in one place after the other, and see whether a test notices.

::

    python tests/mutate.py --count 60 --seed 1 evaluation comparison cli online

Each mutant changes one operator, constant or condition of a random function in a copy of the
sources, and runs the test files that name its module, then those of the rooms above it. It prints
who survives; what survives is either equivalent, or a test that is missing. Nothing here is random
but the choice, which the seed decides.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax"}
SECONDS = 240.0  # a mutant that runs longer is caught by whoever waits


@dataclass(frozen=True)
class Mutant:
    """One change: the file, its line, what it does, and the whole text after it."""

    path: Path
    line: int
    what: str
    text: str


def changes(node: ast.AST) -> Iterator[str]:
    """Change a node in place, yield what was done, and change it back."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        old = node.ops[0]
        node.ops[0] = COMPARISONS[type(old)]()
        yield f"{type(old).__name__} became {type(node.ops[0]).__name__}"
        node.ops[0] = old
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        operator = node.op
        node.op = OPERATORS[type(operator)]()
        yield f"{type(operator).__name__} became {type(node.op).__name__}"
        node.op = operator
    elif isinstance(node, ast.BoolOp):
        junction = node.op
        node.op = ast.Or() if isinstance(junction, ast.And) else ast.And()
        yield f"{type(junction).__name__} became {type(node.op).__name__}"
        node.op = junction
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = node.value
        node.value = not value if isinstance(value, bool) else value + 1
        yield f"{value!r} became {node.value!r}"
        node.value = value
    elif isinstance(node, ast.Name) and node.id in NAMES:
        name = node.id
        node.id = NAMES[name]
        yield f"{name} became {node.id}"
        node.id = name
    elif isinstance(node, ast.IfExp | ast.If):
        test = node.test
        node.test = ast.UnaryOp(ast.Not(), test)
        yield "a condition was turned round"
        node.test = test


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file; annotations, messages and module level are left alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            if isinstance(statement, ast.Raise | ast.Import | ast.ImportFrom | ast.Expr):
                continue
            for node in ast.walk(statement):
                for what in changes(node):
                    text = ast.unparse(ast.fix_missing_locations(tree))
                    line = getattr(node, "lineno", statement.lineno)
                    yield Mutant(path, line, f"{function.name}: {what}", text)


def tests_for(path: Path) -> list[Path]:
    """Return test files, those that name the module first."""
    room, module = path.parent.name, path.stem
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    texts = {file: file.read_text(encoding="utf-8") for file in files if "peers" not in str(file)}
    own = [f for f, text in texts.items() if f"{room}.{module}" in text or module in f.stem]
    near = [f for f, text in texts.items() if f"rankwright.{room}" in text and f not in own]
    if room == "cli":
        near = [f for f in texts if "test_cli" in f.stem and f not in own]
    return own + near


def killed_by(mutant: Mutant, folder: Path) -> str:
    """Run tests against the mutant; return the file that noticed, or an empty text."""
    place = folder / mutant.path.relative_to(ROOT / "src")
    original = place.read_bytes()
    place.write_text(mutant.text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        for file in tests_for(mutant.path):
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
            command += ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), str(file)]
            try:
                done = subprocess.run(
                    command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS,
                    check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return f"{file.name} (time)"
            if done.returncode not in (0, 5):  # 5: no test was collected
                return file.name
        return ""
    finally:
        place.write_bytes(original)


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)  # noqa: T201


def main() -> int:
    """Break things."""
    parser = argparse.ArgumentParser(description="Plant faults, and see whether tests notice.")
    parser.add_argument("rooms", nargs="+", help="folders of src/rankwright")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    files = [f for room in arguments.rooms for f in (ROOT / "src/rankwright" / room).glob("*.py")]
    every = [mutant for file in sorted(files) for mutant in mutants_of(file)]
    chosen = random.Random(arguments.seed).sample(every, min(arguments.count, len(every)))
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "src" / "rankwright", folder / "rankwright")
        for i, mutant in enumerate(chosen, start=1):
            killer = killed_by(mutant, folder)
            survivors += not killer
            where = f"{mutant.path.relative_to(ROOT)}:{mutant.line}"
            say(f"{i} {'killed' if killer else 'SURVIVED'} {where} {mutant.what} {killer}")
    say(f"{len(chosen) - survivors} of {len(chosen)} killed (of {len(every)} possible mutants)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
