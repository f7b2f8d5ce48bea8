"""The models of a comparison: what is fitted, and which parameters are searched."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rankwright.adapters import check_estimator
from rankwright.comparison.keys import described
from rankwright.comparison.space import Choice, Range, Space, parse_space
from rankwright.data.files import PathLike
from rankwright.exceptions import DataError
from rankwright.models import base_name, family, make_model, paper_params
from rankwright.showing import Brief, brief
from rankwright.suggestions import meant

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_KEYS = ("model", "paper", "params", "search", "family")


@dataclass(frozen=True, repr=False)
class Entry(Brief):
    """One model of a comparison.

    Attributes
    ----------
    name : str
        Its name in tables and files: letters, digits and ``. _ + -``.
    estimator : object
        What is cloned and fitted: ``fit(X, y)``, ``predict(X)``, ``get_params`` and
        ``set_params``, as any estimator of scikit-learn has them. Which documents belong to which
        query is passed by name if ``fit`` has an argument ``qid`` (or ``group``, as LightGBM's, or
        ``group_id``, as CatBoost's); of a pipeline, to its last step. Its own parameters are the
        first trial.
    space : mapping of str to Choice or Range
        Parameters to search; with none there is one trial.
    family : str
        ``"linear"``, ``"online"``, ``"trees"``, ``"baseline"``, or a word of yours.
    """

    name: str
    estimator: Any
    space: Space = field(default_factory=dict)
    family: str = ""

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and _NAME.fullmatch(self.name)):
            raise ValueError(
                f"a model's name must have letters, digits and . _ + - only, but is {self.name!r}."
            )
        check_estimator(self.estimator, self.name, searched=bool(self.space))
        known = self.estimator.get_params()
        for name in self.space:
            if name not in known:
                raise ValueError(
                    f"{self.name} has no parameter {name!r} to search; it has {', '.join(known)}."
                    f"{meant(name, known)}"
                )

    def describe(self) -> str:
        """Return class, parameters and space as a text that is equal for equal entries."""
        return f"{described(self.estimator)} {described([*self.space.items()])}"


# What a comparison or a study is asked for; rankers by name are fitted as they are.
Models: TypeAlias = Sequence[Entry | str] | Mapping[str, Any]


_TREES: Space = {
    "learning_rate": Range(0.02, 0.2, log=True),
    "num_leaves": Range(4, 63, log=True, integer=True),
    "min_child_samples": Range(5, 100, log=True, integer=True),
    "colsample_bynode": Range(0.3, 1.0),
    "leaf_l2": Range(0.1, 30.0, log=True),
    "extra_trees": Choice((False, True)),
}
# What is searched by default, by name; a variant searches what its model does.
_SEARCHED: dict[str, Space] = {
    "linear": {"alpha": Range(1e-5, 1.0, log=True)},
    "domination-rank": {"alpha": Range(1e-5, 1.0, log=True)},
    "domination-rank-l1": {"alpha": Range(3e-3, 3.0, log=True)},
    "slam-perceptron": {
        "n_epochs": Range(1, 30, log=True, integer=True),
        "variant": Choice(("averaged", "voted")),
        "metric": Choice(("ndcg", "ndcg@10")),
    },
    "pamir": {"C": Range(1e-5, 1.0, log=True), "n_epochs": Range(1, 10, log=True, integer=True)},
    "boosted": _TREES,
    # Members with their own settings: each trial fits several.
    "ensemble": {"members": Choice(("stochastic-lambdarank-trees", "graft"))},
}
# All that it takes together is at most twice the time of ten plain models: an ensemble tries two
# kinds of members, and trees without a base are tried by graft too.
_LINEUP = (
    "xendcg-linear",
    "domination-rank-l1",
    "stochastic-lambdarank-trees",
    "graft",
    "ensemble",
    "best-feature",
    "random",
)


def entry_of(name: str, params: Mapping[str, Any] | None = None) -> Entry:
    """Return a model by its name on the command line, with these parameters, as an entry."""
    estimator = make_model(name, **params or {})
    space = _SEARCHED.get(name, _SEARCHED.get(base_name(name), {}))
    return Entry(name, estimator, space, family(name))


def lineup(names: Iterable[str] | None = None) -> list[Entry]:
    """Return entries by their names on the command line; the default line-up without names.

    Examples
    --------
    >>> [entry.name for entry in lineup(["xendcg-linear", "random"])]
    ['xendcg-linear', 'random']
    """
    return check_entry_names([entry_of(name) for name in (_LINEUP if names is None else names)])


def entries_of(models: Models | None) -> list[Entry]:
    """Return the entries that are meant: names, entries, or rankers by name; None is the line-up.

    Examples
    --------
    >>> from rankwright import LinearRanker
    >>> [entry.name for entry in entries_of({"mine": LinearRanker()})]
    ['mine']
    """
    if models is None:
        return lineup()
    if isinstance(models, Mapping):
        return check_entry_names([Entry(name, ranker) for name, ranker in models.items()])
    if isinstance(models, str) or not isinstance(models, Iterable):
        raise _no_models(models)
    return check_entry_names([_one_entry(model) for model in models])


def _one_entry(model: Entry | str) -> Entry:
    if isinstance(model, Entry):
        return model
    if isinstance(model, str):
        return entry_of(model)
    raise _no_models(model)


def _no_models(given: object) -> TypeError:
    return TypeError(
        "models must be a sequence of names or entries, or rankers by name, such as "
        f"{{'mine': LinearRanker()}}, but there is {brief(given)}."
    )


def read_lineup(path: PathLike) -> list[Entry]:
    """Read a line-up from a TOML file.

    Each table below ``models`` is an entry. It may name a ``model`` of the command line with its
    ``params``, what to ``search`` and ``family``; with ``paper = true`` an online model is its
    paper's algorithm. Without ``model`` its own name is one of the command line::

        [models.xendcg-linear]

        [models.small-listnet]
        model = "linear"
        params = { loss = "listnet", penalty = "l1" }
        search = { alpha = { low = 1e-4, high = 1.0, log = true } }
    """
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", path=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"is not TOML: {error}", path=path) from None
    tables = content.get("models")
    if not isinstance(tables, dict) or not tables or set(content) != {"models"}:
        raise DataError("must have tables [models.NAME], and nothing else.", path=path)
    try:
        return check_entry_names([_from_table(name, table) for name, table in tables.items()])
    except (ValueError, TypeError) as error:
        raise DataError(str(error), path=path) from None


def _from_table(name: str, table: Any) -> Entry:
    if not isinstance(table, Mapping) or not set(table) <= set(_KEYS):
        raise ValueError(f"models.{name} may have {', '.join(_KEYS)} only.")
    if "model" not in table:
        if table:
            raise ValueError(f"models.{name} must name its model, such as model = 'linear'.")
        return entry_of(name)
    told = paper_params(table["model"]) if table.get("paper", False) else {}
    estimator = make_model(table["model"], **told | dict(table.get("params", {})))
    estimator.check_params()
    space = parse_space(table.get("search", {}))
    return Entry(name, estimator, space, str(table.get("family", "")))


def check_entry_names(entries: list[Entry]) -> list[Entry]:
    """Raise unless the names differ, also where files ignore case."""
    if not entries:
        raise ValueError("there must be at least one model to compare.")
    seen: set[str] = set()
    for entry in entries:
        if entry.name.lower() in seen:
            raise ValueError(f"two models have the name {entry.name!r}.")
        seen.add(entry.name.lower())
    return entries


__all__ = ["Choice", "Entry", "Range", "lineup", "read_lineup"]
