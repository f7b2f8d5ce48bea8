"""One call over HTTP: tries, waits, and what is said when it fails."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from rankwright.extras import load_extra

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0  # seconds between tries, unless the service says otherwise
_MOST_PATIENCE = 60.0  # a service that asks for more is asked again by whoever called
_IDLE = 3.0  # less than servers keep an idle connection: or they would hang up on a request
_BUSY = (429, 503)  # nothing was done
_GATEWAY = (502, 504)  # something may have been done


class ServiceError(Exception):
    """The service refused, or did not answer.

    Attributes
    ----------
    status : int, optional
        The status of HTTP; None without an answer.
    text : str
        One line: what must hold, what came, what to do.
    field : str, optional
        The field of the request that it is about.
    """

    def __init__(self, status: int | None, text: str, field: str | None = None) -> None:
        super().__init__(status, text, field)
        self.status = status
        self.text = text
        self.field = field

    def __str__(self) -> str:
        return self.text if self.status is None else f"{self.status}: {self.text}"


class Again(Enum):
    """Which failures a call may be tried again after."""

    always = "always"  # it does no harm twice
    if_undone = "if undone"  # only if nothing can have been done


@dataclass(frozen=True)
class Outgoing:
    """What is sent: the same bytes in every try."""

    method: str
    path: str
    content: bytes = b""
    content_type: str = "application/json"
    params: Mapping[str, str] | None = None
    again: Again = Again.always
    in_json: bool = True


class Caller:
    """Sends to one service, from any thread and after forks; knows the token and never shows it."""

    def __init__(
        self, url: str, token: str | None, timeout: float, retries: int, transport: Any = None
    ) -> None:
        self.url, self.timeout, self.retries = _checked_url(url), timeout, retries
        self._httpx = load_extra("httpx", "serve", "the client needs")
        self._headers = {"Accept": "application/json", **_authorization(token)}
        self._transport = transport
        self._lock = threading.Lock()
        self._owner, self._http = 0, None

    def call(self, outgoing: Outgoing) -> Any:
        """Send, again where that is allowed and may help; return the answer, decoded from JSON."""
        tries = 0
        while True:
            tries += 1
            response, problem = self._attempt(outgoing)
            if response is not None and response.status_code < 300:
                return _from_json(response, self.url) if outgoing.in_json else response.content
            wait = self._wait_after(response, problem, outgoing.again, tries)
            if wait is None:
                raise self._error(response, problem, outgoing, tries) from None
            time.sleep(wait)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._http is not None and self._owner == os.getpid():
                self._http.close()
            self._http = None

    # ---- one try ----

    def _session(self) -> Any:
        """Return the connections of this process: a forked one must not use its parent's."""
        with self._lock:
            if self._http is None or self._owner != os.getpid():
                self._owner = os.getpid()
                self._http = self._httpx.Client(
                    base_url=self.url,
                    headers=self._headers,
                    timeout=self.timeout,
                    limits=self._httpx.Limits(keepalive_expiry=_IDLE),
                    transport=self._transport,
                    trust_env=not _is_loopback(self.url),  # no proxy stands before this machine
                )
            return self._http

    def _attempt(self, outgoing: Outgoing) -> tuple[Any, Exception | None]:
        headers = {"Content-Type": outgoing.content_type} if outgoing.content else {}
        try:
            return (
                self._session().request(
                    outgoing.method,
                    outgoing.path,
                    content=outgoing.content or None,
                    headers=headers,
                    params=outgoing.params,
                ),
                None,
            )
        except self._httpx.TransportError as problem:
            return None, problem

    def _wait_after(
        self, response: Any, problem: Exception | None, again: Again, tries: int
    ) -> float | None:
        """Return the seconds until the next try; None if there is to be none."""
        if tries > self.retries or not self._may_help(response, problem, again):
            return None
        longest: float = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (tries - 1))
        wait = longest * random.uniform(0.5, 1.0)  # or all who failed together come together
        asked = None if response is None else _retry_after(response.headers.get("Retry-After"))
        if asked is not None and asked > _MOST_PATIENCE:
            return None
        return wait + (asked or 0.0)

    def _may_help(self, response: Any, problem: Exception | None, again: Again) -> bool:
        """Tell whether another try may help and can do no harm."""
        if response is not None:
            undone = response.status_code in _BUSY
            open_end = response.status_code in _GATEWAY
        else:
            unsent = ("ConnectError", "ConnectTimeout", "PoolTimeout")
            undone = isinstance(problem, tuple(getattr(self._httpx, name) for name in unsent))
            open_end = not isinstance(problem, self._httpx.UnsupportedProtocol)
        return undone or (open_end and again is Again.always)

    # ---- what is said ----

    def _error(
        self, response: Any, problem: Exception | None, outgoing: Outgoing, tries: int
    ) -> ServiceError:
        tried = "" if tries == 1 else f" ({tries} tries)"
        if response is not None:
            text, field = _problem_of(response)
            return ServiceError(response.status_code, text + tried, field)
        why = "it did not answer in time" if _is_timeout(self._httpx, problem) else _short(problem)
        text = f"no answer from {self.url}{outgoing.path}: {why}{tried}."
        if isinstance(problem, self._httpx.ConnectError):
            text += " Is the service running there? Start it with: rankwright serve MODEL"
        elif outgoing.again is Again.if_undone:
            text += " It may have been done all the same: look before you try again"
        return ServiceError(None, text)


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url must be like 'http://127.0.0.1:8765', but is {url!r}.")
    return url.rstrip("/")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _authorization(token: str | None) -> dict[str, str]:
    token = os.environ.get("RANKWRIGHT_TOKEN") if token is None else token
    if not token:
        return {}
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("token must be printable ASCII without spaces. Is it one line of a file?")
    return {"Authorization": f"Bearer {token}"}


def _retry_after(value: str | None) -> float | None:
    """Return the seconds that the service asks for: a number, or until a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value)) if value.strip()[:1].isdigit() else _seconds_until(value)
    except ValueError:
        return None


def _seconds_until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _from_json(response: Any, url: str) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        raise ServiceError(
            response.status_code, f"{url} did not answer in JSON. Is it a rankwright service?"
        ) from None


def _problem_of(response: Any) -> tuple[str, str | None]:
    """Return what an answer says in the service's form, or else the name of its status."""
    try:
        body = json.loads(response.content)
        return str(body["error"]), body.get("field")
    except (ValueError, KeyError, TypeError, AttributeError):
        return response.reason_phrase or "no reason given", None


def _is_timeout(httpx: Any, problem: Exception | None) -> bool:
    return isinstance(problem, httpx.TimeoutException)


def _short(problem: Exception | None) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(problem).__name__
