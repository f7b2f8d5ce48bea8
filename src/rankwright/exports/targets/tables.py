"""Models as tables of numbers, which a few lines of any language walk: trees of any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from rankwright.exceptions import DataError
from rankwright.exports.rules import Linear, Rules, Trees

Tables: TypeAlias = dict[str, list[int] | list[float]]
"""Columns by name."""

FoundTable: TypeAlias = tuple[str, str, str]
"""Of a table in a text: ``"double"`` or ``"int"``, its name, and its numbers between spaces."""


def tables_of(rules: Rules) -> Tables:
    """Return what a model's code needs.

    Of trees: of each split the ``feature``, the largest number that goes left (``cut``), whether
    missing values do (``missing_left``), and its children ``left`` and ``right``, a split or
    ``~leaf``; the ``root`` of each tree, and the ``leaf`` values. Of weighted sums: ``weight``, a
    row of them for each score, ``bias``, and what stands for missing values (``fill``). And the
    ``threshold`` of each label but the first. A sum of a linear part and trees has the tables of
    both.
    """
    found: Tables = {} if rules.trees is None else _of_trees(rules.trees)
    if rules.linear is not None:
        found |= _of_weights(rules.linear)
    if rules.labels is not None and rules.labels.thresholds is not None:
        found["threshold"] = rules.labels.thresholds.tolist()
    return found


def _of_trees(trees: Trees) -> Tables:
    forest = trees.forest
    n_nodes, n_leaves = np.diff(forest.node_begin), np.diff(forest.leaf_begin)
    first_node = np.repeat(forest.node_begin[:-1], n_nodes)
    first_leaf = np.repeat(forest.leaf_begin[:-1], n_nodes)

    def through(child: Any) -> list[int]:
        """Count nodes and leaves through all trees."""
        found: list[int] = np.where(child >= 0, first_node + child, child - first_leaf).tolist()
        return found

    root = np.where(n_leaves > 1, forest.node_begin[:-1], ~forest.leaf_begin[:-1])
    found: Tables = {
        "feature": forest.feature.tolist(),
        "cut": trees.cuts["float64"].tolist(),
        "missing_left": trees.nan_left.astype(int).tolist(),
        "left": through(forest.left.astype(np.int64)),
        "right": through(forest.right.astype(np.int64)),
        "root": root.tolist(),
        "leaf": trees.leaf.tolist(),
    }
    # Trees may be leaves alone, and a language may have no empty tables.
    return {name: values or [0] for name, values in found.items()}


def is_double(values: list[int] | list[float]) -> bool:
    """Tell whether a table is of doubles."""
    return isinstance(values[0], float)


def read_tables(found: Iterable[FoundTable], text: str, written: Callable[[Tables], str]) -> Tables:
    """Return tables that were found in a text.

    A DataError unless the whole text is what is written of these tables: then the code around them
    is our own, and may be run.
    """
    try:
        tables: Tables = {
            name: [(float if kind == "double" else int)(number) for number in numbers.split()]
            for kind, name, numbers in found
        }
        if all(tables.values()) and written(tables) == text:
            return tables
    except (ValueError, IndexError):
        pass
    raise DataError("the code is not the code that was exported.")


def _of_weights(linear: Linear) -> Tables:
    found = {"weight": linear.weights.ravel().tolist(), "bias": linear.bias.tolist()}
    if linear.fill is not None:
        found["fill"] = linear.fill.tolist()
    return found
