"""Data frames, Parquet and CSV."""

from __future__ import annotations

import builtins
import gzip
import os
import re
import sys
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import read_frame, write_frame
from rankwright.exceptions import DataError, DataWarning

frames = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])


def exactly(text: str) -> str:
    return f"^{re.escape(text)}$"


def columns(**others: Any) -> dict[str, Any]:
    return {"qid": ["b", "a", "b"], "label": [0, 1, 2], "u": [0.5, 1.5, 2.5], **others}


@frames
def test_a_frame_becomes_a_data_set(make: Any) -> None:
    ds = rw.from_frame(make(columns(v=[3, 4, 5])))
    assert ds.feature_names == ["u", "v"]
    assert ds.X.tolist() == [[0.5, 3], [2.5, 5], [1.5, 4]]
    assert ds.X.dtype == np.float64
    assert ds.y.tolist() == [0, 2, 1]
    assert ds.qid.tolist() == ["b", "b", "a"]
    assert ds.doc_ids is None


@frames
def test_columns_may_have_other_names(make: Any) -> None:
    frame = make(
        {"q": [1, 2], "grade": [0.0, 3.0], "name": ["x", "y"], "u": [1.0, 2.0], "v": [5, 6]}
    )
    ds = rw.from_frame(frame, label="grade", qid="q", doc_id="name", features=["v", "u"])
    assert ds.feature_names == ["v", "u"]
    assert ds.X.tolist() == [[5, 1], [6, 2]]
    assert ds.doc_ids is not None
    assert ds.doc_ids.tolist() == ["x", "y"]


@frames
def test_without_qid_there_is_one_query(make: Any) -> None:
    ds = rw.from_frame(make({"label": [0, 1], "u": [1.0, 2.0]}), qid=None)
    assert ds.n_queries == 1


@frames
def test_float32_is_kept_if_all_features_have_it(make: Any) -> None:
    single = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    ds = rw.from_frame(make({"qid": [1, 1, 2], "label": [0, 1, 2], "u": single}))
    assert ds.X.dtype == np.float32
    np.testing.assert_array_equal(ds.X[:, 0], single)
    mixed = rw.from_frame(make({"qid": [1, 1, 2], "label": [0, 1, 2], "u": single, "v": [1, 2, 3]}))
    assert mixed.X.dtype == np.float64
    np.testing.assert_array_equal(mixed.X[:, 0], single.astype(np.float64))


@frames
def test_truth_values_are_numbers(make: Any) -> None:
    ds = rw.from_frame(make(columns(v=[True, False, True])))
    assert ds.X[:, 1].tolist() == [1, 1, 0]


@frames
@pytest.mark.parametrize("missing", ["label", "qid", "extra", "docs"])
def test_missing_columns_are_named(make: Any, missing: str) -> None:
    table = columns()
    options: dict[str, Any] = {"features": ["u", "extra"]} if missing == "extra" else {}
    if missing == "docs":
        options = {"doc_id": "docs"}
    table.pop(missing, None)
    names = ", ".join(repr(name) for name in table)
    message = f"{missing}: there must be a column {missing!r}, but there are only {names}."
    if missing != "extra":
        role = "doc_id" if missing == "docs" else missing
        option = role.replace("_", "-")
        message += f" Name the right one: {role}=... (--{option} on the command line)."
    with pytest.raises(DataError, match=exactly(message)) as caught:
        rw.from_frame(make(table), **options)
    assert caught.value.field == missing


def test_a_long_list_of_columns_is_cut() -> None:
    frame = pl.DataFrame({f"c{j}": [1] for j in range(10)})
    with pytest.raises(DataError, match=r"'c6', 'c7' and 2 more\. Name"):
        rw.from_frame(frame)


@pytest.mark.parametrize(
    ("make", "type_name"),
    [(pd.DataFrame, "text"), (pl.DataFrame, "text"), (pa.table, "text")],
)
def test_text_is_no_feature(make: Any, type_name: str) -> None:
    frame = make(columns(v=["1", "2", "3"]))
    message = (
        f"'v' is left out: features must be numbers, not {type_name}, or categories "
        "(categorical=, --categorical)."
    )
    with pytest.warns(DataWarning, match=exactly(message)):
        assert rw.from_frame(frame).feature_names == ["u"]
    message = f"v: features must be numbers, but the column has type {type_name}."
    with pytest.raises(DataError, match=exactly(message)):
        rw.from_frame(frame, features=["u", "v"])
    assert rw.from_frame(frame, features=["u"]).n_features == 1
    assert rw.from_frame(frame, ignore=["v"]).n_features == 1


@frames
def test_labels_and_ids_are_no_features(make: Any) -> None:
    frame = make({**columns(), "doc": ["a", "b", "c"]})
    for name in ("label", "qid", "doc"):
        for role in ("features", "ignore"):
            options: dict[str, Any] = {role: ["u", name], "doc_id": "doc"}
            with pytest.raises(DataError, match=f"^{name}: the column of .* cannot be a feature, "):
                rw.from_frame(frame, **options)


@frames
def test_the_index_of_a_pandas_frame_is_no_feature(make: Any) -> None:
    for name in ("", "Unnamed: 0", "__index_level_0__"):
        table = {name: [7, 8, 9], **columns()}
        with pytest.warns(DataWarning, match=f"^{re.escape(repr(name))} is left out: it looks li"):
            assert rw.from_frame(make(table)).feature_names == ["u"]
        assert rw.from_frame(make(table), features=["u", name]).n_features == 2


def test_the_index_of_a_pandas_frame_in_a_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({**columns(), "v": [1.0, 2.0, 3.0]})
    frame.to_csv(tmp_path / "a.csv")
    frame.index = [7, 1, 5]
    frame.to_parquet(tmp_path / "a.parquet")
    frame.rename_axis("row").to_parquet(tmp_path / "b.parquet")
    indices = {"a.csv": "''", "a.parquet": "'__index_level_0__'", "b.parquet": "'row'"}
    for name, index in indices.items():
        with pytest.warns(DataWarning, match=f"{name}: {index} is left out: it looks like the ind"):
            assert rw.read(tmp_path / name).feature_names == ["u", "v"]
    frame.set_index("qid").to_parquet(tmp_path / "c.parquet")
    assert rw.read(tmp_path / "c.parquet").feature_names == ["u", "v"]


@frames
def test_text_is_no_label(make: Any) -> None:
    with pytest.raises(
        DataError, match=r"^y must be numbers, but (holds strings|has dtype <U1)\.$"
    ):
        rw.from_frame(make(columns(label=["0", "1", "2"])))


@frames
@pytest.mark.parametrize("values", [[0.5, None, 2.5], [1, None, 3]])
def test_a_missing_feature_is_nan(make: Any, values: list[Any]) -> None:
    frame = make(columns(u=values))
    with pytest.raises(
        DataError, match=r"^u: must be a finite number, but is missing in row 1\. Repl"
    ):
        rw.from_frame(frame)
    X = rw.from_frame(frame, allow_nan=True).X
    assert np.isnan(X[2, 0])
    assert X[:2, 0].tolist() == [values[0], values[2]]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame(columns(u=[True, None, False])),
        pa.table(columns(u=[True, None, False])),
        pd.DataFrame(columns(u=pd.array([True, None, False], dtype="boolean"))),
        pd.DataFrame(columns(u=pd.array([1, None, 0], dtype="Int64"))),
    ],
)
def test_a_missing_truth_value_or_nullable_integer_is_nan(frame: Any) -> None:
    X = rw.from_frame(frame, allow_nan=True).X
    assert X[:2, 0].tolist() == [1, 0]
    assert np.isnan(X[2, 0])


@frames
def test_missing_labels_and_ids_are_refused(make: Any) -> None:
    missing = "must not be missing, but row 1 has no value."
    with pytest.raises(DataError, match=exactly(f"label: {missing}")):
        rw.from_frame(make(columns(label=[0.0, None, 1.0])))
    with pytest.raises(DataError, match=exactly(f"qid: {missing}")):
        rw.from_frame(make(columns(qid=[1, None, 2])))
    with pytest.raises(DataError, match=exactly(f"qid: {missing}")) as error:
        rw.from_frame(make(columns(qid=["a", None, "b"])))
    assert error.value.field == "qid"
    with pytest.raises(DataError, match=exactly(f"d: {missing}")):
        rw.from_frame(make(columns(d=["a", None, "b"])), doc_id="d")


# Six rows of which the second and the last are missing, in every form that categories have.
ARROW_CATEGORIES = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
GAPS = ["a", None, "b", "b", "c", None]
CATEGORIES: dict[str, Any] = {
    "pandas": pd.DataFrame({"c": pd.Categorical(GAPS)}),
    "pandas by Arrow": pd.DataFrame({"c": pd.Series(GAPS, dtype=ARROW_CATEGORIES)}),
    "polars": pl.DataFrame({"c": pl.Series(GAPS, dtype=pl.Categorical)}),
    "polars enum": pl.DataFrame({"c": pl.Series(GAPS, dtype=pl.Enum(["a", "b", "c"]))}),
    "Arrow": pa.table({"c": pa.array(GAPS).dictionary_encode()}),
    "Arrow, in pieces": pa.table(
        {
            "c": pa.chunked_array(
                [pa.array(part).dictionary_encode() for part in (GAPS[:3], GAPS[3:])]
            )
        }
    ),
    "Arrow, missing in the dictionary": pa.table(
        {"c": pa.DictionaryArray.from_arrays([0, 1, 2, 2, 3, 1], ["a", None, "b", "c"])}
    ),
}


def with_columns(frame: Any, **others: Any) -> Any:
    for name, values in others.items():
        if isinstance(frame, pa.Table):
            frame = frame.append_column(name, pa.array(values))
        elif isinstance(frame, pl.DataFrame):
            frame = frame.with_columns(pl.Series(name, values))
        else:
            frame = frame.assign(**{name: values})
    return frame


@pytest.mark.parametrize("kind", CATEGORIES)
@pytest.mark.parametrize("role", ["qid", "doc_id"])
def test_a_missing_category_is_refused(kind: str, role: str) -> None:
    frame = with_columns(CATEGORIES[kind], label=[0, 1, 0, 1, 0, 1], u=[1.0] * 6)
    names: dict[str, Any] = {"qid": None, role: "c"}
    with pytest.raises(DataError, match=r"^c: must not be missing, but row 1 has no value\.$"):
        rw.from_frame(frame, **names)


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"label": pa.array([1, None, 2]).dictionary_encode(), "u": [1.0, 2.0, 3.0]}),
        pd.DataFrame({"label": pd.Categorical([1, None, 2]), "u": [1.0, 2.0, 3.0]}),
        pd.DataFrame({"label": pd.array([1, None, 2], dtype="Int64"), "u": [1.0, 2.0, 3.0]}),
        pd.DataFrame({"label": pd.Series([1, None, 2], dtype=object), "u": [1.0, 2.0, 3.0]}),
        pd.DataFrame({"label": pd.array([True, None, False]), "u": [1.0, 2.0, 3.0]}),
        pl.DataFrame({"label": [True, None, False], "u": [1.0, 2.0, 3.0]}),
        pa.table({"label": pa.array([Decimal("1.5"), None, Decimal(2)]), "u": [1.0, 2.0, 3.0]}),
    ],
)
def test_a_missing_label_is_refused_whatever_its_type(frame: Any) -> None:
    with pytest.raises(DataError, match=r"^label: must not be missing, but row 1 has no value\.$"):
        rw.from_frame(frame, qid=None)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
@pytest.mark.parametrize("role", ["qid", "doc_id", "label"])
def test_a_missing_value_in_a_file_is_refused(name: str, role: str, tmp_path: Path) -> None:
    path = tmp_path / name
    values = [1, None, 2] if role == "label" else ["a", None, "b"]
    frame = pd.DataFrame({"qid": ["q", "q", "r"], "doc_id": ["d", "e", "f"], "label": [0, 1, 2]})
    frame = frame.assign(u=[1.0, 2.0, 3.0], **{role: pd.Categorical(values)})
    content = frame.to_parquet() if name.endswith("parquet") else frame.to_csv(index=False).encode()
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        rw.read(path)
    assert str(error.value) == f"{path}, {role}: must not be missing, but row 1 has no value."


def test_whole_categories_are_read_as_what_they_stand_for() -> None:
    frame = pa.table(
        {
            "qid": pa.array([7, 5, 7]).dictionary_encode(),
            "label": pa.array([2, 0, 1]).dictionary_encode(),
            "doc_id": pa.array(["x", "y", "z"]).dictionary_encode(),
            "u": [1.0, 2.0, 3.0],
        }
    )
    ds = rw.from_frame(frame)
    assert ds.doc_ids is not None
    assert (ds.qid.tolist(), ds.y.tolist(), ds.doc_ids.tolist()) == (
        [7, 7, 5],
        [2, 1, 0],
        ["x", "z", "y"],
    )


def test_arrow_indices_that_lead_out_of_their_dictionary_are_refused() -> None:
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 1, 99]), pa.array(["a", "b"]), safe=False)
    with pytest.raises(DataError, match=r"^cannot be used: Arrow: .*out of bounds: 99"):
        rw.from_frame(pa.table({"qid": wrong, "label": [0, 1, 2], "u": [1.0, 2.0, 3.0]}))


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020", "2021", None]),
        pd.to_timedelta([1, 2, 3], unit="s"),
        pd.Series([1, None, 3], dtype=object),
        pd.Categorical([1, 2, 1]),
        np.array([1j, 2, 3]),
        pd.period_range("2020", periods=3),
    ],
    ids=["times", "durations", "objects", "categories", "complex", "periods"],
)
def test_other_types_are_no_features(values: Any) -> None:
    frame = pd.DataFrame({"label": [0, 1, 2], "u": values})
    with pytest.raises(DataError, match=r"^u: features must be numbers, but the column has type "):
        rw.from_frame(frame, qid=None, allow_nan=True)


@pytest.mark.parametrize("name", [b"s3:a.parquet", b"\xff.parquet", b"file:b.csv", b"\xff.csv"])
def test_any_name_of_a_file_is_a_name(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(name)
    dataset = rw.from_frame(pd.DataFrame({"qid": [1, 1], "label": [0, 1], "u": [0.5, 1.5]}))
    write_frame(dataset, path)
    np.testing.assert_array_equal(rw.read(path).X, dataset.X)


def test_decimals_are_numbers() -> None:
    decimals = pa.array([Decimal("1.5"), None, Decimal(3)])
    X = rw.from_frame(pa.table({"label": [0, 1, 2], "u": decimals}), qid=None, allow_nan=True).X
    np.testing.assert_array_equal(X[:, 0], [1.5, np.nan, 3])


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="needs a polars with integers of 128 bits")
def test_integers_of_128_bits_are_one_clear_error() -> None:
    wide = pl.DataFrame({"label": [0, 1], "u": pl.Series([1, 2], dtype=pl.Int128)})
    with pytest.raises(DataError, match=r"^u: cannot be read: [^\n]*\.$"):
        rw.from_frame(wide, qid=None)


def test_ids_beyond_64_bits_and_categories_become_text() -> None:
    large = pl.Series([2**63, 2**64 - 1, 2**63], dtype=pl.UInt64)
    assert rw.from_frame(pl.DataFrame(columns(qid=large))).qid.tolist() == [
        str(2**63),
        str(2**63),
        str(2**64 - 1),
    ]
    category = pl.Series(["b", "a", "b"], dtype=pl.Categorical)
    assert rw.from_frame(pl.DataFrame(columns(qid=category))).qid.tolist() == ["b", "b", "a"]


def test_columns_without_text_names_work() -> None:
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], 0: [1.0, 2.0], 1: [3.0, 4.0]})
    ds = rw.from_frame(frame)
    assert ds.feature_names == ["0", "1"]
    assert ds.X.tolist() == [[1, 3], [2, 4]]


def test_columns_must_have_distinct_names() -> None:
    frame = pd.DataFrame([[1, 0, 2.0, 3.0]], columns=["qid", "label", "f", "f"])
    with pytest.raises(DataError, match=r"cannot be used: .*'f' 2 times") as caught:
        rw.from_frame(frame)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="feature_names must be distinct, but 'u' occurs twice"):
        rw.from_frame(pl.DataFrame(columns()), features=["u", "u"])


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"qid,label,\xff", "names of columns must be UTF-8 text."),
        (b"qid,label,qid", "cannot be used: .*'qid' 2 times.*"),
        (b'qid,label,"a\nb"', r"must be numbers, but .*"),
    ],
)
def test_names_in_csv_that_cannot_be_used_are_refused_in_one_line(
    tmp_path: Path, header: bytes, message: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(header + b"\n1,0,x\n")
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}.*{message}$") as caught:
        rw.read(path)
    assert "\n" not in str(caught.value)


@frames
def test_a_frame_without_rows_is_refused(make: Any) -> None:
    with pytest.raises(DataError, match="there must be at least one document, but there is none"):
        rw.from_frame(make({"qid": [], "label": [], "u": []}))


@pytest.mark.parametrize("what", [5, pl.LazyFrame({"label": [1], "qid": [1]})])
def test_what_is_no_frame_in_memory_is_refused(what: Any) -> None:
    with pytest.raises(TypeError):
        rw.from_frame(what)


# ---- files ----


def example(dtype: Any = np.float64) -> rw.Dataset:
    X = np.array([[0.1, -2.0, 1e-30], [1 / 3, 0.0, 7.0], [2.5, 1e30, -0.0]], dtype=dtype)
    return rw.Dataset(X, [0, 2.5, 1], ["b", "a", "b"], ["u", "v", "w"], ["d1", "d2", "d,3"])


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.csv.gz", "x.csv.zst", "x.parquet.gz"])
def test_files_read_back_to_the_same_data(name: str, tmp_path: Path) -> None:
    ds = example()
    write_frame(ds, tmp_path / name)
    again = read_frame(tmp_path / name, doc_id="doc_id")
    np.testing.assert_array_equal(again.X, ds.X)
    assert again.X.dtype == np.float64
    np.testing.assert_array_equal(again.y, ds.y)
    assert again.qid.tolist() == ds.qid.tolist()
    assert again.order.tolist() == ds.order.tolist()
    assert again.feature_names == ds.feature_names
    assert again.doc_ids is not None
    assert ds.doc_ids is not None
    assert again.doc_ids.tolist() == ds.doc_ids.tolist()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_parquet_keeps_float32_and_csv_its_digits(tmp_path: Path) -> None:
    ds = example(np.float32)
    write_frame(ds, tmp_path / "x.parquet")
    again = rw.read(tmp_path / "x.parquet", doc_id="doc_id")
    assert again.X.dtype == np.float32
    np.testing.assert_array_equal(again.X, ds.X)
    rw.write(ds, tmp_path / "x.csv")
    text = rw.read(tmp_path / "x.csv", doc_id="doc_id")
    np.testing.assert_array_equal(text.X.astype(np.float32), ds.X)


@pytest.mark.parametrize("name", ["x.parquet", "x.csv"])
def test_rows_are_written_in_the_order_of_the_input(name: str, tmp_path: Path) -> None:
    write_frame(example(), tmp_path / name)
    read = pq.read_table if name.endswith("parquet") else import_module("pyarrow.csv").read_csv
    table = read(pa.BufferReader((tmp_path / name).read_bytes()))
    assert table.column_names == ["label", "qid", "doc_id", "u", "v", "w"]
    assert table["qid"].to_pylist() == ["b", "a", "b"]
    assert table["label"].to_pylist() == [0, 2.5, 1]
    assert table["doc_id"].to_pylist() == ["d1", "d2", "d,3"]


def test_columns_may_be_written_under_other_names(tmp_path: Path) -> None:
    write_frame(example(), tmp_path / "x.parquet", label="y", qid="q", doc_id="d")
    again = read_frame(tmp_path / "x.parquet", label="y", qid="q", doc_id="d")
    assert again.feature_names == ["u", "v", "w"]


def test_features_without_names_are_numbered_and_sparse_ones_filled(tmp_path: Path) -> None:
    ds = rw.Dataset(sp.csr_array(np.eye(2)), [0, 1], [7, 8])
    rw.write(ds, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text(
        encoding="utf-8"
    ) == '"label","qid","f1","f2"\n0,7,1,0\n1,8,0,1\n'


@pytest.mark.parametrize("name", ["label", "qid", "doc_id"])
def test_a_feature_may_not_take_the_place_of_another_column(name: str, tmp_path: Path) -> None:
    ds = rw.Dataset([[1.0, 2.0]], [0], feature_names=["u", name])
    path = tmp_path / "x.csv"
    with pytest.raises(DataError, match=exactly(f"{path}: features must not be named {name!r}.")):
        write_frame(ds, path)
    assert not path.exists()
    options: dict[str, Any] = {name: "other"}
    write_frame(ds, path, **options)
    assert read_frame(path, **({} if name == "doc_id" else options)).n_docs == 1


@frames
def test_a_column_called_doc_id_holds_document_ids(make: Any) -> None:
    ds = rw.from_frame(make(columns(doc_id=["x", "y", "z"])))
    assert ds.feature_names == ["u"]
    assert ds.doc_ids is not None
    assert ds.doc_ids.tolist() == ["x", "z", "y"]
    feature = rw.from_frame(make(columns(doc_id=[7, 8, 9])), features=["doc_id"])
    assert feature.doc_ids is None
    assert feature.X[:, 0].tolist() == [7, 9, 8]


def test_compressed_csv_is_recognised_by_content(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(gzip.compress(b"label,qid,f\n1,2,3\n", mtime=0))
    assert rw.read(path).X.tolist() == [[3]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"", "is not a readable csv file: "),
        ("x.csv", b"label,qid,f\n1,2\n", "is not a readable csv file: "),
        ("x.csv", b"label,qid,\xe9t\xe9\n1,2,3\n", "names of columns must be UTF-8 text."),
        ("x.csv", b"label,qid,f\n1,\xe9,3\n", "is not a readable csv file: "),
        ("x.csv", b"label,qid,f\n", "there must be at least one document, but there is none."),
        ("x.csv", b"label,qid,f,f\n1,2,3,4\n", "cannot be used: "),
        ("x.csv", b"label,qid,f\nhigh,2,1\n", "y must be numbers, but holds strings."),
        (
            "x.csv.gz",
            gzip.compress(b"label,qid,f\n" * 9, mtime=0)[:-9],
            "is damaged or cut short (",
        ),
        ("x.parquet", b"", "is not a readable parquet file: "),
        ("x.parquet", b"no parquet at all", "is not a readable parquet file: "),
    ],
)
def test_bad_files_give_one_line_with_the_path(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}: {message}')}") as caught:
        rw.read(path)
    assert caught.value.path == str(path)
    assert "\n" not in str(caught.value)
    assert not str(caught.value).endswith("..")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no such file here")
@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.txt"])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.symlink_to("/proc/self/mem")
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: [^\\n]*$"):
        rw.read(path)


@pytest.mark.parametrize("name", ["x\0.csv", "x\0.parquet", "x\0.txt"])
def test_a_nul_in_the_name_of_a_file_is_no_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no such file|cannot be read"):
        rw.read(tmp_path / name)


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.csv.gz", "x.parquet.gz"])
def test_a_file_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with pytest.raises(DataError, match=exactly(f"{path}: there is no such file.")):
        rw.read(path)


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x"])
def test_an_empty_folder_is_no_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.mkdir()
    (path / "_SUCCESS").touch()
    message = f"{path}: must hold the parts of a table, but is an empty folder."
    with pytest.raises(DataError, match=exactly(message)):
        rw.read(path)


# ---- without the extra ----


@pytest.mark.parametrize("package", ["narwhals", "pyarrow"])
def test_a_missing_package_is_named_in_one_line(
    package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_text("label,qid,f\n1,2,3\n")
    write_frame(example(), tmp_path / "x.parquet")
    frame = pl.DataFrame(columns())
    real_import = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(f"No module named {name!r}")
        return real_import(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(builtins, "__import__", refuse)
    message = (
        f"data frames, Parquet and CSV need the package {package}. "
        "Install it with: pip install 'rankwright[frames]'"
    )
    for name in ("x.csv", "x.parquet"):
        with pytest.raises(ImportError, match=exactly(message)):
            rw.read(tmp_path / name)
    if package == "narwhals":
        with pytest.raises(ImportError, match=exactly(message)):
            rw.from_frame(frame)
    else:
        with pytest.raises(ImportError, match=exactly(message)):
            write_frame(example(), tmp_path / "y.csv")
        assert not (tmp_path / "y.csv").exists()


def test_ids_in_csv_keep_their_zeros(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("qid,label,f\n001,1,0.5\n1,0,0.25\n")
    assert read_frame(path).qid.tolist() == ["001", "1"]
    path.write_text("qid,label,f\n2,1,0.5\n1,0,0.25\n")
    assert read_frame(path).qid.tolist() == [2, 1]


def test_what_a_spreadsheet_would_run_gets_an_apostrophe_if_asked(tmp_path: Path) -> None:
    ids = ["=cmd|' /C calc'!A0", "@SUM(1+1)", "a=b", "7"]
    X, names = np.array([[-1.5], [2], [3], [4]]), ["+f"]
    dataset = rw.Dataset(X, [0, 1, 2, 0], ids, feature_names=names, doc_ids=["-1", "b", "c", "d"])
    path = tmp_path / "a.csv"
    write_frame(dataset, path)
    plain = read_frame(path, doc_id="doc_id")
    assert sorted(plain.qid.tolist()) == sorted(ids)  # by default all comes back
    write_frame(dataset, path, spreadsheet_safe=True)
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    assert header == '"label","qid","doc_id","\'+f"'
    assert rows[0] == "0,\"'=cmd|' /C calc'!A0\",\"'-1\",-1.5"
    assert [row.split(",")[1] for row in rows[1:]] == ['"\'@SUM(1+1)"', '"a=b"', '"7"']


@pytest.mark.parametrize("value", ["", "nan", "inf"])
def test_a_value_that_is_no_number_has_a_line_and_a_column(value: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f'qid,label,name,price\n\nq1,1,"two\nlines",3\nq1,0,b,{value}\n')
    what = "inf" if value == "inf" else "missing"
    with pytest.warns(DataWarning, match="'name' is left out"), pytest.raises(DataError) as caught:
        rw.read(path)
    assert str(caught.value).startswith(
        f"{path}, line 5, price: must be a finite number, but is {what}. Replace it"
    )
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_an_infinite_value_is_in_a_row_of_the_input(form: Any) -> None:
    from rankwright.data.frames import refuse_infinite

    X = np.array([[1.0], [np.nan], [np.inf]])
    ds = rw.Dataset(form(X), [0, 1, 0], [1, 2, 1], allow_nan=True)
    with pytest.raises(DataError, match="feature 1: must be a finite number, but is inf in row 2"):
        refuse_infinite(ds, "x.parquet")
