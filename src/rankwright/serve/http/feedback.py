"""What a feedback says: from the body of a caller to the lesson of an event.

Two ways to say what was judged, two to judge:

- **by ``ranking_id``**: the documents, their order and features are those of the answer;
- **with documents**: features come along, for rankings that nobody has kept. Documents stand in
  the order in which they were shown.
- **labels**: numbers from 0 on, or classes of the model. Only labelled documents are learned.
- **clicks**: the impression is the list down to the last click. In it, clicked documents have the
  label 1 and the others 0; documents below are not learned. This is the rule of the paper on the
  cross entropy for NDCG (section 5.5), for any number of clicks.

A second feedback on the same ranking, with an ``event_id`` of its own, is another lesson.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec
import numpy as np

from rankwright.data.feature_names import listed
from rankwright.data.groups import Groups
from rankwright.metrics.dcg import NDCG
from rankwright.serve.bodies import Feedback, LabelledDocument
from rankwright.serve.http.checks import check_ids, check_name, check_query
from rankwright.serve.http.ranking_ids import time_of_ranking
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.ranking.served import ServedModel
from rankwright.serve.records import EventLesson, Numbers, RankingRecord
from rankwright.serve.settings import Limits

_METRIC = NDCG(k=10)
_LARGEST = 1000.0  # label that has a gain, 2^y - 1
_content = msgspec.json.Encoder(order="deterministic").encode


def digest_of(feedback: Feedback) -> bytes:
    """Return a digest of what a feedback says, whatever its ``event_id``.

    The order of labels and of the fields makes no difference.
    """
    content = _content(msgspec.structs.replace(feedback, event_id=""))
    return blake2b(content, digest_size=16).digest()


def check_form(feedback: Feedback, limits: Limits) -> None:
    """Raise unless a feedback has an id, says what was judged in one way, and judges in one."""
    check_name("event_id", feedback.event_id, limits)
    documents = feedback.documents
    if (feedback.ranking_id is None) == (documents is None):
        raise RefusedError(
            422, "a feedback must have ranking_id or documents: one of both.", "ranking_id"
        )
    own = documents is not None and any(one.label is not None for one in documents)
    if (feedback.labels is not None) + (feedback.clicks is not None) + own != 1:
        raise RefusedError(
            422,
            "a feedback must have labels or clicks, or labels of its documents: one of them.",
            "labels",
        )
    if not (feedback.labels or feedback.clicks or own):
        what = "clicks" if feedback.labels is None else "labels"
        raise RefusedError(422, f"{what} must not be empty: there is nothing to learn.", what)
    if documents is not None:
        _check_documents(feedback.query, documents, limits)
    elif feedback.query is not None:
        raise RefusedError(422, "query must come with documents; a ranking has its own.", "query")
    elif time_of_ranking(feedback.ranking_id or "") is None:
        raise RefusedError(
            422,
            f"ranking_id must be one that /v1/rank answered, but is {feedback.ranking_id!r:.80}.",
            "ranking_id",
        )


def _check_documents(
    query: str | None, documents: Sequence[LabelledDocument], limits: Limits
) -> None:
    if query is None:
        raise RefusedError(422, "query must come with documents, but is missing.", "query")
    check_query(query, limits)
    check_ids([document.id for document in documents], limits)


# ---- lessons ----


def lesson_of_ranking(
    feedback: Feedback, ranking: RankingRecord, model: ServedModel
) -> EventLesson:
    """Return the labelled documents of a ranking, best first."""
    # As /v1/rank orders them: equal scores keep the order in which they came.
    order: list[int] = np.argsort(-ranking.scores, kind="stable").tolist()
    # Nobody clicked, or passed over, what was not answered; judges may know it.
    seen = order if feedback.clicks is None else order[: ranking.k]
    labels = _labels_by_id(feedback, [ranking.ids[row] for row in seen], model)
    rows = [row for row in order if ranking.ids[row] in labels]
    features = None if ranking.features is None else ranking.features[rows]
    return _lesson(ranking.query, [ranking.ids[row] for row in rows], labels, features)


def lesson_of_documents(feedback: Feedback, model: ServedModel) -> EventLesson:
    """Return the labelled documents that came along, in their order."""
    documents = feedback.documents or []
    labels = _labels_by_id(feedback, [document.id for document in documents], model)
    X = model.matrix(documents)  # also of those without a label: they must be right too
    bad = np.isinf(X) if model.takes_missing else ~np.isfinite(X)
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise RefusedError(
            422,
            f"features must be finite numbers, but {model.feature_names[column]!r} of document "
            f"{documents[row].id!r} is {X[row, column]}.",
            f"documents[{row}].features",
        )
    rows = [row for row, document in enumerate(documents) if document.id in labels]
    return _lesson(feedback.query or "", [documents[row].id for row in rows], labels, X[rows])


def _lesson(
    query: str, ids: list[str], labels: dict[str, float], features: Numbers | None
) -> EventLesson:
    return EventLesson(query, ids, np.array([labels[name] for name in ids]), features)


def _labels_by_id(feedback: Feedback, shown: list[str], model: ServedModel) -> dict[str, float]:
    """Return the labels by document; ``shown`` are the documents, best first."""
    if feedback.clicks is not None:
        _refuse_unknown(feedback.clicks, shown, "clicks")
        clicked = set(feedback.clicks)
        last = max(place for place, name in enumerate(shown) if name in clicked)
        labels = {name: float(name in clicked) for name in shown[: last + 1]}
    elif feedback.labels is not None:
        _refuse_unknown(feedback.labels, shown, "labels")
        labels = feedback.labels
    else:
        documents = feedback.documents or []
        labels = {one.id: one.label for one in documents if one.label is not None}
    _check_labels(labels, model)
    return labels


def _refuse_unknown(named: Iterable[str], shown: list[str], field: str) -> None:
    known = set(shown)
    unknown = [name[:100] for name in named if name not in known]
    if unknown:
        text = f"{field} must name documents that were answered, and not {listed(unknown)}."
        raise RefusedError(422, text, field)


def _check_labels(labels: dict[str, float], model: ServedModel) -> None:
    classes = model.classes
    for name, label in labels.items():
        if classes is None and not 0 <= label < math.inf:
            text = f"labels must be finite numbers from 0 on, but that of {name!r:.100} is {label}."
            raise RefusedError(422, text, "labels")
        if classes is not None and label not in classes:
            text = (
                f"labels must be among the classes of the model, {listed(classes)}, but that of "
                f"{name!r:.100} is {label:g}."
            )
            raise RefusedError(422, text, "labels")


def values_of_lessons(lessons: Sequence[EventLesson]) -> list[float | None]:
    """Return NDCG@10 of each lesson, in its order: of its labelled documents alone.

    None where no label is relevant, or where a label has no gain (it is negative, or above 1000).
    """
    found: list[float | None] = [None] * len(lessons)
    places = [
        place
        for place, lesson in enumerate(lessons)
        if lesson.labels.min() >= 0 and 0 < lesson.labels.max() <= _LARGEST
    ]
    if not places:
        return found
    y = [lessons[place].labels for place in places]
    groups = Groups(np.cumsum([0, *map(len, y)]))
    falling = -np.arange(groups.n_rows, dtype=np.float64)
    values = _METRIC.per_query(np.concatenate(y), falling, groups)
    for place, value in zip(places, values.tolist(), strict=True):
        found[place] = value
    return found
