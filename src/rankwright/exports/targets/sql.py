"""SQL: a view with the columns of a table, and the score."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.exports.interpreters.sql import read_views, sql_views
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Labels, Linear, Rules, Trees
from rankwright.exports.targets.databases import Query, database
from rankwright.exports.targets.target import Engine, Judge, Options, Target, Written

_BLOCK = 150_000  # characters of trees in one view: ClickHouse takes statements of 256 KiB
_DEEPEST = 900  # terms of a lane: SQLite, DuckDB and ClickHouse take expressions of depth 1000
_LARGEST = repr(float(np.finfo(np.float64).max))
_LANES = 8
_RUN_IN = {
    "duckdb": "DuckDB (run in 2.0)",
    "sqlite": "SQLite 3 (run in 3.40)",
    "postgresql": "PostgreSQL (run in 15)",
    "clickhouse": "ClickHouse (run in 26.9)",
}


@dataclass(frozen=True)
class SQLDialect:
    """What is said otherwise in a database.

    Attributes
    ----------
    quoted : callable
        A name as an identifier.
    number : callable
        A double.
    double : str
        The type of doubles.
    nan_is_largest : bool
        Whether a NaN is above all numbers, and not unlike them all.
    any_case : bool
        Whether names that differ in their case alone are the same.
    longest_name, most_columns : int
        What a table may have: bytes in the name of a column, and columns.
    backslash : bool
        Whether a backslash in quotes is not itself.
    """

    quoted: Callable[[str], str]
    number: Callable[[float], str]
    double: str
    nan_is_largest: bool = False
    any_case: bool = False
    longest_name: int = 1000
    most_columns: int = 10_000
    backslash: bool = False


def _shortest(value: float) -> str:
    """Return a double with an exponent: without, DuckDB and PostgreSQL would have a decimal."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _long(value: float) -> str:
    """Return a double in 18 digits.

    SQLite does not always read the nearest double: of the shortest texts one of 10,000 becomes its
    neighbour, but of texts this close to the double none.
    """
    return f"{value:.17e}"


def _double_quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _back_quoted(name: str) -> str:
    # What is in double quotes and is no column would be a text to SQLite.
    return "`" + name.replace("`", "``") + "`"


def _escaped(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


DIALECTS = {
    "duckdb": SQLDialect(_double_quoted, _shortest, "DOUBLE", nan_is_largest=True, any_case=True),
    "sqlite": SQLDialect(_back_quoted, _long, "REAL", any_case=True, most_columns=1900),
    "postgresql": SQLDialect(
        _double_quoted,
        _shortest,
        "double precision",
        nan_is_largest=True,
        longest_name=63,
        most_columns=1500,
    ),
    "clickhouse": SQLDialect(_escaped, _shortest, "Nullable(Float64)", backslash=True),
}


class SQL(Target):
    """Views."""

    name = "sql"
    engine = "SQLite, DuckDB, PostgreSQL or ClickHouse"
    suffix = ".sql"
    holds = "trees, linear, both added, labels: exact for float32 and float64"
    number = "float64"
    arithmetic = "lanes"
    gives_labels = True
    judged_by = "the standard's rule"

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        if options.dialect not in DIALECTS:
            yield Refusal(
                "dialect",
                f"{options.dialect!r:.50} is no dialect that is known here",
                f"choose one of {', '.join(DIALECTS)} (--dialect)",
            )
            return
        yield from _refused_names(rules, options)
        yield from _refused_sizes(rules, options.dialect)

    def versions(self, rules: Rules, options: Options) -> str:
        """Return the database of the dialect, and the version that statements were run in."""
        return _RUN_IN[options.dialect]

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the statements that create the views."""
        form = _Form(DIALECTS[options.dialect], rules, options)
        views = form.of_trees(rules.trees) if rules.trees is not None else form.of_weights()
        text = "\n".join(f"{view};\n" for view in views)
        warnings = []
        if rules.trees is not None and len(views) > 1:
            warnings.append(
                f"the trees are in {len(views) - 1} views, {len(text):,} characters: a query by "
                "the last one has all of them in it"
            )
        return Written(text.encode(), warnings=warnings)

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what reads the views; a DataError if they are not in the form of ours."""
        return sql_views(content.decode(errors="replace"), rules, options)

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield the database of the dialect; it gets what the interpreter has read."""
        text, quoted = content.decode(errors="replace"), DIALECTS[options.dialect].quoted
        _, scores = read_views(text, rules, options)
        engine = database(options.dialect, Query.of(text, rules, options, quoted, scores))
        if engine is not None:
            yield engine

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how the view is made and used."""
        file = shlex.quote(path)
        make = {
            "duckdb": f"duckdb my.db < {file}",
            "sqlite": f"sqlite3 my.db < {file}",
            "postgresql": f"psql my < {file}",
            "clickhouse": f"clickhouse-client --multiquery < {file}",
        }[options.dialect]
        quoted = DIALECTS[options.dialect].quoted
        view, score = quoted(options.name), quoted("score")
        return [f"create: {make}", f"use: SELECT * FROM {view} ORDER BY {score} DESC"]


@dataclass
class _Cases:
    """A tree, or a part of it: WHEN ... THEN ..., the first one last, and ELSE."""

    n_leaves: int
    cases: list[str]
    last: str

    def text(self) -> str:
        """Return it as an expression."""
        if not self.cases:
            return self.last
        return f"CASE {' '.join(reversed(self.cases))} ELSE {self.last} END"


class _Form:
    """How a model is said in a dialect."""

    def __init__(self, dialect: SQLDialect, rules: Rules, options: Options) -> None:
        self.dialect, self.rules, self.options = dialect, rules, options
        self.columns = [dialect.quoted(name) for name in rules.names]

    def view(self, name: str, columns: list[tuple[str, str]], table: str) -> str:
        """Return a statement that adds columns, by expression and name, to those of a table."""
        quoted = self.dialect.quoted
        more = ", ".join(f"{expression} AS {quoted(column)}" for expression, column in columns)
        return f"CREATE VIEW {quoted(name)} AS SELECT *, {more} FROM {table}"

    def of_trees(self, trees: Trees) -> list[str]:
        """Return the views of trees; one for each block of them, if they are many."""
        quoted, name = self.dialect.quoted, self.options.name
        linear = self.rules.linear
        more = [] if linear is None else [self.weighted(linear, 0)]  # added once, in the end
        blocks = _in_blocks([self.tree(trees, k) for k in range(trees.n_trees)])
        sums = [_balanced(block) for block in blocks]
        table = quoted(self.options.store)
        if len(sums) == 1 and (not more or len(sums[0]) + len(more[0]) <= _BLOCK):
            return [self.view(name, [(_chain([*sums, *more]), "score")], table)]
        views, parts = [], [f"{name}_{k + 1}" for k in range(len(sums))]
        for part, one in zip(parts, sums, strict=True):
            views.append(self.view(part, [(one, part)], table))
            table = quoted(part)
        total = _chain([_balanced([*map(quoted, parts)]), *more])
        return [*views, self.view(name, [(total, "score")], table)]

    def tree(self, trees: Trees, k: int) -> str:
        """Return a tree.

        The larger side of a split follows in the same CASE, so that these are nested no deeper than
        the logarithm of the leaves, however deep the tree is: SQLite parses twenty levels.
        """
        double = self.dialect.number

        def leaf(i: int) -> _Cases:
            return _Cases(1, [], double(float(trees.leaf[i])))

        def node(i: int, left: _Cases, right: _Cases) -> _Cases:
            if trees.nan_left[i] and trees.cuts["float64"][i] == np.inf:
                return left
            goes_left = left.n_leaves < right.n_leaves
            small, large = (left, right) if goes_left else (right, left)
            large.cases.append(f"WHEN {self.test(trees, i, goes_left)} THEN {small.text()}")
            return _Cases(small.n_leaves + large.n_leaves, large.cases, large.last)

        text = trees.folded(k, leaf, node).text()
        return f"CAST({text} AS {self.dialect.double})"  # to PostgreSQL the leaves are decimals

    def test(self, trees: Trees, i: int, goes_left: bool) -> str:
        """Return what holds of the values that go to a side; what is missing is NULL or NaN."""
        x, cut = self.columns[trees.forest.feature[i]], float(trees.cuts["float64"][i])
        most = _LARGEST if cut == np.inf else self.dialect.number(cut)
        missing_left = bool(trees.nan_left[i])
        test = f"{x} <= {most}"
        if missing_left:  # then the others, that go right, are those that are told
            test = f"{x} > {most}"
            test += f" AND {x} <= {_LARGEST}" if self.dialect.nan_is_largest else ""
        return test if goes_left != missing_left else f"NOT ({test}) OR {x} IS NULL"

    def of_weights(self) -> list[str]:
        """Return the views of weighted sums, and of the labels that they decide."""
        linear, labels, name = self.rules.linear, self.rules.labels, self.options.name
        assert linear is not None
        n = len(linear.weights)
        names = ["score"] if n == 1 else [f"score_{k + 1}" for k in range(n)]
        sums = [(self.weighted(linear, k), names[k]) for k in range(n)]
        table = self.dialect.quoted(self.options.store)
        if labels is None:
            return [self.view(name, sums, table)]
        scores = f"{name}_scores"
        label = self.label(labels, [self.dialect.quoted(one) for one in names])
        return [
            self.view(scores, sums, table),
            self.view(name, [(label, "label")], self.dialect.quoted(scores)),
        ]

    def weighted(self, linear: Linear, k: int) -> str:
        """Return a sum in the order of the library; what is 0 for all rows is left out."""
        lanes: list[list[str]] = [[] for _ in range(_LANES + 1)]
        whole = linear.weights.shape[1] // _LANES * _LANES  # the others are summed in turn
        for j in np.flatnonzero(linear.weights[k]).tolist():
            fill = None if linear.fill is None else float(linear.fill[j])
            x, w = self.value(j, fill), self.dialect.number(float(linear.weights[k, j]))
            lanes[j % _LANES if j < whole else _LANES].append(f"({w} * {x})")
        lane = [_chain(lane) for lane in lanes]
        half = [_chain([*filter(None, (lane[i], lane[i + 4]))]) for i in range(4)]
        pair = [_chain([*filter(None, half[i : i + 2])]) for i in (0, 2)]
        bias = self.dialect.number(float(linear.bias[k]))
        both = _chain([*filter(None, pair)])
        return _chain([*filter(None, (both, lane[_LANES])), bias])

    def value(self, j: int, fill: float | None) -> str:
        """Return a column as a double; what stands for a missing value in its place."""
        x, double = self.columns[j], self.dialect.double
        if fill is None:
            return f"CAST({x} AS {double})"
        # Neither NULL nor NaN is between two numbers.
        there = f"{x} BETWEEN -{_LARGEST} AND {_LARGEST}"
        number = self.dialect.number(fill)
        return f"CASE WHEN {there} THEN CAST({x} AS {double}) ELSE {number} END"

    def label(self, labels: Labels, scores: Sequence[str]) -> str:
        """Return the label of scores."""
        classes, n = [self.literal(one) for one in labels.classes], len(labels.classes)
        if labels.thresholds is None:  # the first that is not below any of those after it
            order = list(range(n))
            tests = [
                " AND ".join(f"{scores[k]} >= {other}" for other in scores[k + 1 :])
                for k in range(n - 1)
            ]
        else:
            order = list(reversed(range(n)))
            borders = [self.dialect.number(float(one)) for one in labels.thresholds[::-1]]
            tests = [f"{scores[0]} >= {border}" for border in borders]
        cases = [f"WHEN {test} THEN {classes[k]}" for test, k in zip(tests, order, strict=False)]
        return f"CASE {' '.join(cases)} ELSE {classes[order[-1]]} END"

    def literal(self, value: Any) -> str:
        """Return a label."""
        if not isinstance(value, str):
            return repr(float(value) if isinstance(value, float) else int(value))
        if self.dialect.backslash:
            return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
        return "'" + str(value).replace("'", "''") + "'"


def _refused_names(rules: Rules, options: Options) -> Iterator[Refusal]:
    """Yield why names cannot be columns, or views."""
    dialect = DIALECTS[options.dialect]
    own = re.compile(rf"label|score(_\d+)?|{re.escape(options.name)}_\d+", re.IGNORECASE)
    taken = [name for name in rules.names if own.fullmatch(name)]
    if taken:
        yield Refusal(
            "names", f"the view adds a column that is called {taken[0]!r}", "give another name"
        )
    alike = Counter(name.casefold() for name in rules.names).most_common(1)[0]
    if dialect.any_case and alike[1] > 1:
        yield Refusal(
            "names",
            f"{options.dialect} has no columns whose names differ in their case alone, such as "
            f"{alike[0]!r}",
            "give other names",
        )
    ends = [*rules.names, options.store, f"{options.name}_scores"]
    long = [name for name in ends if len(name.encode()) > dialect.longest_name]
    if long:
        yield Refusal(
            "names",
            f"{options.dialect} cuts names at {dialect.longest_name} bytes, and {long[0]!r:.100} "
            f"has {len(long[0].encode())}",
            "give shorter names",
        )
    if options.name.casefold() == options.store.casefold():
        yield Refusal(
            "names",
            f"the view and the table are both called {options.name!r}",
            "give another name (--name) or table (--store)",
        )


def _refused_sizes(rules: Rules, dialect: str) -> Iterator[Refusal]:
    """Yield what no statement may have."""
    most = DIALECTS[dialect].most_columns
    if rules.n_features > most:
        yield Refusal(
            "columns",
            f"a table of {dialect} has at most {most:,} columns of features, and the model "
            f"{rules.n_features:,}",
            "export it to c or java",
        )
    if rules.linear is not None:
        deepest = -(-int(np.count_nonzero(rules.linear.weights, axis=1).max()) // _LANES)
        if deepest > _DEEPEST:
            yield Refusal(
                "deep",
                f"sums of {deepest:,} terms are deeper than expressions may be: {_DEEPEST}",
                "export it to c, java or onnx",
            )


def _chain(terms: list[str]) -> str:
    """Return a sum from the left to the right; nothing for nothing."""
    return f"({' + '.join(terms)})" if len(terms) > 1 else "".join(terms)


def _balanced(terms: list[str]) -> str:
    """Return a sum whose depth is the logarithm of its length."""
    while len(terms) > 1:
        pairs = zip(terms[::2], [*terms[1::2], ""], strict=False)
        terms = [f"({a} + {b})" if b else a for a, b in pairs]
    return terms[0]


def _in_blocks(texts: list[str]) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    size = 0
    for text in texts:
        if blocks[-1] and size + len(text) > _BLOCK:
            blocks.append([])
            size = 0
        blocks[-1].append(text)
        size += len(text)
    return blocks
