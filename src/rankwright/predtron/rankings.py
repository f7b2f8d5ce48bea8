"""What Predtron's rankers of documents and of labels share."""

from __future__ import annotations

from rankwright.predtron.learner import PredtronLearner
from rankwright.problems.native import Native
from rankwright.problems.ranking import Ranking, Representation


class PredtronOfRankings(PredtronLearner):
    """Base of the learners whose problem is :class:`~rankwright.problems.Ranking`."""

    loss: str
    representation: Representation

    def _problem(self) -> Native:
        return Ranking(self.loss, self.representation)

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        self._problem()
        super().check_params()
