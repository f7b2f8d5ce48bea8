"""A server of the service's own stack that decodes the same bodies and answers stored bytes.

``python -m benchmarks.bare_server PORT`` listens on a port. What it does not do is the service's
own work: to check, score, sort, answer and log.
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from rankwright.serve.bodies import PlacedDocument, Ranked, RankRequest
from rankwright.serve.http.binary import NPY, npy_matrix

N_DOCS = 100
_decoder = msgspec.json.Decoder(RankRequest)
_STORED = msgspec.json.encode(
    Ranked("0" * 26, "1", [PlacedDocument(str(i), 1 / (i + 1), i + 1) for i in range(N_DOCS)])
)
_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(_STORED)).encode()),
]


class Rank:
    """Reads a body and decodes it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        parts, more = bytearray(), True
        while more:
            message = await receive()
            parts += message.get("body", b"")
            more = message.get("more_body", False)
        body = bytes(parts)
        if dict(scope["headers"]).get(b"content-type") == NPY.encode():
            npy_matrix(body)
        else:
            _decoder.decode(body)
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": _STORED})


def main() -> None:
    """Serve until it is killed."""
    app = Starlette(routes=[Route("/v1/rank", Rank(), methods=["POST"])])
    uvicorn.run(
        app,
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        log_level="error",
        access_log=False,
        server_header=False,
    )


if __name__ == "__main__":
    main()
