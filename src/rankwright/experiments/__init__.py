"""The papers' tables and figures: theirs beside ours."""

from __future__ import annotations

from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row
from rankwright.experiments.papers import PAPERS
from rankwright.experiments.runner import Finished, chosen, reproduce

Result = Findings  # its first name

__all__ = [
    "PAPERS",
    "Context",
    "Curve",
    "Experiment",
    "Figure",
    "Findings",
    "Finished",
    "Panel",
    "Result",
    "Row",
    "chosen",
    "reproduce",
]
