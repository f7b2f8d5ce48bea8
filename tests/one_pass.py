"""Learners whose ``fit`` does what their ``partial_fit`` does."""

from __future__ import annotations

from typing import Any, TypeVar

Learner = TypeVar("Learner", bound=Any)


def one_pass(learner: Learner) -> Learner:
    """Return a learner with the paper's value of what ``fit`` and ``partial_fit`` do differently.

    Parameters that do not have their defaults stay as they are.
    """
    usual = type(learner)(**required(learner)).get_params(deep=False)
    settings = {name: paper for name, (_, paper) in type(learner)._of_bases("LEFT_OPEN").items()}
    settings |= {"n_epochs": 1, "shuffle": False, "standardize": False}
    given = learner.get_params(deep=False)
    learner.set_params(
        **{k: v for k, v in settings.items() if k in usual and repr(given[k]) == repr(usual[k])}
    )
    return learner


def required(learner: Any) -> dict[str, Any]:
    """Return what the constructor cannot do without."""
    return {"problem": learner.problem} if "problem" in learner.get_params(deep=False) else {}
