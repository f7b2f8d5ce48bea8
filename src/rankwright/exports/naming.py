"""What an engine calls the features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rankwright.data.feature_names import listed
from rankwright.exceptions import DataError
from rankwright.suggestions import meant


def engine_names(
    own: Sequence[str], given: Sequence[str] | Mapping[str, str] | None
) -> tuple[str, ...]:
    """Return a name for each feature of a model; a DataError unless all differ.

    >>> engine_names(["f1", "f2"], {"f2": "price"})
    ('f1', 'price')
    """
    if given is None:
        names = list(own)
    elif isinstance(given, Mapping):
        for name in given:
            if name not in own:
                hint = meant(name, own)
                raise DataError(f"names must be of the model's features, not {name!r}.{hint}")
        names = [given.get(name, name) for name in own]
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
