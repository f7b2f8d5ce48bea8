"""Whether the features that are served are still those of training.

What the figures mean is said in :mod:`rankwright.evaluation.drift`. Every worker watches what it
ranks; ranking only leaves its features behind, and the counting is done by a thread of its own.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwright.data.feature_names import feature_name
from rankwright.data.validation import Floats
from rankwright.evaluation.drift import STABLE, UNSTABLE, mean_shift, stability_index
from rankwright.serve.records import Numbers
from rankwright.serve.watching.baseline import N_BINS, Baseline, count_bins

_FIRST = 1_000  # documents that are the reference where there is no file
_WINDOW = 10_000  # documents: older ones count exp(-age / window)
_FEW = 200  # documents below which nothing is said
_WAITING, _MOST_ROWS = 16, 128  # matrices that wait to be counted, and rows of each
_PERIOD = 1.0
_log = logging.getLogger("rankwright.serve")


class DriftWatch:
    """Compares what is served with a baseline; without one, the first documents served are it.

    Parameters
    ----------
    baseline : Baseline, optional
        What features were like in training.
    names : sequence of str, optional
        What they are called.
    """

    def __init__(
        self, baseline: Baseline | None = None, names: Sequence[str] | None = None
    ) -> None:
        self.names = names
        self._baseline = baseline
        self._given = baseline is not None
        self._waiting: deque[Numbers] = deque(maxlen=_WAITING)
        self._first: list[Floats] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._others = 0  # documents with another number of features
        self._begin()

    def observe(self, version: str, X: Numbers) -> None:
        """Leave the features of a ranked query behind: of many documents, evenly taken ones."""
        if len(X) > _MOST_ROWS:
            X = X[:: -(-len(X) // _MOST_ROWS)].copy()  # a view would keep the rest
        self._waiting.append(X)

    def tick(self) -> None:
        """Count what waits."""
        batch: list[Numbers] = []
        while self._waiting:
            batch.append(self._waiting.popleft())
        if batch:
            with self._lock:
                self._take(batch)

    def start(self) -> None:
        """Count every second from now on, in a thread."""
        self._thread = threading.Thread(target=self._watch, name="drift", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Count no more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_PERIOD):
            try:
                self.tick()
            except Exception:
                _log.exception("drift cannot be measured")
                return

    def _begin(self) -> None:
        width = 0 if self._baseline is None else len(self._baseline.edges)
        self._counts = np.zeros((width, N_BINS))
        self._sums = np.zeros((3, width))  # of known values: how many, their sum and squares

    def _take(self, batch: list[Numbers]) -> None:
        width = self._width()
        if not self._given and all(X.shape[1] != width for X in batch):
            # Another model is served: its first documents are the new baseline.
            self._baseline, self._first, width = None, [], batch[0].shape[1]
            self._begin()
        fit = [X for X in batch if X.shape[1] == width]
        self._others += sum(len(X) for X in batch) - sum(map(len, fit))
        if not fit:
            return
        rows: Floats = np.concatenate(fit, dtype=np.float64)
        if self._baseline is not None:
            self._add(self._baseline, rows)
            return
        self._first.append(rows)
        if sum(map(len, self._first)) >= _FIRST:
            first, self._first = np.concatenate(self._first), []
            self._baseline = Baseline.of(first, "the first documents served")
            self._begin()

    def _width(self) -> int:
        if self._baseline is not None:
            return len(self._baseline.edges)
        return self._first[0].shape[1] if self._first else -1

    def _add(self, baseline: Baseline, rows: Floats) -> None:
        kept = np.exp(-len(rows) / _WINDOW)
        columns = list(rows.T)
        self._counts = kept * self._counts + count_bins(columns, baseline.edges)
        known = np.nan_to_num(rows)
        fresh = [(~np.isnan(rows)).sum(axis=0), known.sum(axis=0), (known**2).sum(axis=0)]
        self._sums = kept * self._sums + np.stack(fresh)

    def to_dict(self, most: int = 20) -> dict[str, Any]:
        """Return plain values: the features that have moved most first, at most so many."""
        with self._lock:
            baseline, counts, sums = self._baseline, self._counts, self._sums
            n_first, others = sum(map(len, self._first)), self._others
        n_docs = float(counts[0].sum()) if len(counts) else 0.0
        found: dict[str, Any] = {
            "reference": None if baseline is None else baseline.source,
            "reference_documents": n_first if baseline is None else baseline.n_docs,
            "documents": round(n_docs),
            "other_documents": others,
            "stable_below": STABLE,
            "unstable_from": UNSTABLE,
            "features": [],
        }
        if baseline is None or n_docs < _FEW:
            what = "for a reference" if baseline is None else "to compare with it"
            least = _FIRST if baseline is None else _FEW
            so_far = n_first if baseline is None else round(n_docs)
            found["verdict"] = f"Too few documents {what}: {so_far} of {least}."
            return found
        index = stability_index(baseline.counts, counts)
        moved = int((index >= UNSTABLE).sum())
        found["verdict"] = (
            f"{moved} of {len(index)} features have moved much (index {UNSTABLE:g} or more)."
            if moved
            else f"No feature has moved much (index below {UNSTABLE:g})."
        )
        order = np.argsort(-index, kind="stable")[:most].tolist()
        found["features"] = self._features(baseline, counts, sums, index, order)
        return found

    def _features(
        self, baseline: Baseline, counts: Floats, sums: Floats, index: Floats, order: list[int]
    ) -> list[dict[str, Any]]:
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = sums[1] / sums[0]
            moments = mean, np.maximum(sums[2] / sums[0] - mean**2, 0.0)
        shift = mean_shift(baseline.moments, moments)
        before = baseline.counts / baseline.counts.sum(axis=1, keepdims=True)
        now = counts / counts.sum(axis=1, keepdims=True)
        return [
            {
                "feature": feature_name(self.names, j),
                "stability": float(index[j]),
                "moved": "little"
                if index[j] < STABLE
                else "some"
                if index[j] < UNSTABLE
                else "much",
                "shift": float(shift[j]),
                "mean_before": _finite(baseline.moments[0][j]),
                "mean": _finite(mean[j]),
                "missing_before": float(before[j, -1]),
                "missing": float(now[j, -1]),
                "edges": baseline.edges[j].tolist(),
                "before": before[j, : len(baseline.edges[j]) + 1].tolist(),
                "now": now[j, : len(baseline.edges[j]) + 1].tolist(),
            }
            for j in order
        ]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
