"""The page at ``/``: its files, and what it asks for."""

from __future__ import annotations

from time import perf_counter

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rankwright.serve.http.endpoints import Answer, Call, Endpoint, json_answer, route, send_answer
from rankwright.serve.http.ranking_ids import time_of_ranking
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Service
from rankwright.serve.page.overview_maker import OverviewMaker
from rankwright.serve.page.page_files import PAGE, POLICY, PageFile, page_files
from rankwright.serve.page.ranking_view import explained_ranking
from rankwright.serve.records import RankingRecord


def routes(service: Service) -> list[Route]:
    """Return the routes: one for each file of the page, so that no other can be asked for."""
    maker = OverviewMaker(service)

    async def overview(service: Service, call: Call) -> Answer:
        return Answer(await service.ask(maker.body))

    found = [
        route(service, "GET", "/v1/overview", "any", overview, ()),
        route(service, "GET", "/v1/rankings/{id}", "any", one_ranking, ()),
    ]
    for name, file in page_files().items():
        path = "/" if name == PAGE else f"/static/{name}"
        found.append(Route(path, FileEndpoint(service, path, file), methods=["GET"]))
    return found


async def one_ranking(service: Service, call: Call) -> Answer:
    """Return a ranking with its explanations."""
    ranking_id = call.path["id"]
    found: RankingRecord | None = None
    if time_of_ranking(ranking_id) is not None:
        found = service.writer.pending(ranking_id)
        if found is None:
            found = await service.ask(service.store.ranking, ranking_id)
    if found is None:
        raise RefusedError(
            404, f"there is no ranking {ranking_id!r:.80}: it was not logged, or has expired.", "id"
        )
    return json_answer(await service.ask(explained_ranking, found, service.board.look))


class FileEndpoint(Endpoint):
    """A file of the page, open to everybody; sent only if the browser does not have it."""

    def __init__(self, service: Service, path: str, file: PageFile) -> None:
        super().__init__(service, "GET", path, None, self._whole)
        self._file = file
        self._headers = (
            ("etag", file.etag),
            ("cache-control", "no-cache"),  # which is: ask whether it has changed
            ("content-security-policy", POLICY),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        begin = perf_counter()
        known = b", ".join(value for name, value in scope["headers"] if name == b"if-none-match")
        answer = await self._whole(self.service, Call(b""))
        if self._file.etag.encode() in known:
            headers = [(name.encode(), value.encode()) for name, value in self._headers]
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send_answer(answer, send, scope["method"] == "HEAD")
        self.service.telemetry.observe(self.name, answer.status, perf_counter() - begin)

    async def _whole(self, service: Service, call: Call) -> Answer:
        file = self._file
        return Answer(file.content, 200, file.content_type, self._headers)
