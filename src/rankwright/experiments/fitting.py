"""Fits of which only the outcome counts."""

from __future__ import annotations

import warnings
from typing import Any

from rankwright.exceptions import ConvergenceWarning, DataWarning


def fit_quietly(model: Any, *data: Any) -> Any:
    """Fit without warnings that a tolerance was not met, or that a model ranks nothing.

    Experiments bound the work instead, and report what a model does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "this model (may rank|ranks) nothing", DataWarning)
        return model.fit(*data)
