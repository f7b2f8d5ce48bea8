"""What theory says of a learner: its guarantee with all terms, made anew from its account."""

from __future__ import annotations

from rankwright.serve.learning.pupil import Pupil
from rankwright.serve.page.overview import Promise
from rankwright.serve.records import LearnerRecord
from rankwright.serve.store.interface import Store
from rankwright.theory.guarantee import Guarantee


def promise_of(store: Store, learner: LearnerRecord) -> Promise:
    """Return the guarantee of a learner, or why it has none."""
    if learner.bound is None:
        return Promise("", "", "", {}, learner.loss, None, learner.reason)
    guarantee = _guarantee_again(store, learner)
    if guarantee is None:
        return Promise("", "", "", {}, learner.loss, learner.bound, "")
    return Promise(
        guarantee.name,
        guarantee.quantity,
        guarantee.formula,
        dict(guarantee.terms),
        learner.loss,
        learner.bound,
        "",
    )


def _guarantee_again(store: Store, learner: LearnerRecord) -> Guarantee | None:
    pupil = Pupil.of(store, learner)
    if pupil.account.ledger is None:
        return None
    found: Guarantee = pupil.model.guarantee(pupil.account.ledger)
    return found
