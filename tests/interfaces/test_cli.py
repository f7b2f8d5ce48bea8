"""The command line: the same numbers as Python, and one line for every mistake."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright import cli
from rankwright.data import make_mslr_like
from rankwright.evaluation.measure import DEFAULT_METRICS
from tests.interfaces.conftest import Cli, Runner
from tests.signals import started

GOOD = "1 qid:1 1:0.5 2:1\n0 qid:1 1:0.7 2:3\n2 qid:2 1:1 2:2\n0 qid:2 1:2 2:1\n"


def shell(
    *arguments: str, folder: Path, stdin: bytes | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Cli the command line as a process."""
    command = [sys.executable, "-m", "rankwright", *arguments]
    return subprocess.run(
        command, cwd=folder, input=stdin, capture_output=True, check=False, timeout=60, **options
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "good.txt").write_text(GOOD)
    (tmp_path / "scores.txt").write_text("2\n1\n1\n2\n")
    return tmp_path


@pytest.fixture
def scattered(tmp_path: Path) -> Path:
    """Write a file whose queries are split, and scores in the order of its lines."""
    rng = np.random.default_rng(0)
    made = make_mslr_like(n_queries=12, n_features=5, mean_docs=9)
    rows = rng.permutation(made.n_docs)
    ds = rw.Dataset(made.X[rows], made.y[rows], made.qid[rows])
    rw.write_letor(ds, tmp_path / "scattered.txt")
    scores = np.round(ds.X[:, 4] + rng.normal(size=ds.n_docs), 1)
    lines = "".join(f"{score!r}\n" for score in ds.restore(scores).tolist())
    (tmp_path / "scores.txt").write_text(lines)
    return tmp_path


# ---- general ----


def test_help_lists_the_commands(run: Cli) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in ("info", "convert", "evaluate"):
        assert command in out
        assert run(command, "--help")[0] == 0
    assert "'rankwright[tune]'" in " ".join(run("tune", "--help")[1].split())


def test_the_version_is_that_of_the_library(run: Cli) -> None:
    assert run("--version") == (0, f"rankwright {rw.__version__}\n", "")


@pytest.mark.parametrize(
    "arguments", [(), ("nope",), ("info",), ("info", "a", "b"), ("info", "--x")]
)
def test_wrong_usage_exits_with_2(run: Cli, arguments: tuple[str, ...]) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert "Traceback" not in err


def test_the_installed_command_runs() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("rankwright"), "--version"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == f"rankwright {rw.__version__}\n"


# ---- mistakes ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("info", "nope.txt"), "nope.txt: there is no such file."),
        (("info", "nope.csv"), "nope.csv: there is no such file."),
        (
            ("info", "."),
            ".: a folder must hold the parts of one table, all .parquet, or all .csv, ",
        ),
        (
            ("info", "empty.txt"),
            "empty.txt: there must be at least one document, but there is none.",
        ),
        (
            ("info", "bad.txt"),
            "bad.txt, line 2, feature 1: must have a number as its value, but is '1:x'.",
        ),
        (("convert", "bad.txt", "out.csv"), "bad.txt, line 2, feature 1: must have a number as "),
        (
            ("convert", "good.txt", "good.txt/out.csv"),
            "good.txt/out.csv: cannot be written: Not a directory.",
        ),
        (
            ("convert", "frame.csv", "out.txt", "--label", "grade"),
            "frame.csv, grade: there must be a column 'grade', but there are only 'label', 'qid', ",
        ),
        (
            ("convert", "frame.csv", "out.txt", "--doc-ids"),
            "frame.csv, doc_id: there must be a column 'doc_id', but there are only ",
        ),
        (("info", "twice.csv"), "twice.csv: cannot be used: "),
        (("info", "cut.txt.gz"), "cut.txt.gz: is damaged or cut short ("),
        (("info", "bad.parquet"), "bad.parquet: is not a readable parquet file: "),
        (
            ("evaluate", "good.txt", "short.txt"),
            "short.txt: there must be one score for each of the 4 documents, but there are 2.",
        ),
        (
            ("evaluate", "good.txt", "words.txt"),
            "words.txt, line 2, score: must be one finite number, but is 'high'.",
        ),
        (
            ("evaluate", "good.txt", "nan.txt"),
            "nan.txt, line 3, score: must be one finite number, but is 'nan'.",
        ),
        (
            ("evaluate", "good.txt", "blank.txt"),
            "blank.txt, line 2, score: must be one finite number, but is ''.",
        ),
        (
            ("evaluate", "good.txt", "empty.txt"),
            "empty.txt: there must be one score for each of the 4 documents, but there are 0.",
        ),
        (("evaluate", "good.txt", "nope.txt"), "nope.txt: there is no such file."),
        (
            ("evaluate", "nope.txt", "scores.txt", "-m", "x"),
            "there is no metric 'x'. There are alpha_ndcg, ap",
        ),
        (
            ("evaluate", "good.txt", "scores.txt", "-m", "ndcg@99999999999999999999"),
            "k of NDCG must be a positive integer below 2^31 or None, but is 99999999999999999999.",
        ),
        (
            ("evaluate", "good.txt", "scores.txt", "-m", "err(max_grade=1)"),
            "err with max_grade=1 needs labels from 0 to 1, but row 2 has 2. Pass max_grade, ",
        ),
        (
            ("evaluate", "good.txt", "scores.txt", "--per-query", "good.txt/out.tsv"),
            "good.txt/out.tsv: cannot be written: Not a directory.",
        ),
        (("evaluate", "-", "-"), "data and scores cannot both come from standard input."),
        (
            ("info", "good.txt", "-j", "0"),
            "--jobs must be a non-zero integer of at most 1024. Use -1 for all cores.",
        ),
        (
            ("info", "good.txt", "-j", "999999999999"),
            "--jobs must be a non-zero integer of at most 1024. Use -1 for all cores.",
        ),
    ],
)
def test_bad_input_ends_in_one_line(
    run: Cli, files: Path, arguments: tuple[str, ...], message: str
) -> None:
    (files / "bad.txt").write_text("1 qid:1 1:1\n1 qid:1 1:x\n")
    (files / "empty.txt").write_text("")
    (files / "frame.csv").write_text("label,qid,f1\n1,2,3\n")
    (files / "twice.csv").write_text("label,qid,f,f\n1,2,3,4\n")
    (files / "cut.txt.gz").write_bytes(gzip.compress(GOOD.encode() * 9)[:-9])
    (files / "bad.parquet").write_text("no parquet at all")
    (files / "short.txt").write_text("1\n2\n")
    (files / "words.txt").write_text("1\nhigh\n3\n4\n")
    (files / "nan.txt").write_text("1\n2\nnan\n4\n")
    (files / "blank.txt").write_text("1\n\n3\n4\n")
    before = sorted(path.name for path in files.iterdir())
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith(f"rankwright: {message}")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    # Nothing half-written is left behind.
    assert sorted(path.name for path in files.iterdir()) == before


def test_a_failed_conversion_keeps_the_old_file(run: Cli, files: Path) -> None:
    (files / "bad.txt").write_text("1 qid:1 1:1\n1 qid:1 1:x\n")
    (files / "out.txt").write_text("as it was")
    (files / "blanks.csv").write_text("label,qid,f1\n1,a b,3\n")
    assert run("convert", "bad.txt", "out.txt")[0] == 2
    assert run("convert", "blanks.csv", "out.txt")[0] == 2  # an id that LETOR cannot hold
    assert (files / "out.txt").read_text(encoding="utf-8") == "as it was"
    assert not list(files.glob(".*"))


def test_a_missing_extra_is_one_line(
    run: Cli, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run("convert", "good.txt", "out.csv")
    assert code == 2
    need = "data frames, Parquet and CSV need the package pyarrow."
    assert err == f"rankwright: {need} Install it with: pip install 'rankwright[frames]'\n"
    assert not (files / "out.csv").exists()


def test_a_process_gives_the_same_line_and_code(files: Path) -> None:
    (files / "bad.txt").write_text("1 qid:1 1:x\n")
    done = shell("info", "bad.txt", folder=files)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr == (
        b"rankwright: bad.txt, line 1, feature 1: must have a number as its value, but is '1:x'.\n"
    )


# In the middle of its work: importing takes longer than a user who presses Ctrl-C there waits.
WAITING = """
import sys
import rankwright.data
from rankwright.cli import main
print("ready", flush=True)
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_ctrl_c_is_no_traceback(files: Path) -> None:
    words = ["convert", "-", "out.csv"]
    with started(
        [sys.executable, "-c", WAITING, *words], cwd=files, stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)  # until it waits for standard input
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert sorted(path.name for path in files.iterdir()) == ["good.txt", "scores.txt"]


# ---- info ----


def test_info_prints_the_doctors_report(run: Cli, files: Path) -> None:
    report = rw.read(files / "good.txt").describe()
    assert run("info", "good.txt") == (0, f"{report}\n", "")


def test_info_prints_json(run: Cli, files: Path) -> None:
    code, out, err = run("info", "good.txt", "--json")
    report = rw.read(files / "good.txt").describe().to_dict()
    assert (code, err) == (0, "")
    assert json.loads(out) == {"file": "good.txt", **json.loads(json.dumps(report))}


def test_strict_info_fails_on_a_warning_only(run: Cli, files: Path) -> None:
    assert run("info", "good.txt", "--strict")[0] == 0
    (files / "odd.txt").write_text(GOOD + "9 qid:1 1:3 2:5\n")
    code, out, err = run("info", "odd.txt", "--strict")
    assert (code, err) == (1, "")
    assert "warning       1 label is unusual" in out
    assert "warning       1 query has rows that are not adjacent" in out
    assert run("info", "odd.txt")[0] == 0
    assert run("info", "odd.txt", "--strict", "--json")[0] == 1


def test_info_names_columns_of_frames(run: Cli, files: Path) -> None:
    (files / "x.csv").write_text("grade,query,f1\n1,a,3\n0,a,4\n")
    code, out, _ = run("info", "x.csv", "--label", "grade", "--qid", "query")
    assert code == 0
    assert out.startswith("documents     2\nqueries       1\nfeatures      1 (dense float64")


def test_a_warning_is_one_plain_line(run: Cli, files: Path) -> None:
    (files / "noqid.txt").write_text("1 1:1\n0 1:2\n")
    code, _, err = run("info", "noqid.txt")
    assert code == 0
    assert err == (
        "rankwright: warning: noqid.txt: no line has a qid, so all documents are taken as one "
        "query.\n"
    )


# ---- convert ----


@pytest.mark.parametrize(
    "name", ["out.txt", "out.txt.gz", "out.letor.zst", "out.parquet", "out.csv", "out.csv.gz"]
)
def test_conversion_keeps_rows_and_their_order(run: Cli, scattered: Path, name: str) -> None:
    code, out, err = run("convert", "scattered.txt", name, "--float64")
    ds = rw.read(scattered / "scattered.txt", dtype="float64")
    assert (code, out) == (0, "")
    assert err == f"{name}: {ds!r}\n"
    options: Any = {} if ".csv" in name or ".parquet" in name else {"dtype": "float64"}
    again = rw.read(scattered / name, **options)
    np.testing.assert_array_equal(again.X, ds.X)
    np.testing.assert_array_equal(again.y, ds.y)
    np.testing.assert_array_equal(again.order, ds.order)
    assert run("convert", name, "back.txt", *([] if not options else ["--float64"]))[0] == 0
    assert (scattered / "back.txt").read_bytes() == (scattered / "scattered.txt").read_bytes()


def test_conversion_keeps_document_ids_on_request(run: Cli, files: Path) -> None:
    (files / "ids.txt").write_text("1 qid:1 1:2 # docid = a\n0 qid:1 1:3 # docid = b\n")
    assert run("convert", "ids.txt", "out.csv", "--doc-ids")[0] == 0
    assert (files / "out.csv").read_text(encoding="utf-8") == (
        '"label","qid","doc_id","f1"\n1,1,"a",2\n0,1,"b",3\n'
    )
    assert run("convert", "out.csv", "back.txt", "--doc-ids")[0] == 0
    assert (files / "back.txt").read_text(encoding="utf-8") == "1 qid:1 1:2 # a\n0 qid:1 1:3 # b\n"
    assert run("convert", "ids.txt", "out.csv")[0] == 0
    assert "doc_id" not in (files / "out.csv").read_text(encoding="utf-8")


def test_conversion_reads_float32_unless_told_otherwise(run: Cli, files: Path) -> None:
    (files / "x.txt").write_text("1 qid:1 1:0.123456789012345\n")
    run("convert", "x.txt", "single.parquet")
    run("convert", "x.txt", "double.parquet", "--float64")
    assert rw.read(files / "single.parquet").X.tolist() == [[np.float32(0.123456789012345)]]
    assert rw.read(files / "double.parquet").X.tolist() == [[0.123456789012345]]


def test_a_file_may_be_converted_onto_itself(run: Cli, files: Path) -> None:
    assert run("convert", "good.txt", "good.txt")[0] == 0
    assert (files / "good.txt").read_text(encoding="utf-8") == GOOD


def test_standard_input_and_output_are_a_dash(files: Path) -> None:
    done = shell("convert", "-", "-", folder=files, stdin=GOOD.encode())
    assert (done.returncode, done.stdout) == (0, GOOD.encode())
    assert done.stderr == (
        b"standard output: Dataset(4 documents, 2 queries, 2 features, dense float32)\n"
    )
    done = shell("convert", "-", "-", folder=files, stdin=gzip.compress(GOOD.encode()))
    assert (done.returncode, done.stdout) == (0, GOOD.encode())


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_a_reader_that_goes_away_is_no_traceback(files: Path) -> None:
    (files / "long.txt").write_text(GOOD * 50_000)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from rankwright.cli import main; main()",
            "convert",
            "long.txt",
            "-",
        ],
        cwd=files,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10) == GOOD[:10].encode()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


# ---- evaluate ----


def test_evaluate_gives_pythons_numbers_to_the_last_digit(run: Cli, scattered: Path) -> None:
    metrics = ["ndcg@5", "map", "lightgbm:ndcg@3", "pairwise_error", "rr(ties=order)"]
    options = [part for metric in metrics for part in ("-m", metric)]
    code, out, err = run(
        "evaluate", "scattered.txt", "scores.txt", *options, "--json", "--seed", "3"
    )
    assert (code, err) == (0, "")
    ds = rw.read(scattered / "scattered.txt")
    assert ds.gathered
    in_file_order = np.loadtxt(scattered / "scores.txt")
    expected = rw.evaluate(in_file_order[ds.order], ds, metrics, random_state=3)
    assert json.loads(out) == {
        "data": "scattered.txt",
        "scores": "scores.txt",
        "metrics": expected.to_dict(),
    }


def test_scores_of_scattered_queries_are_in_file_order(run: Cli, files: Path) -> None:
    # Query 1 is lines 1 and 3, query 2 lines 2 and 4; both are ranked perfectly.
    (files / "x.txt").write_text("1 qid:1 1:1\n0 qid:2 1:1\n0 qid:1 1:1\n1 qid:2 1:1\n")
    (files / "s.txt").write_text("4\n1\n3\n2\n")
    _, out, _ = run("evaluate", "x.txt", "s.txt", "-m", "rr", "--json")
    assert json.loads(out)["metrics"]["rr"]["mean"] == 1.0


def test_evaluate_prints_a_plain_table_when_piped(run: Cli, files: Path) -> None:
    code, out, err = run("evaluate", "good.txt", "scores.txt")
    assert (code, err) == (0, "")
    # Query 1 is ranked right (1, 0), query 2 wrong (0, 2).
    ndcg = (1 + 1 / np.log2(3)) / 2
    low = 1 / np.log2(3)
    assert out.splitlines() == [
        "metric   mean    95 % interval     queries",
        f"ndcg@10  {ndcg:.4f}  [{low:.4f}, 1.0000]  2",
        f"ndcg@5   {ndcg:.4f}  [{low:.4f}, 1.0000]  2",
        "ap       0.7500  [0.5000, 1.0000]  2",
        "rr       0.7500  [0.5000, 1.0000]  2",
    ]
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(DEFAULT_METRICS)


def test_a_terminal_gets_a_table_with_the_same_cells(
    run: Cli, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, plain, _ = run("evaluate", "good.txt", "scores.txt")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    code, out, _ = run("evaluate", "good.txt", "scores.txt")
    assert code == 0
    assert re.sub(r"\x1b\[[\d;]*m", "", out).split() == plain.split()


def test_a_process_prints_the_same_without_colours(run: Cli, files: Path) -> None:
    _, out, _ = run("evaluate", "good.txt", "scores.txt")
    done = shell("evaluate", "good.txt", "-", folder=files, stdin=b"2\n1\n1\n2\n")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == out
    assert b"\x1b" not in done.stdout
    done = shell("evaluate", "-", "scores.txt", folder=files, stdin=GOOD.encode())
    assert done.stdout.decode() == out


def test_a_mismatch_on_standard_input_is_named(files: Path) -> None:
    done = shell("evaluate", "good.txt", "-", folder=files, stdin=b"2\n")
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "rankwright: standard input: there must be one score for each of the 4 documents, "
        "but there are 1.\n"
    )


@pytest.mark.parametrize("text", ["2\r\n1\r\n1\r\n2\r\n", "2\n1\n1\n2", "2e0\n 1.0 \n1\n2\n\n\n"])
def test_scores_may_end_lines_as_they_like(run: Cli, files: Path, text: str) -> None:
    (files / "s.txt").write_bytes(text.encode())
    expected = run("evaluate", "good.txt", "scores.txt")
    assert run("evaluate", "good.txt", "s.txt") == expected
    (files / "s.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert run("evaluate", "good.txt", "s.txt.gz") == expected


@pytest.mark.parametrize("name", ["q.tsv", "q.json"])
def test_values_by_query_are_those_of_python(run: Cli, scattered: Path, name: str) -> None:
    code, _, _ = run("evaluate", "scattered.txt", "scores.txt", "-m", "ndcg", "--per-query", name)
    assert code == 0
    ds = rw.read(scattered / "scattered.txt")
    scores = np.loadtxt(scattered / "scores.txt")[ds.order]
    rw.evaluate(scores, ds, ["ndcg"]).write_per_query(scattered / f"python-{name}")
    assert (scattered / name).read_bytes() == (scattered / f"python-{name}").read_bytes()


def test_undefined_metrics_warn_and_are_null(run: Cli, files: Path) -> None:
    (files / "zero.txt").write_text("0 qid:1 1:1\n0 qid:1 1:2\n")
    (files / "s.txt").write_text("1\n2\n")
    code, out, err = run(
        "evaluate", "zero.txt", "s.txt", "-m", "ap", "--json", "--per-query", "q.json"
    )
    assert code == 0
    assert err.startswith("rankwright: warning: ap is undefined on every query")
    assert err.count("\n") == 1

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(out, parse_constant=refuse)["metrics"]["ap"]["mean"] is None
    by_query = json.loads((files / "q.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert by_query == {"qid": [1], "ap": [None]}


@pytest.mark.parametrize("form", ["x.parquet", "x.csv"])
def test_frames_are_measured_like_text(run: Cli, scattered: Path, form: str) -> None:
    expected = run("evaluate", "scattered.txt", "scores.txt")
    rw.write(rw.read(scattered / "scattered.txt"), scattered / form)
    assert run("evaluate", form, "scores.txt") == expected


def test_the_number_of_threads_does_not_change_the_output(run: Cli, scattered: Path) -> None:
    one = run("evaluate", "scattered.txt", "scores.txt", "--json", "-j", "1")
    assert run("evaluate", "scattered.txt", "scores.txt", "--json", "-j", "4") == one


def test_the_app_runs_under_typers_runner(files: Path) -> None:
    result = Runner().invoke(cli.app, ["info", str(files / "good.txt"), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["n_queries"] == 2
