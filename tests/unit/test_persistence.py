"""Models as files: what comes back, and what is refused."""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import json
import pickle
import re
import struct
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import rankwright as rw
from rankwright import DataError, LinearRanker
from rankwright.baselines import RandomRanker
from rankwright.losses import LOSSES, SLAM, XENDCG, Domination, Loss

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3))
Y = RNG.integers(0, 2, 40)
QID = np.repeat(np.arange(5), 8)


def fitted(loss: Any = "listnet", **params: Any) -> LinearRanker:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rw.ConvergenceWarning)
        return LinearRanker(loss, **params).fit(X, Y, QID)


def bytes_of(model: Any, folder: Path) -> bytes:
    rw.save(model, folder / "bytes.rw")
    return (folder / "bytes.rw").read_bytes()


def attributes(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    assert a.get_params() == b.get_params()
    mine, theirs = attributes(a), attributes(b)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        assert type(value) is type(theirs[name])
        np.testing.assert_array_equal(value, theirs[name])
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


# ---- what comes back ----


@pytest.mark.parametrize(
    "loss",
    [
        *LOSSES,
        *(make() for make in LOSSES.values()),
        SLAM("ndcg@5", margin=2.0),
        Domination(margin=np.array([[0, 1], [2, 0]])),
        Domination(margin=[[0, 1], [2, 0]]),
        Domination(margin=np.float32(0.1)),
        XENDCG(gamma=0.5, newton="exact"),
        XENDCG(gamma=0.0, random_state=2**70, eps=1e-300, normalize="ideal_dcg"),
    ],
    ids=repr,
)
def test_a_loaded_model_is_the_saved_one(loss: str | Loss, tmp_path: Path) -> None:
    model = fitted(loss, max_iter=5, n_jobs=1)
    rw.save(model, tmp_path / "model.rw")
    assert_same(model, rw.load(tmp_path / "model.rw"))


def test_parameters_of_all_kinds_come_back(tmp_path: Path) -> None:
    model = fitted("listnet", penalty=None, tol=np.float64(1e-3), max_iter=np.int64(7))
    again = rw.load(save(model, tmp_path))
    assert again.get_params() == model.get_params()
    assert [type(again.tol), type(again.max_iter)] == [float, int]
    values: Any = [float("inf"), (1, 2.5, None, [True, -0.0]), "é\n\x00🙂"]
    model.objective_ = values
    assert rw.load(save(model, tmp_path)).objective_ == values
    model.gap_ = float("nan")
    assert np.isnan(rw.load(save(model, tmp_path)).gap_)


def save(model: Any, folder: Path) -> Path:
    rw.save(model, folder / "model.rw")
    return folder / "model.rw"


def test_names_of_features_come_back(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["bm25", "length", "größe"])
    model = LinearRanker("listnet").fit(frame, Y, QID)
    again = rw.load(save(model, tmp_path))
    assert again.feature_names_in_.tolist() == ["bm25", "length", "größe"]
    assert again.feature_names_in_.dtype == object
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_a_fingerprint_of_the_data_comes_back(tmp_path: Path) -> None:
    model: Any = fitted()
    model.fingerprint_ = "sha256:0123"
    assert rw.load(save(model, tmp_path)).fingerprint_ == "sha256:0123"


def test_equal_models_give_equal_bytes(tmp_path: Path) -> None:
    content = bytes_of(fitted(XENDCG(gamma=0.5)), tmp_path)
    assert bytes_of(fitted(XENDCG(gamma=0.5)), tmp_path) == content
    assert bytes_of(rw.load(tmp_path / "bytes.rw"), tmp_path) == content
    reordered = copy.copy(fitted(XENDCG(gamma=0.5)))
    reordered.__dict__ = dict(reversed(list(vars(reordered).items())))
    assert bytes_of(reordered, tmp_path) == content


def test_the_file_is_an_archive_that_others_can_read(tmp_path: Path) -> None:
    model = fitted("domination", alpha=0.25)
    with zipfile.ZipFile(save(model, tmp_path)) as archive:
        assert archive.namelist() == ["header.json", "coef_.npy"]
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        header = json.loads(archive.read("header.json"))
        coef = np.load(io.BytesIO(archive.read("coef_.npy")), allow_pickle=False)
    assert (header["format"], header["class"]) == (1, "LinearRanker")
    assert header["library"] == rw.__version__
    assert header["params"]["alpha"] == 0.25
    assert header["fitted"]["n_features_in_"] == 3
    np.testing.assert_array_equal(coef, model.coef_)


def test_loaded_weights_can_be_changed(tmp_path: Path) -> None:
    model = rw.load(save(fitted(), tmp_path))
    model.coef_[0] = 1.0
    assert model.coef_[0] == 1.0


# ---- what save refuses ----


@dataclass(frozen=True)
class OwnLoss(XENDCG):
    pass


class OwnRanker(LinearRanker):
    pass


MATRIX = {"array": [[1, 2]] * 99}  # printed on many lines
HOLDS_NO_CODE = (
    "{} must be a number, a text, an array or a loss of rankwright.losses, but is a {}. A model "
    "file holds no code: choose a value, or pickle the model."
)


@pytest.mark.parametrize(
    ("loss", "name", "kind"),
    [
        (XENDCG(gamma=lambda y: np.zeros(len(y))), "loss.gamma", "function"),
        (SLAM(lambda y: y / 10), "loss.metric", "function"),
        (Domination(np.sqrt), "loss.margin", "ufunc"),
        (OwnLoss(), "loss", "OwnLoss"),
    ],
    ids=["gamma", "metric", "margin", "own"],
)
def test_code_in_a_parameter_is_a_type_error(
    loss: Loss, name: str, kind: str, tmp_path: Path
) -> None:
    model = fitted(loss, max_iter=5)
    with pytest.raises(TypeError, match=f"^{re.escape(HOLDS_NO_CODE.format(name, kind))}$"):
        rw.save(model, tmp_path / "model.rw")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [{1.5: "a"}, LinearRanker, np.array([object()]), object()])
def test_other_objects_in_a_parameter_are_a_type_error(value: Any, tmp_path: Path) -> None:
    model = fitted().set_params(l1_ratio=value)
    with pytest.raises(TypeError, match=r"^l1_ratio must be a number, "):
        rw.save(model, tmp_path / "model.rw")


@pytest.mark.parametrize("value", [{"a": [1, {"b": 0.5}]}, {}, "x", (1, 2), {0: -1, 7: "x"}])
def test_plain_values_come_back(value: Any, tmp_path: Path) -> None:
    model = fitted()
    model.kept_ = value
    rw.save(model, tmp_path / "model.rw")
    assert rw.load(tmp_path / "model.rw").kept_ == value


def test_texts_come_back(tmp_path: Path) -> None:
    model = fitted()
    model.classes_ = np.array(["bad", "good"])
    rw.save(model, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw").classes_
    assert again.dtype.kind == "U"
    assert again.tolist() == ["bad", "good"]


def test_only_known_classes_are_saved(tmp_path: Path) -> None:
    with pytest.raises(
        TypeError,
        match=r"^model must be one of LinearRanker.*, but is a sklearn.linear_model._ridge.Ridge.$",
    ):
        rw.save(Ridge().fit(X, Y), tmp_path / "model.rw")
    own = OwnRanker("listnet").fit(X, Y, QID)
    with pytest.raises(TypeError, match=r"^model must be one of .*test_persistence.OwnRanker\.$"):
        rw.save(own, tmp_path / "model.rw")
    namesake = type("LinearRanker", (LinearRanker,), {"fit": LinearRanker.fit})
    with pytest.raises(TypeError, match=r"^model must be one of "):
        rw.save(namesake("listnet").fit(X, Y, QID), tmp_path / "model.rw")


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match=r"^LinearRanker must be fitted before it is saved\.$"):
        rw.save(LinearRanker(), tmp_path / "model.rw")


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    model = fitted()
    model.coef_[1] = np.nan
    with pytest.raises(DataError, match=r"^coef_ must be finite\.$"):
        rw.save(model, tmp_path / "model.rw")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["model.rw.gz", "model.ZST"])
def test_a_name_that_says_compressed_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=rf"^a model file is not compressed: name it \*\.rw, not '{name}'\.$"
    ):
        rw.save(fitted(), tmp_path / name)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = save(fitted(), tmp_path)
    content = path.read_bytes()
    with pytest.raises(TypeError):
        rw.save(fitted(OwnLoss()), path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match="cannot be written: "):
        rw.save(fitted(), path / "model.rw")  # below a file
    rw.save(fitted(), tmp_path / "new" / "folder" / "model.rw")
    assert rw.load(tmp_path / "new" / "folder" / "model.rw").n_features_in_ > 0


# ---- what load refuses ----


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return bytes_of(fitted(XENDCG(gamma=0.5)), tmp_path_factory.mktemp("good"))


def parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("header.json")), archive.read("coef_.npy")


def packed(*entries: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compression) as archive:
        warnings.simplefilter("ignore")  # that names are not unique is the point
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def with_header(content: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    header, coef = parts(content)
    change(header)
    return packed(("header.json", json.dumps(header).encode()), ("coef_.npy", coef))


def with_coef(content: bytes, coef: bytes) -> bytes:
    return packed(("header.json", json.dumps(parts(content)[0]).encode()), ("coef_.npy", coef))


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def npy_saying(literal: str, data: bytes = bytes(24), version: bytes = b"\x01\x00") -> bytes:
    text = literal.encode().ljust(118) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def described(shape: object, dtype: object = "<f8", fortran: bool = False) -> str:
    return repr({"descr": dtype, "fortran_order": fortran, "shape": shape})


def loaded(content: bytes, folder: Path) -> Any:
    (folder / "model.rw").write_bytes(content)
    return rw.load(folder / "model.rw")


NOT_OF_SCORES = (
    r"\w+ (has no parameter|cannot be made)|header.json holds a value of unknown kind: {'loss'|"
    r"the parameters cannot be|LinearRanker has no fitted attribute 'method_'"
)


def outcome_of_scorer(path: Path) -> str:
    try:
        return repr(rw.load(path, scorer=True))
    except DataError as error:
        return str(error)


def assert_refused(content: bytes, message: str, folder: Path) -> None:
    with pytest.raises(DataError) as caught:
        loaded(content, folder)
    assert caught.value.path == str(folder / "model.rw")
    assert re.fullmatch(message, caught.value.message), caught.value.message
    assert "\n" not in str(caught.value)
    # The other door says the same, unless it is about parameters of which no score is made.
    answer = outcome_of_scorer(folder / "model.rw")
    assert answer == str(caught.value) or re.match(NOT_OF_SCORES, caught.value.message), answer


def test_what_the_helpers_repack_is_loaded(good: bytes, tmp_path: Path) -> None:
    model = loaded(good, tmp_path)
    assert_same(model, loaded(with_header(good, lambda header: None), tmp_path))
    assert_same(model, loaded(with_coef(good, npy(model.coef_)), tmp_path))
    assert_same(model, loaded(with_coef(good, npy(model.coef_.astype(">f8"))), tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"P",
        b"2 qid:1 1:0.5 2:0.25\n",
        pickle.dumps(LinearRanker()),
        b"\x1f\x8b\x08\x00",
        b"PAR1",
        bytes(1000),
        np.random.default_rng(0).bytes(5000),
    ],
)
def test_another_kind_of_file_is_refused(content: bytes, tmp_path: Path) -> None:
    assert_refused(content, r"is not a rankwright model\.", tmp_path)


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, coef_=np.zeros(3))
    message = r"is not a rankwright model: it holds no header\.json\."
    assert_refused(buffer.getvalue(), message, tmp_path)
    assert_refused(packed(("header.json", b"{}")), "is not a .* no format version.", tmp_path)
    many = packed(*((f"{i}", b"") for i in range(2000)))
    assert_refused(many, "is not a rankwright model: it holds too many entries.", tmp_path)


def test_a_file_that_cannot_be_opened_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.rw: cannot be read: No such file or directory\.$"):
        rw.load(tmp_path / "none.rw")
    with pytest.raises(DataError, match="cannot be read: "):
        rw.load(tmp_path)


def test_a_file_cut_short_is_refused(good: bytes, tmp_path: Path) -> None:
    for length in range(4, len(good), 7):
        assert_refused(good[:length], "is damaged or cut short.", tmp_path)
    assert_refused(good + b"\0", "is damaged or cut short.", tmp_path)
    assert_refused(good[:40] + good[60:], "is damaged or cut short.", tmp_path)


def test_a_flipped_bit_is_refused_or_does_not_matter(good: bytes, tmp_path: Path) -> None:
    model = loaded(good, tmp_path)
    harmless = 0
    for place, bit in enumerate(np.random.default_rng(0).integers(0, 8, len(good))):
        damaged = bytearray(good)
        damaged[place] ^= 1 << int(bit)
        try:
            again = loaded(bytes(damaged), tmp_path)
        except DataError:
            continue
        assert_same(model, again)
        harmless += 1
    assert harmless < 0.1 * len(good)  # times, permissions


@pytest.mark.parametrize("seed", range(20))
def test_garbage_behind_the_magic_is_refused(seed: int, good: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    damaged = bytearray(good)
    for place in rng.integers(4, len(good) - 22, 30):
        damaged[place] = rng.integers(256)
    with pytest.raises(DataError):
        loaded(bytes(damaged), tmp_path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_compressed_entries_are_refused(good: bytes, compression: int, tmp_path: Path) -> None:
    header, coef = parts(good)
    text = json.dumps(header).encode()
    bomb = packed(("header.json", text), ("coef_.npy", coef), compression=compression)
    message = r"is not a rankwright model: 'header\.json' is compressed or encrypted\."
    assert_refused(bomb, message, tmp_path)


@pytest.mark.parametrize(
    "name",
    ["extra.txt", "../coef_.npy", "/tmp/coef_.npy", "coef_.npy", "header.json", "C:\\x", "a\x1b[m"],
)
def test_other_entries_are_refused(good: bytes, name: str, tmp_path: Path) -> None:
    header, coef = parts(good)
    text = json.dumps(header).encode()
    content = packed(("header.json", text), ("coef_.npy", coef), (name, coef or text))
    message = r"(must hold \['header\.json', 'coef_\.npy'\], but holds \[.*\]\.|header.json is .*)"
    assert_refused(content, message, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.rw"]


@pytest.mark.parametrize("name", ["../../x", "/x_", "predict", "__class__", "coef_\n", "x" * 999])
def test_arrays_have_names_of_fitted_attributes(good: bytes, name: str, tmp_path: Path) -> None:
    header, coef = parts(good)
    header["arrays"].append(name)
    content = packed(
        ("header.json", json.dumps(header).encode()), ("coef_.npy", coef), (f"{name}.npy", coef)
    )
    assert_refused(content, r"LinearRanker has no fitted attribute '.{1,79}\.", tmp_path)


def test_arrays_are_named_once_and_by_text(good: bytes, tmp_path: Path) -> None:
    header, coef = parts(good)
    header["arrays"] = ["coef_", "coef_"]
    text = json.dumps(header).encode()
    twice = packed(("header.json", text), ("coef_.npy", coef), ("coef_.npy", coef))
    assert_refused(twice, r"must hold \['header.json', 'coef_.npy', .*", tmp_path)
    content = with_header(good, lambda header: header.update(arrays=[["coef_"]]))
    assert_refused(content, "arrays must be names.", tmp_path)


@pytest.mark.parametrize(
    ("coef", "message"),
    [
        (b"", "coef_.npy is not an array in NumPy's format 1.0."),
        (pickle.dumps([1.0]), "coef_.npy is not an array in NumPy's format 1.0."),
        (npy_saying(described((3,)), version=b"\x02\x00"), "coef_.npy is not an array .*"),
        (npy_saying("{'descr': __import__('os').system('false')}"), "coef_.npy is not an array .*"),
        (npy_saying("(" * 118), "coef_.npy is not an array .*"),
        (npy_saying("-" * 117 + "1"), "coef_.npy is not an array .*"),
        (npy_saying(" " * 5000 + described((3,))), "coef_.npy is not an array .*"),
        (npy_saying("{'descr': [], 'fortran_order': False, 'shape': (3L,)}"), "coef_.npy .*"),
        (npy_saying(described((3,), "|O")), r"coef_.npy must hold numbers, but its type is '\|O'."),
        (npy(np.array([1, "a", None], object)), "coef_.npy must hold numbers, .*"),
        (npy(np.array(["a", "b", "c"])), "coef_.npy must hold numbers, but its type is '<U1'."),
        (npy(np.zeros(3, [("a", "f8")])), "coef_.npy must hold numbers, but its type is '.V8'."),
        (npy(np.zeros(3, complex)), "coef_.npy must hold numbers, but its type is '<c16'."),
        (
            npy_saying(described((2**40,))),
            r"coef_.npy holds 24 bytes, which is not float64 of shape \(1099511627776,\)\.",
        ),
        (npy_saying(described((2**64 + 3,))), "coef_.npy holds 24 bytes, .*"),
        (npy_saying(described((-1, -3))), "coef_.npy holds 24 bytes, .*"),
        (npy_saying(described((0, 2**62)), b""), "coef_.npy holds 0 bytes, .*"),
        (npy_saying(described((True, 3))), r"coef_.npy holds 24 bytes, .* of shape \(True, 3\)\."),
        (npy_saying(described((3.0,))), "coef_.npy .*"),
        (npy(np.array(3.0)), r"coef_ must be an array of float64 of shape \(3,\)\."),
        (npy_saying("{'descr': '<f8', 'fortran_order': False, 'shape': (3,%s)}" % ("1," * 33)),
         "coef_.npy holds 24 bytes, .*"),
        (npy_saying(described((3,)), bytes(23)), "coef_.npy holds 23 bytes, .*"),
        (npy_saying(described((3,)), bytes(25)), "coef_.npy holds 25 bytes, .*"),
        (npy_saying(described((3,), fortran=True)), "coef_.npy holds 24 bytes, .*"),
        (npy_saying(described((3,), "<f16"), bytes(48)), "coef_.npy .*"),
        (npy(np.zeros(2)), r"coef_ must be an array of float64 of shape \(3,\)\."),
        (npy(np.zeros((3, 1))), r"coef_ must be an array of float64 of shape \(3,\)\."),
        (npy(np.zeros(3, np.float32)), r"coef_ must be an array of float64 of shape \(3,\)\."),
        (npy(np.zeros(3, np.int64)), r"coef_ must be an array of float64 of shape \(3,\)\."),
        (npy(np.array([0, np.nan, 0])), "coef_ must be finite."),
        (npy(np.array([0, np.inf, 0])), "coef_ must be finite."),
    ],
)  # fmt: skip
def test_hostile_arrays_are_refused(good: bytes, coef: bytes, message: str, tmp_path: Path) -> None:
    assert_refused(with_coef(good, coef), message, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"format": 2},
            rf"has format version 2, but rankwright {rw.__version__} reads version 1\.",
        ),
        ({"format": True}, "has format version True, but .*"),
        ({"format": "1\n"}, r"has format version '1\\n', but .*"),
        ({"format": [0] * 999}, r"has format version \[0, 0, 0, 0, 0, 0, \.\.\.\], but .*"),
        ({"class": "Popen"}, "class must be one of LinearRanker.*, but is 'Popen'."),
        ({"class": "os.system"}, "class must be one of LinearRanker.*, but is 'os.system'."),
        ({"class": None}, "header.json must hold format, library, class, params, .*"),
        ({"more": 1}, "header.json must hold format, library, class, params, .*"),
        ({"params": {"unheard": 1}}, "LinearRanker has no parameter 'unheard'."),
        ({"params": {"__class__": 1}}, "LinearRanker has no parameter '__class__'."),
        ({"params": {"loss": {"call": "x"}}}, "header.json holds a value of unknown kind: .*"),
        ({"params": {"loss": {"float": "1"}}}, "header.json holds a value of unknown kind: .*"),
        ({"params": {"loss": {"float": []}}}, "header.json holds a value of unknown kind: .*"),
        ({"params": {"loss": {"tuple": 1}}}, "header.json holds a value of unknown kind: .*"),
        ({"params": {"loss": {}}}, "header.json holds a value of unknown kind: {}."),
        ({"params": {"loss": {"array": [[1], [1, 2]]}}}, "array cannot be made: .*"),
        ({"params": {"loss": {"array": "x"}}}, "array cannot be made: .*"),
        ({"params": {"loss": {"array": 10**400}}}, "array cannot be made: .*"),
        ({"params": {"loss": {"loss": "Loss", "params": {}}}}, "header.json holds .*"),
        ({"params": {"loss": {"loss": "Bound", "params": {}}}}, "header.json holds .*"),
        ({"params": {"loss": {"loss": [], "params": {}}}}, "header.json holds .*"),
        (
            {"params": {"loss": {"loss": "SLAM", "params": {"name": "x"}}}},
            "SLAM has no parameter 'name'.",
        ),
        (
            {"params": {"loss": {"loss": "SLAM", "params": {"margin": -1}}}},
            r"SLAM cannot be made: margin must be a positive number, but is -1\.",
        ),
        (
            {"params": {"loss": {"loss": "SLAM", "params": {"margin": 10**400}}}},
            "SLAM cannot be made: .*",
        ),
        (
            {"params": {"loss": {"loss": "Domination", "params": {"margin": MATRIX}}}},
            "Domination cannot be made: margin must be .*",
        ),
        ({"fitted": {}}, "n_features_in_ must be an integer, but is None."),
        ({"fitted": {"n_features_in_": 3.0}}, "n_features_in_ must be an integer, but is 3.0."),
        ({"fitted": {"n_features_in_": True}}, "n_features_in_ must be an integer, but is True."),
        ({"fitted": {"n_features_in_": 4}}, r"coef_ must be an array of float64 of shape \(4,\)\."),
        ({"fitted": {"n_features_in_": -3}}, r"coef_ must be an array of .*\(-3,\)\."),
        (
            {"fitted": {"n_features_in_": 3, "feature_names_in_": ["a", "b"]}},
            "feature_names_in_ must be 3 texts, one for each feature.",
        ),
        (
            {"fitted": {"n_features_in_": 3, "feature_names_in_": ["a", "b", 3]}},
            "feature_names_in_ must be 3 texts, one for each feature.",
        ),
        ({"fitted": {"predict": 1}}, "LinearRanker has no fitted attribute 'predict'."),
        ({"fitted": {"__dict__": 1}}, "LinearRanker has no fitted attribute '__dict__'."),
        ({"fitted": {"_repr_html_": 1}}, "LinearRanker has no fitted attribute '_repr_html_'."),
        ({"arrays": []}, r"must hold \['header.json'\], but holds .*"),
        ({"arrays": ["other_"]}, r"must hold \['header.json', 'other_.npy'\], but holds .*"),
    ],
)  # fmt: skip
def test_hostile_headers_are_refused(
    good: bytes, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    content = with_header(good, lambda header: header.update(changes))
    assert_refused(content, message, tmp_path)


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe\xfa", b"{", b"[" * 10**6, b'{"a":' * 10**5, b"9" * 10**5, b'{"format": NaN}'],
    ids=lambda text: repr(text[:9]),
)
def test_what_is_not_json_is_refused(text: bytes, tmp_path: Path) -> None:
    assert_refused(packed(("header.json", text)), "header.json is not JSON.", tmp_path)


def with_depth(content: bytes, key: str, depth: int) -> bytes:
    header, coef = parts(content)
    head, tail = re.split(rf'(?<="{key}": )(?:\w|[.-])+', json.dumps(header))
    text = f"{head}{'[' * depth}{']' * depth}{tail}"
    return packed(("header.json", text.encode()), ("coef_.npy", coef))


@pytest.mark.parametrize("key", ["format", "n_iter_", "alpha"])
def test_deep_nesting_is_refused(good: bytes, key: str, tmp_path: Path) -> None:
    for depth in range(100, 2000, 100):  # how deep is too deep depends on the version of Python
        with contextlib.suppress(DataError):
            loaded(with_depth(good, key, depth), tmp_path)
    with pytest.raises(DataError):
        loaded(with_depth(good, key, 10000), tmp_path)


def test_texts_cannot_take_far_more_memory_than_the_file(good: bytes, tmp_path: Path) -> None:
    texts = ["a" * 1_000_000, *["b"] * 500]

    def hostile(header: dict[str, Any]) -> None:
        header["params"]["alpha"] = {"texts": texts}
        header["fitted"]["x_"] = {"dict": {"y": [{"texts": ["a"]}, {"texts": []}]}}

    content = with_header(good, hostile)
    tracemalloc.start()
    try:
        message = r"texts of unequal lengths would take 1911 MiB, but may take 64\."
        assert_refused(content, message, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(content)
    finally:
        tracemalloc.stop()
    # Many small ones do not get around it.
    few = ["a" * 100_000, *["b"] * 50]
    content = with_header(good, lambda header: header["params"].update(alpha=[{"texts": few}] * 9))
    assert_refused(content, r"texts of unequal lengths would take 175 MiB, .*", tmp_path)


def test_texts_of_unequal_lengths_come_back(tmp_path: Path) -> None:
    model = fitted()
    model.classes_ = np.array(["a" * 10_000, *(f"label {i}" for i in range(1000))])
    rw.save(model, tmp_path / "model.rw")
    assert rw.load(tmp_path / "model.rw").classes_.tolist() == model.classes_.tolist()


def test_a_model_that_does_not_fit_into_the_memory_is_a_data_error(
    good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("rankwright.model_file.read_array", none_left)
    assert_refused(good, r"does not fit into the memory\.", tmp_path)


def test_a_name_with_a_nul_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be read: embedded null byte\.$"):
        rw.load(tmp_path / "a\0b.rw")


def test_messages_have_one_line_whatever_the_file_says(good: bytes, tmp_path: Path) -> None:
    header, coef = parts(good)
    values = ("a\nb", {"loss": "a\nb", "params": {}}, {"metric": "a\nb"}, {"a\nb": 1}, ["a\nb"])
    messages = []
    for part in ("params", "fitted"):
        for key, value in itertools.product([*header[part], "a\nb"], values):
            changed = {**header, part: {**header[part], key: value}}
            entries = ("header.json", json.dumps(changed).encode()), ("coef_.npy", coef)
            try:
                loaded(packed(*entries), tmp_path)
            except DataError as error:
                messages.append(str(error))
    assert len(messages) > 20
    assert not any("\n" in message for message in messages)


def test_arrays_without_dimensions_are_refused(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((20, 3))
    rankers = rw.linear.TopicRankers({"penalty": "l1", "alpha": 0.2}).fit(
        X, (X[:, :2] > 0.5).astype(int)
    )
    for name in ("offsets_", "features_", "weights_"):
        wrong = copy.deepcopy(rankers)
        setattr(wrong, name, np.array(getattr(rankers, name).dtype.type(3)))
        with pytest.raises(DataError, match=f"^{name} must be "):
            rw.save(wrong, tmp_path / "model.rw")


def test_a_huge_header_is_refused(good: bytes, tmp_path: Path) -> None:
    content = packed(("header.json", b" " * (16 << 20) + b"{}"))
    assert_refused(content, "header.json must be at most 16 MiB.", tmp_path)


def test_entries_larger_than_the_file_are_refused(good: bytes, tmp_path: Path) -> None:
    size = len(parts(good)[1])
    place = good.rindex(struct.pack("<LL", size, size))
    damaged = bytearray(good)
    damaged[place : place + 8] = struct.pack("<LL", 2**31, 2**31)
    assert_refused(bytes(damaged), "is damaged: its entries are larger than the file.", tmp_path)


def test_a_second_end_does_not_hide_a_large_directory(tmp_path: Path) -> None:
    n = 2000
    many = packed(*((f"{i}", b"") for i in range(n)))
    n_bytes, offset = struct.unpack("<LL", many[-10:-2])
    body = many[:-22]
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, n, n, n_bytes, offset)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(body), 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 76, len(body), 0)
    content = body + end64 + locator + end
    assert len(zipfile.ZipFile(io.BytesIO(content)).namelist()) == n
    assert_refused(content, "is damaged or cut short.", tmp_path)


@pytest.mark.parametrize(("place", "value"), [(8, 1), (8, 8), (10, 8), (10, 99), (20, 0)])
def test_flags_and_methods_are_refused(good: bytes, place: int, value: int, tmp_path: Path) -> None:
    damaged = bytearray(good)
    damaged[good.index(b"PK\x01\x02") + place] = value  # flags, method, size before unpacking
    message = r"is not a rankwright model: 'header\.json' is compressed or encrypted\."
    assert_refused(bytes(damaged), message, tmp_path)


def test_attributes_of_the_class_are_not_replaced(
    good: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(LinearRanker, "method_", len, raising=False)
    content = with_header(good, lambda header: header["fitted"].update(method_=1))
    assert_refused(content, "LinearRanker has no fitted attribute 'method_'.", tmp_path)


def test_a_missing_parameter_has_its_default(good: bytes, tmp_path: Path) -> None:
    content = with_header(good, lambda header: header["params"].pop("alpha"))
    assert loaded(content, tmp_path).alpha == LinearRanker().alpha


def test_parameters_that_predict_would_stumble_over_are_refused(tmp_path: Path) -> None:
    content = bytes_of(RandomRanker().fit(X, Y, QID), tmp_path)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        header = json.loads(archive.read("header.json"))
    header["params"]["random_state"] = {"dict": {}}
    changed = packed(("header.json", json.dumps(header).encode()))
    message = (
        r"the parameters cannot be: random_state must be an integer of at least 0, but is \{\}\."
    )
    assert_refused(changed, message, tmp_path)


def test_classes_that_are_truth_values_stay_so(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    for model in (rw.PredtronClassifier(), rw.PredtronClassifier(reject=0.2)):
        model.fit(X, X[:, 0] > 0)
        rw.save(model, tmp_path / "m.rw")
        predicted, again = model.predict(X), rw.load(tmp_path / "m.rw").predict(X)
        np.testing.assert_array_equal(again, predicted)
        assert again.dtype == predicted.dtype
