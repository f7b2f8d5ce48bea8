"""What a client asks of the service besides rankings: its state, models and experiments."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankwright.client.calls import Again, Caller, Outgoing
from rankwright.client.results import ExperimentSummary, ModelInfo, NowServed, ServiceState
from rankwright.client.sending import json_bytes

_LOOK = 0.05  # seconds between two looks at the learner


class Administration:
    """The part of a client that looks after a service."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    # ---- what there is ----

    def state(self) -> ServiceState:
        """Return how far the log and the learner are."""
        return ServiceState.of(self._caller.call(Outgoing("GET", "/v1/state")))

    def models(self) -> list[ModelInfo]:
        """Return all models, oldest first."""
        return [ModelInfo.of(one) for one in self._caller.call(Outgoing("GET", "/v1/models"))]

    def experiments(self) -> list[ExperimentSummary]:
        """Return all experiments, oldest first."""
        found = self._caller.call(Outgoing("GET", "/v1/experiments"))
        return [ExperimentSummary.of(one) for one in found]

    def wait_learned(self, timeout: float = 30.0) -> ServiceState:
        """Wait until the learner has seen all feedback that the log has now.

        TimeoutError if it has not after so many seconds.
        """
        end = time.monotonic() + timeout
        state = self.state()
        goal = state.events
        while state.events - state.behind < goal:
            if time.monotonic() > end:
                raise TimeoutError(
                    f"the learner is {state.behind} events behind after {timeout:g} s. "
                    "Look at /readyz and at the log of the service."
                )
            time.sleep(_LOOK)
            state = self.state()
        return state

    def download(self, model: int, path: str | os.PathLike[str], *, learned: bool = False) -> None:
        """Write a model file: as it was handed in, or with all that it has learned since."""
        params = {"learned": "true"} if learned else None
        outgoing = Outgoing("GET", f"/v1/models/{model}", params=params, in_json=False)
        content = self._caller.call(outgoing)
        from rankwright.data.writing import write_atomically  # many clients never need it

        with write_atomically(path) as file:
            file.write(content)

    # ---- changes: for the scope admin ----

    def upload(self, model: Any, note: str | None = None, *, force: bool = False) -> ModelInfo:
        """Hand in a model, or the path of its file; it is not served before it is promoted.

        The same file twice is the same model. One that takes other features than the model that is
        served is refused, unless ``force``.
        """
        content, name = _model_bytes(model)
        params = {"note": name if note is None else note} | ({"force": "true"} if force else {})
        kind = "application/octet-stream"
        outgoing = Outgoing("POST", "/v1/models", content, kind, params)
        return ModelInfo.of(self._caller.call(outgoing))

    def promote(self, model: int) -> NowServed:
        """Serve a model from now on. A running experiment ends."""
        return NowServed.of(self._change("/v1/models/promote", {"model": model}))

    def rollback(self, leave: int | None = None) -> NowServed:
        """Serve the model before the one that is served.

        ``leave`` is the model to get rid of: the call is refused if it is not served (any more), so
        that one that you repeat does not bring it back.
        """
        params = None if leave is None else {"leave": str(leave)}
        return NowServed.of(self._change("/v1/models/rollback", {}, params))

    def begin_experiment(self, name: str, a: int, b: int, share: float = 0.5) -> ExperimentSummary:
        """Let model ``b`` rank a share of the queries, and ``a`` the others."""
        return self._experiment("/v1/experiments", {"name": name, "a": a, "b": b, "share": share})

    def end_experiment(self) -> ExperimentSummary:
        """End the experiment that runs; the promoted model ranks all queries again."""
        return self._experiment("/v1/experiments/end", {})

    def _change(
        self, path: str, body: dict[str, Any], params: Mapping[str, str] | None = None
    ) -> Any:
        # A change that may have been made is not made again: the second roll back would undo it.
        outgoing = Outgoing("POST", path, json_bytes(body), params=params, again=Again.if_undone)
        return self._caller.call(outgoing)

    def _experiment(self, path: str, body: dict[str, Any]) -> ExperimentSummary:
        return ExperimentSummary.of(self._change(path, body))


def _model_bytes(model: Any) -> tuple[bytes, str]:
    """Return the contents of a model file, and what to call it."""
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        return path.read_bytes(), path.name
    from rankwright.persistence import packed  # loads what can save every model

    return packed(model), type(model).__name__
