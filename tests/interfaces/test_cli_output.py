"""Where commands write: looked at before the work, standard output and all."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rankwright as rw
from tests.interfaces.conftest import Cli


def quote(path: Path) -> str:
    return shlex.quote(str(path))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.txt"
    ds = rw.data.make_mslr_like(n_queries=12, n_features=6, mean_docs=6)
    rw.write_letor(ds, path)
    rw.save(rw.LinearRanker("listnet").fit(ds.X, ds.y, ds.qid), path.with_name("model.rw"))
    (path.with_name("scores.txt")).write_text("1\n" * ds.n_docs)
    return path


# ---- before the work ----

FILES = {
    "convert": ["convert", "nope.txt", "OUT.csv"],
    "train": ["train", "nope.txt", "-o", "OUT.rw"],
    "train --stream": [
        *("train", "nope.txt", "--stream", "--model", "slam-perceptron"),
        *("-o", "OUT.rw"),
    ],
    "path": ["path", "nope.txt", "-o", "OUT.svg"],
    "predict": ["predict", "nope.rw", "nope.txt", "-o", "OUT.txt"],
    "evaluate": ["evaluate", "nope.txt", "nope.txt", "--per-query", "OUT.tsv"],
    "simulate": ["simulate", "nope.txt", "OUT.txt", "--noise", "cascade"],
    "simulate --log": [
        *("simulate", "nope.txt", "out.txt", "--noise", "cascade"),
        *("--log", "OUT.tsv"),
    ],
    "tune": ["tune", "nope.txt", "-o", "OUT.rw"],
    "tune --study": ["tune", "nope.txt", "--study", "OUT.jsonl"],
}
FOLDERS = {
    "compare": ["compare", "nope.txt", "-o", "OUT"],
    "noise-study": ["noise-study", "nope.txt", "-o", "OUT"],
    "reproduce": ["reproduce", "prank", "--out", "OUT"],
    "datasets": ["datasets", "get", "rcv1", "--folder", "OUT"],
}


def with_out(words: list[str], out: Path) -> tuple[list[str], str]:
    """Return the words with a real output, and that output."""
    (place,) = [word for word in words if word.startswith("OUT")]
    return [word.replace("OUT", str(out)) for word in words], place.replace("OUT", str(out))


@pytest.mark.parametrize("words", FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_read(
    words: list[str], run: Cli, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    call, out = with_out(words, tmp_path / "file/out")
    code, text, err = run(*call)
    assert (code, text) == (2, "")
    assert err == f"rankwright: {out}: cannot be written: Not a directory.\n"
    _, _, err = run(*with_out(words, tmp_path / "file/a/b/out")[0])
    assert err == f"rankwright: {tmp_path}/file: must be a folder, but is a file.\n"
    call, out = with_out(words, tmp_path / "folder")
    os.mkdir(out)
    assert run(*call)[2] == f"rankwright: {out}: cannot be written: Is a directory.\n"
    # Where it can be written, the missing data is what is wrong; no folder is made for nothing.
    code, _, err = run(*with_out(words, tmp_path / "new/folder/out")[0])
    assert code == 2
    assert "nope." in err
    assert sorted(os.listdir(tmp_path)) == sorted(["file", Path(out).name])


@pytest.mark.parametrize("words", FOLDERS.values(), ids=FOLDERS)
def test_a_folder_that_cannot_be_written_is_told_before_anything_is_read(
    words: list[str], run: Cli, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    for below in ("file", "file/a/b"):
        code, text, err = run(*with_out(words, tmp_path / below)[0])
        assert (code, text) == (2, "")
        assert err == f"rankwright: {tmp_path}/file: must be a folder, but is a file.\n"
    code, _, err = run(*with_out(words, Path("/proc/no"))[0])
    assert code == 2
    assert re.match("rankwright: /proc/no(/rcv1)?: cannot be written: ", err)
    assert os.listdir(tmp_path) == ["file"]


def test_a_model_name_that_cannot_be_is_told_before_the_training(run: Cli) -> None:
    for command in (["train", "nope.txt"], ["tune", "nope.txt"]):
        code, _, err = run(*command, "-o", "model.rw.gz")
        assert code == 2
        assert err.startswith("rankwright: a model file is not compressed: name it *.rw, not ")


def test_only_csv_goes_to_spreadsheets(data: Path, run: Cli, tmp_path: Path) -> None:
    for name in ("a.txt", "a.parquet", "-"):
        code, _, err = run("convert", data, name, "--spreadsheet-safe")
        assert code == 2
        assert err == f"rankwright: --spreadsheet-safe is for *.csv, but OUT is {name!r}.\n"
    (tmp_path / "ids.csv").write_text("label,qid,f1\n1,=1+1,2\n0,b,3\n")
    assert run("convert", "ids.csv", "safe.csv", "--spreadsheet-safe")[0] == 0
    assert (tmp_path / "safe.csv").read_text(encoding="utf-8").splitlines()[1] == '1,"\'=1+1",2'


def test_query_ids_in_tables_for_spreadsheets(data: Path, run: Cli, tmp_path: Path) -> None:
    text = data.read_text(encoding="utf-8").replace("qid:", "qid:=1+")
    (tmp_path / "ids.txt").write_text(text, encoding="utf-8")
    for option, begin in (([], "split,=1+"), (["--spreadsheet-safe"], "split,'=1+")):
        words = ["compare", "ids.txt", "--models", "best-feature,random", "-j", 1, "-o", "out"]
        assert run(*words, *option)[0] == 0
        lines = (tmp_path / "out/per_query.csv").read_text(encoding="utf-8").splitlines()
        assert all(line.startswith(begin) for line in lines[1:])


# ---- standard output ----


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of the shell, with $RW for the command."""
    settings = {**os.environ, "RW": f"{sys.executable} -m rankwright", **environment}
    command = ["sh", "-c", line]
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [
        ("train DATA --loss listnet", ""),
        ("train DATA --json", "1"),
        ("train DATA --stream --model slam-perceptron", "1"),
        ("tune DATA --model linear -p alpha=3 -s alpha=1,2 --trials 2 --folds 2 -j 1", "1"),
    ],
)
def test_a_model_on_standard_output_is_a_model(
    words: str, unbuffered: str, data: Path, tmp_path: Path
) -> None:
    line = f"$RW {words.replace('DATA', quote(data))} -o - > m.rw"
    done = shell(line, tmp_path, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 0, done.stderr
    assert (b"-p alpha=" if "tune" in words else b"standard output") in done.stderr
    rw.load(tmp_path / "m.rw")
    assert os.listdir(tmp_path) == ["m.rw"]


def test_values_by_query_on_standard_output_stand_alone(data: Path, run: Cli) -> None:
    arguments = ["evaluate", data, data.with_name("scores.txt"), "-m", "rr", "--per-query", "-"]
    code, out, err = run(*arguments)
    assert code == 0
    assert out.startswith("qid\trr\n")
    assert len(out.splitlines()) == 13
    assert err.startswith("metric  mean")


def test_only_one_thing_goes_to_standard_output(run: Cli) -> None:
    code, _, err = run("simulate", "nope.txt", "-", "--noise", "cascade", "--log", "-")
    assert (code, err) == (2, "rankwright: OUT and --log cannot both be standard output.\n")
    arguments = ["train", __file__, "--stream", "--model", "slam-perceptron", "-o", "-"]
    for option in (["--resume"], ["--checkpoint-every", 5]):
        code, _, err = run(*arguments, *option)
        assert code == 2
        assert "there is no place for checkpoints beside standard output" in err


def test_closed_streams(data: Path, tmp_path: Path) -> None:
    done = shell("$RW info - <&-", tmp_path)
    assert done.returncode == 2
    assert done.stderr == b"rankwright: standard input: cannot be read: it is closed.\n"
    for closed in ("2>&-", "<&- >&- 2>&-"):
        words = f"train {quote(data)} --model boosted -p n_estimators=3 -o m.rw"
        assert shell(f"$RW {words} {closed}", tmp_path).returncode == 0
        rw.load(tmp_path / "m.rw")
        (tmp_path / "m.rw").unlink()
    done = shell(f"$RW predict {quote(data.with_name('model.rw'))} {quote(data)} >&-", tmp_path)
    assert done.returncode == 2
    assert done.stderr == b"rankwright: standard output: cannot be written: it is closed.\n"
    scores = quote(data.with_name("scores.txt"))
    assert shell(f"$RW evaluate {quote(data)} {scores} >&-", tmp_path).stderr == b""


def test_a_file_never_gets_what_is_printed(tmp_path: Path) -> None:
    """It would have the number of a stream that is closed."""
    code = "import os\nfrom rankwright.cli.standard import standard_streams\n"
    code += "with standard_streams(), open('a', 'wb'):\n    os.write(1, b'x'); os.write(2, b'x')"
    line = f'{sys.executable} -c "$CODE" <&- >&- 2>&-'
    assert shell(line, tmp_path, CODE=code).returncode == 0
    assert (tmp_path / "a").read_bytes() == b""


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [("--help", ""), ("train DATA -o m.rw", ""), ("predict MODEL DATA", ""), ("info DATA", "1")],
)
def test_a_full_output_is_one_line(words: str, unbuffered: str, data: Path, tmp_path: Path) -> None:
    words = words.replace("DATA", quote(data)).replace("MODEL", quote(data.with_name("model.rw")))
    done = shell(f"$RW {words} > /dev/full", tmp_path, PYTHONUNBUFFERED=unbuffered)
    message = b"rankwright: standard output: cannot be written: No space left on device.\n"
    assert (done.returncode, done.stderr) == (2, message)
    if "m.rw" in words:
        rw.load(tmp_path / "m.rw")  # which was written before that was told


# ---- a disk that is full ----

LIMITED = """
import json, resource, sys
from rankwright import cli
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for words in json.loads(sys.argv[1]):
    sys.argv = ["rankwright", *words]
    try:
        cli.main()
    except SystemExit as end:
        assert end.code == 2, end
"""


def test_a_file_that_grows_too_large_is_named(data: Path, tmp_path: Path) -> None:
    """The limit on the size of files stands for a full disk, and needs no rights."""
    model, scores = str(data.with_name("model.rw")), str(data.with_name("scores.txt"))
    commands = {
        "m.rw": ["train", str(data), "-o", "m.rw"],
        "a.csv": ["convert", str(data), "a.csv"],
        "a.txt.gz": ["convert", str(data), "a.txt.gz"],
        "a.txt.zst": ["convert", str(data), "a.txt.zst"],
        "a.parquet": ["convert", str(data), "a.parquet"],
        "s.txt": ["predict", model, str(data), "-o", "s.txt"],
        "v.json": ["evaluate", str(data), scores, "--per-query", "v.json"],
    }
    for name in commands:
        (tmp_path / name).write_bytes(b"old")
    call = [sys.executable, "-c", LIMITED, json.dumps(list(commands.values()))]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.stderr.splitlines() == [
        f"rankwright: {name}: cannot be written: File too large." for name in commands
    ]
    contents = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert contents == dict.fromkeys(commands, b"old")
