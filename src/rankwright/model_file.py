"""What a model file says, checked before it is believed: the header, and values by name.

Classes and attributes come from lists, and no size is believed. Which object a value stands for,
such as a loss, is for the reader to say: whoever wants scores alone need not load any.
"""

from __future__ import annotations

import dataclasses
import json
import re
import zipfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import IO, Any, NoReturn, TypeVar

import numpy as np

from rankwright import __version__
from rankwright.exceptions import DataError
from rankwright.model_archive import open_archive, read_array, read_bytes, read_text, short
from rankwright.models import CLASSES

FORMAT = 1
HEADER = "header.json"
PIPELINE = "Pipeline"  # of scikit-learn, with a model at its end
ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*_")
_KEYS = {
    "format": int,
    "library": str,
    "class": str,
    "params": dict,
    "fitted": dict,
    "arrays": list,
}
_NOT_FINITE = ("inf", "-inf", "nan")
_MAX_HEADER = 16 << 20
_MAX_PADDING = 64 << 20
T = TypeVar("T")
# Makes an object of what :func:`decode` does not know: an object of JSON, with a tag.
Objects = Callable[[dict[str, Any]], Any]
# The same, of the file's arrays too, from which it takes what it uses.
ObjectsOfFile = Callable[[dict[str, Any], dict[str, Any]], Any]


@dataclass(frozen=True)
class SavedModel:
    """What a file says of a model.

    Attributes
    ----------
    kind : str
        Its class, one of those that there are.
    params : dict
        Its parameters.
    fitted : dict
        What is fitted, by names that fitted attributes may have.
    """

    kind: str
    params: dict[str, Any]
    fitted: dict[str, Any]


def read_model(path: str | PathLike[str], build: Callable[[IO[bytes]], T]) -> T:
    """Return what is built of a file; whatever is wrong with it is a DataError, in one line."""
    try:
        with open(path, "rb") as stream:
            return build(stream)
    except DataError as error:
        raise DataError(" ".join(error.message.split()), path=path) from None
    except MemoryError:
        raise DataError("does not fit into the memory.", path=path) from None
    except (OSError, ValueError) as error:  # or a name with a NUL
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot be read: {reason}.", path=path) from None


def read_saved(stream: IO[bytes], objects: ObjectsOfFile) -> SavedModel:
    """Return what a stream says of a model; ``objects`` makes what has a tag of its own."""
    header, arrays = header_and_arrays(stream)
    if header["class"] == PIPELINE:
        raise DataError("is a pipeline of scikit-learn, and no scorer: load it as a model.")
    return decoded_model(header, arrays, objects)


def header_and_arrays(stream: IO[bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays by name."""
    with open_archive(stream) as archive:
        header = _header(archive)
        wanted = [HEADER, *(archive_entry(name) for name in header["arrays"])]
        if sorted(archive.namelist()) != sorted(set(wanted)):
            raise DataError(f"must hold {short(wanted)}, but holds {short(archive.namelist())}.")
        arrays = {name: _read_entry(archive, archive_entry(name)) for name in header["arrays"]}
    kind = header["class"]
    if kind not in CLASSES and kind != PIPELINE:
        raise DataError(f"class must be one of {', '.join(CLASSES)}, but is {short(kind)}.")
    _check_padding(header)
    return header, arrays


def decoded_model(
    header: dict[str, Any], arrays: dict[str, Any], objects: ObjectsOfFile
) -> SavedModel:
    """Return what a header says of a model."""
    kind, of_file = header["class"], partial(objects, arrays)
    try:
        params, fitted = (decoded_values(header[part], of_file) for part in ("params", "fitted"))
    except RecursionError:
        raise DataError(f"{HEADER} is nested too deeply.") from None
    fitted |= arrays
    check_attributes(kind, fitted)
    return SavedModel(kind, params, fitted)


def check_attributes(kind: str, fitted: dict[str, Any]) -> None:
    """Raise unless these are names that fitted attributes of a model may have."""
    for key in fitted:
        if not ATTRIBUTE.fullmatch(key):
            raise no_attribute(kind, key)


def check_features_in(fitted: dict[str, Any]) -> None:
    """Raise unless a file says how many features there are, and a name for each or none."""
    n = fitted.get("n_features_in_")
    if type(n) is not int:
        raise DataError(f"n_features_in_ must be an integer, but is {short(n)}.")
    older = fitted.pop("feature_names_", None)  # of a Dataset, in files of version 0.1.0
    names = fitted.get("feature_names_in_", older)
    if names is not None:
        if type(names) is not list or {type(name) for name in names} != {str} or len(names) != n:
            raise DataError(f"feature_names_in_ must be {n} texts, one for each feature.")
        fitted["feature_names_in_"] = np.array(names, dtype=object)


def fitting(check: Callable[[], T]) -> T:
    """Return the answer of a check of what is fitted; whatever it stumbles over is a DataError."""
    try:
        return check()
    except DataError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        text = " ".join(str(error).split())
        raise DataError(f"what is fitted does not fit together: {text:.200}") from None


def no_attribute(kind: str, name: str) -> DataError:
    """Return the error about a fitted attribute that there is not."""
    return DataError(f"{kind} has no fitted attribute {short(name)}.")


def no_kind(value: Any) -> DataError:
    """Return the error about a value that nobody can make."""
    return DataError(f"{HEADER} holds a value of unknown kind: {short(value)}.")


def _header(archive: zipfile.ZipFile) -> dict[str, Any]:
    if HEADER not in archive.namelist():
        raise DataError(f"is not a rankwright model: it holds no {HEADER}.")
    if archive.getinfo(HEADER).file_size > _MAX_HEADER:
        raise DataError(f"{HEADER} must be at most {_MAX_HEADER >> 20} MiB.")
    content = read_bytes(archive, HEADER)
    try:
        header = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise DataError(f"{HEADER} is not JSON.") from None
    if not isinstance(header, dict) or "format" not in header:
        raise DataError(f"is not a rankwright model: {HEADER} has no format version.")
    if type(header["format"]) is not int or header["format"] != FORMAT:
        raise DataError(
            f"has format version {short(header['format'])}, but rankwright {__version__} reads "
            f"version {FORMAT}."
        )
    if {key: type(value) for key, value in header.items()} != _KEYS:
        raise DataError(f"{HEADER} must hold {', '.join(_KEYS)}.")
    if any(type(name) is not str for name in header["arrays"]):
        raise DataError("arrays must be names.")
    return header


def archive_entry(name: str) -> str:
    """Return the archive's entry of a fitted array or of a long text, ``*_text_``."""
    return f"{name}.txt" if name.endswith("_text_") else f"{name}.npy"


def _read_entry(archive: zipfile.ZipFile, name: str) -> Any:
    return (read_text if name.endswith(".txt") else read_array)(archive, name)


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


def decode(value: Any, objects: Objects) -> Any:
    """Return a value as it was before it was written as JSON."""
    if isinstance(value, list):
        return [decode(item, objects) for item in value]
    if not isinstance(value, dict):
        return value
    match list(value.items()):
        case [("float", text)] if text in _NOT_FINITE:
            return float(text)
        case [("tuple", list(items))]:
            return tuple(decode(items, objects))
        case [("array", items)]:
            found = decode(items, objects)
            truths = isinstance(found, list) and found and all(type(item) is bool for item in found)
            return make(np.array, {"object": found, "dtype": np.bool_ if truths else np.float64})
        case [("texts", list(items))] if all(type(item) is str for item in items):
            return np.array(items, dtype=str)
        case [("pairs", list(pairs))] if all(
            type(pair) is list and len(pair) == 2 and type(pair[0]) is int for pair in pairs
        ):
            return {key: decode(item, objects) for key, item in pairs}
        case [("dict", dict(items))]:
            return {key: decode(item, objects) for key, item in items.items()}
    return objects(value)


def decoded_values(values: dict[str, Any], objects: Objects) -> dict[str, Any]:
    """Return values by name as they were before they were written as JSON."""
    return {key: decode(value, objects) for key, value in values.items()}


def of_fields(kind: Any, params: dict[str, Any], objects: Objects) -> Any:
    """Make a data class of its fields."""
    known = [field.name for field in dataclasses.fields(kind)]
    return make(kind, decoded_values(params, objects), known)


def make(kind: Any, params: dict[str, Any], known: Collection[str] | None = None) -> Any:
    """Call a class with parameters that it knows."""
    for key in params:
        if known is not None and key not in known:
            raise DataError(f"{kind.__name__} has no parameter {short(key)}.")
    try:
        return kind(**params)
    except (TypeError, ValueError, ArithmeticError) as error:
        text = " ".join(str(error).split())
        raise DataError(f"{kind.__name__} cannot be made: {text:.200}") from None


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON.")
