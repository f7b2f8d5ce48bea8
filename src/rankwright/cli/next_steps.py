"""The commands that come next, ready to be copied: fit what was found, and score with it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankwright.cli.columns import column_words
from rankwright.models import name_and_params

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def train_command(
    estimator: Any,
    name: str,
    data: Sequence[str],
    out: str,
    *,
    columns: Columns,
    allow_overlap: bool = False,
) -> str | None:
    """Return the command that fits an estimator to files; None if there is no such command.

    Parameters
    ----------
    estimator : object
        The model; its parameters that the name does not imply become ``-p``.
    name : str
        Its name; another one is found if ``train`` does not know it.
    data : sequence of str
        The files.
    out : str
        The model file.
    columns : Columns
        What was said about the columns of tables.
    allow_overlap : bool
        Whether files may have queries in common.
    """
    known = name_and_params(estimator, name)
    if known is None or "-" in data:
        return None
    words = ["rankwright", "train", *map(_path_word, data), "--model", known[0]]
    for key, value in known[1].items():
        text = _literal_text(value)
        if text is None:
            return None
        words += ["-p", f"{key}={text}"]
    words += column_words(columns)
    words += ["--allow-overlap"] if allow_overlap else []
    return shlex.join([*words, "-o", out])


def predict_command(model: str, data: str, out: str, *, columns: Columns) -> str | None:
    """Return the command that scores a file; None if it cannot be read again."""
    if data == "-":
        return None
    words = ["rankwright", "predict", _path_word(model), _path_word(data)]
    return shlex.join([*words, *column_words(columns), "-o", out])


def _path_word(path: str) -> str:
    """Return a path that is not taken for an option."""
    return f"./{path}" if path.startswith("-") else path


def _literal_text(value: Any) -> str | None:
    """Return the text that ``-p`` reads as this value, or None."""
    from rankwright.comparison.space import literal

    value = value.item() if hasattr(value, "item") else value
    for text in (str(value), repr(value)):
        found = literal(text)
        if type(found) is type(value) and found == value:
            return text
    return None
