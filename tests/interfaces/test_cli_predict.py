"""``rankwright predict`` on files that come in parts: the bytes of those that are read whole."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.cli import app
from rankwright.cli.predict import predict as command
from rankwright.data import blocks, csv_blocks, tables
from rankwright.data.columns import Columns
from rankwright.data.scores import open_scores
from rankwright.exceptions import DataError
from tests.interfaces.conftest import Runner

runner = Runner()
N_FEATURES = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with data in every format, and a model for each kind."""
    folder = tmp_path_factory.mktemp("predict")
    ds = rw.data.make_mslr_like(n_queries=40, n_features=N_FEATURES, mean_docs=9, random_state=2)
    rw.save(rw.LinearRanker("xendcg").fit(ds.X, ds.y, ds.qid), folder / "model.rw")
    rw.write_letor(ds, folder / "data.txt")
    (folder / "packed.txt.gz").write_bytes(gzip.compress((folder / "data.txt").read_bytes()))
    for ending in ("csv", "tsv", "parquet", "jsonl"):
        rw.data.write(ds, folder / f"data.{ending}")
    rng = np.random.default_rng(3)
    X = sp.random_array((600, 300), density=0.02, format="csr", dtype=np.float32, rng=rng)
    sparse = rw.Dataset(X, rng.integers(0, 3, 600), [f"q{i // 7}" for i in range(600)])
    rw.write_letor(sparse, folder / "sparse.txt")
    rw.save(rw.LinearRanker("xendcg").fit(sparse.X, sparse.y, sparse.qid), folder / "sparse.rw")
    return folder


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[int]]:
    """Return what makes files come in small parts, or as a whole; it returns the parts' rows."""
    read_blocks = blocks.read_blocks

    def switch(small: bool) -> list[int]:
        sizes: list[int] = []

        def counted(*args: Any, **options: Any) -> Iterator[rw.Dataset]:
            for part in read_blocks(*args, **options):
                sizes.append(part.n_docs)
                yield part

        monkeypatch.setattr(blocks, "read_blocks", counted)
        monkeypatch.setattr(blocks, "comes_in_blocks", comes if small else lambda *_: False)
        monkeypatch.setattr(blocks, "WHOLE_BYTES", 0)
        monkeypatch.setattr(blocks, "BLOCK_BYTES", 3000)
        monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", 3000)
        monkeypatch.setattr(tables, "PART_CELLS", 500)
        return sizes

    comes = blocks.comes_in_blocks
    return switch


def predict(*arguments: Any, **options: Any) -> Any:
    return runner.invoke(app, ["predict", *map(str, arguments)], **options)


def outcome(folder: Path, model: str, data: Path, out: str, *options: str) -> tuple[Any, ...]:
    """Return what is written, and what is said."""
    path = folder / f"scores.{out}"
    path.unlink(missing_ok=True)
    result = predict(folder / model, data, "-o", path, *options)
    written = path.read_bytes() if path.exists() else None
    return result.exit_code, str(result.exception), result.stdout, result.stderr, written


@pytest.mark.parametrize("out", ["txt", "csv", "tsv", "jsonl", "parquet", "run"])
@pytest.mark.parametrize(
    "data", ["data.txt", "packed.txt.gz", "sparse.txt", "data.csv", "data.tsv", "data.parquet"]
)
def test_parts_write_the_bytes_of_the_whole(
    folder: Path, data: str, out: str, in_parts: Any
) -> None:
    model = "sparse.rw" if data == "sparse.txt" else "model.rw"
    for options in ([], ["--top", "3"]) if out != "txt" else ([],):
        in_parts(False)
        whole = outcome(folder, model, folder / data, out, *options)
        sizes = in_parts(True)
        assert outcome(folder, model, folder / data, out, *options) == whole
        assert whole[0] == 0
        assert len(sizes) > 3
        assert max(sizes) < sum(sizes) / 3


@pytest.fixture
def piped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., bytes]:
    """Return the command with a text as standard input; it returns what it writes."""

    def call(text: bytes, out: Any = "-", out_format: str = "csv") -> bytes:
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text)))
        monkeypatch.setattr(sys, "stdin", stdin)
        model = str(folder / "model.rw")
        command(model, "-", out=str(out), out_format=out_format, columns=Columns())
        return capsysbinary.readouterr().out

    return call


@pytest.mark.parametrize("out_format", ["letor", "csv", "run"])
def test_standard_input_and_output_stream(
    folder: Path, out_format: str, in_parts: Any, piped: Any
) -> None:
    in_parts(False)
    text = (folder / "data.txt").read_bytes()
    whole = piped(text, out_format=out_format)
    assert whole.count(b"\n") >= text.count(b"\n")
    sizes = in_parts(True)
    assert piped(text, out_format=out_format) == whole
    assert len(sizes) > 3


def test_tables_that_must_be_whole_are_read_so(folder: Path, in_parts: Any) -> None:
    in_parts(False)
    whole = outcome(folder, "model.rw", folder / "data.jsonl", "csv")
    sizes = in_parts(True)
    assert outcome(folder, "model.rw", folder / "data.jsonl", "csv") == whole
    assert sizes == []


def lines_of(folder: Path) -> list[str]:
    return (folder / "data.txt").read_text().splitlines()


def dropped(line: str, feature: int) -> str:
    return " ".join(part for part in line.split(" ") if not part.startswith(f"{feature}:"))


# What only a later part shows: name -> (lines -> lines).
ODD: dict[str, Callable[[list[str]], list[str]]] = {
    "a query that comes again": lambda lines: [*lines, lines[0]],
    "a feature 0": lambda lines: [*lines, "1 qid:9999 0:1 1:1"],
    "more features": lambda lines: [*lines, "1 qid:9999 1:1 40:1"],
    "fewer features": lambda lines: [dropped(line, N_FEATURES) for line in lines],
    "fewer features at first": lambda lines: [
        *(dropped(line, N_FEATURES) for line in lines[:100]),
        *lines[100:],
    ],
    "many zeros": lambda lines: lines[:80] + ["1 qid:9999 12:1"] * 3000,
    "ids that are texts": lambda lines: [*lines, "1 qid:text 1:1"],
    "a line without an id": lambda lines: [*lines, "1 1:1"],
    "no number": lambda lines: [*lines, "1 qid:9999 3:x", *lines],
    "an infinite value": lambda lines: [*lines, "1 qid:9999 3:inf"],
    "a huge index": lambda lines: [*lines, "1 qid:9999 2000000000:1"],
    "missing values": lambda lines: [line.replace(" 3:", " 3:nan 4:0 #") for line in lines],
    "no query ids": lambda lines: [
        " ".join(part for part in line.split(" ") if not part.startswith("qid:")) for line in lines
    ],
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
@pytest.mark.parametrize("out", ["txt", "csv"])
def test_what_only_a_later_part_shows_makes_no_difference(
    folder: Path, tmp_path: Path, change: Any, out: str, in_parts: Any
) -> None:
    data = tmp_path / "odd.txt"
    data.write_text("\n".join(change(lines_of(folder))) + "\n")
    in_parts(False)
    whole = outcome(folder, "model.rw", data, out)
    sizes = in_parts(True)
    assert outcome(folder, "model.rw", data, out) == whole
    assert sizes


@pytest.mark.parametrize("row", ["9999,1," + "x," * 11 + "1", "9999,,1" + ",1" * 11, "9999,1"])
def test_a_table_that_becomes_another_one_is_read_whole(
    folder: Path, tmp_path: Path, row: str, in_parts: Any
) -> None:
    data = tmp_path / "odd.csv"
    data.write_text((folder / "data.csv").read_text() + row + "\n")
    in_parts(False)
    whole = outcome(folder, "model.rw", data, "csv")
    in_parts(True)
    assert outcome(folder, "model.rw", data, "csv") == whole


def test_a_query_is_written_when_another_one_begins(tmp_path: Path) -> None:
    X, y = np.ones((2, 1)), [0, 1]
    with open_scores(tmp_path / "a.csv", "csv") as scores:
        scores.add(np.zeros(2), rw.Dataset(X, y, [1, 1]))
        assert not scores.wrote
        scores.add(np.zeros(2), rw.Dataset(X, y, [2, 2]))
        assert scores.wrote
        scores.finish()


def test_standard_input_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    text = (folder / "data.txt").read_bytes()
    path.write_bytes(text)
    command = [sys.executable, "-m", "rankwright", "predict", str(folder / "model.rw"), "-"]
    with path.open("rb") as stream:
        ended = subprocess.run(
            [*command, "-o", str(path)], stdin=stream, capture_output=True, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr == f"rankwright: {path}: is what is read: write to another place.\n"
    assert path.read_bytes() == text


def test_a_table_without_rows(folder: Path, tmp_path: Path, in_parts: Any) -> None:
    path = tmp_path / "none.parquet"
    pd.read_parquet(folder / "data.parquet").iloc[:0].to_parquet(path)
    in_parts(True)
    code, said, *_, written = outcome(folder, "model.rw", path, "txt")
    assert code == 1
    assert said == f"{path}: there must be at least one document, but there is none."
    assert written is None


def test_what_is_on_standard_output_already_is_not_contradicted(
    folder: Path, tmp_path: Path, in_parts: Any, piped: Any
) -> None:
    data = tmp_path / "again.txt"
    lines = lines_of(folder)
    data.write_text("\n".join([*lines, lines[0]]) + "\n")
    in_parts(True)
    result = predict(folder / "model.rw", data, "--out-format", "csv")
    assert str(result.exception) == (
        f"{data}: cannot be scored to the end, since query '1' comes again after others. Write the "
        "scores to a file (--out): then it is read again, as a whole."
    )
    with pytest.raises(DataError) as caught:
        piped(data.read_bytes(), tmp_path / "x.csv")
    assert str(caught.value) == (
        "standard input: cannot be scored while it is read, since query '1' comes again after "
        "others. Write it to a file first."
    )


def test_scores_appear_when_they_are_complete(folder: Path, tmp_path: Path, in_parts: Any) -> None:
    data, out = tmp_path / "broken.txt", tmp_path / "scores.txt"
    data.write_text("\n".join([*lines_of(folder), "1 qid:9999 3:x"]) + "\n")
    out.write_text("old\n")
    in_parts(True)
    assert isinstance(predict(folder / "model.rw", data, "-o", out).exception, DataError)
    assert out.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.txt", "scores.txt"]


PEAK = """
import sys
from rankwright.cli.predict import predict
from rankwright.data.columns import Columns
from rankwright.data.scores import open_scores

predict(*sys.argv[1:], columns=Columns())
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


@pytest.mark.parametrize("out", ["txt", "csv"])
def test_memory_does_not_grow_with_the_file(folder: Path, tmp_path: Path, out: str) -> None:
    lines = [line.split(" ", 2) for line in lines_of(folder)]
    peaks = []
    for n_repeats in (1000, 3000):
        data = tmp_path / "long.txt"
        with open(data, "w") as file:
            for i in range(n_repeats):
                file.writelines(f"{y} {qid}-{i} {rest}\n" for y, qid, rest in lines)
        files = folder / "model.rw", data, tmp_path / f"out.{out}"
        peaks.append(int(subprocess.check_output([sys.executable, "-c", PEAK, *files])) / 1024)
    arrays = 2000 * len(lines) * N_FEATURES * 4 / 2**20  # MiB, by which they differ
    assert peaks[1] - peaks[0] < arrays


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_written_as_python_writes_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    near = np.concatenate([10.0 ** rng.uniform(-8, 20, 5000), rng.normal(size=5000)])
    whole = np.round(rng.normal(size=2000) * 10.0 ** rng.integers(0, 18, 2000))
    limits = [0.0, -0.0, 1e16, 9999999999999998.0, 1e-4, 9.999e-5, 5e-324, 1.7976931348623157e308]
    values = np.concatenate([bits, near, -near, whole, limits, [np.inf, -np.inf, np.nan]])
    text = "".join(f"{value!r}\n" for value in values.tolist()).encode()
    assert rw._kernels.format_lines(values, 1 + seed) == text
