"""What of scikit-learn a model file may hold beside a model: the one list, and what must hold.

A transformer is its parameters and what its ``fit`` sets. Both come from a file, so each attribute
has a rule here, and what a step gives must have the width that the next one takes. Attributes that
are not in the list are refused: another version of scikit-learn may mean something else by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np

from rankwright.exceptions import DataError
from rankwright.parameters import TRUTH, Rule

OUTPUTS = ("default", "pandas", "polars")
_MOST_DEGREES = 64
FUNCTIONS = (  # of features and labels, for selectors
    "f_classif",
    "f_regression",
    "chi2",
    "mutual_info_classif",
    "mutual_info_regression",
    "r_regression",
)

# ---- rules of attributes ----


@dataclass(frozen=True)
class Optional:
    """A rule of an attribute that may be None, or not be there: a parameter decides."""

    rule: Rule


Rules = Mapping[str, Rule | Optional]


def _numbers_of(*shape: int) -> Rule:
    text = f"numbers of shape {shape}" if len(shape) > 1 else f"{shape[0]} numbers"

    def holds(value: Any) -> bool:
        return isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.shape == shape

    return Rule(text, holds)


def _of_type(kind: str) -> Rule:
    return Rule(f"a {kind}", lambda value: type(value).__name__ == kind and is_fitted(value))


def _each(n: int, text: str, holds: Callable[[int, Any], bool]) -> Rule:
    """Return the rule of a list or an array of objects, one for each column."""

    def all_hold(values: Any) -> bool:
        listed = isinstance(values, list) or (_is_column(values) and values.dtype.kind == "O")
        fits = listed and len(values) == n
        return fits and all(holds(j, value) for j, value in enumerate(values))

    return Rule(f"{text} for each of {n} columns", all_hold)


def _is_column(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1


def _is_place(value: Any, n: int) -> bool:
    return isinstance(value, Integral) and 0 <= int(value) < n


_NUMBER = Rule("a number", lambda value: isinstance(value, Real))
_COUNT = Rule("a number >= 0", lambda value: isinstance(value, Real) and float(value) >= 0)
_TEXT = Rule("a text", lambda value: type(value) is str)
_DTYPE = Rule("a type of numbers, texts or objects", lambda value: isinstance(value, np.dtype))


def _exactly(wanted: Any) -> Rule:
    return Rule(f"{wanted!r:.80}", lambda value: bool(value == wanted))


def _scaled(*names: str) -> Callable[[Any, int], Rules]:
    """Return the rules of a scaler with these numbers for each feature."""

    def rules(_: Any, n: int) -> Rules:
        seen = Rule(
            "numbers of rows",
            lambda value: _COUNT.holds(value) or _numbers_of(n).holds(value),
        )
        return {"n_samples_seen_": Optional(seen), **{k: Optional(_numbers_of(n)) for k in names}}

    return rules


def _used(*needed: tuple[str, str]) -> Callable[[Any], list[str]]:
    """Return which attributes ``transform`` reads, by the parameters that switch them on."""
    return lambda t: [name for parameter, name in needed if getattr(t, parameter)]


def _imputed(t: Any, n: int) -> Rules:
    fills = Rule(f"{n} values", lambda value: _is_column(value) and len(value) == n)
    return {
        "statistics_": fills,
        "indicator_": Optional(_of_type("MissingIndicator")),
        "_fit_dtype": _DTYPE,
        "_fill_dtype": Optional(_DTYPE),
    }


def _indicated(t: Any, n: int) -> Rules:
    places = Rule(
        f"columns from 0 to {n - 1}",
        lambda value: (
            _is_column(value)
            and value.dtype.kind in "iu"
            and bool(((value >= 0) & (value < n)).all())
        ),
    )
    return {"features_": places, "_n_features": _exactly(n), "_precomputed": TRUTH}


def _powers(t: Any, n: int) -> Rules:
    return {"lambdas_": _numbers_of(n), "_scaler": Optional(_of_type("StandardScaler"))}


def _quantiles(t: Any, n: int) -> Rules:
    size = len(t.references_)
    return {
        "n_quantiles_": _exactly(size),
        "references_": _numbers_of(size),
        "quantiles_": _numbers_of(size, n),
    }


def _bins(t: Any, n: int) -> Rules:
    edges = _each(n, "edges", lambda j, e: _is_column(e) and len(e) == int(t.n_bins_[j]) + 1 > 1)
    return {
        "n_bins_": _numbers_of(n),
        "bin_edges_": edges,
        "_encoder": Optional(_of_type("OneHotEncoder")),
    }


def _polynomials(t: Any, n: int) -> Rules:
    """Say how many products of so many factors there are; memory for them is taken later."""
    low, high = (0, t.degree) if type(t.degree) is int else t.degree
    if not 0 <= low <= high <= _MOST_DEGREES:
        raise DataError(f"degree must be at most {_MOST_DEGREES}, but is {t.degree!r:.50}.")

    def count(least: int) -> int:
        terms = (
            math.comb(n, d) if t.interaction_only else math.comb(n + d - 1, d)
            for d in range(max(least, 1), high + 1)
        )
        return sum(terms) + bool(t.include_bias)

    return {
        "_min_degree": _exactly(low),
        "_max_degree": _exactly(high),
        "n_output_features_": _exactly(count(low)),
        "_n_out_full": _exactly(count(0)),
    }


def _encoded(t: Any, n: int) -> Rules:
    """Say what follows from the categories, and from those that are rare or dropped."""
    if len(t.categories_) != n:
        raise DataError(f"categories_ must be those of {n} columns.")
    sizes = [len(levels) for levels in t.categories_]
    rare = [_rare(t, j) for j in range(n)]
    kept = [_n_kept(size, r) for size, r in zip(sizes, rare, strict=True)]
    dropped = vars(t).get("_drop_idx_after_grouping")
    n_dropped = [dropped is not None and dropped[j] is not None for j in range(n)]

    def is_mapping(j: int, value: Any) -> bool:
        return np.array_equal(value, rare[j]) if _is_column(value) else value is rare[j]

    def places(sizes: list[int]) -> Optional:
        return Optional(_each(n, "a place", lambda j, p: p is None or _is_place(p, sizes[j])))

    return {
        "categories_": _each(n, "categories", lambda j, value: _is_column(value)),
        "_infrequent_enabled": TRUTH,
        "_infrequent_indices": Optional(_each(n, "places", lambda j, p: _are_places(p, sizes[j]))),
        "_default_to_infrequent_mappings": Optional(_each(n, "a category each", is_mapping)),
        "drop_idx_": places(sizes),
        "_drop_idx_after_grouping": places(kept),
        "_n_features_outs": Optional(_each(n, "a width", lambda j, w: w == kept[j] - n_dropped[j])),
        "_missing_indices": Optional(Rule("a dict", lambda value: isinstance(value, dict))),
    }


def _rare(t: Any, j: int) -> Any:
    """Return the category that each of a column becomes; None if none is rare."""
    places = (vars(t).get("_infrequent_indices") or {})[j] if t._infrequent_enabled else None
    if places is None:
        return None
    kinds = np.ones(len(t.categories_[j]), dtype=bool)
    kinds[places] = False
    return np.where(kinds, np.cumsum(kinds) - 1, kinds.sum())


def _are_places(value: Any, n: int) -> bool:
    return value is None or (_is_column(value) and bool(np.isin(value, np.arange(n)).all()))


def _n_kept(size: int, rare: Any) -> int:
    return size if rare is None else int(rare.max(initial=-1)) + 1


def _selected(*names: str) -> Callable[[Any, int], Rules]:
    """Return the rules of a selector by these numbers of each feature."""
    return lambda _, n: {
        name: Optional(_numbers_of(n)) if name == "pvalues_" else _numbers_of(n) for name in names
    }


def _projected(t: Any, n: int) -> Rules:
    size = len(t.components_)
    return {
        "components_": _numbers_of(size, n),
        "explained_variance_": _numbers_of(size),
        "explained_variance_ratio_": _numbers_of(size),
        "singular_values_": _numbers_of(size),
        "n_components_": Optional(_exactly(size)),
        "mean_": Optional(_numbers_of(n)),
        "noise_variance_": Optional(_NUMBER),
        "n_samples_": Optional(_COUNT),
        "_fit_svd_solver": Optional(_TEXT),
    }


def _nothing(t: Any, n: int) -> Rules:
    return {}


# ---- the list ----


@dataclass(frozen=True)
class Known:
    """A transformer: its class, what ``fit`` sets, what ``transform`` reads and how wide it is."""

    module: str
    rules: Callable[[Any, int], Rules] = _nothing
    reads: Callable[[Any], list[str]] = lambda t: []
    width: Callable[[Any], int] = lambda t: t.n_features_in_


def _named_width(t: Any) -> int:
    """Return how many columns come out, where the file has something of each that goes in."""
    return len(t.get_feature_names_out())


_PREPROCESSING = "sklearn.preprocessing"
_SELECTION = "sklearn.feature_selection"
_BY_SCORES = Known(_SELECTION, _selected("scores_", "pvalues_"), width=_named_width)
KNOWN: dict[str, Known] = {
    "SimpleImputer": Known(
        "sklearn.impute", _imputed, _used(("add_indicator", "indicator_")), _named_width
    ),
    "MissingIndicator": Known("sklearn.impute", _indicated, width=_named_width),
    "StandardScaler": Known(
        _PREPROCESSING,
        _scaled("mean_", "var_", "scale_"),
        _used(("with_mean", "mean_"), ("with_std", "scale_")),
    ),
    "MinMaxScaler": Known(
        _PREPROCESSING,
        _scaled("min_", "scale_", "data_min_", "data_max_", "data_range_"),
        lambda t: ["min_", "scale_"],
    ),
    "MaxAbsScaler": Known(_PREPROCESSING, _scaled("scale_", "max_abs_"), lambda t: ["scale_"]),
    "RobustScaler": Known(
        _PREPROCESSING,
        _scaled("center_", "scale_"),
        _used(("with_centering", "center_"), ("with_scaling", "scale_")),
    ),
    "PowerTransformer": Known(_PREPROCESSING, _powers, _used(("standardize", "_scaler"))),
    "QuantileTransformer": Known(_PREPROCESSING, _quantiles),
    "KBinsDiscretizer": Known(
        _PREPROCESSING,
        _bins,
        lambda t: [] if t.encode == "ordinal" else ["_encoder"],
        _named_width,
    ),
    "PolynomialFeatures": Known(
        _PREPROCESSING, _polynomials, width=lambda t: int(t.n_output_features_)
    ),
    "Normalizer": Known(_PREPROCESSING),
    "Binarizer": Known(_PREPROCESSING),
    "OneHotEncoder": Known(_PREPROCESSING, _encoded, lambda t: ["_n_features_outs"], _named_width),
    "OrdinalEncoder": Known(_PREPROCESSING, _encoded, lambda t: ["_missing_indices"]),
    "FunctionTransformer": Known(_PREPROCESSING),  # without a function: it changes nothing
    "SelectKBest": _BY_SCORES,
    "SelectPercentile": _BY_SCORES,
    "SelectFpr": _BY_SCORES,
    "SelectFdr": _BY_SCORES,
    "SelectFwe": _BY_SCORES,
    "GenericUnivariateSelect": _BY_SCORES,
    "VarianceThreshold": Known(_SELECTION, _selected("variances_"), width=_named_width),
    "PCA": Known("sklearn.decomposition", _projected, lambda t: ["mean_"], _named_width),
    "TruncatedSVD": Known("sklearn.decomposition", _projected, width=_named_width),
}
COMPOSITES = {
    "Pipeline": "sklearn.pipeline",
    "FeatureUnion": "sklearn.pipeline",
    "ColumnTransformer": "sklearn.compose",
}
_COMMON = {"n_features_in_", "feature_names_in_", "_sklearn_output_config"}


def class_of(kind: str) -> Any:
    """Return the class of a transformer of the list, or of what combines them."""
    return getattr(import_module(COMPOSITES.get(kind) or KNOWN[kind].module), kind)


def is_fitted(transformer: Any) -> bool:
    """Tell whether a transformer of the list is fitted."""
    return "n_features_in_" in vars(transformer)


def check_transformer(t: Any) -> None:
    """Raise DataError unless what is fitted of a transformer of the list can be."""
    known, state = KNOWN[type(t).__name__], vars(t)
    n = state.get("n_features_in_")
    if type(n) is not int or n < 1:
        raise DataError(f"n_features_in_ must be a positive integer, but is {n!r:.50}.")
    names = state.get("feature_names_in_")
    if names is not None and not (
        _is_column(names) and len(names) == n and all(type(name) is str for name in names)
    ):
        raise DataError(f"feature_names_in_ must be {n} texts, one for each feature.")
    rules = known.rules(t, n)
    params = type(t)._get_param_names()
    for name in state:
        if name not in rules and name not in _COMMON and name not in params:
            raise DataError(f"there is no fitted attribute {name!r:.80}.")
    read = known.reads(t)
    for name, rule in rules.items():
        optional = isinstance(rule, Optional) and name not in read
        plain = rule.rule if isinstance(rule, Optional) else rule
        try:
            plain.check(name, state.get(name), optional=optional)
        except ValueError as error:
            raise DataError(str(error)) from None
