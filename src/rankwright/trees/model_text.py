"""LightGBM's text form of a model: what is kept of it, and how it is read.

LightGBM trusts its files: an index out of range in one is an access out of range. So nothing is
taken that is not, number by number, a set of binary trees over the features at hand.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright import _kernels
from rankwright.data.alignment import Features
from rankwright.exceptions import DataError, DataWarning

_END = "end of trees\n"
_FORBIDDEN = re.compile(r'[\s"\[\]{},:]')
_HEAD = (
    "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\n"
)
_HEAD_KEYS = {line.partition("=")[0] for line in _HEAD.splitlines()}
_HEAD_KEYS |= {"feature_names", "feature_infos", "tree_sizes"}
# LightGBM reads whole numbers digit by digit: to it 20e-1 is 20, and 1e-400 is 1.
_INTEGER = re.compile(r"(?:-?[0-9]{1,10}+(?: -?[0-9]{1,10}+)*+)?")
_NUMBER = re.compile(r"[-+0-9.e ]*")
# Where a missing value itself tells, all others go left: the threshold is infinite.
_THRESHOLD = re.compile(r"(?:(?:inf|[-+0-9.e]++)(?: (?:inf|[-+0-9.e]++))*+)?")
_INFO = r"(none|\[[-+0-9.e]+:[-+0-9.e]+\]|-?[0-9]+(:-?[0-9]+)*)"  # the last: categories
_INFOS = re.compile(f"{_INFO}( {_INFO})*")
_NOTHING = re.compile(r"^leaf_value=-?0(\.0)?$", re.MULTILINE)  # a tree that adds 0 to all
_INDICES = {"split_feature", "decision_type", "left_child", "right_child"}
_COUNTS = {"internal_count", "leaf_count"}
_BY_LEAF = {"leaf_value", "leaf_weight", "leaf_count"}
_BY_NODE = {"split_gain", "threshold", "internal_value", "internal_weight", "internal_count"}
_BY_NODE |= _INDICES
_SCALARS = {"num_leaves", "num_cat", "is_linear", "shrinkage"}
_OF_CATEGORIES = {"cat_boundaries", "cat_threshold"}
_MAX_LEAVES = 131072  # LightGBM's own limit
_MAX_SCORE = 1e300  # so that sums, and what bounds them, are numbers

Fields: TypeAlias = dict[str, NDArray[Any]]


def trim(text: str) -> str:
    """Return the trees without what tells of the machine: parameters, threads, objective."""
    begin, end = text.index("\nTree=0\n"), text.index(_END) + len(_END)
    kept = [line for line in text[:begin].splitlines() if line.partition("=")[0] in _HEAD_KEYS]
    return "\n".join(kept) + "\n" + text[begin:end]


def one_leaf(n_features: int) -> str:
    """Return the model that scores everything 0, for features that never differ."""
    return written(n_features, [{"leaf_value": "0"}])


def written(n_features: int, trees: Sequence[Mapping[str, str]]) -> str:
    """Return the text of trees by their fields, each a line of numbers; it tells no ranges."""
    texts = []
    for i, fields in enumerate(trees):
        n_leaves = len(fields["leaf_value"].split(" "))
        lines = [f"Tree={i}", f"num_leaves={n_leaves}", "num_cat=0"]
        lines += [f"{name}={numbers}" for name, numbers in fields.items()]
        texts.append("\n".join([*lines, "is_linear=0", "shrinkage=1"]) + "\n\n\n")
    infos, sizes = " ".join(["none"] * n_features), " ".join(str(len(text)) for text in texts)
    return f"{_head(n_features, infos, sizes)}\n\n{''.join(texts)}{_END}"


def joined_texts(parts: Sequence[tuple[str, float]]) -> str:
    """Return one model of several with the same features, each with a factor for its leaves.

    Trees stand in the order of the parts; one that is a single leaf of 0 is left out unless there
    is no other. What :func:`trim` returned is taken, and trusted.
    """
    n_features, empty, trees = 0, "", []
    infos: list[list[str]] = []
    for text, factor in parts:
        head, _, rest = text.partition("\n\n")
        lines = dict(line.partition("=")[::2] for line in head.splitlines())
        n_features = int(lines["max_feature_idx"]) + 1
        blocks = rest[: -len(_END)].split("Tree=")[1:]
        own = [_with_factor(block.partition("\n")[2], factor) for block in blocks]
        empty = empty or own[0]
        kept = [tree for tree in own if not _NOTHING.search(tree)]
        if kept:  # who has no trees knows no ranges
            infos.append(lines["feature_infos"].split(" "))
        trees += kept
    numbered = [f"Tree={i}\n{tree}" for i, tree in enumerate(trees or [empty])]
    # Of a feature whose ranges differ nothing is told: nobody needs it for scores.
    told = [*zip(*(infos or [["none"] * n_features]), strict=True)]
    ranges = [known[0] if len(set(known)) == 1 else "none" for known in told]
    sizes = " ".join(str(len(tree)) for tree in numbered)
    return f"{_head(n_features, ' '.join(ranges), sizes)}\n\n{''.join(numbered)}{_END}"


def _with_factor(tree: str, factor: float) -> str:
    """Return a tree without its number, its values multiplied; gains stay what they were."""
    lines = tree.split("\n")
    for i, line in enumerate(lines):
        name, _, numbers = line.partition("=")
        if name in ("leaf_value", "internal_value") and numbers and factor != 1:
            values = _kernels.read_numbers(numbers) * factor
            lines[i] = f"{name}={' '.join(map(repr, values.tolist()))}"
    return "\n".join(lines)


def with_counts(text: str, leaf_counts: NDArray[np.int64]) -> str:
    """Return a model with other numbers of documents in its leaves, those of all trees in a row.

    What :func:`trim` returned is taken, and trusted. Those of the nodes are sums.
    """
    head, _, rest = text.partition("\n\n")
    trees, first = [], 0
    for block in rest[: -len(_END)].split("Tree=")[1:]:
        lines = [line.partition("=") for line in f"Tree={block}".split("\n")]
        fields = {name: numbers for name, _, numbers in lines}
        n_leaves = int(fields["num_leaves"])
        own = leaf_counts[first : first + n_leaves]
        first += n_leaves
        if n_leaves > 1:
            fields["leaf_count"] = " ".join(map(str, own.tolist()))
            fields["internal_count"] = " ".join(map(str, _node_counts(fields, own)))
        trees.append("\n".join(f"{name}{sep}{fields[name]}" for name, sep, _ in lines))
    sizes = " ".join(str(len(tree)) for tree in trees)
    kept = [line for line in head.split("\n") if not line.startswith("tree_sizes=")]
    return "\n".join([*kept, f"tree_sizes={sizes}"]) + f"\n\n{''.join(trees)}{_END}"


def _node_counts(fields: Mapping[str, str], leaf_counts: NDArray[np.int64]) -> list[int]:
    sides = [fields[name].split(" ") for name in ("left_child", "right_child")]
    counts = [0] * len(sides[0])
    for i in reversed(range(len(counts))):  # children are later than their parents
        for side in sides:
            child = int(side[i])
            counts[i] += counts[child] if child >= 0 else int(leaf_counts[~child])
    return counts


def _head(n_features: int, infos: str, sizes: str) -> str:
    names = " ".join(f"Column_{j}" for j in range(n_features))
    rest = f"feature_names={names}\nfeature_infos={infos}\ntree_sizes={sizes}"
    return _HEAD.format(n_features - 1) + rest


def named(text: str, known: Features) -> str:
    """Return the text of a model with names of features, and levels of those that are categories.

    What LightGBM allows in no name is ``_``; names that would then be equal are numbered.
    """
    if known.names is None:
        return text
    names: list[str] = []
    for name in known.names:
        allowed = found = _FORBIDDEN.sub("_", name) or "_"
        number = 1
        while found in names:
            number += 1
            found = f"{allowed}_{number}"
        names.append(found)
    changed = {old: new for old, new in zip(known.names, names, strict=True) if old != new}
    if changed:
        shown = ", ".join(f"{old!r} is {new!r}" for old, new in [*changed.items()][:3])
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        warnings.warn(
            f'LightGBM has no spaces and no "[]{{}},: in names of features: {shown}{more}.',
            DataWarning,
            stacklevel=4,
        )
    head, separator, trees = text.partition("\ntree_sizes=")
    lines = [
        f"feature_names={' '.join(names)}" if line.startswith("feature_names=") else line
        for line in head.splitlines()
    ]
    levels = [list(known.categories[name]) for name in known.names if name in known.categories]
    end = f"\npandas_categorical:{json.dumps(levels)}\n" if levels else ""
    return "\n".join(lines) + separator + trees + end


def read_trees(text: Any, n_features: int) -> list[Fields]:
    """Return the fields of each tree; raise DataError unless the text is what :func:`trim` returns.

    The first node is the root. A child is a later node of the same tree, or ``~leaf``.
    """
    if type(text) is not str or not text.isascii():
        _fail("it must be ASCII text")
    if not 1 <= n_features <= len(text):  # before anything of that size is made
        _fail(f"it cannot have {n_features} features")
    head, separator, rest = text.partition("\n\n")
    lines = dict(line.partition("=")[::2] for line in head.splitlines())
    infos, stated = lines.get("feature_infos", ""), lines.get("tree_sizes", "")
    if not separator or head != _head(n_features, infos, stated):
        _fail(f"its head is not that of one score from {n_features} features")
    if len(infos.split(" ")) != n_features or not _INFOS.fullmatch(infos):
        _fail(f"it must tell the range of {n_features} features")
    sizes = _parse_numbers(stated, np.int64, "tree_sizes")
    if len(sizes) == 0 or sizes.min() <= 0 or sizes.sum() + len(_END) != len(rest):
        _fail("its trees do not have the sizes that it states")
    ends = np.cumsum(sizes)
    if rest[int(ends[-1]) :] != _END:
        _fail("it does not end where its trees do")
    trees = [
        _parse_tree(rest[begin:end], i, n_features)
        for i, (begin, end) in enumerate(zip(ends - sizes, ends, strict=True))
    ]
    if sum(float(np.abs(tree["leaf_value"]).max()) for tree in trees) > _MAX_SCORE:
        _fail(f"its scores must be at most {_MAX_SCORE:g} in size")
    return trees


def _parse_tree(text: str, index: int, n_features: int) -> Fields:
    if not text.startswith(f"Tree={index}\n") or not text.endswith("\n\n\n"):
        _fail(f"tree {index} does not begin or end as it must")
    pairs = [line.partition("=")[::2] for line in text.split("\n")[1:-3]]
    fields = dict(pairs)
    n = int(_scalar(fields, "num_leaves", np.int64, index))
    n_sets = int(_scalar(fields, "num_cat", np.int64, index))
    if not 1 <= n <= _MAX_LEAVES or not 0 <= n_sets < n:
        _fail(f"tree {index} must have 1 to {_MAX_LEAVES} leaves, and fewer sets of categories")
    if _scalar(fields, "is_linear", np.int64, index) != 0:
        _fail(f"tree {index} must have constant leaves")
    sets = _OF_CATEGORIES if n_sets else set()
    if len(fields) != len(pairs) or not fields.keys() <= _SCALARS | _BY_NODE | _BY_LEAF | sets:
        _fail(f"tree {index} has fields that it must not have")
    wanted = _BY_NODE | _BY_LEAF | sets if n > 1 else {"leaf_value"}
    if not wanted <= fields.keys():
        _fail(f"tree {index} lacks fields")
    _scalar(fields, "shrinkage", np.float64, index)
    arrays: Fields = {}
    for name in fields.keys() - _SCALARS - sets:
        dtype = np.int64 if name in _INDICES | _COUNTS else np.float64
        values = _parse_numbers(fields[name], dtype, name)
        size = n if name in _BY_LEAF else n - 1
        # A tree without a split may leave its other fields empty.
        if len(values) != size and not (n == 1 and name not in wanted and len(values) <= 1):
            _fail(f"tree {index} must have {size} numbers in {name}")
        if name in _COUNTS and not ((values >= 0) & (values < 1 << 31)).all():
            _fail(f"tree {index} must have counts below 2^31 in {name}")
        arrays[name] = values
    if n == 1:
        return {"leaf_value": arrays["leaf_value"]}
    for name in sets:
        arrays[name] = _parse_numbers(fields[name], np.int64, name)
    _check_shape(arrays, index, n, n_features)
    _check_sets(arrays, index, n_sets)
    return arrays


def _check_sets(arrays: Fields, index: int, n_sets: int) -> None:
    """Raise unless every split by categories has a set of them: bits of 32-bit words."""
    by_category = (arrays["decision_type"] & 1).astype(bool)
    if n_sets == 0:
        if by_category.any():
            _fail(f"tree {index} has a decision of unknown kind")
        return
    ends, words = arrays["cat_boundaries"], arrays["cat_threshold"]
    if len(ends) != n_sets + 1 or ends[0] != 0 or (np.diff(ends) <= 0).any():
        _fail(f"tree {index} must have {n_sets} sets of categories, one behind the other")
    if len(words) != ends[-1] or ((words < 0) | (words >= 1 << 32)).any():
        _fail(f"tree {index} must have {ends[-1]} words of 32 bits in cat_threshold")
    chosen = arrays["threshold"][by_category]
    if not np.isin(chosen, np.arange(n_sets)).all():
        _fail(f"tree {index} splits by a set of categories that does not exist")


def _check_shape(arrays: Fields, index: int, leaves: int, n_features: int) -> None:
    """Raise unless features exist and the nodes form one tree."""
    feature, kind = arrays["split_feature"], arrays["decision_type"]
    if feature.min() < 0 or feature.max() >= n_features:
        _fail(f"tree {index} splits on a feature that does not exist")
    # Bit 0 is a categorical split; bit 1 the default direction; bits 2 and 3 the missing value.
    if (kind & ~0b1111).any() or (kind >> 2 == 3).any():
        _fail(f"tree {index} has a decision of unknown kind")
    left, right = arrays["left_child"], arrays["right_child"]
    children = np.concatenate([left, right])
    # Nodes 1, 2, ... and leaves ~0, ~1, ... are each the child of one node ...
    everything = np.concatenate([np.arange(-leaves, 0), np.arange(1, leaves - 1)])
    # ... and of an earlier one, so that no path goes round in a circle.
    parents = np.tile(np.arange(leaves - 1), 2)
    if (
        not np.array_equal(np.sort(children), everything)
        or ((children >= 0) & (children <= parents)).any()
    ):
        _fail(f"tree {index} is not a tree")


def _parse_numbers(text: str, dtype: Any, name: str) -> NDArray[Any]:
    whole = dtype is np.int64
    pattern = _THRESHOLD if name == "threshold" else _NUMBER
    if not (_INTEGER if whole else pattern).fullmatch(text):
        _fail(f"{name} must be numbers")
    try:
        values = _kernels.read_numbers(text)
    except ValueError:
        _fail(f"{name} must be numbers")
    if np.count_nonzero(np.isfinite(values)) != len(values) - text.count("inf"):
        _fail(f"{name} must be finite")
    return values.astype(dtype, copy=False)


def _scalar(fields: dict[str, str], name: str, dtype: Any, index: int) -> float:
    values = _parse_numbers(fields.get(name, ""), dtype, name)
    if len(values) != 1:
        _fail(f"tree {index} must have one {name}")
    return float(values[0])


def _fail(why: str) -> NoReturn:
    raise DataError(f"model_text_ is not a model of LightGBM: {why}.")
