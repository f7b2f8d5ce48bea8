"""Results on disk: keys, lines, folders; what is damaged is done again."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import rankwright as rw
from rankwright.comparison import Choice, Entry, Range, keys
from rankwright.comparison.keys import code_hash, described, hash_of_files, key
from rankwright.comparison.store import (
    open_trial_store,
    read_result,
    read_store,
    write_result,
)
from rankwright.data.arrays import fingerprint
from rankwright.exceptions import DataError, DataWarning


@pytest.fixture
def other_version(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes the library another one."""
    return lambda: monkeypatch.setattr(keys, "code_hash", lambda: "0" * 16)


# ---- keys ----


class Mine(BaseEstimator):
    def __init__(self, weights: Any = None, n_jobs: Any = None, f: Any = None) -> None:
        self.weights = weights
        self.n_jobs = n_jobs
        self.f = f


def named(x: float) -> float:
    return x


def test_equal_things_have_equal_texts() -> None:
    values: list[Any] = [
        None,
        1,
        1.0,
        "1",
        [1],
        {"a": 1},
        np.arange(3),
        np.arange(3.0),
        rw.losses.ListNet(),
        rw.losses.SLAM(margin=2.0),
        rw.LinearRanker(alpha=0.1),
        rw.LinearRanker(alpha=0.2),
        Mine(np.zeros(5000)),
        named,
        Range(0, 1),
        Choice((np.zeros(3), np.ones(3))),
    ]
    texts = [described(value) for value in values]
    assert len(set(texts)) == len(values)
    assert texts == [described(value) for value in values]


def test_all_values_of_an_array_count() -> None:
    # The repr of a long array shows six of them.
    weights = np.zeros(5000)
    before = described(Mine(weights))
    weights[2500] = 1
    assert described(Mine(weights)) != before


def test_threads_do_not_count_and_the_order_of_a_space_does() -> None:
    assert described(Mine(n_jobs=1)) == described(Mine(n_jobs=2))
    alpha, ratio = ("alpha", Range(0.1, 1.0)), ("l1_ratio", Range(0.1, 1.0))
    entries = [Entry("a", rw.LinearRanker(), dict(s)) for s in ([alpha, ratio], [ratio, alpha])]
    # Draws depend on it.
    assert entries[0].describe() != entries[1].describe()


def test_what_cannot_be_described_is_never_kept() -> None:
    estimator = Mine(f=object())
    assert described(estimator) != described(estimator)


def test_a_class_of_ones_own_counts_with_its_source(tmp_path: Path) -> None:
    script = "from own import Own; from rankwright.comparison.keys import described\n"
    script += "print(described(Own()))"
    found = []
    for value in (1, 1, 2):
        text = f"class Own:\n    x = {value}\n    def get_params(self, deep): return {{}}\n"
        (tmp_path / "own.py").write_text(text)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        found.append(
            subprocess.run(
                [sys.executable, "-B", "-c", script], capture_output=True, env=env, check=True
            ).stdout
        )
    assert found[0] == found[1] != found[2]


def test_a_key_is_of_settings_and_code(other_version: Any) -> None:
    one = key(a=1, b="x")
    assert one == key(b="x", a=1)
    assert one != key(a=2, b="x")
    settings, code = one.split("-")
    assert code == code_hash()
    other_version()
    assert key(a=1, b="x") == f"{settings}-{'0' * 16}"


def test_the_code_is_that_of_all_files_of_the_library(tmp_path: Path) -> None:
    assert code_hash() == hash_of_files(Path(rw.__file__).parent)

    def tree(name: str) -> Path:
        root = tmp_path / name
        (root / "data" / "__pycache__").mkdir(parents=True)
        (root / "__init__.py").write_text("a")
        (root / "data" / "b.py").write_text("b")
        (root / "_kernels.so").write_bytes(b"\x7f")
        return root

    one, two = tree("one"), tree("two")
    (two / "data" / "__pycache__" / "b.pyc").write_text("compiled")
    os.utime(two / "__init__.py", (0, 0))
    before = hash_of_files(one)
    assert before == hash_of_files(two)  # equal installs, in other places, at other times
    (two / "data" / "b.py").write_text("c")  # of the same size
    assert hash_of_files(two) != before
    (one / "_kernels.so").write_bytes(b"\x7e")
    assert hash_of_files(one) not in (before, hash_of_files(two))


def test_a_fingerprint_is_of_all_that_is_learned_from() -> None:
    X, y, qid = np.arange(8.0).reshape(4, 2), [0.0, 1, 0, 2], ["a", "a", "b", "b"]
    base = rw.Dataset(X, y, qid)
    changed = [
        rw.Dataset(X[::-1].copy(), y, qid),
        rw.Dataset(X, [0.0, 1, 2, 0], qid),
        rw.Dataset(X, y, ["a", "a", "b", "c"]),
        rw.Dataset(X.astype(np.float32), y, qid),
        rw.Dataset(X.reshape(2, 4), y[:2], qid[:2]),
    ]
    hashes = [fingerprint(ds) for ds in [base, *changed]]
    assert len(set(hashes)) == 6
    assert fingerprint(rw.Dataset(X, y, qid, doc_ids=list("wxyz"))) == hashes[0]
    assert fingerprint(base, base) != hashes[0]


# ---- lines ----


def test_what_was_added_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    result = {
        "value": 0.1,
        "who": "é\n",
        "none": math.nan,
        "big": 1e300,
        "list": [1, (2, np.int8(3))],
    }
    with open_trial_store(path) as store:
        assert store.find("k-c") is None
        store.add("k-c", result)
        assert len(path.read_bytes().splitlines()) == 2  # at once
    with open_trial_store(path) as store:
        found = store.find("k-c")
        assert found is not None
        assert found["list"] == [1, [2, 3]]
        assert (found["who"], found["none"], found["big"]) == ("é\n", None, 1e300)
    assert [r["value"] for r in read_store(path)] == [0.1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.jsonl"]
    with open_trial_store(None) as store:
        store.add("k-c", result)
        assert store.find("k-c") is not None


LINES: dict[str, Any] = {
    "cut": lambda line: line[: len(line) // 2],
    "empty": lambda line: b"",
    "zeros": lambda line: bytes(len(line)),
    "garbage": lambda line: b"\xff\xfe garbage",
    "a number": lambda line: b"7",
    "a list": lambda line: b"[]",
    "no key": lambda line: b'{"value": 1}',
    "no checksum": lambda line: b'{"key": "b-c", "value": 1}',
    "another value": lambda line: line.replace(b'"value": ', b'"value": 1'),
    "deep": lambda line: b"[" * 100_000,
}


@pytest.mark.parametrize("how", LINES)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_damaged_lines_are_left_out_with_a_note(how: str, place: int, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with open_trial_store(path, {"about": "x"}) as store:
        for i, name in enumerate("abc"):
            store.add(f"{name}-c", {"value": i})
    lines = path.read_bytes().splitlines()
    lines[place] = LINES[how](lines[place])
    path.write_bytes(b"\n".join(lines) + b"\n")
    note = rf"^{re.escape(str(path))}: 1 line is damaged: what was there is done again\.$"
    lost = "abc"[place - 1]
    with contextlib.ExitStack() as stack:
        with pytest.warns(DataWarning, match=note):
            store = stack.enter_context(open_trial_store(path, {"about": "x"}))
        assert sorted(store.results) == [f"{name}-c" for name in "abc" if name != lost]
        store.add(f"{lost}-c", {"value": 7})
    assert {r["key"]: r["value"] for r in read_store(path)}[f"{lost}-c"] == 7


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_last_line_that_was_cut_short_is_dropped(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with open_trial_store(path) as store:
        store.add("a-c", {"value": 1})
        store.add("b-c", {"value": 2})
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.warns(DataWarning, match="1 line is damaged"), open_trial_store(path) as store:
        store.add("d-c", {"value": 3})
    with open_trial_store(path) as store:  # nothing is left to be said
        assert sorted(store.results) == ["a-c", "d-c"]


@pytest.mark.parametrize(
    "left", [b"", b'{"rankwr', b"\0" * 17, b'{"ra\0\0\0\0\0\0ht": 2}\n', b"\0" * 17 + b"\n"]
)
def test_a_first_line_that_was_cut_short_is_written_again(left: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(left)
    with open_trial_store(path) as store:
        store.add("a-c", {"value": 1})
    assert [r["value"] for r in read_store(path)] == [1]


def test_a_study_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with open_trial_store(path, {"metric": "ap", "seed": 1}):
        pass
    message = "is a study of another search: metric differ. Choose another file."
    with (
        pytest.raises(DataError, match=message),
        open_trial_store(path, {"metric": "rr", "seed": 1}),
    ):
        pass
    for other in (b"text", b"\0" * 100, b"\0\0x"):
        path.write_bytes(other)
        with pytest.raises(DataError, match="is not a study"), open_trial_store(path):
            pass
        assert path.read_bytes() == other
    path.write_text('{"rankwright": 3}\n')
    with (
        pytest.raises(DataError, match="must be a study of format 2, but has 3"),
        open_trial_store(path),
    ):
        pass


def test_a_study_is_used_by_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    name = re.escape(str(path))
    who = rf"^{name}: another rankwright \(pid {os.getpid()} on .*\) is using this study\. Wait"
    with open_trial_store(path), pytest.raises(DataError, match=who), open_trial_store(path):
        pass
    with open_trial_store(path):
        pass


def test_results_of_another_version_are_told_once(tmp_path: Path, other_version: Any) -> None:
    path = tmp_path / "s.jsonl"
    with open_trial_store(path) as store:
        store.add(key(a=1), {"value": 1})
    other_version()
    with open_trial_store(path) as store:
        assert store.find(key(a=2)) is None  # nothing to say: it was never done
        with pytest.warns(DataWarning, match="has results of another version of rankwright"):
            assert store.find(key(a=1)) is None
        assert store.find(key(a=1)) is None


def test_a_file_of_the_first_version_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for text in ('{"study": 1, "library": "0.1.0"}\n', "noise,level,trial,model,metric,value,"
                 "seconds,key\nlabels,0,0,a,ndcg@5,1,1,k\n"):  # fmt: skip
        path.write_text(text)
        note = r"is of an earlier version: it is now s\.jsonl(\.old)+, and all is done again"
        with pytest.warns(DataWarning, match=note), open_trial_store(path) as store:
            store.add("a-c", {"value": 1})
    assert (tmp_path / "s.jsonl.old").read_text(encoding="utf-8").startswith('{"study": 1')
    assert (tmp_path / "s.jsonl.old.old").read_text(encoding="utf-8").startswith("noise,")


# ---- folders ----


def written(folder: Path) -> dict[str, Any]:
    facts = {"model": "m", "fold": "f", "model_bytes": 3, "valid": 0.5}
    write_result(folder, "k-c", facts, {"scores.npy": b"scores", "model.rw": b"rw!"})
    found, note = read_result(folder, "k-c")
    assert found is not None
    assert note == ""
    return found


def test_a_result_has_its_files(tmp_path: Path) -> None:
    found = written(tmp_path / "a" / "b")
    assert found["valid"] == 0.5
    assert sorted(found["files"]) == ["model.rw", "scores.npy"]
    assert (tmp_path / "a" / "b" / "model.rw").read_bytes() == b"rw!"
    assert read_result(tmp_path / "a" / "c", "k-c") == (None, "")
    assert read_result(tmp_path / "a" / "b", "l-c") == (None, "")
    assert read_result(tmp_path / "a" / "b", "k-d") == (None, "of another version")


def _drop(name: str) -> Any:
    def change(path: Path) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        del content[name]
        path.write_text(json.dumps(content))

    return change


DAMAGES: dict[str, tuple[str, Any]] = {
    "empty result": ("result.json", lambda p: p.write_bytes(b"")),
    "cut result": ("result.json", lambda p: p.write_bytes(p.read_bytes()[:-9])),
    "garbage result": ("result.json", lambda p: p.write_bytes(b"PK\x03\x04\xff")),
    "result is a list": ("result.json", lambda p: p.write_text("[]")),
    "key alone": ("result.json", lambda p: p.write_text('{"key": "k-c"}')),
    "no value": ("result.json", _drop("valid")),
    "no files": ("result.json", _drop("files")),
    "another value": (
        "result.json", lambda p: p.write_text(p.read_text(encoding="utf-8").replace("0.5", "0.6")),
    ),
    "no result": ("result.json", lambda p: p.unlink()),
    "result is a folder": ("result.json", lambda p: (p.unlink(), p.mkdir())),
    "empty scores": ("scores.npy", lambda p: p.write_bytes(b"")),
    "other scores": ("scores.npy", lambda p: p.write_bytes(b"scorez")),
    "no scores": ("scores.npy", lambda p: p.unlink()),
    "empty model": ("model.rw", lambda p: p.write_bytes(b"")),
    "no model": ("model.rw", lambda p: p.unlink()),
    "model is a folder": ("model.rw", lambda p: (p.unlink(), p.mkdir())),
}  # fmt: skip


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_result_is_none_and_can_be_written_again(how: str, tmp_path: Path) -> None:
    written(tmp_path / "r")
    name, change = DAMAGES[how]
    change(tmp_path / "r" / name)
    assert read_result(tmp_path / "r", "k-c") == (None, "damaged")
    written(tmp_path / "r")
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_a_file_in_the_place_of_a_result_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("")
    assert read_result(tmp_path / "r", "k-c") == (None, "damaged")
    written(tmp_path / "r")


def test_a_result_of_the_first_version_is_known(tmp_path: Path) -> None:
    first = Path(__file__).parent.parent / "golden" / "first" / "comparison" / "models" / "random"
    shutil.copytree(first / "split", tmp_path / "r")
    assert read_result(tmp_path / "r", "k-c") == (None, "of an earlier version")


@pytest.mark.parametrize(
    "files",
    [None, ["model.rw"], {"../model.rw": ""}, {"/dev/zero": ""}, {"pipe": ""}, {"a\0b": ""}, 3],
)
def test_a_sealed_result_names_files_of_its_folder_alone(files: Any, tmp_path: Path) -> None:
    written(tmp_path / "r")
    os.mkfifo(tmp_path / "r" / "pipe")  # which would be read for ever
    content: dict[str, Any] = {"files": files}
    seal = keys.hashed(json.dumps(content, sort_keys=True).encode())[:8]
    sealed = json.dumps({"key": "k-c", "check": seal, **content})
    (tmp_path / "r" / "result.json").write_text(sealed)
    assert read_result(tmp_path / "r", "k-c") == (None, "damaged")
