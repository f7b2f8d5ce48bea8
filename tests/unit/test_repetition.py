"""No six lines of code stand twice in the sources, not even with other names."""

from __future__ import annotations

import ast
import keyword
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "src/rankwright"
CPP = ROOT / "cpp"
SHORTEST = 6

# Pairs that may stay, by the functions in which they begin, and why.
ACCEPTED = {
    ("forest_codes.hpp:", "forest_codes.hpp:"): (
        "the instructions for floats and for doubles have other names, and no overloads"
    ),
    ("bind_metrics.cpp:parse_ties", "bind_problems.cpp:parse_norm"): (
        "a table of words and values, with a message of its own"
    ),
    ("bind_online.cpp:parse_mean", "bind_problems.cpp:parse_mode"): (
        "tables of words and values, each with a message of its own"
    ),
    ("bind_problems.cpp:check_label", "bind_problems.cpp:check_scores"): (
        "what is compared and said differs; only that rankings have any length is the same"
    ),
}

TOKEN = re.compile(
    r"""(?P<value>(\b[rfbu]{1,2})?("(\\.|[^"\\])*"|'(\\.|[^'\\])*')|\b\d[\w.]*)"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<space>\s+)"""
)
WORDS = {*keyword.kwlist, "self", "auto", "case", "const", "switch", "template", "typename", "void"}
# Brackets; names and values handed on, one a line; entries of tables.
QUIET = re.compile(r"\W*|\*{0,2}N(\.N)*,|0,|N=N,|0:.*,|\(0,.*\),|case .*: ?return .*;")


class Line(NamedTuple):
    """A line of code as it is compared, and where it stands."""

    shape: str
    place: str  # file:function


def shape(code: str) -> str:
    """Return a line with all names alike, and all values.

    >>> shape('total += f(x, "a", 2.5)')
    'N+=N(N,0,0)'
    """

    def alike(token: re.Match[str]) -> str:
        if token["name"] in WORDS:
            return f"{token['name']} "
        return "" if token["space"] else "0" if token["value"] else "N"

    return TOKEN.sub(alike, code)


def numbers(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def is_declaration(node: ast.AST) -> bool:
    """Tell whether a statement is a docstring, an import or ``self.x = x``."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Name(id=given)):
            return name == given
    return False


def is_promise(node: ast.AST) -> bool:
    """Tell whether a method only says what others do, as those of protocols."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return all(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in node.body
    )


def python_lines(file: str, text: str) -> list[Line]:
    """Return what a module does.

    What it declares is left out: docstrings, comments, imports, arguments, fields, tables and the
    methods of protocols are written out for those who read them. Of a function's signature one
    line counts.
    """
    code = [re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines()]
    places = dict.fromkeys(range(1, len(code) + 1), f"{file}:")
    quiet: set[int] = set()
    for node in ast.walk(ast.parse(text)):  # what is outside comes before what is in it
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            outside = places[node.lineno]
            place = f"{outside}{'' if outside.endswith(':') else '.'}{node.name}"
            places |= dict.fromkeys(numbers(node), place)
            quiet.update(range(node.lineno + 1, node.body[0].lineno))
            quiet.update(n for decorator in node.decorator_list for n in numbers(decorator))
            # No run goes from one class into the next.
            is_class = isinstance(node, ast.ClassDef)
            code[node.lineno - 1] = f"class {place!r}" if is_class else "def"
            if is_promise(node):
                quiet.update(numbers(node))
        for child in ast.iter_child_nodes(node):
            field = isinstance(node, ast.Module | ast.ClassDef)
            if is_declaration(child) or (field and isinstance(child, ast.Assign | ast.AnnAssign)):
                assert isinstance(child, ast.stmt)
                quiet.update(numbers(child))
    return [
        Line(line if line.startswith("class ") else shape(line), places[n])
        for n, line in enumerate(code, 1)
        if n not in quiet and not QUIET.fullmatch(shape(line))
    ]


def cpp_lines(file: str, text: str) -> list[Line]:
    """Return the code of a header or source file."""
    lines, place = [], f"{file}:"
    for line in text.splitlines():
        # What begins in the first column and has arguments is a function.
        if begins := re.match(r"\w[^;=]*?(\w+)\(", line):
            place = f"{file}:{begins[1]}"
        code = shape(re.sub(r"//.*", "", line))
        if not QUIET.fullmatch(code) and not re.match(r"\s*(#|using |namespace )", line):
            lines.append(Line(code, place))
    return lines


def runs(files: list[list[Line]]) -> Iterator[tuple[str, str]]:
    """Yield the two places of each run of equal lines."""
    found: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for f, lines in enumerate(files):
        shapes = [line.shape for line in lines]
        for i in range(len(lines) - SHORTEST + 1):
            found[tuple(shapes[i : i + SHORTEST])].append((f, i))
    for beginnings in found.values():
        for (f, i), (g, j) in combinations(beginnings, 2):
            longer = i > 0 and j > 0 and files[f][i - 1].shape == files[g][j - 1].shape
            if not longer and (f != g or j - i >= SHORTEST):
                yield files[f][i].place, files[g][j].place


def test_no_six_lines_stand_twice() -> None:
    python = [
        python_lines(path.relative_to(PYTHON).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(PYTHON.rglob("*.py"))
    ]
    cpp = [
        cpp_lines(path.name, path.read_text(encoding="utf-8"))
        for path in sorted(CPP.glob("*.[hc]pp"))
    ]
    assert sum(map(len, python)) > 8000
    assert sum(map(len, cpp)) > 3000
    assert {*runs(python), *runs(cpp)} == ACCEPTED.keys()


ONE = '''
def total(values: list[float], weight: float = 1.0) -> float:
    """Return a weighted sum."""
    result = 0.0
    for value in values:
        if value < 0:
            raise ValueError("negative")
        result += weight * value  # in order
    return result
'''
OTHER = """
class Sum:
    def of(
        self,
        many,
    ):
        # Written again.
        s = 1

        for one in many:
            if one < 5:
                raise TypeError(f"{one}")
            s += factor * one
        return s
"""


def test_a_copy_with_other_names_is_found() -> None:
    pair = [python_lines("a.py", ONE), python_lines("b.py", OTHER)]
    assert list(runs(pair)) == [("a.py:total", "b.py:Sum.of")]
    shorter = ONE.replace("    return result\n", "").replace(
        "        result += weight * value", "#"
    )
    assert not list(runs([python_lines("a.py", shorter), python_lines("b.py", OTHER)]))


def test_what_is_declared_may_be_alike() -> None:
    text = 'class A:\n    """A."""\n' + "".join(f"    a{i}: int = {i}\n" for i in range(9))
    text += "    def __init__(self, a, b, c, d, e, f):\n"
    text += "".join(f"        self.{name} = {name}\n" for name in "abcdef")
    text += "class B:\n" + "".join(
        f"    def {name}(self) -> int:\n        ...\n" for name in "abcdefg"
    )
    assert not list(runs([python_lines("a.py", text), python_lines("b.py", text)]))
