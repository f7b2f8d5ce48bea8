"""The learning-to-rank module of Solr."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from rankwright.data.feature_names import listed
from rankwright.exports.gaps import gaps_between
from rankwright.exports.interpreters.solr_json import solr_json
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Linear, Rules, Trees
from rankwright.exports.slack import slackened
from rankwright.exports.targets.query_scores import too_deep
from rankwright.exports.targets.ranklib import several_scores
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
from rankwright.trees.forest import ZERO

_MODEL = "org.apache.solr.ltr.model."
_FEATURE = "org.apache.solr.ltr.feature.FieldValueFeature"
_ZNODE = 1 << 20  # bytes in one node of ZooKeeper, by default
_SHOWN = 20  # features that are written out in the steps
_LEVELS = 500  # of splits: Solr's reader calls itself for each


class Solr(Target):
    """Trees as MultipleAdditiveTreesModel, weights as LinearModel or NeuralNetworkModel."""

    name = "solr"
    engine = "Solr LTR >= 9.2"
    holds = "trees, exact outside gaps; linear, bounded"
    number = "float32"
    arithmetic = "float32"
    judged_by = "Solr's rule, read from source, not run"

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        yield from no_mixture(rules, self.name)
        yield from too_deep(rules.trees, _LEVELS, "Solr reads them by recursion")
        yield from several_scores(rules, self.name)
        if rules.linear is not None:
            yield from _too_large(rules.linear)
            yield from _filled_by_store(rules.linear, rules.names, options.present)

    def versions(self, rules: Rules, options: Options) -> str:
        """Return the versions that treat missing values as the file says."""
        return self.engine if self.missing(rules, options) == "by-node" else "Solr LTR >= 9.0"

    def missing(self, rules: Rules, options: Options) -> Missing:
        """Return what it does with a missing value, by what the file says."""
        return "zero" if rules.trees is None or rules.trees.nan_is_zero.all() else "by-node"

    def reachable(self, rules: Rules, data: Rows | None) -> Rules:
        """Return the model with thresholds that are a float32 and 1e-6."""
        trees = rules.trees
        if trees is None:
            return rules
        has = slackened(trees.cuts["float32"], trees.forest.feature, data).threshold
        # The library takes what is up to ZERO for 0, so that to it these are one threshold.
        cuts = {**trees.cuts, "float32": np.where(has == 0, np.float32(ZERO), has)}
        return replace(rules, trees=replace(trees, cuts=cuts))

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the body for the model store."""
        if rules.trees is None:
            assert rules.linear is not None
            content = _weights_model(rules.linear, rules.names, options)
            return Written(content, warnings=_beyond_znode(content))
        trees = rules.trees
        c, feature = trees.cuts["float32"], trees.forest.feature
        slack = slackened(c, feature, None)
        content = _additive_model(trees, slack.text, rules.names, options)
        gaps = gaps_between(rules.names, feature, c, slack.threshold)
        return Written(content, gaps, _beyond_znode(content))

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what scores as the module's source says."""
        return solr_json(content, rules.names)

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield nothing: the module runs in Solr alone."""
        return iter(())

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is uploaded and used."""
        rerank = quote(f"{{!ltr model={_parameter(options.name)} reRankDocs=100}}")
        model = quote(options.name)
        return [
            f"features, unless the store {options.store} has them: "
            + _curl("PUT", "schema/feature-store", _offered(path)),
            f"upload: {_curl('PUT', 'schema/model-store', '@' + path)}",
            f"use: {_curl('GET', f'query?q=*:*&fl=id,score&rq={rerank}')}",
            f"before another of the name: {_curl('DELETE', f'schema/model-store/{model}')}",
        ]


def _parameter(text: str) -> str:
    """Return a text as Solr's local parameters have it: in quotes, unless it is one word."""
    if re.fullmatch(r"[\w.-]+", text):
        return text
    inside = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{inside}'"


def _curl(method: str, place: str, body: str | None = None) -> str:
    url = shlex.quote(f"http://localhost:8983/solr/COLLECTION/{place}")
    header = "-H 'Content-Type: application/json'"
    sent = "" if body is None else f" {header} --data-binary {shlex.quote(body)}"
    return f"curl -X {method} {url}{sent}"


def _offered(path: str) -> str:
    """Return a feature store for a file, shortened; how features are computed is to be said."""
    try:
        features = feature_store(Path(path).read_bytes())
    except (OSError, ValueError):
        return "@features.json"
    shown = json.dumps(features[:_SHOWN])
    more = len(features) - _SHOWN
    return f"{shown[:-1]}, ... {more} more like these]" if more > 0 else shown


def feature_store(content: bytes) -> list[dict[str, Any]]:
    """Return features that a model could use: each the value of a field of its name.

    Where missing values are not 0, the default must be NaN.
    """
    model = json.loads(content)
    by_node = model["params"].get("isNullSameAsZero") is False
    default = {"defaultValue": "NaN"} if by_node else {}
    return [
        {
            "store": model["store"],
            "name": one["name"],
            "class": _FEATURE,
            "params": {"field": one["name"], **default},
        }
        for one in model["features"]
    ]


def _too_large(linear: Linear) -> Iterator[Refusal]:
    with np.errstate(over="ignore"):
        numbers = np.append(linear.weights, linear.bias).astype(np.float32)
    if not np.isfinite(numbers).all():
        yield Refusal(
            "linear", "weights are larger than float32 holds", "scale the features, and train again"
        )
    least = np.finfo(np.float32).tiny
    if ((np.abs(linear.weights) < least) & (linear.weights != 0)).any():
        yield Refusal(
            "linear",
            f"weights are below {least:.2g}, where float32 has few digits, or none",
            "scale the features, and train again",
        )


def _filled_by_store(
    linear: Linear, names: tuple[str, ...], present: frozenset[str]
) -> Iterator[Refusal]:
    """Yield the refusal of imputed values.

    A default is said by the feature store, which other models share, and never by a model: so the
    user must put it there, and say so. Then the feature always has a value.
    """
    if linear.fill is None:
        return
    used = linear.weights.any(axis=0) & (linear.fill != 0)
    fills = {
        name: float(np.float32(fill))
        for name, fill, one in zip(names, linear.fill, used, strict=True)
        if one and name not in present
    }
    if fills:
        defaults = ", ".join(f"{name} {fill!r}" for name, fill in fills.items())
        yield Refusal(
            "imputation",
            f"the model has another value than 0 for a missing one, of {listed(list(fills))}, "
            "which a model of solr cannot say",
            f"give these features a defaultValue in the feature store ({defaults}), and then name "
            "them as features that every document has (present)",
        )


def _additive_model(
    trees: Trees, thresholds: NDArray[Any], names: tuple[str, ...], options: Options
) -> bytes:
    """Return trees; a shift is a first tree of one leaf.

    Numbers are texts, as Solr's setters demand, and the flag is a boolean. Without it a missing
    value is 0, in all versions.
    """
    by_node = not trees.nan_is_zero.all()
    quoted = [json.dumps(name) for name in names]

    def leaf(i: int) -> str:
        return f'{{"value":"{_java(trees.leaf[i])}"}}'

    def node(i: int, left: str, right: str) -> str:
        missing = f'"missing":"{"left" if trees.nan_left[i] else "right"}",' if by_node else ""
        return (
            f'{{"feature":{quoted[trees.forest.feature[i]]},"threshold":"{_java(thresholds[i])}",'
            f'{missing}"left":{left},"right":{right}}}'
        )

    roots = [] if trees.shift == 0 else [f'{{"value":"{_java(trees.shift)}"}}']
    roots += [trees.folded(k, leaf, node) for k in range(trees.n_trees)]
    flag = '"isNullSameAsZero":false,' if by_node else ""
    dumped = ",".join(f'{{"weight":"1","root":{root}}}' for root in roots)
    used = np.bincount(trees.forest.feature, minlength=len(names)) > 0
    return _model(
        "MultipleAdditiveTreesModel", used, names, options, f'{{{flag}"trees":[{dumped}]}}'
    )


def _weights_model(linear: Linear, names: tuple[str, ...], options: Options) -> bytes:
    """Return weights; with a bias, as a network of one layer.

    Features of weight 0 are left out: adding 0 changes no score.
    """
    used = linear.weights[0] != 0
    weights, bias = linear.weights[0], float(linear.bias[0])
    if not used.any():
        used = np.ones(len(names), dtype=bool)  # a model must have features
    if bias == 0:
        table = {names[j]: float(weights[j]) for j in np.flatnonzero(used)}
        return _model("LinearModel", used, names, options, json.dumps({"weights": table}))
    layer = {"matrix": [weights[used].tolist()], "bias": [bias], "activation": "identity"}
    return _model("NeuralNetworkModel", used, names, options, json.dumps({"layers": [layer]}))


def _model(
    kind: str, used: NDArray[np.bool_], names: tuple[str, ...], options: Options, params: str
) -> bytes:
    """Return a model with the features that it uses; all, if it uses none."""
    listed_names = [name for name, one in zip(names, used, strict=True) if one] or list(names)
    head = {
        "class": f"{_MODEL}{kind}",
        "name": options.name,
        "store": options.store,
        "features": [{"name": name} for name in listed_names],
    }
    return f'{json.dumps(head)[:-1]}, "params":{params}}}\n'.encode()


def _java(number: Any) -> str:
    """Return a number as Java's ``Float.parseFloat`` reads it."""
    return repr(float(number)).replace("inf", "Infinity")


def _beyond_znode(content: bytes) -> list[str]:
    if len(content) <= _ZNODE // 2:  # Solr indents what it stores
        return []
    return [
        f"the model has {len(content) / 1e6:.1f} MB, and SolrCloud keeps all models in one node of "
        "ZooKeeper of 1 MB, by default: ship it as a file, by DefaultWrapperModel"
    ]
