"""Learning to rank of Elasticsearch itself, ``_ml/trained_models``."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwright.exports.interpreters.elastic import elastic
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Rules, Trees
from rankwright.exports.targets.query_scores import curl, too_deep, too_long, unlike_scores
from rankwright.exports.targets.target import (
    Engine,
    Judge,
    Missing,
    Options,
    Rows,
    Target,
    Written,
    no_linear,
    no_mixture,
)

_LEVELS = 1000  # of splits: the engine measures depth by recursion
_MODEL_ID = re.compile("[a-z0-9](?:[a-z0-9_.-]{0,62}[a-z0-9])?")


class Elastic(Target):
    """An ensemble of trees with doubles; the engine makes scores positive by itself."""

    name = "elastic"
    engine = "Elasticsearch >= 8.19 or >= 9.0.1, learning to rank"
    holds = "trees, exact, for float32 and float64 features"
    number = "float64"
    shifted = True  # by the engine: the shift is counted, not written
    judged_by = "Elasticsearch's rule, read from source, not run"

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        yield from no_mixture(rules, self.name)
        if rules.trees is None:
            yield no_linear(self.name)
        if options.missing != "by-node":
            yield Refusal(
                "missing",
                f"{self.name} follows the split, and never has missing values {options.missing!r}",
                "export with missing by-node",
            )
        if not _MODEL_ID.fullmatch(options.name):
            yield Refusal(
                "names",
                f"a model is called by up to 64 of a-z, 0-9, '_', '-' and '.' there, not "
                f"{options.name!r:.100}",
                "give it a name",
            )
        yield from too_deep(rules.trees, _LEVELS, "the engine goes through them by recursion")

    def missing(self, rules: Rules, options: Options) -> Missing:
        """Return what it does with a missing value: it follows the split."""
        return "by-node"

    def warnings(self, rules: Rules, data: Rows | None) -> list[str]:
        """Return warnings of features that are no scores."""
        return unlike_scores(rules, data)

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the definition of the model."""
        assert rules.trees is not None
        names = list(rules.names)
        about = {"feature_names": names, "target_type": "regression"}
        trees = [
            {"tree": {**about, "tree_structure": _structure(rules.trees, k)}}
            for k in range(rules.trees.n_trees)
        ]
        model = {**about, "aggregate_output": {"weighted_sum": {}}, "trained_models": trees}
        content = json.dumps({"trained_model": {"ensemble": model}}).encode()
        return Written(content, warnings=list(too_long(content)))

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what scores as the engine's source says."""
        return elastic(content.decode(), rules.names)

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield nothing: a server with a licence would be needed."""
        return iter(())

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is uploaded and used; what gives the features is the user's."""
        script = {"source": "return doc['price'].value;"}
        query = {"script_score": {"query": {"exists": {"field": "price"}}, "script": script}}
        extractor = {"query_extractor": {"feature_name": "price", "query": query}}
        body = "{inference_config:{learning_to_rank:{feature_extractors:$e[0]}},definition:$m[0]}"
        files = f"--slurpfile e extractors.json --slurpfile m {shlex.quote(path)}"
        rescore = {"model_id": options.name, "params": {"keywords": "..."}}
        search = {
            "query": {"match": {"title": "..."}},
            "rescore": {"window_size": 100, "learning_to_rank": rescore},
        }
        upload = curl("PUT", f"_ml/trained_models/{options.name}", "@-")
        return [
            f"extractors.json, one for each feature: {json.dumps([extractor])}",
            f"upload: jq -n {files} {shlex.quote(body)} | {upload}",
            f"use: {curl('GET', 'INDEX/_search', json.dumps(search))}",
        ]


def _structure(trees: Trees, tree: int) -> list[dict[str, Any]]:
    """Return the nodes of a tree, the root first, then its leaves."""
    forest, nodes = trees.forest, trees.nodes(tree)
    first, last = forest.leaf_begin[tree : tree + 2].tolist()

    def index(child: int) -> int:
        return child if child >= 0 else len(nodes) + ~child

    # All finite numbers are at most the largest; the engine takes infinite ones for missing.
    cuts = np.minimum(trees.cuts["float64"][nodes.start : nodes.stop], sys.float_info.max)
    found: list[dict[str, Any]] = []
    for i, c in zip(nodes, cuts.tolist(), strict=True):
        found.append(
            {
                "node_index": len(found),
                "decision_type": "lte",
                "split_feature": int(forest.feature[i]),
                "threshold": c + 0.0,  # never -0.0, which is less than 0 there
                "default_left": bool(trees.nan_left[i]),
                "left_child": index(int(forest.left[i])),
                "right_child": index(int(forest.right[i])),
                "number_samples": int(forest.node_count[i]),
            }
        )
    for i in range(first, last):
        found.append(
            {
                "node_index": len(found),
                "leaf_value": float(trees.leaf[i]),
                "number_samples": int(forest.leaf_count[i]),
            }
        )
    return found
