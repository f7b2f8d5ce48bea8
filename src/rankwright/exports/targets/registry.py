"""All targets by name. To add an engine, write its file and add a line."""

from __future__ import annotations

from importlib import import_module

from rankwright.exceptions import DataError
from rankwright.exports.targets.target import Target
from rankwright.suggestions import meant

# Name for users: module of this package, class. Loaded when it is asked for.
_WHERE = {
    "elasticsearch": ("elasticsearch", "Elasticsearch"),
    "opensearch": ("opensearch", "Opensearch"),
    "elastic": ("elastic", "Elastic"),
    "ranklib": ("ranklib", "RankLib"),
    "c": ("c", "C"),
    "java": ("java", "Java"),
    "lightgbm": ("lightgbm", "LightGBM"),
    "solr": ("solr", "Solr"),
    "vespa": ("vespa", "Vespa"),
    "onnx": ("onnx", "ONNX"),
    "sql": ("sql", "SQL"),
    "xgboost": ("xgboost", "XGBoost"),
}
TARGETS = tuple(_WHERE)


def target_named(name: str) -> Target:
    """Return a target; a DataError that names the nearest if there is none of this name."""
    if name not in _WHERE:
        raise DataError(
            f"target must be one of {', '.join(TARGETS)}, but is {name!r}.{meant(name, TARGETS)}"
        )
    module, kind = _WHERE[name]
    target: Target = getattr(import_module(f"rankwright.exports.targets.{module}"), kind)()
    return target
