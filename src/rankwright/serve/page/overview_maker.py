"""Makes the overview, not more often than once a second, however many look."""

from __future__ import annotations

import threading
import time

import msgspec

from rankwright import __version__
from rankwright.serve.http.service import Service
from rankwright.serve.page.drift_view import drift_view
from rankwright.serve.page.log_view import LogView, LogViewer
from rankwright.serve.page.overview import Overview, StoreView
from rankwright.serve.page.pace_view import pace_of
from rankwright.serve.store.interface import StoreUnavailableError

_PERIOD = 1.0
_encode = msgspec.json.Encoder().encode


class OverviewMaker:
    """The overview of a service; threads may share it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._viewer = LogViewer(service)
        self._view = LogView()
        self._started = time.time()
        self._lock = threading.Lock()
        self._body = b""
        self._made = (0.0, 0)  # when, and of which generation of models

    def body(self) -> bytes:
        """Return the overview as JSON, at most a second old unless the store takes longer.

        Only one thread makes it; others get what there is, and do not wait for a slow store. A
        promotion is seen at once by whoever made it.
        """
        (made, before), generation = self._made, self._service.board.serving.generation
        if self._body and generation == before and time.monotonic() - made < _PERIOD:
            return self._body
        if self._lock.acquire(blocking=not self._body or generation != before):
            try:
                self._body = _encode(self.overview())
                self._made = time.monotonic(), generation
            finally:
                self._lock.release()
        return self._body

    def overview(self) -> Overview:
        """Look at everything now; what the store does not tell is as it was."""
        service, error = self._service, ""
        try:
            self._view = self._viewer.view()
        except StoreUnavailableError as problem:
            error = f"The store does not answer: {problem}"
        view, writer = self._view, service.writer
        if not error and not writer.healthy:
            error = "The store takes no feedback now; ranking goes on."
        return Overview(
            time.time(),
            self._started,
            __version__,
            pace_of(service.telemetry),
            view.serving,
            view.promise,
            view.line,
            view.models,
            view.previous,
            view.experiments,
            drift_view(service.drift, service.telemetry.workers),
            StoreView(
                view.counts.events,
                view.counts.rankings,
                view.counts.n_bytes,
                not error,
                writer.n_waiting,
                writer.n_dropped,
                error,
            ),
            view.rankings,
        )
