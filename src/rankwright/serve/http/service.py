"""The service of one worker process: what its endpoints share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.telemetry import Telemetry
from rankwright.serve.http.tokens import Tokens
from rankwright.serve.ranking.board import Board
from rankwright.serve.records import Numbers
from rankwright.serve.settings import Log, Settings
from rankwright.serve.store.interface import Store
from rankwright.serve.store.writer import Writer
from rankwright.serve.watching.drift import DriftWatch
from rankwright.serve.watching.results import Results

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 8
_MOST_CALLERS = 10_000


Watch = Callable[[str, Numbers], None]


class Service:
    """What the endpoints of a process share.

    Attributes
    ----------
    settings : Settings
    store : Store
        Its methods wait: call them with :meth:`ask`.
    results : Results
        What experiments have shown.
    writer : Writer
    board : Board
        Which model ranks.
    telemetry : Telemetry
    tokens : Tokens
    drift : DriftWatch, optional
        Whether features are still those of training.
    watches : list of callable
        Told of every ranked query: the version, and the features as the model got them. They must
        be quick.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        writer: Writer,
        board: Board,
        telemetry: Telemetry | None = None,
        tokens: Tokens | None = None,
    ) -> None:
        self.settings = settings
        self.store = store
        self.results = Results(store)
        self.writer = writer
        self.board = board
        self.telemetry = Telemetry() if telemetry is None else telemetry
        self.tokens = Tokens() if tokens is None else tokens
        self.drift: DriftWatch | None = None
        self.watches: list[Watch] = []
        self._rate = Rate(settings.limits.rate)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="ask")

    @property
    def log(self) -> Log:
        """What is written of a ranking."""
        if self.settings.log is not None:
            return self.settings.log
        return Log.features if self.board.learns else Log.ids

    async def ask(self, function: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """Call what may wait, such as a method of the store, without keeping others waiting."""
        asked: Callable[[], Any] = partial(function, *args, **more)
        found: T = await asyncio.get_running_loop().run_in_executor(self._threads, asked)
        return found

    def admit(self, scope: str | None, header: bytes, address: str) -> str:
        """Return who calls; raise unless the caller may, and has not asked too often."""
        if scope is None:
            return address
        caller = address
        if self.tokens.known:
            caller = self._token(scope, header)
        if self._rate.most > 0:
            self._rate.take(caller)
        return caller

    def _token(self, scope: str, header: bytes) -> str:
        kind, _, value = header.partition(b" ")
        token = self.tokens.find(value.strip()) if kind.lower() == b"bearer" else None
        if token is None:
            what = "is not known" if header else "is missing"
            raise RefusedError(
                401, f"the token {what}: send the header 'Authorization: Bearer TOKEN'."
            )
        if scope != "any" and not token.scopes & {scope, "admin"}:
            raise RefusedError(403, f"this token must have the scope {scope!r}, and has not.")
        return f"token {token.number}"

    def close(self) -> None:
        """Write what waits, and let go of everything."""
        self.board.close()
        if self.drift is not None:
            self.drift.close()
        self.writer.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self.telemetry.close()
        self.store.close()


class Rate:
    """How often each caller may ask: so many times a second, and as many at once."""

    def __init__(self, most: float, clock: Callable[[], float] = monotonic) -> None:
        self.most = most
        self._clock = clock
        self._callers: dict[str, tuple[float, float]] = {}  # what is left, and when it was

    def take(self, caller: str) -> None:
        """Count one; raise if it was one too many."""
        now, room = self._clock(), max(self.most, 1.0)
        left, then = self._callers.get(caller, (room, now))
        left = min(room, left + (now - then) * self.most)
        if left < 1:
            wait = max(1, round((1 - left) / self.most + 0.5))
            raise RefusedError(
                429, f"at most {self.most:g} requests a second: wait {wait} s.", "rate", wait
            )
        if len(self._callers) >= _MOST_CALLERS and caller not in self._callers:
            self._callers.clear()
        self._callers[caller] = left - 1, now
