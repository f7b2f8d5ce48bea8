"""LightGBM's own text: for its package, and for whatever reads its models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from rankwright.exports.interpreters.lightgbm_model import lightgbm_model
from rankwright.exports.lightgbm_text import lightgbm_text
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Rules
from rankwright.exports.targets.target import (
    Engine,
    Judge,
    Options,
    Rows,
    Target,
    Verdicts,
    Written,
    no_linear,
    no_mixture,
    no_names,
)
from rankwright.trees.model_text import read_trees

_NAME = re.compile(r'[^\s",:\[\]{}]+')  # LightGBM splits names at spaces, and refuses the others


class LightGBM(Target):
    """``Booster.save_model``: trees."""

    name = "lightgbm"
    engine = "LightGBM 4"
    suffix = ".txt"
    holds = "trees, exact for float32 and float64"
    number = "float64"
    leaves = "own"
    judged_by = "LightGBM's rule"

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        yield from no_mixture(rules, self.name)
        if rules.trees is None:
            yield no_linear(self.name)
        wrong = [name for name in rules.names if not _NAME.fullmatch(name)]
        yield from no_names(wrong, 'LightGBM has no names with spaces or one of ",:[]{}')

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the text."""
        assert rules.trees is not None
        text = lightgbm_text(rules.trees, self.number)
        return Written(text.replace(_numbered(rules), _names_line(rules.names), 1).encode())

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what scores as LightGBM's source says."""
        return lightgbm_model(content, rules.names)

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield LightGBM, which trusts its files: it gets what the library itself would load."""
        from rankwright.trees.engine import read_booster, threads

        text = content.decode()
        read_trees(text.replace(_names_line(rules.names), _numbered(rules), 1), rules.n_features)
        booster, version = read_booster(text)

        def judge(X: Rows) -> Verdicts:
            found = booster.predict(X.astype(np.float64), num_threads=threads(None))
            return Verdicts(np.asarray(found, dtype=np.float64))

        yield Engine(f"LightGBM {version}", judge)

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is loaded."""
        return [f"use: lightgbm.Booster(model_file={path!r}).predict(X)"]


def _names_line(names: Iterable[str]) -> str:
    return f"feature_names={' '.join(names)}\n"


def _numbered(rules: Rules) -> str:
    return _names_line(f"Column_{j}" for j in range(rules.n_features))
