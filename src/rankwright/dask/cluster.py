"""What a cluster must be like before any data is read."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import rankwright
from rankwright.comparison.keys import code_hash
from rankwright.exceptions import DataError
from rankwright.extras import load_extra

if TYPE_CHECKING:
    from distributed import Client

LOCAL = "local"
_PACKAGES = ("numpy", "scipy", "lightgbm")


def check_versions(client: Client) -> None:
    """Raise unless there are workers, and all have the versions of this process.

    Sums have the same bits where the same code adds them. Python may differ in its last number.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.

    Raises
    ------
    DataError
        For a client that is closed, a cluster without workers, and the first worker that differs.
    """
    _check_connected(client)
    if not client.nthreads():
        raise DataError(
            f"the cluster {address_of(client)} has no workers. Start some, or wait for them: "
            "client.wait_for_workers(1)."
        )
    own = versions()
    for address, found in client.run(versions, on_error="return").items():
        if not isinstance(found, dict):
            found = {"rankwright": f"none that can be imported ({type(found).__name__})"}
        for package, version in own.items():
            if found.get(package) != version:
                raise DataError(
                    f"all workers must have the versions of this process, but {address} has "
                    f"{package} {found.get(package, 'of no version')}, and this one {version}."
                )


def _check_connected(client: Any) -> None:
    from distributed import Client

    if not isinstance(client, Client):
        raise TypeError(
            f"client must be a distributed.Client, but is a {type(client).__name__}. Connect "
            "first: Client(address)."
        )
    if client.status != "running":
        raise DataError(f"the client must be connected to a cluster, but is {client.status}.")


def versions() -> dict[str, str]:
    """Return the versions that bits depend on."""
    from importlib.metadata import version

    return {
        "rankwright": f"{rankwright.__version__} ({code_hash()})",
        "Python": platform.python_version().rpartition(".")[0],
        **{name: version(name) for name in _PACKAGES},
    }


def address_of(client: Client) -> str:
    """Return where the scheduler is."""
    return str(client.scheduler.address)


def describe_cluster(client: Client) -> str:
    """Return a line that names a cluster: its scheduler, workers and threads."""
    threads = client.nthreads()
    n_workers = f"{len(threads)} worker{'s' * (len(threads) != 1)}"
    n_threads = sum(threads.values())
    return f"Dask at {address_of(client)}, {n_workers}, {n_threads} thread{'s' * (n_threads != 1)}"


def jobs_executor(client: Client) -> Executor:
    """Return an executor for ``compare``, ``tune`` and ``noise_study``, once versions are checked.

    The run card of a comparison names the cluster then. ``client.get_executor()`` will do as well.
    """
    check_versions(client)
    executor: Executor = client.get_executor(pure=False)
    executor.description = describe_cluster(client)  # type: ignore[attr-defined]
    return executor


@contextlib.contextmanager
def open_client(address: str, n_workers: int | None = None) -> Iterator[Client]:
    """Connect to a scheduler; ``"local"`` starts a cluster of processes on this machine.

    Parameters
    ----------
    address : str
        Such as ``"tcp://scheduler:8786"``, or ``"local"``.
    n_workers : int, optional
        Processes of a local cluster, with one thread each; one for each core by default.
    """
    distributed = load_extra("distributed", "dask", "clusters need")
    if address == LOCAL:
        from rankwright.dask.local_cluster import local_client
        from rankwright.threads import n_threads

        with local_client(n_threads(n_workers)) as client:
            yield client
        return
    with _connected(distributed, address) as client:
        yield client


def _connected(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=10)  # seconds
    except (OSError, ValueError, TimeoutError) as error:
        text = " ".join(str(error).split())
        raise DataError(
            f"there must be a Dask scheduler at {address!r}, or 'local' to start one here, but: "
            f"{text[:200]}"
        ) from None
