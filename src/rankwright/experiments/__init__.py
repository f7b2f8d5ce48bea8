"""The papers' tables and figures: theirs beside ours."""

from __future__ import annotations

from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.papers import PAPERS
from rankwright.experiments.result import Curve, Figure, Panel, Result, Row
from rankwright.experiments.runner import Finished, chosen, reproduce

__all__ = [
    "PAPERS",
    "Context",
    "Curve",
    "Experiment",
    "Figure",
    "Finished",
    "Panel",
    "Result",
    "Row",
    "chosen",
    "reproduce",
]
