"""Connections: what a caller may do before there is a request, and while one arrives.

uvicorn's protocol, with limits of ours: a connection that sends nothing, or a head or a body that
does not end, is closed in time, and a head may not be endless. An answer goes out in one piece.
"""

from __future__ import annotations

import asyncio
import sys
from http import HTTPStatus
from typing import Any, ClassVar, Protocol

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rankwright.serve.bodies import RefusalBody
from rankwright.serve.settings import Limits

_LONGEST_HEAD = 64 << 10


class _HeadError(Exception):
    """A head is too long."""


class Refused(Protocol):
    """A counter of requests: route, status, seconds."""

    def __call__(self, route: str, status: int, seconds: float) -> None:
        """Count one."""
        ...


class JoiningTransport:
    """A transport that sends what is written in one turn of the loop in one piece.

    uvicorn writes the head of an answer and then its body, and each would be a call of the system
    and a packet of its own.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []
        self.get_extra_info, self.is_closing = transport.get_extra_info, transport.is_closing
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading

    def write(self, data: bytes) -> None:
        """Let this be sent at the end of the turn, with what follows in it."""
        self._waiting.append(data)
        if len(self._waiting) == 1:
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send what waits, unless nobody is there any more."""
        if self._waiting and not self.is_closing():
            self._transport.write(b"".join(self._waiting))
        self._waiting.clear()

    def close(self) -> None:
        """Send what waits, and close."""
        self.flush()
        self._transport.close()


class GuardedProtocol(HttpToolsProtocol):
    """A connection within limits."""

    limits: ClassVar[Limits]
    refused: ClassVar[Refused]

    def connection_made(self, transport: Any) -> None:
        """Begin; refuse if there are too many."""
        joining: Any = JoiningTransport(transport, self.loop)
        super().connection_made(joining)
        self._head = 0  # bytes of a head that has not ended; -1 behind it
        self._came = 0  # bytes that came last
        self._timer: asyncio.TimerHandle | None = None
        most = self.limits.connections
        if len(self.connections) > most:
            self._refuse(503, f"at most {most} connections at a time: try again soon.")
            return
        self._begin_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._end_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        self._came = len(data)
        super().data_received(data)
        if self._head >= 0:
            self._head += len(data)
            if self._head > _LONGEST_HEAD and not self.transport.is_closing():
                self._refuse_head()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._head = 0
        if self._timer is None:
            self._begin_waiting()

    def on_headers_complete(self) -> None:
        """Begin a body; a head may have come whole and be too long all the same."""
        if self._came > _LONGEST_HEAD:
            fields = sum(len(name) + len(value) for name, value in self.headers)
            if len(self.url) + fields > _LONGEST_HEAD:
                raise _HeadError  # which ends the parser: see send_400_response
        self._head = -1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request."""
        self._end_waiting()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or whose head is too long."""
        error = sys.exception()
        if error is not None and isinstance(error.__context__, _HeadError):
            self._refuse_head()
        else:
            self._refuse(400, "this is no HTTP request.")

    def _refuse_head(self) -> None:
        self._refuse(431, f"address and headers must have at most {_LONGEST_HEAD} bytes.")

    def _begin_waiting(self) -> None:
        self._timer = self.loop.call_later(self.limits.seconds, self._late)

    def _end_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        seconds, begun = self.limits.seconds, self._head != 0 or self.cycle is not None
        if begun and (self._head >= 0 or not self.cycle.response_started):
            self._refuse(408, f"a request must arrive within {seconds:g} seconds: send it faster.")
        else:  # nothing came at all, or nobody waits for the rest
            self.transport.close()

    def _refuse(self, status: int, text: str) -> None:
        """Answer without an endpoint, and close."""
        self.refused("other", status, 0.0)
        body = msgspec.json.encode(RefusalBody(text))
        lines = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            "content-type: application/json",
            f"content-length: {len(body)}",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "connection: close",
            *(["retry-after: 1"] if status == 503 else []),
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode("ascii") + body)
        self.transport.close()


def guarded(limits: Limits, refused: Refused) -> Any:
    """Return the class of connections with these limits; refusals are told to a counter."""
    return type(
        "LimitedProtocol", (GuardedProtocol,), {"limits": limits, "refused": staticmethod(refused)}
    )
