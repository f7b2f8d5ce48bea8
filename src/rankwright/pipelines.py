"""Pipelines of scikit-learn in model files: values that only they have, and what must fit together.

A step is a transformer of the list in :mod:`rankwright.transformers`, or combines such steps; the
last one is a model of the library. What a step gives has the width that the next one was fitted to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from rankwright.exceptions import DataError, DataWarning
from rankwright.model_file import Objects, decode, fitting, make, no_attribute, no_kind
from rankwright.transformers import (
    COMPOSITES,
    FUNCTIONS,
    KNOWN,
    OUTPUTS,
    check_transformer,
    class_of,
    is_fitted,
)

VERSION = "sklearn_version_"
STEPS = (*KNOWN, *COMPOSITES)
_SELECTION = "sklearn.feature_selection"
_TYPES: dict[str, type] = {"float": float, "int": int, "bool": bool} | {
    name: getattr(np, name)
    for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "bool_")
}
_LONGEST_TEXT = 1000
_OF_COLUMNS = {
    *("transformers_", "output_indices_", "sparse_output_"),
    *("_columns", "_remainder", "_transformer_to_input_indices", "_n_features"),
    "_transformers_feature_names_out",
    *("n_features_in_", "feature_names_in_", "_sklearn_output_config"),
}

# ---- values as JSON ----


def as_value(value: Any, encode: Callable[[Any], Any]) -> Any:
    """Return a value that only transformers have as JSON can hold it; None if it is another."""
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1:
        return {"objects": [encode(item) for item in value]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.ndim == 1:
        return {"numbers": encode(value.tolist()), "dtype": value.dtype.name}
    if isinstance(value, slice):
        return {"slice": encode([value.start, value.stop, value.step])}
    if isinstance(value, np.dtype) and _is_plain(value):
        return {"dtype": value.str}
    for name, kind in _TYPES.items():
        if value is kind:
            return {"type": name}
    for name in FUNCTIONS:
        if value is getattr(import_module(_SELECTION), name):
            return {"function": name}
    return None


def made_value(value: dict[str, Any], objects: Objects) -> Any:
    """Return the value that :func:`as_value` wrote."""
    match list(value.items()):
        case [("objects", list(items))]:
            array = np.empty(len(items), dtype=object)
            for place, item in enumerate(items):
                array[place] = decode(item, objects)
            return array
        case [("numbers", list(items)), ("dtype", str(name))] if name.removesuffix("64") in (
            *("float", "int", "uint", "bool", "float32", "int32", "uint32", "uint8", "int8"),
            *("float16", "int16", "uint16"),
        ):
            content = decode(items, objects)
            return make(np.array, {"object": content, "dtype": np.dtype(name)})
        case [("slice", list(ends))] if len(ends) == 3 and all(
            end is None or type(end) in (int, str) for end in ends
        ):
            return slice(*ends)
        case [("dtype", str(name))]:
            dtype = make(np.dtype, {"dtype": name})
            if _is_plain(dtype):
                return dtype
        case [("type", str(name))] if name in _TYPES:
            return _TYPES[name]
        case [("function", str(name))] if name in FUNCTIONS:
            return getattr(import_module(_SELECTION), name)
    raise no_kind(value)


def _is_plain(dtype: np.dtype[Any]) -> bool:
    if dtype.kind == "U":
        return dtype.itemsize <= 4 * _LONGEST_TEXT
    return dtype.kind in "fiubO" and dtype.fields is None and dtype.itemsize <= 8


# ---- writing ----


def step_state(step: Any, where: str) -> dict[str, Any]:
    """Return what is fitted of a step that a file may hold; any other one is a TypeError.

    ``where`` names the step in messages.
    """
    kind = type(step).__name__
    if kind not in STEPS or type(step) is not class_of(kind):
        raise TypeError(
            f"{where} must be a transformer that a model file can hold, but is a "
            f"{type(step).__module__}.{type(step).__qualname__}. There are {', '.join(KNOWN)}."
        )
    if kind == "FunctionTransformer" and (step.func, step.inverse_func) != (None, None):
        raise TypeError(
            f"{where} must not be a FunctionTransformer with a function: a model file holds no "
            "code. Transform before the pipeline, or pickle it."
        )
    if getattr(step, "memory", None) is not None:
        raise TypeError(f"memory of {where} must be None: a model file names no folders.")
    params = step.get_params(deep=False)
    state = {k: v for k, v in vars(step).items() if k not in params and k != "_metadata_request"}
    if kind in KNOWN and is_fitted(step):
        try:
            check_transformer(step)
        except DataError as error:
            raise TypeError(f"{where} cannot be saved: {error.message}") from None
    return {name: _plain(value) for name, value in state.items()}


def _plain(value: Any) -> Any:
    """Return lists of other kinds, as some versions have for remaining columns, as lists."""
    if type(value).__name__ == "_RemainderColsList":
        return list(value)
    if isinstance(value, list | tuple):
        return type(value)(_plain(item) for item in value)
    return value


# ---- reading ----


def made_step(kind: str, params: dict[str, Any], fitted: dict[str, Any]) -> Any:
    """Return a step of what a file says; raise DataError unless it can be one."""
    cls = class_of(kind)
    step = make(cls, params, cls._get_param_names())
    if kind == "SimpleImputer" and "_fit_dtype" in fitted and "_fill_dtype" not in fitted:
        # Files of scikit-learn before 1.8 lack what later versions ask for.
        here = vars(cls().fit([[0.0]]))
        fitted |= {name: fitted["_fit_dtype"] for name in ("_fill_dtype",) if name in here}
    for key in fitted:
        if hasattr(cls, key) or (kind == "ColumnTransformer" and key not in _OF_COLUMNS):
            raise no_attribute(kind, key)
    if kind in ("Pipeline", "FeatureUnion") and fitted.keys() - {"_sklearn_output_config"}:
        raise no_attribute(kind, next(iter(fitted)))
    if any(params.get(name) is not None for name in ("memory", "func", "inverse_func")):
        raise DataError(f"{kind} must have no memory and no function.")
    config = fitted.get("_sklearn_output_config", {})
    if type(config) is not dict or not all(
        key == "transform" and value in OUTPUTS for key, value in config.items()
    ):
        raise DataError(f"_sklearn_output_config must be one of {', '.join(OUTPUTS)}.")
    vars(step).update(fitted)
    try:
        if hasattr(cls, "_parameter_constraints"):
            fitting(step._validate_params)
        if kind in KNOWN and fitted.keys() - {"_sklearn_output_config"}:
            fitting(lambda: check_transformer(step))
    except DataError as error:
        raise DataError(f"{kind}: {error.message}") from None
    return step


def check_pipeline(pipeline: Any, is_model: Callable[[Any], bool]) -> None:
    """Raise unless the steps of a pipeline fit together, and the last one is a model."""
    steps = _steps(pipeline, "steps", 2)
    last: Any = steps[-1][1] if steps else None
    if not is_model(last):
        raise DataError("the last step of a pipeline must be a model of rankwright.")
    try:
        n = next(n for step in steps if (n := _n_in(step[1])) is not None)
        n = fitting(lambda: _through_steps(steps[:-1], n))
    except RecursionError:
        raise DataError("its steps are nested too deeply.") from None
    if last.n_features_in_ != n:
        raise _misfit(steps[-1][0], last.n_features_in_, n)


@contextmanager
def of_version(version: Any) -> Iterator[None]:
    """Tell that another version of scikit-learn wrote a file, if one did, and what came of it."""
    here = import_module("sklearn").__version__
    if type(version) is not str:
        raise DataError(f"{VERSION} must be a text.")
    told = f"saved with scikit-learn {version:.20}, and this is {here}"
    try:
        yield
    except DataError as error:
        other = "" if version == here else f" It was {told}."
        raise DataError(f"{error.message}{other}") from None
    if version != here:
        warnings.warn(
            f"this pipeline was {told}. Look whether it predicts the same, or fit it again.",
            DataWarning,
            stacklevel=4,
        )


def _misfit(name: object, taken: object, given: int) -> DataError:
    return DataError(f"step {name!r:.80} takes {taken!r:.20} features, but is given {given}.")


def _steps(owner: Any, name: str, size: int) -> list[tuple[Any, ...]]:
    """Return named steps of a pipeline or of what combines them."""
    steps: Any = getattr(owner, name, None)
    fine = type(steps) is list and all(
        type(step) is tuple and len(step) == size and type(step[0]) is str for step in steps
    )
    if not fine:
        raise DataError(f"{name} of {type(owner).__name__} must be named steps.")
    found: list[tuple[Any, ...]] = steps
    if len({step[0] for step in found}) != len(found):
        raise DataError(f"{name} of {type(owner).__name__} must have different names.")
    return found


def _n_in(step: Any) -> int | None:
    """Return how many features a step takes; None if it takes any number."""
    inner = {"Pipeline": "steps", "FeatureUnion": "transformer_list"}.get(type(step).__name__)
    if inner is not None:
        numbers = (_n_in(found[1]) for found in _steps(step, inner, 2))
        return next((n for n in numbers if n is not None), None)
    return getattr(step, "n_features_in_", None)


def _through_steps(steps: list[tuple[Any, ...]], n: int) -> int:
    for name, step in steps:
        n = _width_of_step(name, step, n)
    return n


def _width_of_step(name: str, step: Any, n: int) -> int:
    """Return how many features come out of a step for so many that go in."""
    kind = type(step).__name__
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return n
    if isinstance(step, str) and step == "drop":
        return 0
    if kind == "Pipeline":
        return _through_steps(_steps(step, "steps", 2), n)
    if kind == "FeatureUnion":
        parts = _steps(step, "transformer_list", 2)
        return sum(_width_of_step(part, inner, n) for part, inner in parts)
    if kind not in KNOWN and kind != "ColumnTransformer":
        raise DataError(f"step {name!r:.80} must be a transformer.")
    if vars(step).get("n_features_in_") != n:
        raise _misfit(name, vars(step).get("n_features_in_"), n)
    if kind == "ColumnTransformer":
        return _width_of_columns(step, n)
    return KNOWN[kind].width(step)


def _width_of_columns(step: Any, n: int) -> int:
    """Return the width of a ColumnTransformer; raise unless its parts take what they are given."""
    names = vars(step).get("feature_names_in_")
    if names is not None and (len(names) != n or not all(type(name) is str for name in names)):
        raise DataError(f"feature_names_in_ must be {n} texts, one for each feature.")
    told = dict(vars(step).get("_transformer_to_input_indices", {}))
    begin, slices = 0, {}
    for name, inner, columns in _steps(step, "transformers_", 3):
        places, listed = _column_places(columns, n, names), told.pop(name, None)
        # The file has a number for each: before that, no size of it is believed.
        if type(listed) is not list or len(listed) != len(places) or listed != list(places):
            raise DataError(f"_transformer_to_input_indices must be the columns of {name!r:.80}.")
        empty = not places or (isinstance(inner, str) and inner == "drop")
        width = 0 if empty else _width_of_step(name, inner, len(places))
        slices[name] = slice(begin, begin + width) if width or not empty else slice(0, 0)
        begin += width
    found = vars(step).get("output_indices_", {})
    if {k: v for k, v in found.items() if v != slice(0, 0)} != {
        k: v for k, v in slices.items() if v != slice(0, 0)
    }:
        raise DataError("output_indices_ must be where the columns of the transformers go.")
    return begin


def _column_places(columns: Any, n: int, names: Any) -> Sequence[int]:
    """Return the places of columns that are told by names, places, truths or a slice."""
    known = {} if names is None else {name: place for place, name in enumerate(names)}
    if isinstance(columns, slice):
        begin = known[columns.start] if type(columns.start) is str else columns.start
        # The last label is within, as for pandas.
        end = known[columns.stop] + 1 if type(columns.stop) is str else columns.stop
        return range(n)[begin : end : columns.step]
    listed: list[Any] = [columns] if isinstance(columns, str | int) else list(columns)
    if listed and all(isinstance(column, bool | np.bool_) for column in listed):
        if len(listed) != n:
            raise DataError(f"a mask of columns must have {n} truth values.")
        return [place for place, chosen in enumerate(listed) if chosen]
    return [known[column] if type(column) is str else range(n)[column] for column in listed]
