"""Requests over connections that stay open, from a process of its own.

``python -m benchmarks.http_load`` reads a plan as JSON from standard input and prints what came of
it. A closed loop sends the next request of a connection when the answer is there: it finds the most
that a server can do. An open loop sends at fixed times, whether answers are there or not, and
counts a request's time from when it was due: waiting in line is not left out.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.harness import ENVIRONMENT

PLACE = b"########"


@dataclass(frozen=True)
class Plan:
    """What to send."""

    port: int
    path: str
    bodies: list[bytes]  # sent in turn, with the number of the request for PLACE
    content_type: str
    seconds: float
    connections: int = 8
    rate: float = 0.0  # a second; 0 is a closed loop
    headers: str = ""


def run(plan: Plan) -> dict[str, Any]:
    """Carry out a plan in a process of its own; return requests a second and times."""
    given = asdict(plan) | {"bodies": [base64.b64encode(b).decode() for b in plan.bodies]}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.http_load"],
        input=json.dumps(given).encode(),
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, **ENVIRONMENT},
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class _Connection(asyncio.Protocol):
    """One connection: at most one request is under way."""

    def __init__(self, load: _Load) -> None:
        self.load = load
        self.transport: Any = None
        self.received = bytearray()
        self.due = 0.0
        self.busy = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def send(self, due: float) -> None:
        self.due, self.busy = due, True
        self.received.clear()
        self.transport.write(self.load.next_request())

    def data_received(self, data: bytes) -> None:
        received = self.received
        received += data
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(received[:end]).lower()
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(received) < end + 4 + length:
            return
        self.busy = False
        self.load.answered(self, int(head[9:12]), bytes(received[end + 4 :]))

    def connection_lost(self, exc: Exception | None) -> None:
        if self.busy:
            self.load.lost += 1


class _Load:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        start = (
            f"POST {plan.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {plan.content_type}\r\n"
            f"{plan.headers}Content-Length: "
        )
        self.requests = [f"{start}{len(b)}\r\n\r\n".encode() + b for b in plan.bodies]
        self.numbered = any(PLACE in body for body in plan.bodies)
        self.turn = 0
        self.seconds: list[float] = []
        self.statuses: dict[int, int] = {}
        self.lost = 0
        self.end = 0.0
        self.idle: deque[_Connection] = deque()
        self.waiting: deque[float] = deque()
        self.last = b""

    def next_request(self) -> bytes:
        self.turn += 1
        request = self.requests[self.turn % len(self.requests)]
        return request.replace(PLACE, b"%08d" % self.turn) if self.numbered else request

    def answered(self, connection: _Connection, status: int, body: bytes) -> None:
        now = time.perf_counter()
        self.seconds.append(now - connection.due)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.last = body
        if self.plan.rate:
            if self.waiting:
                connection.send(self.waiting.popleft())
            else:
                self.idle.append(connection)
        elif now < self.end:
            connection.send(now)

    async def run(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        made = [
            (await loop.create_connection(lambda: _Connection(self), "127.0.0.1", self.plan.port))[
                1
            ]
            for _ in range(self.plan.connections)
        ]
        begin = time.perf_counter()
        self.end = begin + self.plan.seconds
        if self.plan.rate:
            self.idle.extend(made)
            await self._at_times(begin)
        else:
            for connection in made:
                connection.send(time.perf_counter())
            await asyncio.sleep(self.plan.seconds)
        n, took = len(self.seconds), time.perf_counter() - begin
        for connection in made:
            connection.busy = False
            connection.transport.close()
        return self._summary(n, took)

    async def _at_times(self, begin: float) -> None:
        n = 0
        while (now := time.perf_counter()) < self.end:
            while begin + n / self.plan.rate <= now:
                due = begin + n / self.plan.rate
                n += 1
                if self.idle:
                    self.idle.popleft().send(due)
                else:
                    self.waiting.append(due)
            await asyncio.sleep(0.0005)

    def _summary(self, n: int, took: float) -> dict[str, Any]:
        times = sorted(self.seconds[:n])

        def quantile(share: float) -> float:
            return times[min(n - 1, int(share * n))] if n else float("nan")

        return {
            "requests": n,
            "per_second": n / took,
            "p50_s": quantile(0.5),
            "p95_s": quantile(0.95),
            "p99_s": quantile(0.99),
            "statuses": self.statuses,
            "lost": self.lost,
            "unsent": len(self.waiting),
            "last": self.last[:300].decode(errors="replace"),
            "load": os.getloadavg()[0],
        }


def main() -> None:
    """Read a plan, carry it out, print what came of it."""
    import uvloop

    given = json.load(sys.stdin)
    plan = Plan(**given | {"bodies": [base64.b64decode(b) for b in given["bodies"]]})
    print(json.dumps(uvloop.run(_Load(plan).run())))


if __name__ == "__main__":
    main()
