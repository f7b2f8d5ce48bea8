r"""How a user clicks: cascade, position-based and user-browsing models.

In all three a document is clicked if it is examined and attracts the user, with a probability
:math:`a(y)` that depends on its label only. They differ in what is examined:

============== ===================================================================
Cascade        every document down to the first click, none behind it
PositionBased  rank r with probability :math:`\theta_r`, whatever was clicked
UserBrowsing   rank r with probability :math:`\gamma_{rd}`, d ranks below the last
               click (or below the top of the list, at d = r)
============== ===================================================================

The *propensity* of a shown document is its probability of being examined given the clicks above
it in the same list: 1, :math:`\theta_r` and :math:`\gamma_{rd}`. Given these clicks, a click over
its propensity has mean :math:`a(y)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.groups import Groups, Ints
from rankwright.data.validation import Floats, check_y

Bools = NDArray[np.bool_]

# Probabilities of a click on labels 0..4 in section 5.5 of the XE-NDCG paper.
CLICKS = (0.05, 0.3, 0.5, 0.7, 0.95)


@dataclass(frozen=True)
class ClickModel(ABC):
    """What the three models share: how attractive a label is.

    Parameters
    ----------
    clicks : sequence of float in [0, 1]
        Probability of a click on an examined document of label 0, 1, ...
    """

    clicks: tuple[float, ...] = CLICKS

    name: ClassVar[str]

    def __post_init__(self) -> None:
        given = np.asarray(self.clicks, dtype=np.float64)
        if given.ndim != 1 or len(given) == 0 or not ((given >= 0) & (given <= 1)).all():
            raise ValueError(
                "clicks must be probabilities, one for each label 0, 1, ..., but are "
                f"{self.clicks!r}."
            )
        object.__setattr__(self, "clicks", tuple(given.tolist()))

    def with_noise(self, level: float) -> Self:
        """Return the model in which a document of label 0 is clicked with this probability.

        >>> Cascade().with_noise(0.2).clicks
        (0.2, 0.3, 0.5, 0.7, 0.95)
        """
        return replace(self, clicks=(level, *self.clicks[1:]))

    def attraction(self, y: ArrayLike) -> Floats:
        """Return the probability of a click on each document, once it is examined."""
        labels = check_y(y)
        bad = (labels < 0) | (labels >= len(self.clicks)) | (labels != np.floor(labels))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"labels must be whole numbers from 0 to {len(self.clicks) - 1}, one for each "
                f"click probability, but row {row} has {labels[row]:g}. Pass a probability for "
                "each label."
            )
        return np.asarray(self.clicks)[labels.astype(np.int64)]

    @abstractmethod
    def probabilities(self, y: ArrayLike) -> Floats:
        """Return the probability of a click at each rank of one list.

        Parameters
        ----------
        y : array-like of shape (n_docs,)
            Labels of the list, best rank first.
        """

    @abstractmethod
    def draw(self, attraction: Floats, uniform: Floats, lists: Groups) -> tuple[Bools, Floats]:
        """Draw clicks on lists whose documents come in the order of their ranks.

        Parameters
        ----------
        attraction, uniform : ndarray of shape (n_docs,)
            Probability of a click once examined, and a uniform number, of each document.
        lists : Groups
            The lists.

        Returns
        -------
        clicked, propensity : ndarray of shape (n_docs,)
            Propensity 0: the model never looks there.
        """


@dataclass(frozen=True)
class Cascade(ClickModel):
    r"""The user reads from the top and stops at the first click.

    .. math::
        P(\text{click at } r) = a_r \prod_{s < r} (1 - a_s)

    References
    ----------
    .. [1] Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias
       models", WSDM 2008.

    Examples
    --------
    >>> Cascade().probabilities([4, 2, 0]).round(6)
    array([0.95   , 0.025  , 0.00125])
    """

    name: ClassVar[str] = "cascade"

    def probabilities(self, y: ArrayLike) -> Floats:
        """Return the probability of a click at each rank of one list."""
        attraction = self.attraction(y)
        reached: Floats = np.cumprod(np.append(1.0, 1 - attraction[:-1]))
        return attraction * reached

    def draw(self, attraction: Floats, uniform: Floats, lists: Groups) -> tuple[Bools, Floats]:
        """Draw at most one click a list; documents behind it have propensity 0."""
        would = uniform < attraction
        before: Ints = np.cumsum(would) - would
        reached: Bools = before == np.repeat(np.append(before, 0)[lists.indptr[:-1]], lists.sizes)
        return would & reached, reached.astype(np.float64)


@dataclass(frozen=True)
class _WithExamination(ClickModel):
    """A model whose examination falls with a power of the rank or distance, or is a table."""

    examination: Any = 1.0

    _n_dimensions: ClassVar[int]  # of the table

    def __post_init__(self) -> None:
        super().__post_init__()
        checked = _check_examination(self.examination, self._n_dimensions)
        object.__setattr__(self, "examination", checked)


@dataclass(frozen=True)
class PositionBased(_WithExamination):
    r"""The user examines rank r with a probability that depends on r only.

    .. math::
        P(\text{click at } r) = \theta_r a_r, \qquad \theta_r = r^{-\eta}

    Parameters
    ----------
    clicks : sequence of float in [0, 1]
        Probability of a click on an examined document of label 0, 1, ...
    examination : float >= 0 or sequence of float, default 1.0
        :math:`\eta`, or :math:`\theta_1, \theta_2, \ldots` themselves; ranks behind the last are
        never examined.

    References
    ----------
    .. [1] Joachims, Swaminathan & Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM
       2017.

    Examples
    --------
    >>> PositionBased().probabilities([4, 4, 0]).round(6)
    array([0.95    , 0.475   , 0.016667])
    """

    examination: float | tuple[float, ...] = 1.0

    _n_dimensions: ClassVar[int] = 1
    name: ClassVar[str] = "position"

    def theta(self, rank: Ints) -> Floats:
        """Return the probability that a rank, from 1, is examined."""
        if isinstance(self.examination, float):
            decay: Floats = rank.astype(np.float64) ** -self.examination
            return decay
        table = np.append(self.examination, 0.0)
        values: Floats = table[np.minimum(rank, len(table)) - 1]
        return values

    def probabilities(self, y: ArrayLike) -> Floats:
        """Return the probability of a click at each rank of one list."""
        attraction = self.attraction(y)
        return self.theta(np.arange(len(attraction)) + 1) * attraction

    def draw(self, attraction: Floats, uniform: Floats, lists: Groups) -> tuple[Bools, Floats]:
        """Draw each click by itself."""
        theta = self.theta(lists.positions() + 1)
        return uniform < theta * attraction, theta


@dataclass(frozen=True)
class UserBrowsing(_WithExamination):
    r"""The user examines a rank by its distance from the last click.

    With :math:`\lambda_r(s)` the probability that the last click above rank r is at rank s
    (:math:`s = 0`: there is none),

    .. math::
        P(\text{click at } r) = a_r \sum_{s < r} \lambda_r(s) \, \gamma_{r, r - s}, \qquad
        \gamma_{rd} = d^{-\eta}

    where :math:`\lambda_1(0) = 1`, :math:`\lambda_{r + 1}(r) = P(\text{click at } r)` and
    :math:`\lambda_{r + 1}(s) = \lambda_r(s) (1 - a_r \gamma_{r, r - s})`.

    Parameters
    ----------
    clicks : sequence of float in [0, 1]
        Probability of a click on an examined document of label 0, 1, ...
    examination : float >= 0 or sequence of sequences of float, default 1.0
        :math:`\eta`, or :math:`\gamma` itself: row r has :math:`\gamma_{r1}, \ldots, \gamma_{rr}`;
        ranks behind the last row are never examined.

    References
    ----------
    .. [1] Dupret & Piwowarski, "A user browsing model to predict search engine click data from past
       observations", SIGIR 2008.

    Examples
    --------
    >>> UserBrowsing().probabilities([4, 4, 0]).round(6)  # .95 (.95 + .05 / 2) = .92625
    array([0.95    , 0.92625 , 0.047938])
    """

    examination: float | tuple[tuple[float, ...], ...] = 1.0

    _n_dimensions: ClassVar[int] = 2
    name: ClassVar[str] = "browsing"

    def gamma(self, rank: int, distance: Ints) -> Floats:
        """Return the probability that a rank is examined, by its distance from the last click."""
        if isinstance(self.examination, float):
            decay: Floats = distance.astype(np.float64) ** -self.examination
            return decay
        if rank > len(self.examination):
            return np.zeros(len(distance))
        return np.asarray(self.examination[rank - 1])[distance - 1]

    def probabilities(self, y: ArrayLike) -> Floats:
        """Return the probability of a click at each rank of one list, in quadratic time."""
        attraction = self.attraction(y)
        clicked = np.empty(len(attraction))
        last = np.ones(1)  # by rank of the last click, from 0
        for rank in range(1, len(attraction) + 1):
            seen = attraction[rank - 1] * self.gamma(rank, rank - np.arange(rank))
            clicked[rank - 1] = last @ seen
            last = np.append(last * (1 - seen), clicked[rank - 1])
        return clicked

    def draw(self, attraction: Floats, uniform: Floats, lists: Groups) -> tuple[Bools, Floats]:
        """Draw rank by rank, for all lists at once."""
        clicked = np.zeros(lists.n_rows, dtype=bool)
        propensity = np.zeros(lists.n_rows)
        # Longest lists first: those that have a rank r are the first so many.
        longest = np.argsort(-lists.sizes, kind="stable")
        starts, sizes = lists.indptr[:-1][longest], lists.sizes[longest]
        last = np.zeros(len(starts), dtype=np.int64)
        for rank in range(1, int(sizes[0]) + 1 if len(sizes) else 1):
            n = int(np.searchsorted(-sizes, -rank, side="right"))
            rows = starts[:n] + rank - 1
            seen = self.gamma(rank, rank - last[:n])
            hit = uniform[rows] < seen * attraction[rows]
            propensity[rows], clicked[rows] = seen, hit
            last[:n][hit] = rank
        return clicked, propensity


CLICK_MODELS: dict[str, type[ClickModel]] = {
    model.name: model for model in (Cascade, PositionBased, UserBrowsing)
}


def _check_examination(given: Any, n_dimensions: int) -> Any:
    """Return an exponent, or a table of probabilities: ranks, or ranks by distances."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        if given >= 0 and np.isfinite(given):
            return float(given)
    elif n_dimensions == 1 and isinstance(given, Sequence | np.ndarray):
        table = np.asarray(given, dtype=np.float64)
        if table.ndim == 1 and len(table) and ((table >= 0) & (table <= 1)).all():
            return tuple(table.tolist())
    elif isinstance(given, Sequence | np.ndarray):
        rows = [np.asarray(row, dtype=np.float64) for row in given]
        triangle = [row.shape == (r,) for r, row in enumerate(rows, 1)]
        if rows and all(triangle) and all(((row >= 0) & (row <= 1)).all() for row in rows):
            return tuple(tuple(row.tolist()) for row in rows)
    form = "one for each rank" if n_dimensions == 1 else "r of them in row r = 1, 2, ..."
    raise ValueError(
        f"examination must be an exponent >= 0, or probabilities, {form}, but is {given!r}."
    )
