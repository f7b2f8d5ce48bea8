"""Where calls run: in this process, in workers on this machine, or wherever an executor takes them.

All three are a :class:`concurrent.futures.Executor`. A call is a function with arguments by name;
folds and data sets among them go by file. The results are the same.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from rankwright.comparison.handing import Handing
from rankwright.comparison.workers import Listener, Worker, listening, one_thread, packed_call
from rankwright.threads import n_threads

T = TypeVar("T")
Call = tuple[Callable[..., Any], dict[str, Any]]


class JobExecutor(Executor):
    """An executor that knows how many calls it should be given at a time."""

    at_once = 1


class Here(JobExecutor):
    """Runs each call when it is submitted, in this process."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run a call; what it raises is in the future, but for an interrupt."""
        future: Future[T] = Future()
        try:
            with one_thread(), listening(self._listener):
                future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


_LONGEST_SLEEP = 0.5  # seconds


class Workers(JobExecutor):
    """Runs calls in processes of its own, each with one thread.

    Parameters
    ----------
    n_workers : int
        Processes; they are started when they are needed.
    folder : Path
        Where data is written for them.
    listener : callable, optional
        Hears what calls :func:`~rankwright.comparison.workers.tell`.
    """

    def __init__(self, n_workers: int, folder: Path, listener: Listener | None = None) -> None:
        self.at_once = 2 * n_workers  # nobody waits while a result is written down
        self._listener, self._hand = listener, Handing(folder)
        self._workers = [Worker() for _ in range(n_workers)]
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)
        self._threads = ThreadPoolExecutor(n_workers)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run a call in the next free process."""
        _by_name(args)
        given = {name: self._hand(value) for name, value in kwargs.items()}
        return self._threads.submit(self._run, fn, given)

    def _run(self, function: Callable[..., T], arguments: dict[str, Any]) -> T:
        worker = self._free.get()
        try:
            result: T = worker.run(function, arguments, self._listener)
            return result
        finally:
            self._free.put(worker)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: after their calls, or at once if ``wait`` is False."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures or not wait)
        for worker in self._workers:
            worker.close()


class Elsewhere(JobExecutor):
    """Runs calls where another executor takes them, there in a worker of its own.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        Takes the calls: threads, processes, a cluster. It is not shut down.
    folder : Path
        Where data is written; all machines must see it under this name.
    """

    at_once = sys.maxsize  # it has a queue of its own

    def __init__(self, executor: Executor, folder: Path) -> None:
        self._executor, self._hand = executor, Handing(folder, check=True)
        self._futures: list[Future[Any]] = []

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Pass a call on."""
        _by_name(args)
        given = {name: self._hand(value) for name, value in kwargs.items()}
        future = self._executor.submit(in_worker, call=packed_call(fn, given))
        self._futures.append(future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take back what was not begun; the executor lives on."""
        if cancel_futures or not wait:
            for future in self._futures:
                future.cancel()


def in_worker(call: bytes) -> Any:
    """Do a call that was packed in a worker that lives for it alone."""
    worker = Worker()
    try:
        return worker.send(call, None)
    finally:
        worker.close()


def _by_name(args: tuple[Any, ...]) -> None:
    if args:
        raise TypeError("arguments of a call must be given by name.")


@contextlib.contextmanager
def executor_for(
    n_jobs: int | None,
    *,
    executor: Executor | None = None,
    folder: Path | None = None,
    listener: Listener | None = None,
) -> Iterator[JobExecutor]:
    """Yield where to run calls; whatever is not finished at the end of the block is stopped.

    Parameters
    ----------
    n_jobs : int, optional
        1 is this process; more are that many workers, None one for each core.
    executor : concurrent.futures.Executor, optional
        Takes the calls in their place.
    folder : Path, optional
        Where data goes for other processes, gone in the end; a temporary one by default.
    listener : callable, optional
        Hears what calls tell, unless an executor has them.
    """
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            "executor must have the interface of concurrent.futures, such as "
            f"client.get_executor() of Dask, but is a {type(executor).__name__}."
        )
    with contextlib.ExitStack() as stack:
        n_workers = n_threads(n_jobs)
        if executor is None and n_workers == 1:
            yield Here(listener)
            return
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="rankwright-")
            folder = Path(stack.enter_context(temporary))
        else:
            shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        calls = Workers(n_workers, folder, listener) if executor is None else Elsewhere(
            executor, folder
        )  # fmt: skip
        stack.callback(calls.shutdown, wait=False)
        yield calls


def run_all(
    executor: JobExecutor, calls: Iterable[tuple[T, Call]]
) -> Iterator[tuple[T, Future[Any]]]:
    """Submit calls, not more at a time than is good; yield each with its future as it ends."""
    waiting = iter(calls)
    running: dict[Future[Any], T] = {}
    # Not concurrent.futures.wait: a Ctrl-C that comes while it takes the locks of all futures
    # leaves some taken, and threads that want to set a result then wait for ever.
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    while True:
        for what, (function, arguments) in islice(waiting, executor.at_once - len(running)):
            future = executor.submit(function, **arguments)
            running[future] = what
            future.add_done_callback(done.put)
        if not running:
            return
        future = _next_of(done)
        yield running.pop(future), future


def _next_of(done: SimpleQueue[Future[Any]]) -> Future[Any]:
    while True:
        # Python forgets a Ctrl-C that comes just before it sleeps until it wakes up again.
        with contextlib.suppress(Empty):
            return done.get(timeout=_LONGEST_SLEEP)
