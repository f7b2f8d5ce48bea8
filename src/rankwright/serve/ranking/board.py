"""Which model ranks: what the store says, looked at again several times a second.

What is served is one value that never changes; a newer one takes its place in one assignment, so
that a request sees one version from its first byte to its last.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from time import monotonic

from rankwright.serve.ranking.served import ServedModel
from rankwright.serve.records import LearnerRecord, ModelRecord, Serving
from rankwright.serve.store.interface import Store
from rankwright.serve.watching.experiments import arm_of

_log = logging.getLogger("rankwright.serve")
_PERIOD = 0.2


@dataclass(frozen=True)
class Look:
    """What the store said at one moment.

    Attributes
    ----------
    serving : Serving
        Who ranks.
    models : dict
        Those that rank, by their numbers.
    learners : dict
        All learners without their contents, by their models' numbers.
    """

    serving: Serving
    models: dict[int, ServedModel]
    learners: dict[int, LearnerRecord] = field(default_factory=dict)

    def pick(self, query: str) -> tuple[ServedModel, str | None]:
        """Return who ranks a query, and the arm if an experiment runs."""
        experiment = self.serving.experiment
        if experiment is None:
            return self.models[self.serving.promoted], None
        arm = arm_of(experiment, query)
        return self.models[experiment.a if arm == "a" else experiment.b], arm


class Board:
    """Who ranks now. Refreshed by a thread of its own, once :meth:`start` was called.

    Raises StoreError or DataError if the store has no model to serve, or one that cannot rank.
    """

    def __init__(self, store: Store, period: float = _PERIOD) -> None:
        self._store = store
        self._period = period
        self._ended = threading.Event()
        self._looking = threading.Lock()
        self._thread: threading.Thread | None = None
        self._records: dict[int, ModelRecord] = {}
        self._look = self._look_again(None)
        self.seen = monotonic()
        """When the store last answered."""

    # ---- what endpoints ask ----

    def pick(self, query: str) -> tuple[ServedModel, str | None]:
        """Return who ranks a query, and the arm if an experiment runs."""
        return self._look.pick(query)

    @property
    def look(self) -> Look:
        """All that is known at this moment: take it once, and use it throughout."""
        return self._look

    @property
    def current(self) -> ServedModel:
        """The promoted model."""
        look = self._look
        return look.models[look.serving.promoted]

    @property
    def serving(self) -> Serving:
        """Who ranks, by numbers."""
        return self._look.serving

    @property
    def learns(self) -> bool:
        """Whether a model that is served goes on learning."""
        return any(model.learns for model in self._look.models.values())

    @property
    def fresh(self) -> bool:
        """Whether the store has answered lately."""
        return monotonic() - self.seen < 5 + 5 * self._period

    # ---- the thread ----

    def start(self) -> None:
        """Begin to look again and again."""
        self._thread = threading.Thread(target=self._watch, name="board", daemon=True)
        self._thread.start()

    def refresh(self) -> None:
        """Look now."""
        with self._looking:  # two looks at a time could leave the older one
            self._look = self._look_again(self._look)
            self.seen = monotonic()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        failed = ""
        while not self._ended.wait(self._period):
            try:
                self.refresh()
                failed = ""
            except Exception as error:  # what was served goes on being served
                if failed != (failed := f"{type(error).__name__}: {error}"):
                    _log.warning("cannot see which model to serve: %s", failed)

    def _look_again(self, old: Look | None) -> Look:
        serving = self._store.serving()
        if serving is None:
            raise LookupError("the store has no model to serve.")
        learners = {record.model_id: record for record in self._store.learners()}
        ids = {serving.promoted}
        if serving.experiment is not None:
            ids |= {serving.experiment.a, serving.experiment.b}
        known = {} if old is None else old.models
        models = {
            number: self._served(number, learners.get(number), known.get(number))
            for number in sorted(ids)
        }
        return Look(serving, models, learners)

    def _served(
        self, number: int, learner: LearnerRecord | None, known: ServedModel | None
    ) -> ServedModel:
        """Return a model as it is now: as it was, if it has not learned since."""
        version = str(number) if learner is None else learner.version
        if known is not None and known.version == version:
            return known
        if number not in self._records:
            self._records = {record.model_id: record for record in self._store.models()}
        whole = None if learner is None else self._store.learner(number)
        if whole is not None:  # which may have learned more meanwhile
            return ServedModel.of(whole.content, self._records[number], whole.version)
        return ServedModel.of(self._store.model_content(number), self._records[number], version)
