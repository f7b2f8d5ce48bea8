"""Parts of the data as shares of an objective: rows, scale and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups, Ints
from rankwright.data.kept import take_rows
from rankwright.data.parts import Parts
from rankwright.data.validation import Floats
from rankwright.inputs import WeightColumn, part_data
from rankwright.losses import Loss
from rankwright.penalties import ElasticNet
from rankwright.scaling import FeatureScale, Moments, deviations_of, measured
from rankwright.solvers import Objective, Share

RowsOf = Callable[[Floats, Groups, Loss], Ints | None]


@dataclass(frozen=True)
class ReadyParts:
    """Rows to train on, on the scale that they are trained on.

    Attributes
    ----------
    parts : Parts
        The rows.
    scale : ndarray of shape (n_features,)
        What the features were divided by.
    loss : Loss
        What is minimised.
    n_jobs : int or None
        Threads.
    """

    parts: Parts
    scale: Floats
    loss: Loss
    n_jobs: int | None

    def objective(
        self,
        penalty: ElasticNet,
        sample_weight: WeightColumn | None = None,
        query_weight: WeightColumn | None = None,
    ) -> Objective:
        """Return what to minimise."""
        shares = self.parts.each(share_of_part, sample_weight, query_weight, self.n_jobs)
        return Objective(shares, self.loss, penalty)


def with_rows(parts: Parts, rows_of: RowsOf, loss: Loss) -> Parts:
    """Return parts with some of their rows."""
    return parts.transformed(_rows_to_train_on, rows_of, loss)


def on_one_scale(parts: Parts) -> tuple[Parts, Floats]:
    """Return parts with features divided by their standard deviations over all, and these."""
    # Joined in the order of the parts: the same bits wherever each was measured.
    scale = deviations_of(reduce(Moments.joined, parts.map(_moments)))
    return parts.transformed(_scaled_part, scale), scale.scale


def share_of_part(
    part: Dataset,
    sample_weight: WeightColumn | None,
    query_weight: WeightColumn | None,
    n_jobs: int | None,
) -> Share:
    """Return a part as a share; its features stay where they are."""
    data = part_data(part, sample_weight, query_weight)
    return Share(data.X, data.y, data.groups, n_jobs, data.weights)


def _rows_to_train_on(part: Dataset, rows_of: RowsOf, loss: Loss) -> Dataset:
    rows = rows_of(part.y, part.groups, loss)
    if rows is None:
        return part
    kept = take_rows(part.kept, rows)
    # Rows keep their order, so that what is left of a query is still one range.
    return Dataset.from_checked(
        part.X[rows], part.y[rows], part.qid[rows], part.features, kept=kept
    )


def _moments(part: Dataset) -> Moments:
    return measured(part.X)


def _scaled_part(part: Dataset, scale: FeatureScale) -> Dataset:
    return part.with_features(scale.apply(part.X))
