"""What a type checker is told of the library."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import rankwright as rw
from rankwright.data import read_frame, read_letor
from rankwright.data.reading import ReadOptions

# What follows a line's # is what mypy must say of it; of other lines it must say nothing.
PROGRAM = """\
import rankwright as rw

rw.nothing  # Module has no attribute "nothing"
rw.linear.LinearRankr  # Module has no attribute "LinearRankr"; maybe "LinearRanker"?
ds = rw.read("train.csv", label="grade", keep=["country"], categorical=["shop"])
rw.read("train.csv", labels="grade")  # Unexpected keyword argument "labels" for "read"
rw.read("train.csv", n_features="3")  # Argument "n_features" to "read" has incompatible type
n: int = ds.n_docs
text: str = ds.n_docs  # Incompatible types in assignment
ranker = rw.BoostedRanker(monotone_constraints={"price": -1}, interaction_constraints=[["a", 0]])
rw.BoostedRanker(monotone_constraints="price")  # Argument "monotone_constraints" to
rw.BoostedRanker(n_leaves=3)  # Unexpected keyword argument "n_leaves" for "BoostedRanker"
scorer: rw.Scorer = rw.load("model.rw", scorer=True)
wrong: rw.LinearRanker = rw.load("model.rw", scorer=True)  # Incompatible types in assignment
model: rw.LinearRanker = rw.load("model.rw")
rw.predtron.PredtronRanker, rw.penalties, rw.streaming.fit_stream, rw.exceptions.DataError
"""


def test_a_type_checker_finds_mistakes(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "mypy.ini").write_text("[mypy]\nignore_missing_imports = true\n")
    options = ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    out, err, _ = api.run([*options, "--follow-imports=silent", str(tmp_path / "program.py")])
    assert not err, err
    said = {int(line): text for line, text in re.findall(r"program\.py:(\d+): error: (.*)", out)}
    for number, line in enumerate(PROGRAM.splitlines(), start=1):
        expected = line.partition("  # ")[2]
        assert (expected in said.get(number, "")) if expected else number not in said, (line, out)


def test_read_tells_of_every_option_of_the_readers() -> None:
    def told(reader: Any) -> dict[str, Any]:
        hints, parameters = get_type_hints(reader), inspect.signature(reader).parameters
        return {name: hints[name] for name in parameters if name not in ("path", "format")}

    assert get_type_hints(ReadOptions) == told(read_letor) | told(read_frame)


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(inspect.getfile(rw)).parent / "py.typed").exists()
