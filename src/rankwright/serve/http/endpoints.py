"""Endpoints: from a request to a handler's answer, with what holds for all of them.

An endpoint checks the token and the rate, reads the body within its limits, calls the handler, and
sends the answer with the headers that every answer has. Whatever is wrong with a request is a
:class:`~rankwright.serve.http.refusals.RefusedError`, answered as JSON.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rankwright.serve.bodies import RefusalBody
from rankwright.serve.http.memory import keep_answers
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Service
from rankwright.serve.store.interface import StoreUnavailableError

JSON = "application/json"
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_PAGE_HEADERS = {b"cache-control", b"content-security-policy"}  # a page may have its own
T = TypeVar("T")
_log = logging.getLogger("rankwright.serve")
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Call:
    """A request, read whole.

    Attributes
    ----------
    body : bytes
    content_type, accept : str
        As the caller wrote them, in small letters; ``""`` if not.
    query, path : mapping
        Parameters behind the question mark, and parts of the path.
    caller : str
        Who: the number of a token, or the address. For limits, never shown.
    """

    body: bytes
    content_type: str = ""
    accept: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=dict)
    caller: str = ""


@dataclass(slots=True)
class Answer:
    """What is sent back."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[Service, Call], Awaitable[Answer]]


def json_answer(value: Any, status: int = 200) -> Answer:
    """Return a value as JSON."""
    return Answer(_encode(value), status)


def problem(refusal: RefusedError) -> Answer:
    """Return a refusal as JSON."""
    about = msgspec.UNSET if refusal.field is None else refusal.field
    answer = json_answer(RefusalBody(refusal.text, about), refusal.status)
    if refusal.retry_after is not None:
        answer.headers = (("retry-after", str(refusal.retry_after)),)
    if refusal.status == 401:
        answer.headers = (*answer.headers, ("www-authenticate", "Bearer"))
    return answer


def json_body(decoder: msgspec.json.Decoder[T], call: Call) -> T:
    """Return what the JSON of a call says; RefusedError if it says that it is something else."""
    kind = call.content_type.partition(";")[0].rstrip()
    if kind not in (JSON, ""):
        text = f"a body must be {JSON}, but is {kind!r:.100}."
        raise RefusedError(415, text, "content-type")
    return decoded_body(decoder, call.body)


def decoded_body(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Return what a JSON body says; RefusedError names the field that is wrong."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `")
        field = where.removesuffix("`").removeprefix("$").removeprefix(".")
        raise RefusedError(422, f"{text:.300}.", field[:200] or "body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(400, f"the body is not JSON: {error!s:.200}.", "body") from None
    except RecursionError:
        raise RefusedError(400, "the body is nested too deeply.", "body") from None


class Endpoint:
    """A method of a path: an ASGI application."""

    def __init__(
        self,
        service: Service,
        method: str,
        path: str,
        scope: str | None,
        handler: Handler,
        parameters: Sequence[str] | None = None,
    ) -> None:
        self.service = service
        self.method = method
        self.path = path
        self.needs = scope
        self.handler = handler
        self.parameters = parameters
        self.name = f"{method} {path}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        begin = perf_counter()
        answer = await self._answer(scope, receive)
        if answer is None:  # nobody is there any more
            return
        self.service.telemetry.observe(self.name, answer.status, perf_counter() - begin)
        await send_answer(answer, send, scope["method"] == "HEAD")

    async def _answer(self, scope: Scope, receive: Receive) -> Answer | None:
        try:
            call = await self._call(scope, receive)
            return None if call is None else await self.handler(self.service, call)
        except RefusedError as refusal:
            return problem(refusal)
        except StoreUnavailableError as error:
            return problem(RefusedError(503, f"the store does not answer: {error}", None, 1))
        except Exception:
            _log.exception("%s failed", self.name)
            return problem(RefusedError(500, "the server failed; its log says how."))

    async def _call(self, scope: Scope, receive: Receive) -> Call | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        coding = headers.get(b"content-encoding", b"")
        service = self.service
        if not service.tokens.known:
            check_origin(headers.get(b"host", b""), headers.get(b"origin", b""))
        client = scope.get("client")
        token = headers.get(b"authorization", b"")
        caller = service.admit(self.needs, token, client[0] if client else "")
        if coding and coding.lower() != b"identity":
            text = f"a body must be sent as it is, not as {coding.decode('latin-1')!r:.40}."
            raise RefusedError(415, text, "content-encoding")
        body = await _body(receive, headers.get(b"content-length", b""), service)
        if body is None:
            return None
        query = _parameters(scope["query_string"]) if scope["query_string"] else {}
        if self.parameters is not None:
            refuse_unheard(query, self.parameters)
        return Call(
            body,
            headers.get(b"content-type", b"").decode("latin-1").lower(),
            headers.get(b"accept", b"").decode("latin-1").lower(),
            query,
            scope.get("path_params") or {},
            caller,
        )


@keep_answers
def check_origin(host: bytes, origin: bytes) -> None:
    """Raise unless this machine asks, and no page of another site that is open in a browser.

    Without tokens an address is all that protects the service, and a browser here has it: it must
    have been asked by the name of this machine, and by a page of the service's own.
    """
    name = host.decode("latin-1").lower()
    bare = name[1 : name.find("]")] if name.startswith("[") else name.rpartition(":")[0] or name
    if name and bare != "localhost" and not is_loopback(bare):
        raise RefusedError(403, f"without tokens the host must be localhost, not {bare!r:.100}.")
    if origin and origin.decode("latin-1").lower() not in (f"http://{name}", f"https://{name}"):
        raise RefusedError(403, "without tokens pages of other sites are not served.", "origin")


def is_loopback(address: str) -> bool:
    """Tell whether an address is one of this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("x")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


async def _body(receive: Receive, length: bytes, service: Service) -> bytes | None:
    """Return the body; None if the caller went away before its end."""
    limits = service.settings.limits
    if length.isdigit() and int(length[:20]) > limits.body:
        raise _body_too_large(limits.body)
    message = await receive()  # a connection has its time for this: see connections.py
    if message["type"] != "http.request":
        return None
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False) and len(body) <= limits.body:
        return body
    parts = bytearray(body)
    while message.get("more_body", False) and len(parts) <= limits.body:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts += message.get("body", b"")
    if len(parts) > limits.body:
        raise _body_too_large(limits.body)
    return bytes(parts)


def _body_too_large(most: int) -> RefusedError:
    text = f"a body must have at most {most} bytes: send fewer documents at a time."
    return RefusedError(413, text, "body")


def _parameters(query: bytes) -> dict[str, str]:
    if b"%" not in query and b"+" not in query and query.isascii():  # nothing to decode
        pairs = [part.partition("=")[::2] for part in query.decode().split("&") if part]
    else:
        try:
            pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
        except ValueError:
            raise RefusedError(422, "parameters of the address must be UTF-8.") from None
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RefusedError(422, "a parameter of the address must be there once.")
    return found


def refuse_unheard(given: Iterable[str], known: Sequence[str]) -> None:
    """Raise if the address has a parameter that would not be heard."""
    for name in given:
        if name not in known:
            names = f"parameters are {', '.join(known)}" if known else "there are no parameters"
            raise RefusedError(422, f"{names} here, not {name!r:.80}.", name[:200])


async def send_answer(answer: Answer, send: Send, head: bool = False) -> None:
    """Send an answer with the headers that all of them have."""
    body = answer.body
    headers = [
        (b"content-type", answer.content_type.encode("latin-1")),
        (b"content-length", b"%d" % len(body)),
        *_SAFE,
    ]
    if answer.headers:
        own = [(name.lower().encode("latin-1"), v.encode("latin-1")) for name, v in answer.headers]
        named = {name for name, _ in own} & _PAGE_HEADERS
        headers = [pair for pair in headers if pair[0] not in named] + own
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else body})


def route(
    service: Service,
    method: str,
    path: str,
    scope: str | None,
    handler: Handler,
    parameters: Sequence[str] | None = None,
) -> Route:
    """Return a route of a handler.

    ``scope`` is what the caller's token must allow: ``"rank"``, ``"feedback"``, ``"admin"``,
    ``"any"`` for any token; None for everybody. ``parameters`` are those of the address that the
    handler hears, others are refused; None leaves that to the handler.
    """
    endpoint = Endpoint(service, method, path, scope, handler, parameters)
    return Route(path, endpoint, methods=[method])
