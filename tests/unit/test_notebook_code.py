"""Models, losses and functions that are typed into a script, a session or a notebook."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwright.comparison.keys import described

# What a notebook holds: a class, a helper that it calls, a loss, a metric, a closure.
CELLS = """
import numpy as np
import rankwright as rw
from rankwright.comparison import Entry, Range, compare, tune
from sklearn.base import BaseEstimator, RegressorMixin

WEIGHT = 1.0

def helper(X):
    return WEIGHT * X[:, 0]

class Mine(BaseEstimator):
    def __init__(self, power=1.0):
        self.power = power
    def fit(self, X, y):
        self.n_ = len(y)
        return self
    def predict(self, X):
        return helper(X) * self.power

class Squares:
    def value_and_grad(self, scores, y, groups):
        return float(((scores - y) ** 2).sum()), 2 * (scores - y)

def on_top(labels, scores):
    return labels[scores.argmax()] / max(1.0, labels.max())

def closure(c):
    def scale(X):
        return c * X[:, 1]
    return scale

class ByFunction(BaseEstimator):
    def __init__(self, f=None):
        self.f = f
    def fit(self, X, y):
        self.fitted_ = True
        return self
    def predict(self, X):
        return self.f(X)

ds = rw.data.make_mslr_like(n_queries=30, n_features=5, mean_docs=10)
entries = [
    Entry("mine", Mine()),
    Entry("own-loss", rw.LinearRanker(Squares(), alpha=0.1, standardize=True)),
    Entry("closure", ByFunction(closure(2.0))),
    Entry("lambda", ByFunction(lambda X: X[:, 2])),
]
results = [compare(ds, entries, metrics=[on_top, "ndcg@5"], n_jobs=n) for n in (1, 2)]
assert not any(result.failures for result in results), results[1].failures
assert results[0].metrics_csv() == results[1].metrics_csv()
assert [s.name for s in results[1].standings] == [s.name for s in results[0].standings]
assert type(results[1].model("mine")) is Mine
study = tune(Mine(), ds, {"power": Range(0.5, 2.0)}, n_trials=3, n_jobs=2, metric=on_top)
assert not any(trial.error for trial in study.trials)
print("all", "is well")
"""


def run(*command: str, **options: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [sys.executable, "-P", *command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_script_defines_runs_in_other_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CELLS)
    assert "all is well" in run(str(script))


def test_what_a_session_defines_runs_in_other_processes() -> None:
    # Blocks end with an empty line, as they are typed.
    lines = CELLS.strip().splitlines()
    typed = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line.strip():
            typed.append(line)
            ends = line.startswith(" ") and not after.startswith((" ", ")", "]"))
            typed += [""] if ends and (not after.strip() or after[0] not in ")]") else []
    assert "all is well" in run("-i", input="\n".join(typed) + "\n")


BODY = """
import sys
from rankwright.comparison.keys import described
LIMIT = {limit}
def helper(x):
    return x + {helper}
class Base:
    def shared(self):
        return {base}
class Own(Base):
    size = {size}
    def __init__(self, other=None):
        self.other = other
    def get_params(self, deep=False):
        return {{"other": self.other}}
    def fit(self, X, y):
        return {{"a", "b", "c"}}, [helper(x) for x in X if x < LIMIT], Own, {value}
    @property
    def p(self):
        return {prop}
    @staticmethod
    def s(x={default}):
        return x
def made(c):
    return lambda x: x + c
print(described([Own(), Own(made({closed})), helper]))
"""
VALUES = {
    "limit": 1,
    "helper": 1,
    "base": 1,
    "size": 1,
    "value": 1,
    "prop": 1,
    "default": 1,
    "closed": 1,
}


def told(tmp_path: Path, name: str, lead: str = "", values: dict[str, int] | None = None) -> str:
    """Return what a process without the source says of the classes."""
    code = compile(lead + BODY.format(**VALUES | (values or {})), name, "exec")
    code_file = tmp_path / f"{name}.marshal"
    code_file.write_bytes(marshal.dumps(code))
    loader = f"import marshal; exec(marshal.loads(open({str(code_file)!r}, 'rb').read()))"
    return run("-c", loader)


def test_a_class_without_source_counts_with_what_it_does(tmp_path: Path) -> None:
    one = told(tmp_path, "cell-1")
    assert told(tmp_path, "cell-2", "\n\n# moved\n") == one
    found = {told(tmp_path, f"other-{name}", values={name: 2}) for name in VALUES}
    assert len(found | {one}) == len(VALUES) + 1


def test_closures_count_with_what_they_hold() -> None:
    def scaled(by: Any) -> Any:
        return lambda x: x * by

    assert described(scaled(2)) == described(scaled(2)) != described(scaled(3))
    assert described(scaled(np.zeros(9))) == described(scaled(np.zeros(9)))
    assert described(scaled(object())) != described(scaled(object()))


def test_what_calls_itself_has_a_text() -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert described(even) == described(even) != described(odd)


@pytest.mark.parametrize("kind", [dict, list])
def test_an_own_object_in_what_it_uses_has_a_text(kind: Any) -> None:
    class Node:
        def __init__(self) -> None:
            self.others: Any = kind()

        def __repr__(self) -> str:
            return f"Node at {id(self):#x}"

        def all(self) -> Any:
            return known

    known: Any = {"node": Node()}
    assert described(Node.all) == described(Node.all)
