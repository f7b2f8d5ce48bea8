"""Tables in files of other formats than plain CSV and Parquet, and in parts."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zstandard

import rankwright as rw
from rankwright.data import read_frame, write_frame
from rankwright.data.formats import ENDINGS, format_of
from rankwright.exceptions import DataError, DataWarning


def shop(n: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "qid": [f"q{i % 3}" for i in range(n)],
            "label": rng.integers(0, 3, n),
            "doc_id": [f"d{i}" for i in range(n)],
            "bm25": rng.normal(size=n),
            "clicks": rng.integers(0, 9, n),
        }
    )


def same(found: rw.Dataset, frame: pd.DataFrame) -> None:
    expected = rw.from_frame(frame)
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.y, expected.y)
    assert found.feature_names == expected.feature_names
    assert found.qid.tolist() == expected.qid.tolist()
    assert found.doc_ids is not None
    assert expected.doc_ids is not None
    assert found.doc_ids.tolist() == expected.doc_ids.tolist()


def fault(path: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        rw.read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(path))


# ---- formats ----


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"])
def test_every_table_reads_back(ending: str, packed: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}{packed}"
    frame = shop()
    rw.write(rw.from_frame(frame), path)
    same(rw.read(path), frame)


@pytest.mark.parametrize("packed", [b"", b"gz", b"zst"])
def test_tables_of_others(packed: bytes, tmp_path: Path) -> None:
    frame = shop()
    texts = {
        "a.tsv": frame.to_csv(index=False, sep="\t"),
        "a.csv": frame.to_csv(index=False, sep=";"),
        "b.csv": frame.to_csv(index=False, sep=";", decimal=","),
        "c.csv": frame.to_csv(index=False, sep="\t"),
        "d.tsv": frame.to_csv(index=False, sep="\t", decimal=","),
        "e.csv": "\ufeff" + frame.to_csv(index=False),
        "f.csv": frame.to_csv(index=False, lineterminator="\r\n"),
        "a.jsonl": frame.to_json(orient="records", lines=True, double_precision=15),
    }
    for name, text in texts.items():
        content = text.encode()
        if packed:
            pack = gzip.compress if packed == b"gz" else zstandard.compress
            name, content = f"{name}.{packed.decode()}", pack(content)
        (tmp_path / name).write_bytes(content)
        found = rw.read(tmp_path / name)
        np.testing.assert_allclose(found.X, rw.from_frame(frame).X, rtol=1e-12)
        assert found.qid.tolist() == rw.from_frame(frame).qid.tolist()
        assert found.feature_names == ["bm25", "clicks"]


def test_a_header_decides_on_the_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('qid,label,"a;b;c;d",f\n1,2,3,4\n')
    assert rw.read(path).feature_names == ["a;b;c;d", "f"]
    path.write_text('qid;label;"price, net";f\n1;2;3;4\n')
    assert rw.read(path).feature_names == ["price, net", "f"]


def test_decimal_commas_and_points_in_one_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("qid;label;u;v\nq1;1;0,5;0.5\nq1;0;1,5;2\n")
    assert fault(path) == (
        ": numbers must have decimal points, or all of them decimal commas, but 'u' has commas and "
        "'v' has points."
    )
    path.write_text("qid;label;u;v\n1.5;1;0,5;1\n2.5;0;1,5;2\n")  # ids are no numbers
    assert rw.read(path).X.tolist() == [[0.5, 1], [1.5, 2]]


def test_missing_values_in_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"qid": 7, "label": 1, "u": 1.5, "v": true}\n{"qid": 7, "label": 0, "u": 2}\n')
    found = rw.read(path, allow_nan=True)
    assert found.qid.tolist() == [7, 7]
    np.testing.assert_array_equal(found.X, [[1.5, 1], [2, np.nan]])
    write_frame(found, path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[1] == {"label": 0.0, "qid": 7, "u": 2.0, "v": None}
    np.testing.assert_array_equal(read_frame(path, allow_nan=True).X, found.X)
    path.write_bytes(b'{"qid": 1, "label": 0, "u": {"\xcc": 1}}\n')
    assert fault(path) == ": names of columns must be UTF-8 text."
    path.write_text("[1, 2]\n")
    assert fault(path).startswith(": is not a readable jsonl file: ")


def test_the_caller_may_tell_the_format(tmp_path: Path) -> None:
    path = tmp_path / "data.xyz"
    write_frame(rw.from_frame(shop()), path, format="tsv")
    same(rw.read(path, format="tsv"), shop())
    with pytest.raises(ValueError, match=r"there is no format 'jsnl'\. Did you mean 'jsonl'\?"):
        rw.read(path, format="jsnl")


@pytest.mark.parametrize("name", ["a.xlsx", "a.json", "a.feather", "a.txt.bz2", "a.1", "b.csv.bak"])
def test_endings_that_tell_nothing_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("1 qid:1 1:0.5\n")
    message = f": the ending {path.suffix!r} tells no format that is known: name it .txt, "
    assert fault(path).startswith(message)
    assert rw.read(path, format="letor").n_docs == 1
    other = tmp_path / f"out{path.suffix}"
    with pytest.raises(DataError, match=re.escape(message)):
        rw.write(rw.from_frame(shop()), other)
    assert not other.exists()


def test_what_is_no_table_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    message = "a.txt: must be a table: name it .csv, .tsv, .jsonl or .parquet, or say which it is"
    with pytest.raises(DataError, match=re.escape(message)):
        write_frame(rw.from_frame(shop()), path)
    assert not path.exists()
    write_frame(rw.from_frame(shop()), path, format="csv")
    with pytest.raises(DataError, match=re.escape(message)):
        read_frame(path)
    same(read_frame(path, format="csv"), shop())


@pytest.mark.parametrize("name", ["a.txt", "a.svm", "a.letor", "a.dat", "a", "a.TXT.gz", "a.gz"])
def test_letor_text_has_these_names(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    rw.write(rw.Dataset([[0.5]], [1], [3]), path)
    assert rw.read(path).X.tolist() == [[0.5]]


def test_formats_of_names() -> None:
    assert {format_of(f"x{ending}") for ending in ENDINGS} == set(ENDINGS.values())
    assert format_of("-") == "letor"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 ...", "is a zip archive or a workbook. Unpack it, or save it as CSV (UTF-8)"),
        ("qid,label,f\n1,2,3\n".encode("utf-16"), "is UTF-16 text. Convert it to UTF-8 (iconv -f"),
        (b"\xfe\xff\0q", "is UTF-16 text. Convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)."),
        (b"BZh91AY", "is compressed with bzip2. Unpack it, or use gzip or zstd."),
        (b"\xfd7zXZ\0", "is compressed with xz. Unpack it, or use gzip or zstd."),
        (b"PAR1....", "is a Parquet file. Name it *.parquet."),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.txt"])
def test_what_is_no_text_is_told(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert fault(tmp_path / name).startswith(f": {message}")


def test_tables_without_labels(tmp_path: Path) -> None:
    frame = shop().drop(columns="label")
    frame.to_csv(tmp_path / "new.csv", index=False)
    found = rw.read(tmp_path / "new.csv", label=None)
    assert found.feature_names == ["bm25", "clicks"]
    assert not found.y.any()
    assert rw.from_frame(frame, label=None).n_docs == 12


# ---- parts ----


def in_parts(folder: Path, ending: str, frame: pd.DataFrame, last: pd.DataFrame) -> Path:
    folder.mkdir()
    for i, part in enumerate((frame[:4], frame[4:7], last)):
        path = folder / f"part-{i:05}{ending}"
        if ending == ".parquet":
            part.to_parquet(path, index=False)
        elif ending == ".jsonl":
            part.to_json(path, orient="records", lines=True, double_precision=15)
        else:
            part.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000.crc").touch()
    return folder


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".jsonl"])
def test_a_table_in_parts(ending: str, tmp_path: Path) -> None:
    """Queries go on from part to part, and columns may have another order."""
    frame = shop()
    last = frame[7:][frame.columns[::-1]]
    found = rw.read(in_parts(tmp_path / "table", ending, frame, last))
    np.testing.assert_allclose(found.X, rw.from_frame(frame).X, rtol=1e-12)
    assert found.qid.tolist() == rw.from_frame(frame).qid.tolist()
    assert found.n_queries == 3


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_parts_must_have_the_same_columns(ending: str, tmp_path: Path) -> None:
    frame = shop()
    folder = in_parts(tmp_path / "a", ending, frame, frame[7:].drop(columns=["bm25", "clicks"]))
    last = f"/part-00002{ending}"
    assert fault(folder) == (
        f"{last}: parts must have the same columns, but part-00000{ending} has 'bm25', 'clicks', "
        f"and part-00002{ending} has not."
    )
    folder = in_parts(tmp_path / "b", ending, frame, frame[7:].assign(price=1.0))
    assert fault(folder) == (
        f"{last}: parts must have the same columns, but part-00002{ending} has 'price', and "
        f"part-00000{ending} has not."
    )


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_ids_that_are_numbers_in_one_part_and_texts_in_another(ending: str, tmp_path: Path) -> None:
    frame = shop().assign(qid=[1, 1, 2, 2, 2, 7, 7, 8, 8, 9, 9, 9], doc_id=range(12))
    last = frame[7:].assign(qid=["7", "x1", "x1", "1", "007"], doc_id=list("abcde"))
    found = rw.read(in_parts(tmp_path / "table", ending, frame, last))
    assert found.groups.ids is not None
    assert found.groups.ids.tolist() == ["1", "2", "7", "x1", "007"]
    assert found.groups.sizes.tolist() == [3, 3, 3, 2, 1]
    assert found.doc_ids is not None
    assert found.doc_ids.tolist() == ["0", "1", "d", "2", "3", "4", "5", "6", "a", "b", "c", "e"]


def test_numbers_in_one_part_and_texts_in_another(tmp_path: Path) -> None:
    frame = shop()
    folder = in_parts(tmp_path / "a", ".parquet", frame, frame[7:].assign(bm25="much"))
    assert fault(folder).startswith(": parts must have the same types of columns: ")
    whole = in_parts(tmp_path / "b", ".parquet", frame, frame[7:].assign(bm25=range(5)))
    assert rw.read(whole).X[-1].tolist() == [4, float(frame["clicks"].iloc[-1])]


def test_other_folders_are_refused(tmp_path: Path) -> None:
    folder = in_parts(tmp_path / "a", ".parquet", shop(), shop()[7:])
    (folder / "b.csv").write_text("qid,label,f\n")
    assert fault(folder) == (
        ": a folder must hold the parts of one table, all .parquet, or all .csv, .tsv or .jsonl, "
        "but has 'b.csv', 'part-00000.parquet', 'part-00001.parquet', 'part-00002.parquet'."
    )
    (folder / "b.csv").unlink()
    (folder / "date=2026-01-01").mkdir()
    assert fault(folder) == (": must hold the parts of a table, but 'date=2026-01-01' is a folder.")
    with pytest.warns(DataWarning, match="'text' is left out"):
        rw.read(
            in_parts(tmp_path / "c", ".csv", shop().assign(text="a"), shop()[7:].assign(text="a"))
        )


def test_what_stands_in_quotes_is_no_delimiter(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text('qid,label,"a;b;c;d;e",f\n1,2,3,4\n')
    assert rw.read(path).feature_names == ["a;b;c;d;e", "f"]
    from rankwright.data import tables

    monkeypatch.setattr(tables, "HEAD_BYTES", 56)
    head = (b"qid;label;price\n" + b"q1;1;0,5\n" * 9)[:56]  # ends within a line
    assert tables.sniff(head, "csv", ["qid"], "a.csv") == (";", ",")
