"""A shop's table as people have it: texts, categories, missing values; generated on the spot."""

from __future__ import annotations

from typing import Any

import numpy as np

_COLOURS = ("red", "blue", "black", "white", "green", "brown", "grey", "yellow")
_THINGS = ("boots", "jacket", "lamp", "tent", "kettle", "desk", "scarf", "helmet", "rug", "clock")
_BRANDS = ("Alder", "Birch", "Cedar", "Elm", "Maple")
_MARKETS = ("de", "fr", "uk")
# How much more (or less) each brand is liked; no number in the table says so.
_LIKING = np.array([0.9, 0.3, 0.0, -0.3, -0.9])


def make_shop(n_queries: int = 200, random_state: int = 0) -> dict[str, list[Any]]:
    """Generate the judged searches of a shop, as a table with one row per product shown.

    The columns are ``query`` and ``market``, which belong to the search; ``product`` (an id),
    ``title``, ``brand``, ``price``, ``rating`` (None for the fifth of the products that nobody has
    rated), ``sold`` and ``match`` (how well the title fits the words); and ``relevance``, 0 to 3.

    Parameters
    ----------
    n_queries : int
        Number of searches, each with 5 to 25 products.
    random_state : int
        Seed.

    Returns
    -------
    dict of str to list
        The columns; ``polars.DataFrame`` and ``pandas.DataFrame`` take it as it is.

    Examples
    --------
    >>> table = make_shop(n_queries=2)
    >>> [column[0] for column in table.values()]
    ['red boots', 'fr', 'p1', 'boots by Cedar', 'Cedar', 14.28, 1.8, 17, 1.24, 0]
    """
    if n_queries < 1:
        raise ValueError(f"n_queries must be a positive integer, but is {n_queries!r}.")
    rng = np.random.default_rng(random_state)
    sizes = rng.integers(5, 26, n_queries)
    of_row = np.repeat(np.arange(n_queries), sizes)
    n_rows = len(of_row)
    brand = rng.integers(0, len(_BRANDS), n_rows)
    match, rating = rng.uniform(0, 10, n_rows).round(2), rng.uniform(1, 5, n_rows).round(1)
    price, sold = np.exp(rng.normal(3.5, 0.6, n_rows)).round(2), rng.geometric(0.02, n_rows)
    rated = rng.uniform(size=n_rows) > 0.2
    utility = 0.25 * match + 0.4 * (rating - 3) + 0.3 * np.log(sold) - 0.01 * price
    utility += _LIKING[brand] + rng.normal(0, 0.6, n_rows)
    relevance = np.searchsorted(np.quantile(utility, [0.55, 0.8, 0.95]), utility)
    market = rng.integers(0, len(_MARKETS), n_queries)[of_row]
    return {
        "query": [_query_text(q) for q in of_row.tolist()],
        "market": [_MARKETS[m] for m in market],
        "product": [f"p{i + 1}" for i in range(n_rows)],
        "title": [
            f"{_thing(q)} by {_BRANDS[b]}" for q, b in zip(of_row.tolist(), brand, strict=True)
        ],
        "brand": [_BRANDS[b] for b in brand],
        "price": price.tolist(),
        "rating": [r if known else None for r, known in zip(rating.tolist(), rated, strict=True)],
        "sold": sold.tolist(),
        "match": match.tolist(),
        "relevance": relevance.tolist(),
    }


def _thing(query: int) -> str:
    return _THINGS[query % len(_THINGS)]


def _query_text(query: int) -> str:
    """Return the words of a query, no two the same."""
    colour, size = query // len(_THINGS) % len(_COLOURS), query // 80
    return f"{_COLOURS[colour]} {_thing(query)}" + (f" size {size}" if size else "")
