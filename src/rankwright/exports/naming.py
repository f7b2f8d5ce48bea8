"""What an engine calls the features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from rankwright.data.feature_names import listed
from rankwright.exceptions import DataError
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Rules
from rankwright.suggestions import meant


def engine_names(
    own: Sequence[str], given: Sequence[str] | Mapping[str, str] | None
) -> tuple[str, ...]:
    """Return a name for each feature of a model; a DataError unless all differ.

    A mapping tells the model's own names, or numbers from 1 on as in LETOR files.

    >>> engine_names(["f1", "f2"], {"f2": "price"}), engine_names(["title", "age"], {"1": "bm25"})
    (('f1', 'price'), ('bm25', 'age'))
    """
    if isinstance(given, str):
        raise DataError(f"names must be a list or a mapping of names, not the text {given!r:.100}.")
    if given is None:
        names = list(own)
    elif isinstance(given, Mapping):
        names = list(own)
        for key, name in given.items():
            names[_meant_feature(key, own)] = name
    else:
        names = list(given)
    if len(names) != len(own):
        raise DataError(
            f"names must be {len(own)}, one for each feature of the model, but are {len(names)}."
        )
    for name in names:
        if not isinstance(name, str) or not name or not name.isprintable():
            raise DataError(f"a name must be a printable text, but one is {name!r:.100}.")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise DataError(f"names must differ, but {listed(twice)} came more than once.")
    return tuple(names)


def check_known(rules: Rules, known: frozenset[str]) -> None:
    """Refuse a model that uses features which the engine's store does not have."""
    used = [rules.names[j] for j in rules.used()]
    unknown = [name for name in used if known and name not in known]
    if unknown:
        raise Refusal(
            "names",
            f"the model uses features that the store does not have: {listed(unknown)}."
            f"{meant(unknown[0], known)}".rstrip("."),
            "add them to the store, or map the names of the features (--names)",
        )


def _meant_feature(key: str, own: Sequence[str]) -> int:
    """Return which feature is meant by a name of the model, or a number."""
    if key in own:
        return list(own).index(key)
    if str(key).isdecimal() and 1 <= int(key) <= len(own):
        return int(key) - 1
    raise DataError(f"names must be of the model's features, not {key!r}.{meant(key, own)}")


def read_names(path: str | PathLike[str]) -> list[str] | dict[str, str]:
    """Return the names in a file: one a line, or ``model's name or number TAB engine's name``."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", path=path) from None
    except UnicodeDecodeError:
        raise DataError("must be UTF-8 text.", path=path) from None
    lines = {i: line.strip().split("\t") for i, line in enumerate(text.split("\n"), 1)}
    lines = {i: cells for i, cells in lines.items() if cells != [""]}
    if not lines:
        raise DataError("must have a name in each line, but is empty.", path=path)
    width = len(next(iter(lines.values())))
    pairs: dict[str, str] = {}
    for i, cells in lines.items():
        if len(cells) != width or width > 2:
            raise DataError(
                "every line must be a name, or every line a feature and its name with a tab "
                "between.",
                path=path,
                line=i,
            )
        if width == 2 and cells[0] in pairs:
            raise DataError(f"{cells[0]!r} has a name already.", path=path, line=i)
        pairs[cells[0]] = cells[-1]
    return pairs if width == 2 else [cells[0] for cells in lines.values()]
