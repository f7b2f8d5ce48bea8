r"""Trees as arrays: the one form in which they are scored, explained and handed on.

What a model is, to the last bit, is LightGBM's rule. With :math:`K = 10^{-35}` (as a float32), a
value of at most :math:`K` in size is 0, and a split of feature :math:`x` at the threshold :math:`t`
sends a document

.. math:: \text{left} \iff x \le t,

a missing value the way that the split has for it: as 0 where training met none (``None``), else to
the default side, on which zeros too are where ``zero_as_missing`` was asked for. The score is the
sum of one leaf of each tree, in doubles, in the order of the trees.

This module needs numpy and the kernels alone, so that a process that only scores loads no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwright import _kernels
from rankwright.data.products import native_rows
from rankwright.data.validation import Floats, Matrix
from rankwright.trees import model_text

ZERO = float(np.float32(1e-35))
"""LightGBM takes values of at most this size for 0."""

# What a split does with a missing value; the kernel has the same numbers.
NAN_IS_ZERO, NAN_LEFT, NAN_RIGHT, ZERO_LEFT, ZERO_RIGHT, IN_SET = range(6)


def cut(threshold: Any, dtype: Any) -> NDArray[Any]:
    r"""Return the largest number of a type that goes left at a threshold.

    :math:`x` of that type is compared as it is, though LightGBM compares doubles, and takes values
    up to :math:`K` in size for 0:

    .. math::
        \mathrm{cut}(t) = \begin{cases}
        K & 0 \le t \le K \\
        \text{the number below } {-K} & -K \le t < 0 \\
        \text{the largest number that is at most } t & \text{else}
        \end{cases}

    Examples
    --------
    >>> import numpy as np
    >>> found = cut([0.1, 0.0, np.inf], np.float32)
    >>> bool(found[0] < 0.1), found[1:].tolist()
    (True, [1.0000000180025095e-35, inf])
    """
    t = np.asarray(threshold, dtype=np.float64)
    zero = np.dtype(dtype).type(ZERO)
    with np.errstate(over="ignore"):
        found = t.astype(dtype)
        found = np.where(found > t, np.nextafter(found, -np.inf, dtype=dtype), found)
    found = np.where((t >= -ZERO) & (t < 0), np.nextafter(-zero, -np.inf, dtype=dtype), found)
    return np.where((t >= 0) & (t <= ZERO), zero, found).astype(dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """A sum of regression trees.

    The nodes of all trees stand behind each other, and so do the leaves.

    Attributes
    ----------
    n_features : int
        Features of a document.
    node_begin, leaf_begin : ndarray of shape (n_trees + 1,)
        Where the nodes and the leaves of each tree begin; a tree begins with its root.
    feature : ndarray of shape (n_nodes,)
        Feature of each split.
    threshold : ndarray of shape (n_nodes,)
        Its threshold; of a split by categories, the number of the set that goes left.
    missing : ndarray of shape (n_nodes,)
        ``NAN_IS_ZERO``, ``NAN_LEFT``, ``NAN_RIGHT``, ``ZERO_LEFT`` or ``ZERO_RIGHT``, where zeros
        are missing too, or ``IN_SET``: a split by categories, to the right of which NaN is.
    left, right : ndarray of shape (n_nodes,)
        Children: a node, counted from the root of the tree, or ``~leaf``.
    gain, node_count : ndarray of shape (n_nodes,)
        By how much each split lowered the loss, and over how many training documents.
    leaf_value, leaf_count : ndarray of shape (n_leaves,)
        What a leaf adds to the score, and how many training documents it had.
    set_begin, set_words : ndarray
        The sets of categories, as bits of 32-bit words.
    """

    n_features: int
    node_begin: NDArray[np.int64]
    leaf_begin: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: Floats
    missing: NDArray[np.uint8]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    gain: NDArray[np.float32]
    node_count: NDArray[np.int64]
    leaf_value: Floats
    leaf_count: NDArray[np.int64]
    set_begin: NDArray[np.int64]
    set_words: NDArray[np.uint32]

    @classmethod
    def from_text(cls, text: Any, n_features: int) -> Self:
        """Read LightGBM's text; a DataError unless every number of it is that of a forest."""
        trees = model_text.read_trees(text, n_features)

        def joined(name: str, dtype: Any) -> NDArray[Any]:
            parts = [tree[name].astype(dtype) for tree in trees if name in tree]
            return np.concatenate(parts) if parts else np.zeros(0, dtype)

        kind = joined("decision_type", np.uint8)
        lasts = [tree["cat_boundaries"][1:] for tree in trees if "cat_boundaries" in tree]
        sizes = [np.diff(last, prepend=0) for last in lasts]
        leaf_count = [tree.get("leaf_count", np.zeros(1)) for tree in trees]
        return cls(
            n_features=n_features,
            node_begin=_begins([len(tree["leaf_value"]) - 1 for tree in trees]),
            leaf_begin=_begins([len(tree["leaf_value"]) for tree in trees]),
            feature=joined("split_feature", np.int32),
            threshold=_numbered_sets(trees),
            missing=_of_missing(kind),
            left=joined("left_child", np.int32),
            right=joined("right_child", np.int32),
            gain=joined("split_gain", np.float32),
            node_count=joined("internal_count", np.int64),
            leaf_value=joined("leaf_value", np.float64),
            leaf_count=np.concatenate(leaf_count).astype(np.int64),
            set_begin=_begins(np.concatenate(sizes) if sizes else []),
            set_words=joined("cat_threshold", np.uint32),
        )

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.node_begin) - 1

    def mean(self) -> float:
        """Return the mean score of the training documents, by the counts of the leaves."""
        n_leaves = np.diff(self.leaf_begin)
        split = n_leaves > 1  # other trees have one leaf, for all documents
        of_tree = np.ones(self.n_trees)
        of_tree[split] = self.node_count[self.node_begin[:-1][split]]
        of_leaf = np.where(np.repeat(split, n_leaves), self.leaf_count, 1)
        return float(np.sum(of_leaf / np.repeat(of_tree, n_leaves) * self.leaf_value))

    def importance(self, kind: str) -> Floats:
        """Return the gains of each feature's splits, or their number (``"split"``)."""
        useful = self.gain > 0
        weights = self.gain[useful].astype(np.float64) if kind == "gain" else None
        found = np.bincount(self.feature[useful], weights, minlength=self.n_features)
        return found.astype(np.float64)

    def deviations(self) -> Floats:
        r"""Return by how much each feature's splits move scores, in units of the score.

        A node with :math:`n` of a tree's :math:`N` training documents, whose children have
        :math:`n_l` and :math:`n_r` with mean values :math:`v_l` and :math:`v_r`, explains the part
        :math:`n_l n_r (v_l - v_r)^2 / (n N)` of the tree's variance. The root of these parts,
        summed over a feature's nodes in a tree, is summed over the trees, which agree for the most.
        """
        found = np.zeros(self.n_features)
        for k in range(self.n_trees):
            nodes = slice(*self.node_begin[k : k + 2])
            n_nodes, first = nodes.stop - nodes.start, self.leaf_begin[k]
            n, v = np.zeros((2, 2, n_nodes))
            means = np.zeros(n_nodes)
            for i in reversed(range(n_nodes)):  # children are later than their parents
                for side, children in enumerate((self.left, self.right)):
                    child = int(children[nodes.start + i])
                    leaf = first + ~child
                    n[side, i] = n[:, child].sum() if child >= 0 else self.leaf_count[leaf]
                    v[side, i] = means[child] if child >= 0 else self.leaf_value[leaf]
                means[i] = (n[:, i] * v[:, i]).sum() / max(n[:, i].sum(), 1.0)
            if n_nodes > 0:
                size = np.maximum(n.sum(axis=0), 1.0)
                part = n[0] * n[1] * (v[0] - v[1]) ** 2 / (size * size[0])
                found += np.sqrt(np.bincount(self.feature[nodes], part, self.n_features))
        return found

    def count_leaves(self, X: Matrix) -> NDArray[np.int64]:
        """Return how many rows come to each leaf."""
        n_leaves = np.diff(self.leaf_begin)
        own = np.arange(len(self.leaf_value)) - np.repeat(self.leaf_begin[:-1], n_leaves)
        # With their numbers for values, sums of whole numbers tell the leaves.
        numbered = ForestScorer(replace(self, leaf_value=own.astype(np.float64)))
        counts, before = [np.zeros(0, np.int64)], np.zeros(X.shape[0])
        for n, sums in zip(n_leaves.tolist(), numbered.staged(X), strict=True):
            counts.append(np.bincount((sums - before).astype(np.int64), minlength=n))
            before = sums
        return np.concatenate(counts)

    def __repr__(self) -> str:
        leaves = f"{len(self.leaf_value)} leaves"
        return f"Forest({self.n_trees} trees, {leaves}, {self.n_features} features)"


class ForestScorer:
    """A forest, compiled for scoring.

    It never changes, so that threads may share it, and it holds no threads of its own, so that it
    survives a fork. What it gives for a document does not depend on the other documents, on the
    number of threads, or on the instructions of the processor.

    Parameters
    ----------
    forest : Forest
        The trees.
    instructions : {"", "portable", "avx2", "avx512"}, default ""
        What to use of the processor; by default the best it has.
    """

    def __init__(self, forest: Forest, instructions: str = "") -> None:
        self.forest = forest
        self.n_trees = forest.n_trees
        self.n_features = forest.n_features
        in_set = forest.missing == IN_SET  # there, the threshold is the number of a set

        def cuts(dtype: Any) -> NDArray[Any]:
            return np.where(in_set, forest.threshold, cut(forest.threshold, dtype)).astype(dtype)

        self._native = _kernels.ForestScorer(
            forest.n_features,
            forest.node_begin,
            forest.leaf_begin,
            forest.feature,
            forest.missing,
            cuts(np.float64),
            cuts(np.float32),
            forest.left,
            forest.right,
            forest.leaf_value,
            forest.set_begin,
            forest.set_words,
            instructions,
        )

    def __reduce__(self) -> Any:
        return type(self), (self.forest,)

    def scores(self, X: Matrix, n_trees: int | None = None, *, threads: int) -> Floats:
        """Return the sums over the first ``n_trees`` trees, or over all."""
        return self._native.scores(native_rows(X), self._first(n_trees), threads)

    def staged(self, X: Matrix) -> Iterator[Floats]:
        """Yield the sums over the first tree, over the first two, and so on."""
        walkers = self._native.walkers(native_rows(X))
        for i in range(self.n_trees):
            walkers.add(i, i + 1)
            yield walkers.sums()

    def top(
        self,
        X: Matrix,
        k: int,
        indptr: NDArray[np.int64] | None = None,
        n_trees: int | None = None,
        added: Floats | None = None,
        *,
        threads: int,
    ) -> Floats:
        """Return the scores of the best ``k`` rows of each query, and -inf for the others.

        Query ``q`` has the rows ``indptr[q]`` to ``indptr[q + 1] - 1``; of equal scores the first
        rows are the best. ``added`` is what each row has beside the trees.
        """
        if indptr is None:
            indptr = np.array([0, X.shape[0]])
        more = np.empty(0) if added is None else added
        return self._native.top(native_rows(X), indptr, k, self._first(n_trees), more, threads)

    def contributions(self, X: Matrix, *, threads: int) -> tuple[Floats, float]:
        """Return what each feature adds to each score, and the mean that they start from."""
        forest = self.forest
        empty = np.flatnonzero(forest.node_count == 0)
        if len(empty) > 0:
            tree = int(np.searchsorted(forest.node_begin, empty[0], side="right")) - 1
            raise ValueError(
                "contributions need trees with training documents at every split, but node "
                f"{empty[0] - forest.node_begin[tree]} of tree {tree} has none."
            )
        values = self._native.contributions(
            native_rows(X),
            forest.node_begin,
            forest.leaf_begin,
            forest.left,
            forest.right,
            forest.node_count,
            forest.leaf_count,
            forest.leaf_value,
            threads,
        )
        return values.reshape(X.shape), forest.mean()

    def _first(self, n_trees: int | None) -> int:
        if n_trees is None:
            return self.n_trees
        if isinstance(n_trees, bool) or not isinstance(n_trees, int | np.integer):
            raise TypeError(f"n_trees must be an integer, but is a {type(n_trees).__name__}.")
        if not 0 <= n_trees <= self.n_trees:
            raise ValueError(
                f"n_trees must be from 0 to {self.n_trees}, the trees there are, but is {n_trees}."
            )
        return int(n_trees)


def _begins(sizes: Any) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _of_missing(kind: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return what splits do with missing values, by LightGBM's bits.

    Bit 0 is a split by categories, bit 1 the default side, bits 2 and 3 the kind of missing values.
    Where training met none, the default side means nothing.
    """
    default_left = kind >> 1 & 1
    of_kind = np.array([NAN_IS_ZERO, ZERO_RIGHT, NAN_RIGHT], dtype=np.uint8)[kind >> 2 & 3]
    found = np.where(of_kind == NAN_IS_ZERO, of_kind, of_kind - default_left)
    return np.where(kind & 1, IN_SET, found).astype(np.uint8)


def _numbered_sets(trees: list[model_text.Fields]) -> Floats:
    """Return the thresholds; sets of categories are numbered through all trees."""
    found, n_sets = [np.zeros(0)], 0
    for tree in trees:
        if "threshold" in tree:
            by_category = tree["decision_type"] & 1
            found.append(np.where(by_category, tree["threshold"] + n_sets, tree["threshold"]))
        n_sets += len(tree.get("cat_boundaries", [0])) - 1
    return np.concatenate(found)
