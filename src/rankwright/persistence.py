"""Models as files that hold no code.

A ``.rw`` file is a ZIP archive without compression: ``header.json`` with the class, its parameters
and what is fitted, then one ``.npy`` for each fitted array and
one ``.txt`` for each long text, such as LightGBM's trees. Equal models give equal bytes. Reading
trusts nothing: classes, losses and attributes come from lists, and no size is believed.

The steps of a pipeline are values with a tag, ``{"step": class, "params": ..., "fitted": ...}``,
in which ``{"entry": name}`` stands for an array of the archive. A ranker that is a parameter of
another is ``{"estimator": class, "params": ...}``, unfitted.
"""

from __future__ import annotations

__all__ = ["load", "save"]

import dataclasses
import io
import json
import math
import zipfile
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
import sklearn
from numpy.lib import format as npy
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rankwright import __version__, losses
from rankwright.data.files import PathLike
from rankwright.data.writing import check_writable, write_atomically
from rankwright.exceptions import DataError
from rankwright.losses import LambdaRank, LinearMargin, LogMargin, Loss
from rankwright.metrics import METRICS, FunctionMetric, parse
from rankwright.model_archive import short
from rankwright.model_file import (
    ATTRIBUTE,
    FORMAT,
    HEADER,
    PIPELINE,
    SavedModel,
    archive_entry,
    check_attributes,
    check_features_in,
    decoded_model,
    decoded_values,
    fitting,
    header_and_arrays,
    make,
    no_attribute,
    of_fields,
)
from rankwright.models import CLASSES
from rankwright.pipelines import (
    STEPS,
    VERSION,
    as_value,
    check_pipeline,
    made_step,
    made_value,
    of_version,
    step_state,
)
from rankwright.scoring.kernels import Kernel
from rankwright.scoring.loading import load

_WHOLE = "the pipeline"
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
    model : LinearRanker or another model of rankwright, or Pipeline that ends with one
        A fitted model. Its parameters must be plain values or losses of :mod:`rankwright.losses`;
        functions and classes of your own are a TypeError, because the file holds no code. Steps of
        a pipeline are imputers, scalers, encoders, selectors and projections of scikit-learn, also
        within ``ColumnTransformer`` and ``FeatureUnion``; any other step is a TypeError that names
        it.
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
    if not _is_ours(model) and kind is not Pipeline:
        raise TypeError(
            f"model must be one of {', '.join(CLASSES)}, or a Pipeline that ends with one, "
            f"but is a {kind.__module__}.{kind.__qualname__}."
        )
    if kind is Pipeline and not _is_ours(last := model.steps[-1][1]):
        raise TypeError(
            f"step {model.steps[-1][0]!r}, the last, must be a model of rankwright, but is a "
            f"{type(last).__name__}."
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
    writer = _StateWriter(isinstance(model, Pipeline))
    params, fitted = writer.state_of(model, _WHOLE)
    header = {
        "format": FORMAT,
        "library": __version__,
        "class": type(model).__name__,
        "params": params,
        "fitted": fitted,
        "arrays": list(writer.arrays),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, HEADER, json.dumps(header, indent=1, allow_nan=False).encode())
        for name, array in writer.arrays.items():
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


def _fitted(model: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model by name."""
    found = {name: v for name, v in sorted(vars(model).items()) if ATTRIBUTE.fullmatch(name)}
    if "feature_names_in_" in found:
        found["feature_names_in_"] = [str(feature) for feature in found["feature_names_in_"]]
    return found


class _StateWriter:
    """Values for the header, and the arrays and long texts that are entries of their own."""

    def __init__(self, of_steps: bool) -> None:
        self.of_steps = of_steps
        self.arrays: dict[str, NDArray[Any] | str] = {}
        self._n_steps = 0

    def state_of(self, model: Any, where: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return parameters and fitted attributes; ``where`` is the step of a pipeline."""
        suffix, prefix = "", ""
        if self.of_steps:
            suffix, prefix = f" of {where}", f"step{self._n_steps}_"
            self._n_steps += 1
        state = _fitted(model) if _is_ours(model) else step_state(model, where)
        given = model.get_params(deep=False).items()
        params = {name: self.encode(value, name + suffix, where) for name, value in given}
        fitted = {}
        for name, value in state.items():
            if _is_entry(name, value):
                kept = self._keep(prefix + name.lstrip("_"), value)
                if self.of_steps:
                    fitted[name] = kept
            else:
                fitted[name] = self.encode(value, name + suffix, where)
        if where == _WHOLE and self.of_steps:
            fitted[VERSION] = sklearn.__version__
        return params, fitted

    def _keep(self, name: str, value: NDArray[Any] | str) -> dict[str, str]:
        """Keep an entry of its own. The layout counts: products of another differ in last bits."""
        if isinstance(value, str):
            self.arrays[name] = value
        elif self.of_steps and value.ndim == 2 and not value.flags.c_contiguous:
            self.arrays[name] = np.asarray(value.T, order="C")
            return {"transposed": name}
        else:
            self.arrays[name] = np.asarray(value, order="C")
        return {"entry": name}

    def encode(self, value: Any, name: str, where: str = "") -> Any:
        """Return a value as JSON can hold it; what it cannot hold is an object with a tag."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(float(value))}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list | range):
            return [self.encode(item, name, where) for item in value]
        if not isinstance(value, np.ndarray) and hasattr(value, "to_numpy"):  # of pandas, polars
            value = value.to_numpy()
        if isinstance(value, tuple):
            if len(value) > 1 and type(value[0]) is str and hasattr(value[1], "get_params"):
                where = f"step {value[0]!r}" if where == _WHOLE else f"{where}, {value[0]!r}"
            return {"tuple": [self.encode(item, name, where) for item in value]}
        if self.of_steps and hasattr(value, "get_params") and not isinstance(value, type):
            params, fitted = self.state_of(value, where)
            return {"step": type(value).__name__, "params": params, "fitted": fitted}
        if self.of_steps and (found := as_value(value, lambda v: self.encode(v, name, where))):
            return found
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            return {"array": self.encode(value.tolist(), name)}
        if isinstance(value, np.ndarray) and _holds_texts(value):
            return {"texts": value.tolist()}
        if isinstance(value, dict) and all(type(key) is str for key in value):
            items = value.items()
            return {"dict": {k: self.encode(item, f"{name}.{k}", where) for k, item in items}}
        if isinstance(value, dict) and all(type(key) is int for key in value):
            return {"pairs": [[k, self.encode(item, f"{name}.{k}")] for k, item in value.items()]}
        return self._object(value, name)

    def _object(self, value: Any, name: str) -> Any:
        if type(value) in METRICS.values():
            return {"metric": str(value)}
        if isinstance(value, FunctionMetric) or (name == "eval_metric" and callable(value)):
            return {"own_metric": str(parse(value))}  # what it watched is not needed to predict
        if type(value) in _LOSSES.values():
            return {"loss": type(value).__name__, "params": self._fields(value, name)}
        if type(value) is Kernel:
            return {"kernel": self._fields(value, name)}
        if _is_ours(value):  # a parameter: what it was fitted to is in the model that has it
            given = value.get_params(deep=False).items()
            params = {key: self.encode(item, f"{name}.{key}") for key, item in given}
            return {"estimator": type(value).__name__, "params": params}
        raise TypeError(
            f"{name} must be a number, a text, an array or a loss of rankwright.losses, but is a "
            f"{type(value).__name__}. A model file holds no code: choose a value, or pickle the "
            "model."
        )

    def _fields(self, value: Any, name: str) -> dict[str, Any]:
        fields = dataclasses.fields(value)
        return {f.name: self.encode(getattr(value, f.name), f"{name}.{f.name}") for f in fields}


def _is_entry(name: str, value: Any) -> bool:
    numbers = isinstance(value, np.ndarray) and value.dtype.kind in "fiu"
    return numbers or (isinstance(value, str) and name.endswith("_text_"))


# ---- reading ----


def unpack_model(stream: IO[bytes]) -> Any:
    """Return the model of a stream that :func:`save` wrote."""
    header, arrays = header_and_arrays(stream)
    if header["class"] != PIPELINE:
        return _made_model(decoded_model(header, arrays, _made_objects))
    with of_version(header["fitted"].pop(VERSION, None)):
        saved = decoded_model(header, arrays, _made_objects)
        pipeline = made_step(saved.kind, saved.params, saved.fitted)
        check_pipeline(pipeline, _is_ours)
    return pipeline


def _made_model(saved: SavedModel) -> Any:
    """Make a model of the library."""
    kind = _class(saved.kind)
    model = make(kind, saved.params, list(kind().get_params(deep=False)))
    for key in saved.fitted:
        if hasattr(kind, key):
            raise no_attribute(saved.kind, key)
    check_features_in(saved.fitted)
    vars(model).update(saved.fitted)
    fitting(model.check_state)
    return model


def _made_parameter(kind: str, params: dict[str, Any]) -> Any:
    """Make a ranker that is a parameter of another: it is not fitted."""
    made = _class(kind)
    model = make(made, params, list(made().get_params(deep=False)))
    fitting(model.check_params)
    return model


def _made_objects(arrays: dict[str, Any], value: dict[str, Any]) -> Any:
    """Make a metric, a loss, a kernel or a step of a pipeline, of the file's arrays."""
    objects = partial(_made_objects, arrays)
    match list(value.items()):
        case [("metric", str(text))]:
            return make(parse, {"text": text})
        case [("own_metric", str(name))]:
            return make(FunctionMetric, {"function": _not_saved, "name": name})
        case [("loss", str(name)), ("params", dict(params))] if name in _LOSSES:
            return of_fields(_LOSSES[name], params, objects)
        case [("kernel", dict(params))]:
            return of_fields(Kernel, params, objects)
        case [("estimator", str(kind)), ("params", dict(params))] if kind in CLASSES:
            return _made_parameter(kind, decoded_values(params, objects))
        case [("entry", str(name))] if name in arrays:
            return arrays.pop(name)
        case [("transposed", str(name))] if name in arrays:
            return arrays.pop(name).T
        case [("step", str(kind)), ("params", dict(params)), ("fitted", dict(fitted))]:
            return _made_step(
                kind, decoded_values(params, objects), decoded_values(fitted, objects)
            )
    return made_value(value, objects)


def _made_step(kind: str, params: dict[str, Any], fitted: dict[str, Any]) -> Any:
    if kind in CLASSES:
        check_attributes(kind, fitted)
        return _made_model(SavedModel(kind, params, fitted))
    if kind in STEPS:
        return made_step(kind, params, fitted)
    raise DataError(f"a step must be one of {', '.join(STEPS)}, but is {short(kind)}.")


def _not_saved(labels: Any, scores: Any) -> float:
    """Stand for the function of a metric of one's own."""
    raise ValueError("a model file holds no code: set_params(eval_metric=...) before a fit")


def _holds_texts(array: NDArray[Any]) -> bool:
    kind = array.dtype.kind
    return kind == "U" or (kind == "O" and all(isinstance(item, str) for item in array.flat))


def _is_ours(model: Any) -> bool:
    name = type(model).__name__
    return name in CLASSES and type(model) is _class(name)


def _class(name: str) -> Any:
    return getattr(import_module(CLASSES[name]), name)
