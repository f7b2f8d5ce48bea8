"""What an export means for the user's own rows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups
from rankwright.data.sparse import is_sparse
from rankwright.data.validation import Floats
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import NUMBERS, Rules
from rankwright.exports.targets.target import Gap, Rows, Verdicts

_COARSE = 1e-3  # of the median gap between neighbouring scores: the grid's step should be below


@dataclass(frozen=True)
class SampleRows:
    """Rows of the user, as the engine reads them.

    Attributes
    ----------
    X : ndarray
        The rows, in the engine's type.
    given : ndarray
        The rows as they came.
    groups : Groups
        Their queries.
    """

    X: Rows
    given: NDArray[Any]
    groups: Groups

    @classmethod
    def of(cls, data: Any, model: Any, number: str) -> SampleRows:
        """Return the rows of a data set whose features are the model's."""
        if not isinstance(data, Dataset):
            n_rows = data.shape[0] if is_sparse(data) else len(data)
            data = Dataset(data, np.zeros(n_rows), allow_nan=True)
        given = data.aligned(model.features()).X  # what is missing stays missing
        given = given.toarray() if is_sparse(given) else np.asarray(given)
        with np.errstate(over="ignore"):
            return cls(given.astype(NUMBERS[number]), given, data.groups)

    def digest(self) -> str:
        """Return the hash of the rows."""
        return hashlib.sha256(np.ascontiguousarray(self.given).tobytes()).hexdigest()

    def rounded_elsewhere(self, rules: Rules, number: str) -> int:
        """Return how many values lie between a threshold and where the engine's type rounds."""
        if rules.trees is None or self.given.dtype == self.X.dtype:
            return 0
        n = 0
        feature = rules.trees.forest.feature
        for j in np.unique(feature):
            at = feature == j
            ours = np.sort(rules.trees.cuts["float64"][at])
            theirs = np.sort(rules.trees.cuts[number][at])
            below = np.searchsorted(ours, self.given[:, j], "left")
            n += int(np.count_nonzero(below != np.searchsorted(theirs, self.X[:, j], "left")))
        return n

    def in_gaps(self, gaps: list[Gap], names: tuple[str, ...]) -> dict[str, int]:
        """Return how many values of each feature lie in gaps."""
        found: dict[str, int] = {}
        for gap in gaps:
            x = self.X[:, names.index(gap.feature)]
            n = int(np.count_nonzero((x > gap.above) & (x <= gap.up_to)))
            if n:
                found[gap.feature] = found.get(gap.feature, 0) + n
        return found

    def facts(
        self, ours: Verdicts, theirs: Verdicts, shift: float, classes: Sequence[Any] = ()
    ) -> dict[str, Any]:
        """Return what changes between the model and the engine."""
        facts: dict[str, Any] = {"rows": len(self.X), "queries": len(self.groups)}
        if ours.scores is not None and theirs.scores is not None and ours.scores.ndim == 1:
            moved = np.abs(theirs.scores - shift - ours.scores)
            facts["largest_change"] = float(moved.max(initial=0.0))
            facts |= _changed(ours.scores, theirs.scores, self.groups)
        if ours.labels is not None and theirs.labels is not None:
            changed = ours.labels != theirs.labels
            facts["changed_labels"] = int(np.count_nonzero(changed))
            both = np.stack([ours.labels, theirs.labels], axis=1)[changed]
            pairs = Counter((a, b) for a, b in both.tolist())
            facts["label_changes"] = [
                [classes[a], classes[b], n] for (a, b), n in sorted(pairs.items())
            ]
        return facts

    def is_coarse(self, scores: Floats, g: float) -> bool:
        """Tell whether a grid is too coarse for the scores of these rows.

        What counts is how far apart the documents of a query are.
        """
        gaps = np.concatenate([np.diff(np.unique(scores[rows])) for rows in self.groups])
        return len(gaps) > 0 and g > _COARSE * float(np.median(gaps))


JUDGEMENTS = ("float64", "gaps")
"""What is refused, but may be allowed."""


def refuse_rounding(n: int) -> Refusal:
    """Return the refusal of doubles that an engine rounds to the other side."""
    return Refusal(
        "float64",
        f"{n} values of the data are doubles between a threshold and where float32 rounds, so that "
        "the engine takes them to the other side",
        "train on X.astype(numpy.float32), or export to sql, c, java or elastic",
        judgement=True,
    )


def refuse_gaps(found: dict[str, int]) -> Refusal:
    """Return the refusal of values in gaps."""
    where = ", ".join(f"{n} of {name}" for name, n in found.items())
    return Refusal(
        "gaps",
        f"values of the data lie where the engine goes the other way: {where}",
        "round or scale the feature, and train again",
        judgement=True,
    )


def _changed(ours: Floats, theirs: Floats, groups: Groups) -> dict[str, int]:
    """Return in how many queries the ranking changes, and how many pairs swap or become ties."""
    n_queries = n_pairs = 0
    for rows in groups:
        a, b = ours[rows], theirs[rows]
        order = np.argsort(-a, kind="stable")
        if np.array_equal(order, np.argsort(-b, kind="stable")):
            continue
        n_queries += 1
        n_pairs += _swapped(a[order], b[order])
    return {"changed_rankings": n_queries, "swapped_pairs": n_pairs}


def _swapped(a: Floats, b: Floats) -> int:
    """Return how many pairs with a_i > a_j, ``a`` descending, have b_i < b_j."""
    n = 0
    for i in range(len(a)):
        n += int(np.count_nonzero((b[i + 1 :] > b[i]) & (a[i + 1 :] < a[i])))
    return n
