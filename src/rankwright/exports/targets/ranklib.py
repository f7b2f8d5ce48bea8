"""RankLib's texts: ensembles of trees, and linear regressions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rankwright.exports.interpreters.ranklib import ranklib
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Linear, Rules, Trees
from rankwright.exports.targets.missing_values import filled_otherwise, sent_elsewhere
from rankwright.exports.targets.query_scores import too_deep
from rankwright.exports.targets.target import (
    Engine,
    Judge,
    Missing,
    Options,
    Target,
    Written,
    no_mixture,
)

_LEVELS = 1000  # of splits: the reader calls itself for each


class RankLib(Target):
    """LambdaMART's ensemble, or a linear regression; features are numbered from 1."""

    name = "ranklib"
    engine = "RankLib 2.x, RankyMcRankFace, and model/ranklib of the plugins"
    holds = "trees whose missing values are zeros, exact; linear models, bounded"
    number = "float32"
    suffix = ".txt"
    arithmetic = "float64"
    judged_by = "RankLib's rule"

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        yield from no_mixture(rules, self.name)
        yield from sent_elsewhere(rules, "zero", options.present, self.name)
        yield from filled_otherwise(rules, options.present, self.name)
        yield from several_scores(rules, self.name)
        yield from too_deep(rules.trees, _LEVELS, "RankLib reads them by recursion")

    def missing(self, rules: Rules, options: Options) -> Missing:
        """Return what it does with a missing value: it is 0."""
        return "zero"

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the text."""
        if rules.trees is not None:
            return Written(ensemble(rules.trees).encode())
        assert rules.linear is not None
        return Written(regression(rules.linear).encode())

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what scores as RankLib's source says."""
        return ranklib(content.decode())

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield nothing: RankLib is not looked for."""
        return iter(())

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is used."""
        model = shlex.quote(path)
        return [
            f"use: java -jar RankLib.jar -load {model} -rank test.txt -score scores.txt",
            "features are numbered in the order of the certificate, from 1",
        ]


def ensemble(trees: Trees) -> str:
    """Return trees as LambdaMART's; a shift is a first tree of one leaf."""
    cuts = trees.cuts["float32"].astype(float).tolist()
    feature = (trees.forest.feature + 1).tolist()

    def leaf(i: int) -> str:
        return f"<output> {float(trees.leaf[i])!r} </output>"

    def node(i: int, left: str, right: str) -> str:
        t = repr(cuts[i]).replace("inf", "Infinity")  # as Java reads it
        return (
            f"<feature> {feature[i]} </feature><threshold> {t} </threshold>"
            f'<split pos="left">{left}</split><split pos="right">{right}</split>'
        )

    parts = [] if trees.shift == 0 else [f"<output> {trees.shift!r} </output>"]
    parts += [trees.folded(k, leaf, node) for k in range(trees.n_trees)]
    lines = ["## LambdaMART", "", "<ensemble>"]
    for number, part in enumerate(parts, start=1):
        lines += [f'<tree id="{number}" weight="1.0">', f"<split>{part}</split>", "</tree>"]
    return "\n".join([*lines, "</ensemble>"]) + "\n"


def regression(linear: Linear) -> str:
    """Return a weighted sum as a linear regression: feature 0 is the bias."""
    numbers = [*linear.bias.tolist(), *linear.weights[0].tolist()]
    pairs = " ".join(f"{place}:{number!r}" for place, number in enumerate(numbers))
    return f"## Linear Regression\n{pairs}\n"


def several_scores(rules: Rules, engine: str) -> Iterator[Refusal]:
    """Yield the refusal of labels that the largest of several scores decides."""
    if rules.linear is not None and len(rules.linear.weights) > 1:
        yield Refusal(
            "labels",
            f"{engine} has one score, but the largest of {len(rules.linear.weights)} decides here",
            "export to vespa, sql, c or java",
        )
