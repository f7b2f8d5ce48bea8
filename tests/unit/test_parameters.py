"""Constructors that are made of fields, and the texts that their docstrings share."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import Any

import pytest

from rankwright import online, predtron

BASES = (online.OnlineLearner, online.OnlineLinearRanker)
PUBLIC = [getattr(package, name) for package in (online, predtron) for name in package.__all__]
LEARNERS = [
    kind
    for kind in PUBLIC
    if inspect.isclass(kind) and issubclass(kind, online.OnlineLearner) and kind not in BASES
]
every_learner = pytest.mark.parametrize("kind", LEARNERS, ids=lambda kind: kind.__name__)


@pytest.mark.skipif(sys.flags.optimize > 1, reason="there are no docstrings")
@every_learner
def test_every_parameter_is_described_where_help_looks(kind: Any) -> None:
    text = inspect.getdoc(kind) or ""
    pattern = r"^Parameters\n-+\n(.*?)\n\nAttributes\n-+\n"
    section = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    assert section is not None
    described = re.findall(r"^(\w+(?:, \w+)*)(?: :|$)", section[1], re.MULTILINE)
    names = [name for line in described for name in line.split(", ")]
    assert sorted(names) == sorted(inspect.signature(kind).parameters)
    assert not re.search(r"^\s*@", text, re.MULTILINE)  # no text is left to be filled in


@every_learner
def test_parameters_are_stored_as_they_are(kind: Any) -> None:
    given = {name: object() for name in inspect.signature(kind).parameters}
    model = kind(**given)
    assert vars(model) == given
    assert model.get_params(deep=False) == given


POSITIONAL = {
    "SLAMPerceptron": ["metric", "update"],
    "OnlineRanker": ["loss", "eta"],
    "PAMIR": ["C"],
    "PRank": ["variant"],
    "WidrowHoff": ["eta"],
    "MulticlassPerceptron": ["update"],
    "Predtron": ["problem", "mode", "norm"],
    "PredtronClassifier": ["loss", "reject"],
    "PredtronOrdinal": ["mode", "norm"],
    "PredtronMultilabel": ["loss", "mode", "norm"],
    "PredtronRanker": ["loss", "representation", "mode", "norm"],
    "PredtronLabelRanker": ["loss", "representation", "mode", "norm"],
}


@every_learner
def test_the_first_parameters_may_be_given_by_place(kind: Any) -> None:
    parameters = inspect.signature(kind).parameters.values()
    first = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert first == POSITIONAL[kind.__name__]
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters if p.name not in first)


def test_learners_work_without_docstrings() -> None:
    code = "import rankwright as rw; print(rw.PRank().fit([[0.0], [1.0]], [0, 1]).n_rounds_)"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code], capture_output=True, encoding="utf-8"
    )
    assert done.stdout == "20\n", done.stderr
