"""The run card of a comparison: what it takes to do it again."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from typing import Any

from rankwright import __version__
from rankwright.evaluation.folds import Fold

_PACKAGES = ("numpy", "scipy", "scikit-learn", "lightgbm")


def run_card(
    folds: list[Fold], metrics: list[str], settings: dict[str, Any], seconds: float | None
) -> dict[str, Any]:
    """Return versions, seeds and hashes, as plain values."""
    from importlib.metadata import PackageNotFoundError, version

    versions = {"rankwright": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    data = [
        {
            "fold": fold.name,
            "fingerprint": fold.fingerprint,
            "features": fold.train.n_features,
            **{
                name: {"queries": part.n_queries, "documents": part.n_docs}
                for name, part in fold.parts().items()
            },
        }
        for fold in folds
    ]
    return {
        "command": " ".join(sys.argv),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seconds": None if seconds is None else round(seconds, 1),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": versions,
        "metrics": metrics,
        **settings,
        "data": data,
    }
