"""Columns of categories: texts in tables, codes in matrices, and features that are made of them.

A column of categories holds codes: the c-th of its levels, a list of texts, is the number c, and a
missing one is NaN. Trees take codes as they are. For linear models a feature ``country=de`` is 1
where the country is ``de``, and ``price is missing`` is 1 where there is no price. Such a feature
is known by its name, so that a model that was fitted to it finds it in any later table.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rankwright.data.feature_names import listed
from rankwright.data.sparse import is_sparse
from rankwright.data.validation import Floats, Matrix
from rankwright.exceptions import DataError, DataWarning

Categories = Mapping[str, Sequence[str]]
MOST = 100  # levels of a column that become features, the most frequent ones
_MISSING = " is missing"
_ABSENT = {  # texts that Arrow takes for missing values in CSV
    *("", "NULL", "null", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "NaN", "nan", "-NaN"),
    *("-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
}


def encoded(texts: NDArray[np.object_]) -> tuple[Floats, list[str]]:
    """Return codes, and levels in the order of the alphabet; None is a missing text.

    Examples
    --------
    >>> import numpy as np
    >>> encoded(np.array(["us", None, "de", "us"], dtype=object))
    (array([ 1., nan,  0.,  1.]), ['de', 'us'])
    """
    there = np.array([text is not None for text in texts], dtype=bool)
    levels, places = np.unique(texts[there].astype(str), return_inverse=True)
    codes = np.full(len(texts), np.nan)
    codes[there] = places
    return codes, levels.tolist()


def decoded(codes: Floats, levels: Sequence[str]) -> NDArray[np.object_]:
    """Return the texts that codes stand for, None for missing ones."""
    texts = np.array([*levels, None], dtype=object)
    return texts[np.where(np.isnan(codes), len(levels), codes).astype(np.int64)]


def as_level(value: object) -> str | None:
    """Return a value as the text of a category, the same in every format.

    3.0, 3 and "3" are one, and so are True, "True" and "true"; what CSV takes for a missing value
    is one everywhere.

    Examples
    --------
    >>> as_level(3.0), as_level("de"), as_level(True), as_level(float("nan")), as_level("N/A")
    ('3', 'de', 'true', None, None)
    """
    try:
        if value is None or value != value:
            return None
    except TypeError:  # pandas' NA answers neither yes nor no
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    if text in _ABSENT:
        return None
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text


def recoded(codes: Floats, given: Sequence[str], wanted: Sequence[str]) -> Floats:
    """Return codes by other levels; NaN for levels that are not among them.

    Examples
    --------
    >>> import numpy as np
    >>> recoded(np.array([0.0, 1.0, np.nan]), ["de", "us"], ["fr", "us"])
    array([nan,  1., nan])
    """
    place = {level: float(code) for code, level in enumerate(wanted)}
    table = np.array([*(place.get(level, np.nan) for level in given), np.nan])
    absent = np.isnan(codes)
    return table[np.where(absent, len(given), codes).astype(np.int64)]


def indicator_of(name: str) -> str:
    """Return the name of the feature that tells where another is missing."""
    return name + _MISSING


def level_of(name: str, level: str) -> str:
    """Return the name of the feature that tells where a category is this level."""
    return f"{name}={level}"


def level_counts(codes: Floats, levels: Sequence[str]) -> NDArray[np.int64]:
    """Return how many documents have each level."""
    there = codes[~np.isnan(codes)].astype(np.int64)
    return np.bincount(there, minlength=len(levels)).astype(np.int64)


def level_features(
    names: Sequence[str],
    categories: Categories,
    counts: Mapping[str, NDArray[np.int64]],
    most: int = MOST,
) -> list[str]:
    """Return the names of features in which a category is told level by level.

    Levels that become features are the most frequent by ``counts``, in the order of the levels.

    Examples
    --------
    >>> import numpy as np
    >>> levels = {"country": ["de", "fr", "us"]}
    >>> level_features(["price", "country"], levels, {"country": np.array([5, 0, 2])})
    ['price', 'country=de', 'country=us']
    """
    wanted: list[str] = []
    for name in names:
        if name not in categories:
            wanted.append(name)
            continue
        frequent = np.sort(np.argsort(-counts[name], kind="stable")[:most])
        made = [
            level_of(name, categories[name][code])
            for code in frequent.tolist()
            if counts[name][code]
        ]
        if taken := set(made) & {*names, *wanted}:
            raise DataError(
                f"a level of {name!r} would have the name of the column {min(taken)!r}. "
                "Rename the column."
            )
        wanted += made
    return wanted


def told_categories(wanted: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the columns whose categories some of the wanted features tell.

    Examples
    --------
    >>> told_categories(["price", "country=de", "country=us"], ["price", "country"])
    ['country']
    """
    there = set(columns)
    heads = category_heads([name for name in wanted if name not in there])
    return [name for name in heads if name in there]


def category_heads(names: Sequence[str]) -> list[str]:
    """Return what may be the category in names such as ``country=de``; levels may have a = too."""
    parts = (name.split("=") for name in names)
    heads = ("=".join(part[:cut]) for part in parts for cut in range(1, len(part)))
    return list(dict.fromkeys(heads))


def is_derived(name: str, columns: Sequence[str]) -> bool:
    """Tell whether a feature can be made of one of these columns, and is not one of them.

    Examples
    --------
    >>> is_derived("country=de", ["country"]), is_derived("country", ["country"])
    (True, False)
    """
    there = name.removesuffix(_MISSING)
    return name not in columns and (there in columns or bool(told_categories([name], columns)))


def derived(
    name: str, X: Matrix, names: Sequence[str], categories: Categories
) -> tuple[Floats, str | None] | None:
    """Return a feature that is made of another, and the category that it tells; None if it is not.

    Parameters
    ----------
    name : str
        The feature that is wanted.
    X, names, categories
        The features there are.
    """
    place = {known: column for column, known in enumerate(names)}
    source = name.removesuffix(_MISSING)
    if source != name and source in place:
        return np.isnan(column_of(X, place[source])).astype(np.float64), None
    fitting = [c for c in categories if name.startswith(f"{c}=")]
    # Of a and a=b, the name a=b=c is about the one that has such a level.
    fitting.sort(key=lambda c: (name[len(c) + 1 :] not in categories[c], -len(c)))
    if not fitting:
        return None
    category, level = fitting[0], name[len(fitting[0]) + 1 :]
    levels = list(categories[category])
    code = levels.index(level) if level in levels else -1
    return (column_of(X, place[category]) == code).astype(np.float64), category


def column_of(X: Matrix, column: int) -> Floats:
    """Return the values of a feature."""
    dense = X[:, [column]].toarray()[:, 0] if is_sparse(X) else X[:, column]
    return np.asarray(dense, dtype=np.float64)


def check_categories(categories: object, names: Sequence[str] | None) -> None:
    """Raise unless what was read from a file can be the categories of these features."""
    fine = isinstance(categories, dict) and all(
        name in (names or ())
        and isinstance(levels, list)
        and all(isinstance(level, str) for level in levels)
        and len(set(levels)) == len(levels)
        for name, levels in categories.items()
    )
    if not fine:
        raise DataError("categories_ must be different texts for some of the features.")


def warn_of_new(
    name: str, codes: Floats, given: Sequence[str], known: Sequence[str], owner: str
) -> None:
    """Warn of categories of these documents that nobody has seen before."""
    there = np.unique(codes[~np.isnan(codes)]).astype(np.int64).tolist()
    new = [given[code] for code in there if given[code] not in set(known)]
    if new:
        warnings.warn(
            f"{name}: {listed(new)} {'is' if len(new) == 1 else 'are'} not among the levels that "
            f"{owner} knows, and counts as none of them.",
            DataWarning,
            stacklevel=2,
        )


def check_same_kind(name: str, wanted: Categories, given: Categories, owner: str) -> None:
    """Raise if a column is a category on one side, and a number on the other."""
    if (name in wanted) == (name in given):
        return
    here, there = ("numbers", "categories") if name in wanted else ("categories", "numbers")
    hint = f" Read it as one: categorical=[{name!r}], --categorical {name}." * (name in wanted)
    raise DataError(f"the column {name!r} holds {here}, but {there} in {owner}.{hint}")
