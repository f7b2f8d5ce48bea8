"""What the page shows of the store: who serves, who learned what, what was ranked last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rankwright.serve.board import Look
from rankwright.serve.bodies import ExperimentResult, ModelVersion
from rankwright.serve.experiments import ArmSums, judge
from rankwright.serve.loss_line import ThinLine
from rankwright.serve.overview import Incumbent, LossLine, Promise, ShownRanking
from rankwright.serve.promise import promise_of
from rankwright.serve.ranking_view import shown_ranking
from rankwright.serve.records import LearnerRecord
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
        models = _model_versions(store, look)
        return LogView(
            counts=counts,
            serving=_incumbent(store, models, number, learner),
            promise=None if learner is None else promise_of(store, learner),
            line=line,
            models=models,
            previous=look.serving.previous,
            experiments=_results(store),
            rankings=[shown_ranking(ranking) for ranking in store.last_rankings(_RANKINGS)],
        )


def _incumbent(
    store: Store, models: list[ModelVersion], number: int, learner: LearnerRecord | None
) -> Incumbent:
    (model,) = (one for one in models if one.model == number)
    behind = 0 if learner is None else len(store.events(learner.position, 1000))
    return Incumbent(
        number,
        model.version,
        model.kind,
        model.note,
        model.learns,
        model.learned,
        model.skipped,
        behind,
        0.0 if learner is None else learner.updated,
    )


def _model_versions(store: Store, look: Look) -> list[ModelVersion]:
    found = []
    for record in store.models():
        learner = look.learners.get(record.model_id)
        found.append(
            ModelVersion(
                record.model_id,
                str(record.model_id) if learner is None else learner.version,
                record.kind,
                record.digest,
                record.added,
                record.note,
                record.learns,
                record.model_id == look.serving.promoted,
                0 if learner is None else learner.learned,
                0 if learner is None else learner.skipped,
            )
        )
    return found


def _results(store: Store) -> list[ExperimentResult]:
    found = []
    for experiment in store.experiments():
        arms = {name: _sums(values) for name, values in store.arm_values(experiment).items()}
        found.append(judge(experiment, arms["a"], arms["b"]))
    return found


def _sums(values: list[tuple[str, float]]) -> ArmSums:
    queries: dict[str, list[float]] = {}
    for query, value in values:
        queries.setdefault(query, []).append(value)
    means = [sum(v) / len(v) for v in queries.values()]
    return ArmSums(len(means), len(values), sum(means), sum(m * m for m in means))
