"""Missing values where an engine has one rule for all splits, and how to find out which it has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankwright.data.feature_names import listed
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Linear, Rules
from rankwright.exports.targets.target import Missing
from rankwright.showing import Brief

_SAYS: dict[Missing, str] = {
    "zero": "takes a missing value for 0",
    "right": "sends a missing value right",
}


def sent_elsewhere(
    rules: Rules, policy: Missing, present: frozenset[str], engine: str
) -> Iterator[Refusal]:
    """Yield the refusal of splits that send missing values elsewhere than the engine does."""
    if rules.trees is None or policy == "by-node":
        return
    nan_left, feature = rules.trees.nan_left, rules.trees.forest.feature
    other = ~rules.trees.nan_is_zero if policy == "zero" else nan_left
    always = [name in present for name in rules.names]
    other = other & ~np.array(always, dtype=bool)[feature]
    if not other.any():
        return
    names = listed([rules.names[j] for j in np.unique(feature[other])])
    yield Refusal(
        "missing",
        f"{engine} {_SAYS[policy]}, but {np.count_nonzero(other)} of {len(other)} splits, of "
        f"{names}, send it to the other side",
        "name the features that every document has (present), train on data without missing "
        "values, or use an engine that follows the split",
    )


def filled_otherwise(rules: Rules, present: frozenset[str], engine: str) -> Iterator[Refusal]:
    """Yield the refusal of imputed values, where the engine takes a missing value for 0."""
    linear = rules.linear
    if linear is None or linear.fill is None:
        return
    names = [name for name in _filled(linear, rules.names) if name not in present]
    if names:
        yield Refusal(
            "imputation",
            f"{engine} takes a missing value for 0, but the model has another value for it, of "
            f"{listed(names)}",
            "name the features that every document has (present), or export to vespa, onnx, sql, c "
            "or java",
        )


def _filled(linear: Linear, names: tuple[str, ...]) -> Iterator[str]:
    assert linear.fill is not None
    for name, fill, weights in zip(names, linear.fill, linear.weights.T, strict=True):
        if fill != 0 and weights.any():
            yield name


@dataclass(frozen=True, repr=False)
class MissingProbe(Brief):
    """A tiny model whose score tells what a version does with missing values.

    Attributes
    ----------
    body : str
        What is sent to ``_createmodel``.
    means : dict
        For each score, of a document without the feature, the policy.
    """

    body: str
    means: dict[float, Missing]


def missing_probe(feature: str = "f1", name: str = "missing-probe") -> MissingProbe:
    """Return a model that tells which policy an Elasticsearch or OpenSearch plugin has.

    Versions do not tell patched builds apart; the score of a document for which the feature's query
    does not match does. Its trees are

    - :math:`v < -1` adds 1, else 2, and a missing value goes to the first;
    - :math:`v < 1` adds 10, else 20, and a missing value goes to the second.

    Parameters
    ----------
    feature : str
        A feature of the set, one that some document does not have.
    name : str
        What the model is called.

    Examples
    --------
    >>> missing_probe("price").means
    {21.0: 'by-node', 12.0: 'zero', 22.0: 'right'}
    """
    trees = [_stump(feature, -1.0, (1.0, 2.0), 1), _stump(feature, 1.0, (10.0, 20.0), 2)]
    model = {"type": "model/xgboost+json", "definition": json.dumps(trees)}
    body = json.dumps({"model": {"name": name, "model": model}})
    return MissingProbe(body, {21.0: "by-node", 12.0: "zero", 22.0: "right"})


def _stump(feature: str, t: float, leaves: tuple[float, float], missing: int) -> dict[str, object]:
    return {
        "nodeid": 0,
        "depth": 0,
        "split": feature,
        "split_condition": t,
        "yes": 1,
        "no": 2,
        "missing": missing,
        "children": [{"nodeid": i, "leaf": leaf} for i, leaf in enumerate(leaves, start=1)],
    }
