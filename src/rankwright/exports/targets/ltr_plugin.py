"""The learning-to-rank plugins of Elasticsearch and OpenSearch, of which one is the other's fork.

Trees are ``model/xgboost+json``, by the names of the features. A weighted sum is ``model/ranklib``,
a linear regression: it has a bias and adds doubles, where ``model/linear`` does neither; its
features are places in the feature set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar, TypeAlias

from rankwright.exports.interpreters.ranklib import ranklib
from rankwright.exports.interpreters.reading import reading
from rankwright.exports.interpreters.xgboost_json import xgboost_json
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Rules, Trees
from rankwright.exports.targets.missing_values import (
    filled_otherwise,
    missing_probe,
    sent_elsewhere,
)
from rankwright.exports.targets.query_scores import curl, too_deep, too_long, unlike_scores
from rankwright.exports.targets.ranklib import regression, several_scores
from rankwright.exports.targets.target import (
    Engine,
    Judge,
    Missing,
    Options,
    Rows,
    Target,
    Written,
    no_mixture,
)

Part: TypeAlias = tuple[int, str]  # a node's number, and its text

_LEVELS = 499  # of splits: the parser nests 1000 times, twice a level, and is in a list
_FEATURES = 10_000  # of a feature set
_CACHED = 250_000  # nodes, of which a compiled model has 10 MB


class LtrPlugin(Target):
    """What both plugins do."""

    number = "float32"
    holds = "trees, exact; linear models, bounded"
    arithmetic = "float64"
    shifted = True
    judged_by = "the plugin's rule"

    plugin: ClassVar[str]
    """Its name, without versions."""
    of_policy: ClassVar[dict[Missing, str]]
    """The versions that have each policy for missing values."""
    cache: ClassVar[str]
    """Where models larger than the cache are parsed again on every search."""
    text_limit: ClassVar[int | None] = None
    """Characters that a text of a request may have, where it is less than the request."""

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        yield from no_mixture(rules, self.name)
        if rules.trees is not None and options.missing not in self.of_policy:
            known = " or ".join(self.of_policy)
            yield Refusal(
                "missing",
                f"no version of {self.name} has missing values {options.missing!r}",
                f"export with missing {known}; the missing probe tells which your engine has",
            )
        yield from sent_elsewhere(rules, options.missing, options.present, self.name)
        yield from filled_otherwise(rules, options.present, self.name)
        yield from several_scores(rules, self.name)
        yield from too_deep(rules.trees, _LEVELS, "JSON nests 1,000 times, twice a level")
        n_features = _n_in_set(rules)
        if n_features > _FEATURES:
            yield Refusal(
                "features",
                f"a feature set has at most {_FEATURES:,} features, but the model has "
                f"{n_features:,}",
                "train on fewer features",
            )

    def versions(self, rules: Rules, options: Options) -> str:
        """Return the plugin, with the versions that treat missing values as the options say."""
        return self.plugin if rules.trees is None else self.of_policy[options.missing]

    def missing(self, rules: Rules, options: Options) -> Missing:
        """Return what it does with a missing value: in weighted sums it is 0."""
        return "zero" if rules.trees is None else options.missing

    def warnings(self, rules: Rules, data: Rows | None) -> list[str]:
        """Return warnings of features that are no scores, and of negative scores."""
        found = unlike_scores(rules, data)
        if rules.trees is None:
            found.append("scores may be below 0: use them in a rescore with query_weight 0 alone")
        return found

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the body of ``_createmodel``."""
        if rules.trees is not None:
            kind, definition = "model/xgboost+json", xgboost_trees(rules.trees, rules.names)
        else:
            assert rules.linear is not None
            kind, definition = "model/ranklib", regression(rules.linear)
        body = {"model": {"name": options.name, "model": {"type": kind, "definition": definition}}}
        content = json.dumps(body).encode()
        return Written(content, warnings=[*self._sizes(rules, definition), *too_long(content)])

    def _sizes(self, rules: Rules, definition: str) -> Iterator[str]:
        n_nodes = 0 if rules.trees is None else len(rules.trees.nan_left) + len(rules.trees.leaf)
        if n_nodes > _CACHED:
            yield (
                f"{n_nodes:,} nodes are more than the cache of 10 MB holds (about {_CACHED:,}), "
                f"{self.cache}: raise ltr.caches.max_mem"
            )
        if self.text_limit is not None and len(definition) > self.text_limit:
            yield (
                f"the definition has {len(definition):,} characters, but a text may have "
                f"{self.text_limit:,}"
            )

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what scores as the plugin's source says."""
        with reading("the body of _createmodel"):
            model = json.loads(content)["model"]["model"]
            kind, definition = model["type"], model["definition"]
        if kind == "model/ranklib":
            return ranklib(definition)
        return xgboost_json(definition, rules.names, options.missing)

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield nothing: the plugin runs in its engine alone."""
        return iter(())

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is uploaded and used."""
        model = {"model": options.name, "params": {"keywords": "..."}}
        second = {"query_weight": 0, "rescore_query_weight": 1, "rescore_query": {"sltr": model}}
        search = {
            "query": {"match": {"title": "..."}},
            "rescore": {"window_size": 100, "query": second},
        }
        place = f"_ltr/_featureset/{options.store}"
        probe = missing_probe()
        script = (
            "from rankwright.exports import missing_probe; print(missing_probe('FEATURE').body)"
        )
        send = curl("POST", f"{place}/_createmodel", "@-")
        means = ", ".join(f"{score:g} {policy}" for score, policy in probe.means.items())
        return [
            f"upload: {curl('POST', f'{place}/_createmodel', '@' + path)}",
            f"use: {curl('GET', 'INDEX/_search', json.dumps(search))}",
            f'what your version does with missing values: python -c "{script}" | {send}; then the '
            f"model missing-probe gives a document without FEATURE {means}",
            f"the feature set {options.store} must hold the features of the certificate; for a "
            "linear model in that order",
        ]


def _n_in_set(rules: Rules) -> int:
    if rules.trees is None:
        return rules.n_features
    return len(rules.used())


def xgboost_trees(trees: Trees, names: tuple[str, ...]) -> str:
    """Return trees as XGBoost's dump has them; a shift is a first tree of one leaf."""
    border, depth, quoted = trees.borders(), trees.depths(), [json.dumps(name) for name in names]
    n_nodes = len(depth)

    def leaf(i: int) -> Part:
        return n_nodes + i, f'{{"nodeid":{n_nodes + i},"leaf":{float(trees.leaf[i])!r}}}'

    def node(i: int, left: Part, right: Part) -> Part:
        missing = left if trees.nan_left[i] else right
        return i, (
            f'{{"nodeid":{i},"depth":{depth[i]},"split":{quoted[trees.forest.feature[i]]},'
            f'"split_condition":{float(border[i])!r},"yes":{left[0]},"no":{right[0]},'
            f'"missing":{missing[0]},"children":[{left[1]},{right[1]}]}}'
        )

    shift = [] if trees.shift == 0 else [f'{{"nodeid":0,"leaf":{trees.shift!r}}}']
    dumped = [trees.folded(k, leaf, node)[1] for k in range(trees.n_trees)]
    return f"[{','.join(shift + dumped)}]"
