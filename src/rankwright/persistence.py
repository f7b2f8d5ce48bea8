"""Models as files that hold no code.

A ``.rw`` file is a ZIP archive without compression: ``header.json`` with the class, its parameters
and what is fitted, then one ``.npy`` for each fitted array and
one ``.txt`` for each long text, such as LightGBM's trees. Equal models give equal bytes. Reading
trusts nothing: classes, losses and attributes come from lists, and no size is believed.
"""

from __future__ import annotations

__all__ = ["load", "save"]

import dataclasses
import io
import json
import math
import re
import zipfile
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwright import __version__, losses
from rankwright.data.files import PathLike
from rankwright.data.writing import check_writable, write_atomically
from rankwright.exceptions import DataError
from rankwright.losses import LambdaRank, LinearMargin, LogMargin, Loss
from rankwright.metrics import METRICS, parse
from rankwright.model_archive import open_archive, read_array, read_bytes, read_text, short
from rankwright.models import CLASSES
from rankwright.online.kernel import Kernel

FORMAT = 1
_LOSSES: dict[str, type[Any]] = {  # directions and margins too
    name: value
    for name, value in vars(losses).items()
    if isinstance(value, type)
    and issubclass(value, (Loss, LambdaRank, LinearMargin, LogMargin))
    and value is not Loss
}
_HEADER = "header.json"
_KEYS = {
    "format": int,
    "library": str,
    "class": str,
    "params": dict,
    "fitted": dict,
    "arrays": list,
}
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*_")
_NOT_FINITE = ("inf", "-inf", "nan")

_MAX_HEADER = 16 << 20
_MAX_PADDING = 64 << 20


def save(model: Any, path: PathLike) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : LinearRanker or another model of rankwright
        A fitted model. Its parameters must be plain values or losses of :mod:`rankwright.losses`;
        functions and classes of your own are a TypeError, because the file holds no code.
    path : str or path-like
        Usually ``*.rw``. It appears only when it is complete.

    Examples
    --------
    >>> import tempfile, rankwright as rw
    >>> X, y, qid = [[0.0], [1.0], [3.0]], [0, 1, 2], [7, 7, 7]
    >>> model = rw.LinearRanker("listnet").fit(X, y, qid)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rw.save(model, f"{folder}/model.rw")
    ...     again = rw.load(f"{folder}/model.rw")
    >>> again.predict(X).tolist() == model.predict(X).tolist()
    True
    """
    _check_name(path)
    content = packed(model)
    with write_atomically(path) as out:
        out.write(content)


def packed(model: Any) -> bytes:
    """Return what :func:`save` writes."""
    kind = type(model)
    if kind.__name__ not in CLASSES or kind is not _class(kind.__name__):
        raise TypeError(
            f"model must be one of {', '.join(CLASSES)}, "
            f"but is a {kind.__module__}.{kind.__qualname__}."
        )
    check_is_fitted(model, msg="%(name)s must be fitted before it is saved.")
    content = _pack(model)
    _unpack(io.BytesIO(content))  # what could not be loaded is not written
    return content


def check_model_path(path: PathLike) -> None:
    """Raise now, not after the training, if :func:`save` could not write to this path."""
    _check_name(path)
    check_writable(path)


def load(path: PathLike) -> Any:
    """Read a model that :func:`save` wrote.

    It is safe on files from strangers: nothing in them is run, and no more memory is taken than a
    small multiple of the file (and 64 MiB). Whatever is wrong with the file is a
    :class:`~rankwright.exceptions.DataError`, in one line.

    Parameters
    ----------
    path : str or path-like
        The file.
    """
    try:
        with open(path, "rb") as stream:
            return _unpack(stream)
    except DataError as error:
        raise DataError(" ".join(error.message.split()), path=path) from None
    except MemoryError:
        raise DataError("does not fit into the memory.", path=path) from None
    except (OSError, ValueError) as error:  # or a name with a NUL
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot be read: {reason}.", path=path) from None


# ---- writing ----


def _check_name(path: PathLike) -> None:
    if Path(path).suffix.lower() in (".gz", ".zst"):
        raise ValueError(f"a model file is not compressed: name it *.rw, not {Path(path).name!r}.")


def _pack(model: Any) -> bytes:
    fitted, arrays = _fitted(model)
    header = {
        "format": FORMAT,
        "library": __version__,
        "class": type(model).__name__,
        "params": {name: _encode(value, name) for name, value in model.get_params().items()},
        "fitted": {name: _encode(value, name) for name, value in fitted.items()},
        "arrays": list(arrays),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, _HEADER, json.dumps(header, indent=1, allow_nan=False).encode())
        for name, array in arrays.items():
            _add(archive, _archive_entry(name), _as_bytes(array))
    return buffer.getvalue()


def _as_bytes(array: NDArray[Any] | str) -> bytes:
    if isinstance(array, str):
        return array.encode()
    content = io.BytesIO()
    npy.write_array(content, array, version=(1, 0), allow_pickle=False)
    return content.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system = 3  # or it would tell the platform
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def _fitted(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any] | str]]:
    """Return the fitted attributes by name: values for the header, and arrays or long texts."""
    fitted: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any] | str] = {}
    for name, value in sorted(vars(model).items()):
        if not _ATTRIBUTE.fullmatch(name):
            continue
        if name == "feature_names_in_":
            fitted[name] = [str(feature) for feature in value]
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
            arrays[name] = np.asarray(value, order="C")
        elif isinstance(value, str) and name.endswith("_text_"):
            arrays[name] = value
        else:
            fitted[name] = value
    return fitted, arrays


def _encode(value: Any, name: str) -> Any:
    """Return a value as JSON can hold it; what it cannot hold is an object with a tag."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(float(value))}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | range):
        return [_encode(item, name) for item in value]
    if not isinstance(value, np.ndarray) and hasattr(value, "to_numpy"):  # of pandas and polars
        value = value.to_numpy()
    if isinstance(value, tuple):
        return {"tuple": _encode(list(value), name)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return {"array": _encode(value.tolist(), name)}
    if isinstance(value, np.ndarray) and _holds_texts(value):
        return {"texts": value.tolist()}
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return {"dict": {key: _encode(item, f"{name}.{key}") for key, item in value.items()}}
    if type(value) in METRICS.values():
        return {"metric": str(value)}
    if type(value) in _LOSSES.values():
        return {"loss": type(value).__name__, "params": _fields(value, name)}
    if type(value) is Kernel:
        return {"kernel": _fields(value, name)}
    raise TypeError(
        f"{name} must be a number, a text, an array or a loss of rankwright.losses, but is a "
        f"{type(value).__name__}. A model file holds no code: choose a value, or pickle the model."
    )


# ---- reading ----


def _unpack(stream: IO[bytes]) -> Any:
    with open_archive(stream) as archive:
        header = _header(archive)
        wanted = [_HEADER, *(_archive_entry(name) for name in header["arrays"])]
        if sorted(archive.namelist()) != sorted(set(wanted)):
            raise DataError(f"must hold {short(wanted)}, but holds {short(archive.namelist())}.")
        arrays = {name: _read_entry(archive, _archive_entry(name)) for name in header["arrays"]}
    return _restore(header, arrays)


def _header(archive: zipfile.ZipFile) -> dict[str, Any]:
    if _HEADER not in archive.namelist():
        raise DataError(f"is not a rankwright model: it holds no {_HEADER}.")
    if archive.getinfo(_HEADER).file_size > _MAX_HEADER:
        raise DataError(f"{_HEADER} must be at most {_MAX_HEADER >> 20} MiB.")
    content = read_bytes(archive, _HEADER)
    try:
        header = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise DataError(f"{_HEADER} is not JSON.") from None
    if not isinstance(header, dict) or "format" not in header:
        raise DataError(f"is not a rankwright model: {_HEADER} has no format version.")
    if type(header["format"]) is not int or header["format"] != FORMAT:
        raise DataError(
            f"has format version {short(header['format'])}, but rankwright {__version__} reads "
            f"version {FORMAT}."
        )
    if {key: type(value) for key, value in header.items()} != _KEYS:
        raise DataError(f"{_HEADER} must hold {', '.join(_KEYS)}.")
    if any(type(name) is not str for name in header["arrays"]):
        raise DataError("arrays must be names.")
    return header


def _archive_entry(name: str) -> str:
    """Return the archive's entry of a fitted array or of a long text, ``*_text_``."""
    return f"{name}.txt" if name.endswith("_text_") else f"{name}.npy"


def _read_entry(archive: zipfile.ZipFile, name: str) -> Any:
    return (read_text if name.endswith(".txt") else read_array)(archive, name)


def _restore(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    name = header["class"]
    if name not in CLASSES:
        raise DataError(f"class must be one of {', '.join(CLASSES)}, but is {short(name)}.")
    kind = _class(name)
    _check_padding(header)
    try:
        params = {key: _decode(value) for key, value in header["params"].items()}
        fitted = {key: _decode(value) for key, value in header["fitted"].items()}
    except RecursionError:
        raise DataError(f"{_HEADER} is nested too deeply.") from None
    model = _make(kind, params, list(kind().get_params()))
    for key, value in {**fitted, **arrays}.items():
        if not _ATTRIBUTE.fullmatch(key) or hasattr(kind, key):
            raise DataError(f"{name} has no fitted attribute {short(key)}.")
        setattr(model, key, value)
    _check_fitted(model)
    return model


def _check_padding(header: dict[str, Any]) -> None:
    """Raise if arrays of texts, in which each takes the room of the longest, were far too large."""
    padded, rest = 0, [header["params"], header["fitted"]]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest.extend(value.values())
            texts = value.get("texts")
            if isinstance(texts, list):
                longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
                padded += 4 * len(texts) * longest
        elif isinstance(value, list):
            rest.extend(item for item in value if isinstance(item, dict | list))
    if padded > _MAX_PADDING:
        raise DataError(
            f"texts of unequal lengths would take {padded >> 20} MiB, but may take "
            f"{_MAX_PADDING >> 20}."
        )


def _decode(value: Any) -> Any:
    """Undo :func:`_encode`."""
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    match list(value.items()):
        case [("float", text)] if text in _NOT_FINITE:
            return float(text)
        case [("tuple", list(items))]:
            return tuple(_decode(items))
        case [("array", items)]:
            found = _decode(items)
            truths = isinstance(found, list) and found and all(type(item) is bool for item in found)
            return _make(np.array, {"object": found, "dtype": np.bool_ if truths else np.float64})
        case [("texts", list(items))] if all(type(item) is str for item in items):
            return np.array(items, dtype=str)
        case [("dict", dict(items))]:
            return {key: _decode(item) for key, item in items.items()}
        case [("metric", str(text))]:
            return _make(parse, {"text": text})
        case [("loss", str(name)), ("params", dict(params))] if name in _LOSSES:
            return _of_fields(_LOSSES[name], params)
        case [("kernel", dict(params))]:
            return _of_fields(Kernel, params)
    raise DataError(f"{_HEADER} holds a value of unknown kind: {short(value)}.")


def _holds_texts(array: NDArray[Any]) -> bool:
    kind = array.dtype.kind
    return kind == "U" or (kind == "O" and all(isinstance(item, str) for item in array.flat))


def _fields(value: Any, name: str) -> dict[str, Any]:
    fields = dataclasses.fields(value)
    return {f.name: _encode(getattr(value, f.name), f"{name}.{f.name}") for f in fields}


def _of_fields(kind: Any, params: dict[str, Any]) -> Any:
    known = [field.name for field in dataclasses.fields(kind)]
    return _make(kind, {key: _decode(value) for key, value in params.items()}, known)


def _make(kind: Any, params: dict[str, Any], known: Collection[str] | None = None) -> Any:
    """Call a class with parameters that it knows."""
    for key in params:
        if known is not None and key not in known:
            raise DataError(f"{kind.__name__} has no parameter {short(key)}.")
    try:
        return kind(**params)
    except (TypeError, ValueError, ArithmeticError) as error:
        text = " ".join(str(error).split())
        raise DataError(f"{kind.__name__} cannot be made: {text:.200}") from None


def _check_fitted(model: Any) -> None:
    """Raise unless what is fitted fits together; each class knows its own arrays."""
    n = getattr(model, "n_features_in_", None)
    if type(n) is not int:
        raise DataError(f"n_features_in_ must be an integer, but is {short(n)}.")
    older = vars(model).pop("feature_names_", None)  # of a Dataset, in files of version 0.1.0
    names = getattr(model, "feature_names_in_", older)
    if names is not None:
        if type(names) is not list or {type(name) for name in names} != {str} or len(names) != n:
            raise DataError(f"feature_names_in_ must be {n} texts, one for each feature.")
        model.feature_names_in_ = np.array(names, dtype=object)
    try:
        model.check_state()
    except DataError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        text = " ".join(str(error).split())
        raise DataError(f"what is fitted does not fit together: {text:.200}") from None


def _class(name: str) -> Any:
    return getattr(import_module(CLASSES[name]), name)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON.")
