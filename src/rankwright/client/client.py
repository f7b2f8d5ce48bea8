"""The client: what a caller of the service can do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Self

from rankwright.client.administration import Administration
from rankwright.client.calls import Caller, Outgoing, ServiceError
from rankwright.client.judging import GivenFeedback, judged_documents, judged_event, judged_ranking
from rankwright.client.results import (
    RankedDocument,
    RankedQuery,
    Receipt,
)
from rankwright.client.sending import (
    Features,
    as_id,
    asked_documents,
    json_bytes,
    npy_bytes,
    rank_body,
    rank_parameters,
)

_BATCH = 200  # queries or events of one call: far below the service's limits
# The ranking is not there any more: the features are needed. Or the log has this event with another
# content: with the features, if an earlier call had to send them.
_WANTS_MORE = (410, 409)


class Client(Administration):
    """Asks a service for rankings and gives it feedback.

    Threads may share a client; a process that was forked may go on with its parent's. A call that
    fails is tried again where that may help and can do no harm: feedback has an id, made before the
    first try, so that the service counts it once however often it comes.

    Parameters
    ----------
    url : str, default "http://127.0.0.1:8765"
        Where the service is.
    token : str, optional
        By default the environment variable ``RANKWRIGHT_TOKEN``, if it is there.
    timeout : float, default 10.0
        Seconds that one try may take to connect, to send, or to wait for bytes of the answer.
    retries : int, default 5
        Further tries after the first: when the connection is lost, the time is over, or the service
        is busy (429, 503; ``Retry-After`` is kept). Refusals are never tried again.

    transport : httpx.BaseTransport, optional
        How to reach it, such as a test's stand-in.

    Examples
    --------
    >>> from rankwright.client import Client
    >>> with Client("http://127.0.0.1:8765") as client:  # doctest: +SKIP
    ...     ranking = client.rank("red boots", [("p1", [0.3, 1.0]), ("p2", [0.9, 0.0])])
    ...     client.feedback(ranking, clicks=["p2"])
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8765",
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 5,
        transport: Any = None,
    ) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout must be a positive number of seconds, but is {timeout!r}.")
        if not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries must be an integer from 0, but is {retries!r}.")
        super().__init__(Caller(url, token, timeout, retries, transport))

    def __repr__(self) -> str:
        return f"Client({self._caller.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    # ---- rankings ----

    def rank(
        self,
        query: object,
        documents: Any = None,
        *,
        ids: str | Iterable[object] | None = None,
        X: Any = None,
        k: int | None = None,
        explain: bool = False,
    ) -> RankedQuery:
        """Rank the documents of a query.

        Parameters
        ----------
        query : str or int
            Your id of the query. Experiments split by it.
        documents : list or dict, optional
            ``(id, features)``, or ``{"id": ..., "features": ...}``, or a dict of features by id.
            Features are numbers in the model's order, or a dict of numbers by their names. None is
            a missing value.
        ids : iterable, or the name of a column, optional
            With ``X``: an id for each row.
        X : array or data frame, optional
            A row for each document, in place of ``documents``. The columns of a data frame go by
            their names; its nulls are missing values.
        k : int, optional
            How many documents to return; by default all.
        explain : bool, default False
            Whether to say what each feature adds to the scores.
        """
        name = as_id(query, "query")
        asked = asked_documents(documents, ids, X)
        content, params = npy_bytes(X), rank_parameters(name, asked, k, explain)
        if content is None or params is None:
            body = json_bytes(rank_body(name, asked, k, explain))
            outgoing = Outgoing("POST", "/v1/rank", body)
        else:
            outgoing = Outgoing("POST", "/v1/rank", content, "application/x-npy", params)
        return _ranking_of(name, asked, self._caller.call(outgoing))

    def rank_many(
        self,
        queries: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        *,
        k: int | None = None,
        explain: bool = False,
    ) -> list[RankedQuery]:
        """Rank the documents of many queries, in few calls.

        ``queries`` are pairs of a query and its documents, or a dict of documents by query;
        documents are as in :meth:`rank`. Rankings come in the order of the queries.
        """
        pairs = queries.items() if isinstance(queries, Mapping) else queries
        found: list[RankedQuery] = []
        for batch in _batches(pairs):
            asked = [(as_id(q, "query"), asked_documents(given, None, None)) for q, given in batch]
            body = json_bytes([rank_body(q, documents, k, explain) for q, documents in asked])
            answers = self._caller.call(Outgoing("POST", "/v1/rank", body))
            found += [_ranking_of(*one, answer) for one, answer in zip(asked, answers, strict=True)]
        return found

    # ---- feedback ----

    def feedback(
        self,
        ranking: RankedQuery | str,
        labels: Mapping[Any, Any] | None = None,
        clicks: Iterable[object] | None = None,
        *,
        event_id: str | None = None,
    ) -> Receipt:
        """Say what a ranking was worth; return when that is on the service's disk.

        Parameters
        ----------
        ranking : RankedQuery or str
            What :meth:`rank` returned, or its ``ranking_id``. With the former, the features are
            sent along where the service has not kept them or lost them in a crash.
        labels : dict, optional
            Labels by the ids of documents. Documents without one are not learned from.
        clicks : iterable of ids, optional
            Clicked documents, instead of labels: they get 1, those that stand above the last click
            and were not clicked 0, and those below it nothing.
        event_id : str, optional
            By default a new one. Your own makes a call that you repeat, even after a crash of your
            own process, count once.
        """
        return self._give(judged_ranking(ranking, labels, clicks, event_id))

    def feedback_with_features(
        self,
        query: object,
        documents: Any = None,
        labels: Any = None,
        clicks: Iterable[object] | None = None,
        *,
        ids: str | Iterable[object] | None = None,
        X: Any = None,
        event_id: str | None = None,
    ) -> Receipt:
        """Teach from documents that the service did not rank, or whose ranking it did not keep.

        Documents are as in :meth:`rank`; for ``clicks`` they must be in the order in which they
        were shown. ``labels`` are by id, or one for each document (None: no label).
        """
        asked = asked_documents(documents, ids, X)
        return self._give(judged_documents(query, asked, labels, clicks, event_id))

    def feedback_many(
        self, events: Iterable[Mapping[str, Any]], *, refused: str = "raise"
    ) -> list[Receipt]:
        """Give feedback for many rankings, in few calls.

        Parameters
        ----------
        events : iterable of dict
            Each with the arguments of :meth:`feedback` or :meth:`feedback_with_features`, such as
            ``{"ranking": ranking, "labels": {"a": 1}}``.
        refused : {"raise", "return"}
            What to do if the service refuses one: raise after all others have been sent, or return
            its receipt among the others, with ``accepted=False`` and the reason.
        """
        if refused not in ("raise", "return"):
            raise ValueError(f"refused must be 'raise' or 'return', but is {refused!r}.")
        receipts: list[Receipt] = []
        for batch in _batches(events):
            receipts += self._give_batch([judged_event(event) for event in batch])
        wrong = [receipt for receipt in receipts if not receipt.accepted]
        if wrong and refused == "raise":
            first = wrong[0]
            raise ServiceError(
                first.status,
                f"{len(wrong)} of {len(receipts)} events were refused, the others are on disk. "
                f"Event {first.event_id!r}: {first.error}",
            )
        return receipts

    def _give(self, event: GivenFeedback) -> Receipt:
        try:
            answer = self._send_feedback(event.first)
        except ServiceError as error:
            if error.status not in _WANTS_MORE or not event.can_mend:
                raise
            answer = self._send_feedback(event.whole)
        return _receipt(event, answer)

    def _give_batch(self, events: list[GivenFeedback]) -> list[Receipt]:
        answers = self._send_feedback([event.first for event in events])
        receipts = [_receipt(*pair) for pair in zip(events, answers, strict=True)]
        lost = [
            i for i, one in enumerate(receipts) if one.status in _WANTS_MORE and events[i].can_mend
        ]
        if lost:
            answers = self._send_feedback([events[i].whole for i in lost])
            for i, answer in zip(lost, answers, strict=True):
                receipts[i] = _receipt(events[i], answer)
        return receipts

    def _send_feedback(self, body: Any) -> Any:
        return self._caller.call(Outgoing("POST", "/v1/feedback", json_bytes(body)))


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _ranking_of(
    query: str, asked: Mapping[str, Features], answer: Mapping[str, Any]
) -> RankedQuery:
    documents = tuple(
        RankedDocument(
            one["id"], one["score"], one["rank"], one.get("label"), one.get("explanation")
        )
        for one in answer["documents"]
    )
    return RankedQuery(query, answer["ranking_id"], answer["model"], documents, asked)


def _receipt(event: GivenFeedback, answer: Mapping[str, Any]) -> Receipt:
    return Receipt(
        event.event_id,
        answer["accepted"],
        answer["duplicate"],
        answer.get("status"),
        answer.get("error", ""),
    )
