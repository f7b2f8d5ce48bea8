"""What the page shows of the store: who serves, who learned what, what was ranked last."""

from __future__ import annotations

from dataclasses import dataclass, field

from rankwright.serve.bodies import ExperimentResult, ModelVersion
from rankwright.serve.http.models_api import model_versions, state_of
from rankwright.serve.http.service import Service
from rankwright.serve.page.loss_line import ThinLine
from rankwright.serve.page.overview import Incumbent, LossLine, Promise, ShownRanking
from rankwright.serve.page.ranking_view import shown_ranking
from rankwright.serve.records import LearnerRecord
from rankwright.serve.store.interface import Counts, Store

_RANKINGS = _EXPERIMENTS = 20
_MODELS = 50  # the newest, and those that serve or may be rolled back to


@dataclass(frozen=True)
class LogView:
    """What the store said at one moment; shown on while it does not answer."""

    counts: Counts = field(default_factory=lambda: Counts(0, 0, 0))
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
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lines: dict[int, ThinLine] = {}

    def view(self) -> LogView:
        """Look now."""
        service, serving = self._service, self._service.board.serving
        store, number = service.store, serving.promoted
        learner = store.learner(number)
        line = LossLine([], [], [])
        if learner is not None:
            thin = self._lines.setdefault(number, ThinLine())
            thin.read(store, learner)
            line = thin.line(learner)
        models = model_versions(service)
        return LogView(
            counts=store.counts(),
            serving=_incumbent(service, models, number),
            promise=None if learner is None else _promise(store, learner),
            line=line,
            models=_newest(models, {number, serving.previous}),
            previous=serving.previous,
            experiments=service.results.all()[-_EXPERIMENTS:],
            rankings=[shown_ranking(ranking) for ranking in store.last_rankings(_RANKINGS)],
        )


def _newest(models: list[ModelVersion], needed: set[int | None]) -> list[ModelVersion]:
    old, new = models[:-_MODELS], models[-_MODELS:]
    return [one for one in old if one.serving or one.model in needed] + new


def _incumbent(service: Service, models: list[ModelVersion], number: int) -> Incumbent:
    """Return who ranks, or who would without the experiment."""
    (model,) = (one for one in models if one.model == number)
    return Incumbent(
        number,
        model.version,
        model.kind,
        model.note,
        model.learns,
        model.learned,
        model.skipped,
        state_of(service).behind,
    )


def _promise(store: Store, learner: LearnerRecord) -> Promise:
    # When the page is looked at first: a worker that ranks need not load whole models.
    from rankwright.serve.learning.promise import promise_of

    return promise_of(store, learner)
