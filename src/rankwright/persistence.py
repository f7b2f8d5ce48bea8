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
import zipfile
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwright import __version__, losses
from rankwright.data.files import PathLike
from rankwright.data.writing import check_writable, write_atomically
from rankwright.losses import LambdaRank, LinearMargin, LogMargin, Loss
from rankwright.metrics import METRICS, FunctionMetric, parse
from rankwright.model_file import (
    ATTRIBUTE,
    FORMAT,
    HEADER,
    archive_entry,
    check_features_in,
    fitting,
    make,
    no_attribute,
    no_kind,
    of_fields,
    read_saved,
)
from rankwright.models import CLASSES
from rankwright.scoring.kernels import Kernel
from rankwright.scoring.loading import load

_LOSSES: dict[str, type[Any]] = {  # directions and margins too
    name: value
    for name, value in vars(losses).items()
    if isinstance(value, type)
    and issubclass(value, (Loss, LambdaRank, LinearMargin, LogMargin))
    and value is not Loss
}


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
    unpack_model(io.BytesIO(content))  # what could not be loaded is not written
    return content


def check_model_path(path: PathLike) -> None:
    """Raise now, not after the training, if :func:`save` could not write to this path."""
    _check_name(path)
    check_writable(path)


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
        _add(archive, HEADER, json.dumps(header, indent=1, allow_nan=False).encode())
        for name, array in arrays.items():
            _add(archive, archive_entry(name), _as_bytes(array))
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
        if not ATTRIBUTE.fullmatch(name):
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
    if isinstance(value, FunctionMetric) or (name == "eval_metric" and callable(value)):
        return {"own_metric": str(parse(value))}  # what it watched is not needed to predict
    if type(value) in _LOSSES.values():
        return {"loss": type(value).__name__, "params": _fields(value, name)}
    if type(value) is Kernel:
        return {"kernel": _fields(value, name)}
    raise TypeError(
        f"{name} must be a number, a text, an array or a loss of rankwright.losses, but is a "
        f"{type(value).__name__}. A model file holds no code: choose a value, or pickle the model."
    )


# ---- reading ----


def unpack_model(stream: IO[bytes]) -> Any:
    """Return the model of a stream that :func:`save` wrote."""
    saved = read_saved(stream, _made_objects)
    kind = _class(saved.kind)
    model = make(kind, saved.params, list(kind().get_params()))
    for key in saved.fitted:
        if hasattr(kind, key):
            raise no_attribute(saved.kind, key)
    check_features_in(saved.fitted)
    vars(model).update(saved.fitted)
    fitting(model.check_state)
    return model


def _made_objects(value: dict[str, Any]) -> Any:
    """Make a metric, a loss or a kernel."""
    match list(value.items()):
        case [("metric", str(text))]:
            return make(parse, {"text": text})
        case [("own_metric", str(name))]:
            return make(FunctionMetric, {"function": _not_saved, "name": name})
        case [("loss", str(name)), ("params", dict(params))] if name in _LOSSES:
            return of_fields(_LOSSES[name], params, _made_objects)
        case [("kernel", dict(params))]:
            return of_fields(Kernel, params, _made_objects)
    raise no_kind(value)


def _not_saved(labels: Any, scores: Any) -> float:
    """Stand for the function of a metric of one's own."""
    raise ValueError("a model file holds no code: set_params(eval_metric=...) before a fit")


def _holds_texts(array: NDArray[Any]) -> bool:
    kind = array.dtype.kind
    return kind == "U" or (kind == "O" and all(isinstance(item, str) for item in array.flat))


def _fields(value: Any, name: str) -> dict[str, Any]:
    fields = dataclasses.fields(value)
    return {f.name: _encode(getattr(value, f.name), f"{name}.{f.name}") for f in fields}


def _class(name: str) -> Any:
    return getattr(import_module(CLASSES[name]), name)
