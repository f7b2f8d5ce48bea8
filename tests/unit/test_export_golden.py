"""The exported texts of four tiny models are what they were.

``python -m tests.unit.test_export_golden`` writes them anew; look at what changed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

import rankwright as rw
from rankwright.exports import TARGETS, Refusal

pytestmark = pytest.mark.usefixtures("quick_engines")
FOLDER = Path(__file__).parents[1] / "golden" / "exports"
MODELS = ("tiny-trees", "tiny-linear", "tiny-prank", "tiny-sum")


def exported(model: str, target: str) -> bytes | None:
    """Return what a model is exported as; None if it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.out"
        try:
            rw.export(rw.load(FOLDER / f"{model}.rw"), target, path)
        except Refusal:
            return None
        return path.read_bytes()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", MODELS)
def test_texts_are_what_they_were(model: str, target: str) -> None:
    path = FOLDER / f"{model}.{target}"
    assert exported(model, target) == (path.read_bytes() if path.exists() else None)


def main() -> None:
    """Write all texts anew."""
    for model in MODELS:
        for target in TARGETS:
            content = exported(model, target)
            if content is not None:
                (FOLDER / f"{model}.{target}").write_bytes(content)


if __name__ == "__main__":
    main()
