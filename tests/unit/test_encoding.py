"""Text files are UTF-8, whatever the locale says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rankwright
from rankwright.data.writing import write_text

SOURCES = sorted(Path(rankwright.__file__).parent.rglob("*.py"))


def opened_by_locale(call: ast.Call) -> bool:
    """Return if a call opens a file as text without saying how it is encoded."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    if name in ("read_text", "write_text"):
        return not any(keyword.arg == "encoding" for keyword in call.keywords)
    if ast.unparse(call.func) not in ("open", "io.open", "gzip.open", "os.fdopen"):
        return False
    given = [k.value for k in call.keywords if k.arg == "mode"] + call.args[1:2]
    modes = [str(n.value) for m in given for n in ast.walk(m) if isinstance(n, ast.Constant)]
    default = "rb" if ast.unparse(call.func) == "gzip.open" else "r"
    binary = all("b" in mode for mode in modes or [default])
    return not binary and not any(keyword.arg == "encoding" for keyword in call.keywords)


def test_every_text_file_is_opened_as_utf_8() -> None:
    found = [
        f"{path.name}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and opened_by_locale(node) and not is_ours(node)
    ]
    assert found == []


def is_ours(call: ast.Call) -> bool:
    """Return if it is rankwright's own write_text, which is UTF-8 always."""
    return ast.unparse(call.func) == "write_text"


@pytest.mark.parametrize(
    ("code", "by_locale"),
    [
        ("open('a')", True),
        ("open('a', 'w')", True),
        ("open('a', mode='w')", True),
        ("path.read_text()", True),
        ("open('a', 'w' if new else 'rb')", True),
        ("open('a', 'wb' if new else 'rb')", False),
        ("open('a', 'rb')", False),
        ("gzip.open(file)", False),
        ("open('a', 'w', encoding='utf-8')", False),
        ("path.write_text(text, encoding='utf-8')", False),
        ("tarfile.open('a')", False),
    ],
)
def test_what_is_looked_for(code: str, by_locale: bool) -> None:
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert opened_by_locale(call) is by_locale


def test_names_that_are_no_text_are_shown(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "µ \udcff")
    assert (tmp_path / "a").read_bytes() == "µ \\udcff".encode()
