"""Commands that write, on data so small that they can be run a thousand times."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rankwright as rw
from rankwright.data.journal import read_lines

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
        Given what was told, return the names of results that must be there by then.
    """

    words: str
    result: Callable[[Path], Result]
    told: Callable[[str], set[str]] = lambda said: set()


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
        names = {str(path.relative_to(folder)): path for path in paths}
        # What is still being written has a hidden name.
        return {name: path.read_bytes() for name, path in names.items() if "/." not in name}

    return read


def _lines(path: Path, *names: str) -> Result:
    """Return the results in a file of lines, named by some of what they hold, without times."""
    found: Result = {}
    for line in read_lines(path)[1:] if path.exists() else []:
        fields = json.loads(line)
        name = " ".join(str(fields[key]) for key in names)
        found[name] = {k: v for k, v in fields.items() if k not in ("seconds", "check")}
    return found


def _reproduced(folder: Path) -> Result:
    """Return figures, results and the pieces that were computed, but for the time it took."""
    found = _files("papers/**/*.svg")(folder) | _lines(folder / "papers/cache/pieces.jsonl", "key")
    for path in sorted(folder.glob("papers/prank/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        found[path.name] = {key: value for key, value in record.items() if key != "seconds"}
    return found


def _study(folder: Path) -> Result:
    return {**_files("model.rw")(folder), **_lines(folder / "study.jsonl", "number")}


def _trials(said: str) -> set[str]:
    return set(re.findall(r"^trial (\d+):", said, re.M))


def _noise(folder: Path) -> Result:
    fits = _lines(folder / "study/fits.jsonl", "trial", "level", "model")
    return {**_files("study/labels.*")(folder), **fits}


def _fits(said: str) -> set[str]:
    found = re.findall(r"^\d+/\d+ trial (\d+), level (\S+): (\S+) ", said, re.M)
    return {f"{trial} {float(level)} {model}" for trial, level, model in found}


_compared = _files(
    *("out/models/*/*/model.rw", "out/models/*/*/scores.npy"),
    *("out/metrics.csv", "out/models.csv", "out/pairs.csv", "out/per_query.csv"),
)


def _models(said: str) -> set[str]:
    found = re.findall(r"^(\S+) (\S+): \S+ on validation queries", said, re.M)
    return {f"out/models/{model}/{fold}/{name}" for model, fold in found for name in _MODEL}


_MODEL = ("model.rw", "scores.npy")
_COMPARE = "compare data.txt --models xendcg-linear,best-feature,random --trials 2 -o out"
_TUNE = "tune data.txt --model linear -p standardize=True -s alpha=0.1,1,10 --trials 4 --folds 2"
_NOISE = "noise-study data.txt --models best-feature,random --levels 0,.5 --trials 2 -o study"


def _tables(n_jobs: int) -> dict[str, Command]:
    """Return the commands that have processes to help them."""
    tune = Command(f"{_TUNE} --study study.jsonl -o model.rw -j {n_jobs}", _study, _trials)
    noise = Command(f"{_NOISE} -j {n_jobs}", _noise, _fits)
    return {
        f"tune -j {n_jobs}": tune,
        f"noise-study -j {n_jobs}": noise,
        f"compare -j {n_jobs}": Command(f"{_COMPARE} -j {n_jobs}", _compared, _models),
    }


COMMANDS = {
    "train": Command("train data.txt --loss listnet -o model.rw", _files("model.rw")),
    "stream": Command(
        "train longer.txt --stream --model slam-perceptron -p n_epochs=3 --checkpoint-every 1 "
        "--resume -o model.rw",
        _files("model.rw"),
    ),
    **_tables(1),
    "convert": Command("convert data.txt data.csv", _files("data.csv")),
    "convert.zst": Command("convert data.txt data.txt.zst", _files("data.txt.zst")),
    "predict": Command("predict linear.rw data.txt -o scores.txt", _files("scores.txt")),
    "reproduce": Command("reproduce prank --figure 2 --out papers", _reproduced),
}
WITH_PROCESSES = _tables(2)
