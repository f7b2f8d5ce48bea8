"""What the page shows of the store: who serves, who learned what, what was ranked last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rankwright.serve.board import Look
from rankwright.serve.bodies import ExperimentResult, ModelVersion
from rankwright.serve.loss_line import ThinLine
from rankwright.serve.overview import Incumbent, LossLine, Promise, ShownRanking
from rankwright.serve.promise import promise_of
from rankwright.serve.ranking_view import shown_ranking
from rankwright.serve.store.interface import Counts, Store

_RANKINGS = 20


@dataclass(frozen=True)
class LogView:
    """What the store said at one moment; shown on while it does not answer."""

    counts: Counts = Counts(0, 0, 0)
    serving: Incumbent | None = None
    promise: Promise | None = None
    line: LossLine = field(default_factory=lambda: LossLine([], [], []))
    models: list[ModelVersion] = field(default_factory=list)
    previous: int | None = None
    experiments: list[ExperimentResult] = field(default_factory=list)
    rankings: list[ShownRanking] = field(default_factory=list)


class LogViewer:
    """Looks at the store again and again, and reads only what is new of the learners' steps.

    Parameters
    ----------
    store : Store
    look : callable
        Who serves now, as the board says.
    """

    def __init__(self, store: Store, look: Callable[[], Look]) -> None:
        self._store = store
        self._look = look
        self._lines: dict[int, ThinLine] = {}

    def view(self) -> LogView:
        """Look now."""
        store, look = self._store, self._look()
        counts, number = store.counts(), look.serving.promoted
        learner = store.learner(number)
        line = LossLine([], [], [])
        if learner is not None:
            thin = self._lines.setdefault(number, ThinLine())
            thin.read(store, number)
            line = thin.line(learner)
        models = model_versions(store, look)
        return LogView(
            counts=counts,
            serving=incumbent(models, number, counts, learner),
            promise=promise_of(store, learner),
            line=line,
            models=models,
            previous=look.serving.previous,
            experiments=experiment_results(store),
            rankings=[shown_ranking(ranking) for ranking in store.last_rankings(_RANKINGS)],
        )
