"""Models and scorers from files."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any, Literal, overload

from rankwright.model_file import read_model
from rankwright.scoring.scorer import Scorer


@overload
def load(path: str | PathLike[str], *, scorer: Literal[True]) -> Scorer: ...
@overload
def load(path: str | PathLike[str], *, scorer: bool = False) -> Any: ...
def load(path: str | PathLike[str], *, scorer: bool = False) -> Any:
    """Read a model that :func:`save` wrote.

    It is safe on files from strangers: nothing in them is run, and no more memory is taken than a
    small multiple of the file (and 64 MiB). Whatever is wrong with the file is a
    :class:`~rankwright.exceptions.DataError`, in one line.

    Parameters
    ----------
    path : str or path-like
        The file.
    scorer : bool, default False
        Return a :class:`~rankwright.scoring.Scorer`, which predicts as the model does and can do
        nothing else, but needs neither scikit-learn nor LightGBM nor the time to load them.
    """
    if scorer:
        return Scorer.load(path)
    # By name: estimators stand above, and are loaded when they are needed.
    return read_model(path, import_module("rankwright.persistence").unpack_model)
