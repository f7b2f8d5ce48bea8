"""Fits of which only the outcome counts."""

from __future__ import annotations

import warnings
from typing import Any

from rankwright.exceptions import ConvergenceWarning


def fit_quietly(model: Any, *data: Any) -> Any:
    """Fit without warnings that a tolerance was not met: experiments bound the work instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)
