"""Large CSV files are read a block at a time, with the result of reading them as a whole."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.data import csv_blocks, frames
from rankwright.exceptions import DataError, DataWarning


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "qid": rng.permutation([f"q{i % 20}" for i in range(n)]),
            "doc_id": [f"d{i}" for i in range(n)],
            "label": rng.integers(0, 4, n),
            "whole": rng.integers(0, 100, n),
            "real": rng.normal(size=n),
            "flag": rng.random(n) > 0.5,
            "country": rng.choice(["de", "fr"], n),
        }
    )


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Make blocks of 2 kB; the list tells which files were read so."""
    taken: list[bool] = []
    original = csv_blocks.read_csv_blocks

    def watched(*arguments: Any) -> Any:
        rows = original(*arguments)
        taken.append(rows is not None)
        return rows

    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(frames, "read_csv_blocks", watched)
    return taken


def both(path: Path, taken: list[bool], **options: Any) -> tuple[rw.Dataset, bool]:
    """Read a file in blocks and as a whole; what comes, and what is said, is the same."""
    results = []
    for blocks in (True, False):
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            if not blocks:
                patch.setattr(frames, "read_csv_blocks", lambda *_: None)
            results.append((rw.read(path, **options), [str(w.message) for w in told]))
    (one, said), (other, expected) = results
    assert said == expected
    assert one.feature_names == other.feature_names
    for name in ("X", "y", "qid", "doc_ids", "order"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours is None or ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert one.groups.ids is not None
    assert other.groups.ids is not None
    assert one.groups.ids.tolist() == other.groups.ids.tolist()
    return one, taken[-1]


WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "a.csv": lambda f, p: f.to_csv(p, index=False),
    "b.csv": lambda f, p: f.to_csv(p, index=False, lineterminator="\r\n"),
    "c.csv": lambda f, p: f.to_csv(p, index=False, sep=";", decimal=","),
    "d.csv": lambda f, p: p.write_text(f.to_csv(index=False).rstrip()),
    "e.csv": lambda f, p: p.write_bytes(b"\xef\xbb\xbf" + f.to_csv(index=False).encode()),
    "f.csv.gz": lambda f, p: p.write_bytes(gzip.compress(f.to_csv(index=False).encode())),
    "g.tsv": lambda f, p: f.to_csv(p, index=False, sep="\t", quoting=1),
    "h.csv": lambda f, p: f.to_csv(p),  # with the index of the frame
    "i.csv": lambda f, p: f.assign(qid=f["qid"].str[1:].astype(int)).to_csv(p, index=False),
    "j.csv": lambda f, p: f.assign(qid="00" + f["qid"].str[1:]).to_csv(p, index=False),
    "k.csv": lambda f, p: f.sort_values("qid").to_csv(p, index=False),
    "l.csv": lambda f, p: f.drop(columns="doc_id").to_csv(p, index=False),
    "m.csv": lambda f, p: f.assign(whole=[1] * 250 + [0.5] * 50).to_csv(p, index=False),
    "n.csv": lambda f, p: f.assign(real=f["real"].where(f["label"] > 0)).to_csv(p, index=False),
    "o.csv": lambda f, p: f.assign(doc_id=["d"] * 200 + ["d" * 40] * 100).to_csv(p, index=False),
}


@pytest.mark.parametrize("name", WRITERS)
def test_ordinary_files(name: str, small_blocks: list[bool], tmp_path: Path) -> None:
    WRITERS[name](table(), tmp_path / name)
    ds, in_blocks = both(tmp_path / name, small_blocks, allow_nan=name == "n.csv")
    assert in_blocks
    assert ds.feature_names == ["whole", "real", "flag"]
    assert ds.X.flags.c_contiguous


WHOLE: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "a text at the end": lambda f: f.assign(whole=[*f["whole"][:-1], "much"]),
    "a truth value that is none": lambda f: f.assign(flag=[*f["flag"][:-1], "perhaps"]),
    "nothing in the first block": lambda f: f.assign(whole=[None] * 200 + [1.5] * 100),
    "nothing at all": lambda f: f.assign(nothing=None),
    "a newline in a text": lambda f: f.assign(country=[f"a\n{'b' * 20}"] * 300),
    "long ids": lambda f: f.assign(doc_id=[*f["doc_id"][:-1], "d" * 900]),
}


@pytest.mark.parametrize("what", WHOLE)
def test_files_that_are_read_as_a_whole(
    what: str, small_blocks: list[bool], tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    WHOLE[what](table()).to_csv(path, index=False)
    both(path, small_blocks, allow_nan=True)
    assert small_blocks[0] is False


def test_rows_within_quotes_are_no_rows(small_blocks: list[bool], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    frame = table().drop(columns=["doc_id", "country"])
    frame.assign(country="de\nq1,1,2,3.5,True,fr").to_csv(path, index=False)
    ds, in_blocks = both(path, small_blocks)
    assert ds.n_docs == 300
    assert not in_blocks


def test_newlines_in_large_tables(tmp_path: Path) -> None:
    note = "words " * 20 + "\n1,2,3,"
    rows = "".join(f'{i},1,{i}.5,"{note}"\n' for i in range(20_000))  # some blocks of Arrow
    (tmp_path / "a.csv").write_text(f"qid,label,a,note\n{rows}")
    with pytest.warns(UserWarning, match="'note' is left out"):
        ds = rw.data.read_frame(tmp_path / "a.csv")
    np.testing.assert_array_equal(ds.X[:, 0], np.arange(20_000) + 0.5)


def test_options(small_blocks: list[bool], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    table().to_csv(path, index=False)
    assert both(path, small_blocks, features=["real"])[1]
    assert both(path, small_blocks, ignore=["country", "flag"])[1]
    assert both(path, small_blocks, qid=None, ignore=["qid", "country"])[1]
    table().rename(columns={"label": "grade", "doc_id": "sku"}).to_csv(path, index=False)
    assert both(path, small_blocks, label="grade", doc_id="sku")[1]
    assert both(path, small_blocks, label=None, ignore=["grade", "sku", "country"])[1]
    with pytest.raises(DataError, match=r"there must be a column 'label'"):
        rw.read(path)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("qid", "qid: must not be missing, but row 299 has no value."),
        ("doc_id", "doc_id: must not be missing, but row 299 has no value."),
        ("label", "label: must not be missing, but row 299 has no value."),
        ("real", "must be a finite number, but is missing. Replace it"),
    ],
)
def test_faults_are_told_as_ever(
    column: str, message: str, small_blocks: list[bool], tmp_path: Path
) -> None:
    frame = table()[["qid", "doc_id", "label", "real"]].astype(object)
    frame.loc[299, column] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(DataError) as caught:
        rw.read(tmp_path / "a.csv")
    assert message in str(caught.value)


def test_what_is_left_out_is_told_once(small_blocks: list[bool], tmp_path: Path) -> None:
    table().to_csv(tmp_path / "a.csv")
    with pytest.warns(DataWarning) as told:
        rw.read(tmp_path / "a.csv")
    assert [str(w.message).partition("a.csv: ")[2].partition(":")[0] for w in told] == [
        "'' is left out",
        "'country' is left out",
    ]
    assert small_blocks == [True]


def test_categories_are_read_as_a_whole(small_blocks: list[bool], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    table().to_csv(path, index=False)
    for name in ("country", "whole"):
        ds, in_blocks = both(path, small_blocks, categorical=[name])
        assert not in_blocks
        assert list(ds.features.categories) == [name]


def test_numbers_of_a_slice() -> None:
    import pyarrow

    from rankwright.data import csv_blocks

    assert csv_blocks._numbers(pyarrow.array([1.0, 2.0, 3.0])[1:]).tolist() == [2, 3]
