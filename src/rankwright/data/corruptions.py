"""Corruptions with a level: what a study of robustness sweeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from rankwright.data.click_models import Cascade, ClickModel, PositionBased, UserBrowsing
from rankwright.data.clicks import simulate_clicks
from rankwright.data.dataset import Dataset
from rankwright.data.noise import LABEL_NOISE, augment, perturb_labels


@dataclass(frozen=True)
class Corruption(ABC):
    """A way to corrupt judgements, more or less."""

    level: ClassVar[str]  # what a level is, for axes
    levels: ClassVar[tuple[float, ...]]  # to sweep by default
    of_validation: ClassVar[bool] = False  # whether validation queries are corrupted as well

    @property
    @abstractmethod
    def name(self) -> str:
        """Return its name on the command line."""

    @abstractmethod
    def apply(self, dataset: Dataset, level: float, random_state: int = 0) -> Dataset:
        """Return the corrupted data set."""


@dataclass(frozen=True)
class LabelNoise(Corruption):
    """Labels drawn at random, by :func:`perturb_labels`; the level is the share of documents."""

    probabilities: tuple[float, ...] = LABEL_NOISE

    level: ClassVar[str] = "share of documents with a random label"
    levels: ClassVar[tuple[float, ...]] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)

    @property
    def name(self) -> str:
        """Return its name on the command line."""
        return "labels"

    def apply(self, dataset: Dataset, level: float, random_state: int = 0) -> Dataset:
        """Return the data set with random labels."""
        return perturb_labels(dataset, level, self.probabilities, random_state)


@dataclass(frozen=True)
class Augmentation(Corruption):
    """Documents of other queries as not relevant, by :func:`augment`; the level is the share."""

    level: ClassVar[str] = "extra documents for each document"
    levels: ClassVar[tuple[float, ...]] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

    @property
    def name(self) -> str:
        """Return its name on the command line."""
        return "augment"

    def apply(self, dataset: Dataset, level: float, random_state: int = 0) -> Dataset:
        """Return the data set with more documents."""
        return augment(dataset, level, random_state)


@dataclass(frozen=True)
class Clicks(Corruption):
    """Labels replaced by clicks on shuffled lists; the level is the click probability of label 0.

    Parameters
    ----------
    model : ClickModel
        How users click; by default :class:`Cascade`.
    impressions : int, default 10
        Lists shown for each query; each becomes a query of its own.
    """

    model: ClickModel = field(default_factory=Cascade)
    impressions: int = 10

    level: ClassVar[str] = "probability of a click on label 0"
    levels: ClassVar[tuple[float, ...]] = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    of_validation: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Return the click model's name."""
        return self.model.name

    def apply(self, dataset: Dataset, level: float, random_state: int = 0) -> Dataset:
        """Return a data set with one query for each impression."""
        model = self.model.with_noise(level)
        log = simulate_clicks(
            dataset, model, impressions=self.impressions, random_state=random_state
        )
        return log.impressions()


_ALL: tuple[Corruption, ...] = (
    LabelNoise(),
    Augmentation(),
    Clicks(Cascade()),
    Clicks(PositionBased()),
    Clicks(UserBrowsing()),
)
CORRUPTIONS: dict[str, Corruption] = {corruption.name: corruption for corruption in _ALL}


def find_corruption(name: str) -> Corruption:
    """Return a corruption by its name on the command line.

    >>> find_corruption("cascade").levels
    (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    """
    if name not in CORRUPTIONS:
        raise ValueError(f"noise must be one of {', '.join(CORRUPTIONS)}, but is {name!r}.")
    return CORRUPTIONS[name]
