"""Commands that write, on data so small that they can be run a thousand times."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rankwright as rw

Result = dict[str, Any]


@dataclass(frozen=True)
class Command:
    """A command that may be stopped at any moment, and is then run again as it is.

    Attributes
    ----------
    words : str
        The command line, in a folder that :func:`prepare` has made.
    result : callable
        Return all that must be the same in the end, by the names of files.
    told : callable
        Given what was told and the result, return what was told to be done but is not there.
    """

    words: str
    result: Callable[[Path], Result]
    told: Callable[[str, Result], Iterable[str]] = lambda said, result: ()


def prepare(folder: Path) -> None:
    """Write small data, and older files under the names of some outputs."""
    data = rw.data.make_mslr_like(n_queries=24, n_features=5, mean_docs=6)
    rw.write_letor(data, folder / "data.txt")
    longer = rw.data.make_mslr_like(n_queries=100, n_features=5, mean_docs=3)
    rw.write_letor(longer, folder / "longer.txt")
    rw.save(rw.LinearRanker("listnet").fit(data.X, data.y, data.qid), folder / "linear.rw")
    for name in ("model.rw", "scores.txt", "data.csv"):
        (folder / name).write_bytes(b"old")


def _files(*patterns: str) -> Callable[[Path], Result]:
    def read(folder: Path) -> Result:
        paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

    return read


def _reproduced(folder: Path) -> Result:
    """Return figures, results and what was computed, but for the time it took."""
    found = _files("papers/**/*.svg", "papers/cache/*.json")(folder)
    for path in sorted(folder.glob("papers/prank/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        found[path.name] = {key: value for key, value in record.items() if key != "seconds"}
    return found


COMMANDS = {
    "train": Command("train data.txt --loss listnet -o model.rw", _files("model.rw")),
    "convert": Command("convert data.txt data.csv", _files("data.csv")),
    "convert.zst": Command("convert data.txt data.txt.zst", _files("data.txt.zst")),
    "predict": Command("predict linear.rw data.txt -o scores.txt", _files("scores.txt")),
    "stream": Command(
        "train longer.txt --stream --model slam-perceptron -p n_epochs=3 --checkpoint-every 1 "
        "--resume -o model.rw",
        _files("model.rw"),
    ),
    "reproduce": Command("reproduce prank --figure 2 --out papers", _reproduced),
}
