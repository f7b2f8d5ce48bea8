"""Columns beside the features: kept in the order of the rows, through everything."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.data import from_frame
from rankwright.data.arrays import fingerprint, map_arrays, write_arrays
from rankwright.exceptions import DataError, DataWarning


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "qid": ["b", "a", "b", "a"],
            "label": [0, 1, 2, 0],
            "price": [1.0, 2.0, 3.0, 4.0],
            "country": ["de", "us", None, "us"],
            "row": [10, 11, 12, 13],
        }
    )


def test_kept_columns_are_gathered_with_the_rows(frame: pd.DataFrame) -> None:
    ds = from_frame(frame, keep=["country", "row"], ignore=["row"])
    assert ds.qid.tolist() == ["b", "b", "a", "a"]
    assert ds.kept["row"].tolist() == ["10", "12", "11", "13"]
    assert ds.kept["country"].tolist() == ["de", "", "us", "us"]
    assert ds.feature_names == ["price"]


def test_what_else_a_kept_column_is_does_not_change(frame: pd.DataFrame) -> None:
    assert from_frame(frame, keep=["country", "price"]).feature_names == ["price", "row"]
    coded = from_frame(frame, keep=["country"], categorical=["country"], allow_nan=True)
    assert "country" in coded.features.categories
    assert coded.kept["country"].tolist() == ["de", "", "us", "us"]
    with pytest.warns(DataWarning, match="'country' is left out"):
        from_frame(frame)  # a text that nobody asked for


def test_kept_columns_go_through_selections_alignment_and_processes(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    ds = from_frame(frame, keep=["row"], ignore=["country"])
    assert ds.select([1]).kept["row"].tolist() == ["11", "13"]
    wanted = rw.Dataset([[1.0, 2.0]], [0], feature_names=["row", "price"]).features
    assert ds.aligned(wanted).kept["row"].tolist() == ["10", "12", "11", "13"]
    assert ds.with_labels([0, 0, 1, 1]).kept is ds.kept
    parts = {text: part for part in ds.split((0.5, 0.5)) for text in part.kept["row"].tolist()}
    assert sorted(parts) == ["10", "11", "12", "13"]
    write_arrays(ds, tmp_path, "train")
    again = map_arrays(tmp_path, "train")
    assert again.kept["row"].tolist() == ds.kept["row"].tolist()
    assert fingerprint(again) == fingerprint(ds)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_every_table_has_them(frame: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path, index=False)
    else:
        path.write_text(
            "".join(
                json.dumps(row) + "\n"
                for row in frame.astype(object).where(frame.notna(), None).to_dict("records")
            )
        )
    ds = rw.read(path, keep=["country", "price"])
    assert ds.kept["country"].tolist() == ["de", "", "us", "us"]
    assert ds.kept["price"].tolist() == ["1", "3", "2", "4"]


def test_a_large_csv_file_keeps_them_too(tmp_path: Path) -> None:
    n = 400_000
    rows = "".join(f"q{i // 10},{i % 3},{i}.5,c{i // 10 % 7}\n" for i in range(n))
    path = tmp_path / "large.csv"
    path.write_text("qid,label,x,country\n" + rows)
    ds = rw.read(path, keep=["country"])
    assert ds.n_docs == n
    assert (ds.kept["country"][::10] == np.array([f"c{q % 7}" for q in range(n // 10)])).all()


def test_arrays_and_lists_are_taken() -> None:
    ds = rw.Dataset(
        [[1.0], [2.0]], [0, 1], kept={"topics": np.array([["a", "b"], None], dtype=object)}
    )
    assert ds.kept["topics"].tolist() == ["a b", ""]


def test_what_does_not_fit_is_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"kept\['x'\] must have one value per row, 2 in all"):
        rw.Dataset([[1.0], [2.0]], [0, 1], kept={"x": [1, 2, 3]})
    with pytest.raises(DataError, match=r"there must be a column 'countri'.*country"):
        from_frame(frame, keep=["countri"])
