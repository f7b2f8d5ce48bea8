"""Members of an ensemble, fitted one after the other, wherever the documents are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rankwright.data.alignment import Features
from rankwright.data.validation import Floats
from rankwright.ensemble.members import Member
from rankwright.ensemble.telling import Callback, EnsembleProgress
from rankwright.refitting import EndedEarly, UnfinishedError
from rankwright.trees.additive import Additive
from rankwright.trees.grafting import check_same_features
from rankwright.trees.machines import MachineLostError


@dataclass
class FittedMembers:
    """Members that are fitted, and what is known of each."""

    names: list[str] = field(default_factory=list)
    sums: list[Additive] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    stop: str = "complete"
    complaint: str = ""  # of machines that were lost

    def terms(self, weights: Floats) -> list[tuple[Additive, float]]:
        """Return the members that count, with what their scores are multiplied by."""
        known = zip(self.sums, weights.tolist(), self.scales, strict=True)
        return [(term, w / scale) for term, w, scale in known if w > 0 and scale > 0]


class Teaching(ABC):
    """What all members learn from."""

    @abstractmethod
    def learn(self, member: Member, callback: Callback) -> None:
        """Fit a member to its bag of the queries."""

    @abstractmethod
    def deviation(self, found: Additive) -> float:
        """Return the mean standard deviation of scores within the training queries."""

    @property
    @abstractmethod
    def features(self) -> Features:
        """The features of the training documents."""

    def fit(self, members: Sequence[Member], callback: Callback | None) -> FittedMembers:
        """Fit members until all are, the callback has enough, or an interrupt comes."""
        fitted = FittedMembers()
        for member in members:
            tell = _Telling(callback, fitted, len(members), member.name)
            try:
                if member.is_whole or self._counts(member, tell):
                    self._add(member, fitted)
                    tell(None)
            except KeyboardInterrupt:  # between members: those that are fitted can be used
                fitted.stop = "ctrl-c"
            if fitted.stop != "complete":
                break
        return fitted

    def _counts(self, member: Member, tell: _Telling) -> bool:
        """Fit a member; say whether it counts. One that was stopped does if there is no other."""
        fitted = tell.fitted
        try:
            self.learn(member, tell)
        except EndedEarly:
            fitted.stop = "ctrl-c"
        except KeyboardInterrupt:
            fitted.stop = "ctrl-c"
            return False
        except (UnfinishedError, MachineLostError) as error:
            if not fitted.names and isinstance(error, MachineLostError):
                raise  # it has left nothing
            left = "the members before it are kept" if fitted.names else "it is kept alone"
            fitted.stop = "machine_lost"
            fitted.complaint = f"member {member.name!r} is not complete, {left}: {error}"
        return fitted.stop == "complete" or not fitted.names

    def _add(self, member: Member, fitted: FittedMembers) -> None:
        """Keep a member's sum, and its scale on the training documents."""
        found = Additive.of(member.ranker)
        if member.is_whole:
            check_same_features(f"member {member.name!r}", member.ranker, found, self.features)
        fitted.names.append(member.name)
        fitted.sums.append(found)
        fitted.scales.append(self.deviation(found))


def grows_as_told(ranker: Any, fixed: bool) -> bool:
    """Tell whether a member watches nothing: its trees are ``fixed``, and it chooses no base."""
    return fixed and ranker.get_params(deep=False).get("base") != "auto"


@dataclass(frozen=True)
class _Telling:
    """Whoever wants to know how far a member is; a true answer ends it."""

    callback: Callback | None
    fitted: FittedMembers
    total: int
    name: str

    def __call__(self, detail: Any) -> bool:
        progress = EnsembleProgress(len(self.fitted.names), self.total, self.name, detail)
        if self.callback is not None and self.callback(progress):
            self.fitted.stop = "interrupted"
        return self.fitted.stop == "interrupted"
