"""A process that answers: ``python -m rankwright.serve.worker ORDERS``, started by the supervisor.

It ends when it is told so by a signal, or when the supervisor is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence

import msgspec
import uvicorn

from rankwright.serve.http.app import make_app
from rankwright.serve.http.connections import guarded
from rankwright.serve.http.service import Service
from rankwright.serve.http.telemetry import Telemetry
from rankwright.serve.http.tokens import read_tokens
from rankwright.serve.ranking.board import Board
from rankwright.serve.settings import Limits, Settings
from rankwright.serve.store import open_store
from rankwright.serve.store.writer import Writer
from rankwright.serve.watching.baseline import Baseline
from rankwright.serve.watching.drift import DriftWatch

_KEEP_ALIVE = 75  # seconds: longer than clients and proxies keep a connection
_FINISH = 3  # seconds for requests that are under way when the end comes
_BACKLOG = 2048
_SWITCH = 0.0005  # seconds that a thread may keep the interpreter from others
_HOUR, _DAY = 3600.0, 86400.0
_log = logging.getLogger("rankwright.serve")


class Orders(msgspec.Struct, frozen=True):
    """What the supervisor tells a worker.

    Attributes
    ----------
    settings : Settings
        Of the service.
    worker : int
        Which one it is.
    listener : int
        The socket, as a file descriptor.
    alive : int
        A pipe that ends with the supervisor.
    ready : int
        A pipe to tell that it answers.
    counts : int
        The file of the counters.
    """

    settings: Settings
    worker: int
    listener: int
    alive: int
    ready: int
    counts: int


class _Server(uvicorn.Server):
    """uvicorn's server, whose signals are ours: what waits is written before the end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def end(self) -> None:
        self.should_exit = True


def server_config(service: Service) -> uvicorn.Config:
    """Return how uvicorn serves: httptools and uvloop, no access log, no header of its own."""
    limits: Limits = service.settings.limits
    return uvicorn.Config(
        make_app(service),
        http=guarded(limits, service.telemetry.observe),
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_FINISH,
        backlog=_BACKLOG,
    )


def make_service(settings: Settings, telemetry: Telemetry | None = None) -> Service:
    """Return the service of this process; its threads run."""
    store = open_store(settings.store, create=False)
    board = Board(store)
    writer = Writer(store, settings.limits)
    tokens = read_tokens(settings.tokens)
    service = Service(settings, store, writer, board, telemetry, tokens)
    model, reference = board.current, settings.reference
    baseline = None if reference is None else Baseline.of_file(reference, model.n_features)
    service.drift = DriftWatch(baseline, model.names)
    service.watches.append(service.drift.observe)
    service.drift.start()
    board.start()
    return service


async def _serve(service: Service, orders: Orders) -> None:
    server = _Server(server_config(service))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.end)
    loop.add_reader(orders.alive, server.end)  # nothing is ever written to it: it ended
    listener = socket.socket(fileno=orders.listener)
    tasks = [loop.create_task(_announce(server, orders)), loop.create_task(_tick(service))]
    if service.settings.retention > 0 and orders.worker == 0:
        tasks.append(loop.create_task(_expire(service)))
    await server.serve([listener])
    loop.remove_reader(orders.alive)
    for task in tasks:
        task.cancel()


async def _announce(server: _Server, orders: Orders) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    with contextlib.suppress(OSError):
        os.write(orders.ready, b"%d\n" % orders.worker)
    os.close(orders.ready)


async def _tick(service: Service) -> None:
    while True:
        service.telemetry.tick()
        await asyncio.sleep(1)


async def _expire(service: Service) -> None:
    """Empty what is older than it may be, now and every hour."""
    while True:
        before = time.time() - service.settings.retention * _DAY
        try:
            await service.ask(service.store.expire, before)
        except OSError as error:
            _log.warning("what is old could not be emptied: %s", error)
        await asyncio.sleep(_HOUR)


def _settle() -> None:
    """Let what is there be: few requests then pay for the looking through of all objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    sys.setswitchinterval(5e-4)  # threads that write behind must not keep a request waiting


def run_worker(arguments: Sequence[str] | None = None) -> int:
    """Be a worker process."""
    (given,) = sys.argv[1:] if arguments is None else arguments
    orders = msgspec.json.decode(given, type=Orders)
    logging.basicConfig(format="rankwright: %(message)s", level=logging.WARNING)
    # Requests must not wait for threads that write, look at the store or count, 5 ms each time.
    sys.setswitchinterval(_SWITCH)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    settings = orders.settings
    telemetry = Telemetry(orders.counts, orders.worker, settings.workers)
    try:
        service = make_service(settings, telemetry)
    except (ValueError, LookupError, OSError) as error:
        sys.stderr.write(f"rankwright: {error}\n")
        return 1
    _settle()
    try:
        with asyncio.Runner(loop_factory=server_config(service).get_loop_factory()) as runner:
            runner.run(_serve(service, orders))
    finally:
        service.close()
    return 0


if __name__ == "__main__":
    sys.exit(run_worker())
