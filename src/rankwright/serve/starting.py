"""Before anything is started: the model, the tokens, the store and the address, checked."""

from __future__ import annotations

import re
import socket
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from rankwright.exceptions import DataError
from rankwright.serve.http.endpoints import is_loopback
from rankwright.serve.http.tokens import read_tokens
from rankwright.serve.learning.account import read_comparator, why_no_comparator
from rankwright.serve.ranking.ways import RankingWay, can_learn, full_model, ranking_way
from rankwright.serve.settings import Log, Settings
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import Store
from rankwright.serve.watching.baseline import Baseline


@dataclass(frozen=True)
class Plan:
    """What will be served, once everything was checked.

    Attributes
    ----------
    version : str
        What ranks first.
    log : Log
        What is written of rankings.
    notes : list of str
        What the caller should know, a line each.
    """

    version: str
    log: Log
    notes: list[str]


def prepare(model: str, settings: Settings) -> Plan:
    """Check the model, the tokens and the store, and put the model into it.

    A file that the store knows changes nothing: what was promoted since goes on being served, with
    all that it has learned. Another file is added, and promoted.
    """
    content = model_content(model)
    try:
        way = ranking_way(content)
    except DataError as error:
        raise DataError(error.message, path=model) from None
    read_tokens(settings.tokens)
    _check_others(content, way, settings)
    store = open_store(settings.store)
    try:
        return _put(store, content, way.kind, Path(model).name, settings)
    finally:
        store.close()


def _check_others(content: bytes, way: RankingWay, settings: Settings) -> None:
    """Raise if the comparator or the data for drift do not fit the model."""
    if settings.comparator is not None:
        why = why_no_comparator(read_comparator(settings.comparator), full_model(content))
        if why is not None:
            raise ValueError(f"--comparator {settings.comparator}: {why}")
    if settings.reference is not None:
        Baseline.of_file(settings.reference, way.n_features)


def model_content(path: str) -> bytes:
    """Return the bytes of a model file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", path=path) from None


def _put(store: Store, content: bytes, kind: str, name: str, settings: Settings) -> Plan:
    known = {record.digest: record for record in store.models()}
    record = store.add_model(content, kind, can_learn(content), time.time(), name)
    serving, notes = store.serving(), []
    if serving is None or record.digest not in known:
        if serving is not None:
            notes.append(
                f"{name} is new: model {record.model_id} takes the place of {serving.promoted}"
            )
        serving = store.promote(record.model_id, time.time(), f"start {uuid.uuid4()}")
    elif serving.promoted != record.model_id:
        notes.append(
            f"{name} is model {record.model_id}; model {serving.promoted} was promoted since, and "
            "is served"
        )
    records = {one.model_id: one for one in store.models()}
    served = {serving.promoted}
    if serving.experiment is not None:
        served |= {serving.experiment.a, serving.experiment.b}
    learns = any(records[number].learns for number in served)
    learners = {one.model_id: one for one in store.learners()}
    learner = learners.get(serving.promoted)
    version = str(serving.promoted) if learner is None else learner.version
    return Plan(version, settings.log or (Log.features if learns else Log.ids), notes)


def bind(settings: Settings) -> socket.socket:
    """Return the listening socket; ValueError if it cannot be, or must not."""
    host, port = settings.host, settings.port
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise ValueError(f"--host must be an address of this machine, but is {host!r}.") from None
    if not is_loopback(str(address[0])) and not read_tokens(settings.tokens).known:
        raise ValueError(
            f"without tokens only this machine may be served: give --token-file, or leave --host "
            f"{host} out."
        )
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise ValueError(
            f"port {port} of {host} cannot be had: {error.strerror}. Choose another with --port; "
            "0 takes any that is free."
        ) from None
    return listener


def shown_store(store: str) -> str:
    """Return the address of a store without its password.

    >>> shown_store("postgresql://me:secret@host/ranking")
    'postgresql://me:***@host/ranking'
    """
    return re.sub(r"(://[^:/@?#]*):[^@/]*@", r"\1:***@", store)


def url_of(listener: socket.socket) -> str:
    """Return where a socket listens."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
