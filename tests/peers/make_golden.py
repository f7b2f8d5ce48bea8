"""Write what the real tools say to ``tests/golden`` (``python -m tests.peers.make_golden``)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rankwright.metrics import Metric, parse
from tests.peers.sample import binary, sample
from tests.peers.tools import TOOLS

GOLDEN = Path(__file__).parents[1] / "golden" / "peers.json"
SAMPLES = {"graded": sample, "binary": binary}
PACKAGES = (
    "catboost",
    "lightgbm",
    "numpy",
    "pytrec-eval-terrier",
    "ranx",
    "scikit-learn",
    "xgboost-cpu",
)

# Options of a tool that a preset takes under the name of our convention.
_OPTIONS = {" with type=Exp": "(gain=exp2)", " with ndcg_exp_gain=false": "(gain=linear)"}
_REFUSE_GRADES = ("xgboost:map", "xgboost:pre")


def preset_text(key: str) -> str:
    """Return the preset for a key of ``TOOLS``, if there is one."""
    for option, ours in _OPTIONS.items():
        key = key.replace(option, ours)
    return key


def preset_metric(key: str) -> Metric | None:
    """Return our metric for a key of ``TOOLS``; None if it is no preset."""
    try:
        return parse(preset_text(key))
    except ValueError:
        return None


def preset_keys(kind: str) -> Iterator[tuple[str, Metric]]:
    """Yield the keys of ``TOOLS`` that are presets and take such labels, with our metrics."""
    for key in TOOLS:
        metric = preset_metric(key)
        if metric is not None and not (kind == "graded" and key.startswith(_REFUSE_GRADES)):
            yield key, metric


def golden(seed: int = 0) -> dict[str, Any]:
    """Run the tools on both kinds of labels."""
    samples = {}
    for kind, draw in SAMPLES.items():
        y, scores, indptr = draw(seed)
        values = {
            preset_text(key): [
                None if math.isnan(value) else value
                for value in TOOLS[key](y, scores, indptr).tolist()
            ]
            for key, _ in preset_keys(kind)
        }
        samples[kind] = {
            "y": y.tolist(),
            "scores": scores.tolist(),
            "indptr": indptr.tolist(),
            "values": values,
        }
    return {"versions": {package: version(package) for package in PACKAGES}, "samples": samples}


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(golden(), separators=(",", ":")) + "\n")
