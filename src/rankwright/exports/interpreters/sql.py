r"""Views of SQL, in the few forms that scores are written in.

A view adds columns to those of a table, or of a view before it. NULL compares with nothing, so that
it takes the way of ``ELSE``; a NaN takes it too, or is above all numbers, as an infinity is. What
is added and multiplied are doubles, in the order of the parentheses:

.. math:: \texttt{(a + b)},\quad \texttt{(a * b)},\quad \texttt{CAST(a AS type)},\quad
    \texttt{CASE WHEN x <= c THEN a ELSE b END}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.exports.interpreters.walking import in_blocks
from rankwright.exports.rules import Rules
from rankwright.exports.targets.target import Judge, Options, Verdicts

Node: TypeAlias = tuple[str, Any]
"""What it is, and its parts."""
Token: TypeAlias = tuple[str | None, str]
Test: TypeAlias = tuple[str, str, float | str]
"""A column, a sign, and the number or column that it is compared with."""
Condition: TypeAlias = tuple[bool, list[Test]]
"""Whether NOT all of these tests hold (or the column is NULL), or all."""
View: TypeAlias = tuple[str, str, list[tuple[str, Node]]]
"""A name, the table that it is of, and the columns that it adds."""
Columns: TypeAlias = dict[str, NDArray[Any]]

_WORDS = (
    "CREATE VIEW|SELECT \\*,|CAST\\(|CASE|WHEN|BETWEEN|AND|THEN|ELSE|END|FROM|NOT \\(|OR|IS NULL"
)
_SCORE = re.compile(r"score(_\d+)?")
_TYPES = "DOUBLE|REAL|double precision|Nullable\\(Float64\\)"
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def sql_views(text: str, rules: Rules, options: Options) -> Judge:
    """Return the scores and labels of the last view; a DataError if there is anything else."""
    views, names = read_views(text, rules, options)
    classes = None if rules.labels is None else rules.labels.classes
    nan_is_largest = options.dialect in ("duckdb", "postgresql")

    def said(columns: NDArray[Any]) -> Floats:
        known = dict(zip(rules.names, columns, strict=True))
        for _, _, added in views:
            for name, node in added:
                kind = object if name == "label" else np.float64
                known[name] = _value_of(node, known, columns.shape[1], kind)
        found = [known[name] for name in names]
        if classes is not None:
            found.append(np.array([classes.index(one) for one in known["label"]], dtype=float))
        return np.stack(found, axis=1)

    def block(columns: NDArray[Any]) -> Floats:
        found = said(columns)
        if nan_is_largest and np.isnan(columns).any():
            other = said(np.where(np.isnan(columns), np.inf, columns))
            found = np.where(found == other, found, other)
        return found

    def judge(X: NDArray[Any]) -> Verdicts:
        found = in_blocks(X.astype(np.float64), block)
        scores = found[:, 0] if len(names) == 1 else found[:, : len(names)]
        return Verdicts(scores, None if classes is None else found[:, -1].astype(np.int64))

    return judge


def read_views(text: str, rules: Rules, options: Options) -> tuple[list[View], list[str]]:
    """Return the views of a text, and which columns are scores; a DataError if it is no such text.

    Each view is of the one before it, and nothing else is said.
    """
    try:
        views = list(_views(_tokens(text, options.dialect)))
    except (IndexError, StopIteration, RuntimeError):
        raise _other() from None
    table, added = options.store, set(rules.names)
    for name, source, columns in views:
        for column, _ in columns:
            if column in added:
                raise _other()
            added.add(column)
        if source != table:
            raise _other()
        table = name
    if table != options.name or not views or ("label" in added) != (rules.labels is not None):
        raise _other()
    scores = [name for _, _, columns in views for name, _ in columns if _SCORE.fullmatch(name)]
    if not scores:
        raise _other()
    return views, scores


def _other() -> DataError:
    return DataError("the statements are not of the form that was exported.")


def _tokens(text: str, dialect: str) -> Iterator[Token]:
    """Yield what a text is made of: its kind, and for names and texts what is inside the quotes."""
    quote = "`" if dialect == "sqlite" else '"'
    escape = "\\\\" if dialect == "clickhouse" else None

    def inside(mark: str) -> str:
        doubled = f"[^{mark}]|{mark}{mark}"
        return (
            f"{mark}((?:{doubled if escape is None else f'[^{mark}{escape}]|{escape}.'})*+){mark}"
        )

    pattern = re.compile(
        rf"\s*(?:(?P<number>-?\d[\d.]*(?:e[+-]?\d+)?)|(?P<name>{inside(quote)})"
        rf"|(?P<text>{inside(chr(39))})|(?P<type>AS (?:{_TYPES})\))"
        rf"|(?P<word>(?:{_WORDS})|AS|<=|>=|[>(),;+*]))"
    )
    place, end = 0, len(text.rstrip())
    while place < end:
        found = pattern.match(text, place)
        if found is None:
            raise _other()
        kind, token = found.lastgroup, found.group().lstrip()
        if kind in ("name", "text"):
            mark, token = token[0], token[1:-1]
            token = re.sub(r"\\(.)", r"\1", token) if escape else token.replace(mark * 2, mark)
        yield kind, token
        place = found.end()


def _views(tokens: Iterator[Token]) -> Iterator[View]:
    """Yield each view: its name, the table that it is of, and the columns that it adds."""
    for first in tokens:
        _required_token(first, "word", "CREATE VIEW")
        name = _required_token(next(tokens), "name")
        _required_token(next(tokens), "word", "AS")
        _required_token(next(tokens), "word", "SELECT *,")
        columns, token = [], ("word", ",")
        while token == ("word", ","):
            node = _expression(tokens)
            columns.append((_required_token(next(tokens), "name"), node))
            token = next(tokens)  # type: ignore[assignment]
        _required_token(token, "word", "FROM")
        yield name, _required_token(next(tokens), "name"), columns
        _required_token(next(tokens), "word", ";")


def _required_token(token: Token, kind: str, text: str | None = None) -> str:
    if token[0] != kind or (text is not None and token[1] != text):
        raise _other()
    return token[1]


def _expression(tokens: Iterator[Token]) -> Node:
    """Return what stands before ``AS``: of any depth, hence by a stack."""
    stack: list[Any] = []

    def node() -> Node:
        if not isinstance(stack[-1], tuple):
            raise _other()
        found: Node = stack.pop()
        return found

    def mark(*texts: str) -> str:
        found = stack.pop()
        if found not in texts:
            raise _other()
        return str(found)

    for kind, text in tokens:
        if kind == "number":
            stack.append(("number", float(text)))
        elif kind in ("name", "text"):
            stack.append((kind, text))
        elif kind == "type":
            inner = node()
            mark("CAST(")
            stack.append(("cast", [inner]))
        elif text == ")":
            parts, sign = [node()], mark("+", "*")
            while sign != "(":
                parts.append(node())
                op, sign = sign, mark(sign, "(")
            stack.append((op, parts[::-1]))
        elif text == "WHEN":
            stack.append(("if", _condition(tokens)))
        elif text == "END":
            last = node()
            mark("ELSE")
            cases = []
            while stack[-1] != "CASE":
                branch, condition = node(), node()[1]
                cases.append((condition, branch))
            stack[-1] = ("case", (cases[::-1], last))
        elif text == "AS":
            break
        else:
            stack.append(text)
    if len(stack) != 1:
        raise _other()
    return node()


def _condition(tokens: Iterator[Token]) -> Condition:
    """Return what must hold, up to ``THEN``."""
    token = next(tokens)
    is_not = token == ("word", "NOT (")
    tests, end = _tests(tokens, next(tokens) if is_not else token)
    if is_not:
        if end != ("word", ")") or next(tokens) != ("word", "OR"):
            raise _other()
        if _required_token(next(tokens), "name") != tests[0][0]:
            raise _other()
        _required_token(next(tokens), "word", "IS NULL")
        end = next(tokens)
    _required_token(end, "word", "THEN")
    return is_not, tests


def _tests(tokens: Iterator[Token], token: Token) -> tuple[list[Test], Token]:
    """Return comparisons that are joined by ``AND``, and what stands behind them."""
    found: list[Test] = []
    while True:
        name, (_, sign) = _required_token(token, "name"), next(tokens)
        if sign == "BETWEEN":
            found.append((name, ">=", float(_required_token(next(tokens), "number"))))
            _required_token(next(tokens), "word", "AND")
            sign = "<="
        kind, text = next(tokens)
        if sign not in _SIGNS or kind not in ("number", "name"):
            raise _other()
        found.append((name, sign, float(text) if kind == "number" else text))
        token = next(tokens)
        if token != ("word", "AND"):
            return found, token
        token = next(tokens)


def _value_of(node: Node, known: Columns, n: int, kind: Any = np.float64) -> NDArray[Any]:
    """Return what an expression says of each row."""
    values: list[NDArray[Any]] = []
    waiting: list[tuple[Node, bool]] = [(node, False)]
    while waiting:
        (what, parts), ready = waiting.pop()
        if what == "name":
            values.append(known[parts])
        elif what in ("number", "text"):
            values.append(np.full(n, parts, dtype=kind))
        elif what == "case":
            values.append(_branches((what, parts), known, n, kind))
        elif not ready:
            waiting += [((what, parts), True), *((part, False) for part in reversed(parts))]
        elif what != "cast":
            terms = values[-len(parts) :]
            del values[-len(parts) :]
            values.append(reduce(np.add if what == "+" else np.multiply, terms))  # from the left
    return values[0]


def _branches(node: Node, known: Columns, n: int, kind: Any) -> NDArray[Any]:
    """Return the branch of each row: rows are parted, so that each goes through its own alone."""
    found = np.empty(n, dtype=kind)
    waiting = [(node, np.arange(n))]
    while waiting:
        (what, parts), rows = waiting.pop()
        if what in ("number", "text"):
            found[rows] = parts
        elif what == "case":
            for condition, branch in parts[0]:
                holds = _holds(condition, known, rows)
                waiting.append((branch, rows[holds]))
                rows = rows[~holds]
            waiting.append((parts[1], rows))
        elif len(rows):
            here = _Of(known, rows)
            found[rows] = _value_of((what, parts), here, len(rows))
    return found


def _holds(condition: Condition, known: Columns, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell of which rows a condition holds; NULL, here NaN, compares with nothing."""
    is_not, tests = condition
    holds = np.ones(len(rows), dtype=bool)
    for name, sign, limit in tests:
        holds &= _SIGNS[sign](
            known[name][rows], known[limit][rows] if isinstance(limit, str) else limit
        )
    return ~holds if is_not else holds  # NOT of NULL is NULL, but there it is "OR x IS NULL"


class _Of(dict[str, NDArray[Any]]):
    """Some rows of columns."""

    def __init__(self, known: Columns, rows: NDArray[np.int64]) -> None:
        self.known, self.rows = known, rows

    def __missing__(self, name: str) -> NDArray[Any]:
        return self.known[name][self.rows]
