"""All models by name: the one list that model files, command line and comparisons share.

To add a model, add a line to ``MODELS``. Its class follows scikit-learn's conventions and
:class:`rankwright.estimator.Model`, which says what else is asked of a model. ``VARIANTS`` are
names for a model with some of its parameters. A name is the same model with the same parameters
for ``train``, ``compare`` and ``tune``: what :func:`make_model` returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from rankwright.suggestions import meant

MODELS: dict[str, tuple[str, str]] = {  # name on the command line: package, class
    "linear": ("rankwright.linear", "LinearRanker"),
    "slam-perceptron": ("rankwright.online", "SLAMPerceptron"),
    "online": ("rankwright.online", "OnlineRanker"),
    "prank": ("rankwright.online", "PRank"),
    "widrow-hoff": ("rankwright.online", "WidrowHoff"),
    "multiclass-perceptron": ("rankwright.online", "MulticlassPerceptron"),
    "predtron-classifier": ("rankwright.predtron", "PredtronClassifier"),
    "predtron-ordinal": ("rankwright.predtron", "PredtronOrdinal"),
    "predtron-multilabel": ("rankwright.predtron", "PredtronMultilabel"),
    "predtron-ranker": ("rankwright.predtron", "PredtronRanker"),
    "predtron-label-ranker": ("rankwright.predtron", "PredtronLabelRanker"),
    "boosted": ("rankwright.trees", "BoostedRanker"),
    "ensemble": ("rankwright.ensemble", "EnsembleRanker"),
    "pamir": ("rankwright.online", "PAMIR"),
    "domination-rank": ("rankwright.linear", "DominationRank"),
    "best-feature": ("rankwright.baselines", "BestFeature"),
    "random": ("rankwright.baselines", "RandomRanker"),
}
# Chosen on validation queries of small public and generated data; leaf_l2 fades with more queries.
_GROWING = {"n_estimators": 300, "early_stopping_rounds": 30, "num_leaves": 15, "leaf_l2": 10.0}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {  # name on the command line: model, parameters
    "xendcg-linear": ("linear", {"loss": "xendcg", "alpha": 1e-2}),
    "smooth-slam-linear": ("linear", {"loss": "smooth-slam", "alpha": 1e-2}),
    "slam-linear": ("linear", {"loss": "slam", "alpha": 1e-2}),
    "domination-rank-l1": ("domination-rank", {"penalty": "l1", "alpha": 3e-2, "tol": 1e-3}),
    "xendcg-trees": ("boosted", {"loss": "xendcg", **_GROWING}),
    "lambdarank-trees": ("boosted", {"loss": "lambdarank", **_GROWING}),
    "listnet-trees": ("boosted", {"loss": "listnet", **_GROWING}),
    "stochastic-lambdarank-trees": ("boosted", {"loss": "stochastic-lambdarank", **_GROWING}),
    "graft": ("boosted", {"loss": "xendcg", "base": "auto", **_GROWING}),
}
NAMES = (*MODELS, *VARIANTS)
# Where a name means something else than the defaults of its class. Files have features of any
# scale, and lack values; who writes a program knows his own.
_FOR_FILES: dict[str, Any] = {"standardize": True, "missing": "median"}
_SETTINGS: dict[str, dict[str, Any]] = {
    "domination-rank": {"alpha": 1e-2},
    "pamir": {"C": 1e-3},
    "ensemble": {"members": "stochastic-lambdarank-trees"},
}
# What model files may hold: those, and what a file of labelled queries cannot train.
CLASSES = {kind: package for package, kind in MODELS.values()} | {
    "TopicRankers": "rankwright.linear",
}


def model_class(name: str) -> Any:
    """Return the class of a model by its name on the command line."""
    if name not in NAMES:
        raise ValueError(
            f"model must be one of {', '.join(NAMES)}, but is {name!r}.{meant(name, NAMES)}"
        )
    package, kind = MODELS[base_name(name)]
    return getattr(import_module(package), kind)


def base_name(name: str) -> str:
    """Return the model of a variant, any other name as it is."""
    return VARIANTS[name][0] if name in VARIANTS else name


def family(name: str) -> str:
    """Return the family of a model by its name: linear, online, trees, predtron or baseline.

    Trees that go on from another model are a family of their own, ``"graft"``: not one forest.
    """
    if "base" in VARIANTS.get(name, ("", {}))[1]:
        return "graft"
    return MODELS[base_name(name)][0].rpartition(".")[2].replace("baselines", "baseline")


def make_model(name: str, **params: Any) -> Any:
    """Return a model by its name on the command line, with these parameters.

    Examples
    --------
    >>> from rankwright.models import make_model
    >>> make_model("linear", loss="listnet", alpha=0.1)
    LinearRanker(alpha=0.1, loss='listnet', missing='median', standardize=True)
    """
    kind = model_class(name)
    known = kind().get_params()
    for key in params:
        if key not in known:
            raise ValueError(
                f"{name} has no parameter {key!r}; it has {', '.join(known)}.{meant(key, known)}"
            )
    base, own = VARIANTS.get(name, (name, {}))
    common = {key: value for key, value in _FOR_FILES.items() if key in known}
    return kind(**common | _SETTINGS.get(base, {}) | own | params)


def paper_params(name: str) -> dict[str, Any]:
    """Return the parameters with which an online model is its paper's algorithm.

    Examples
    --------
    >>> from rankwright.models import paper_params
    >>> paper_params("widrow-hoff")["n_epochs"]
    1
    """
    kind = model_class(name)
    if not hasattr(kind, "paper_params"):
        raise ValueError(f"only models that learn online have a paper's setting, not {name}.")
    found: dict[str, Any] = kind.paper_params()
    return found


def name_and_params(estimator: Any, name: str = "") -> tuple[str, dict[str, Any]] | None:
    """Return a name, and the parameters with which :func:`make_model` returns an equal estimator.

    Parameters
    ----------
    estimator : object
        Any estimator; for one that no name stands for, None is returned.
    name : str, optional
        A name to prefer, if it is one of an estimator of this class.

    Examples
    --------
    >>> from rankwright.models import make_model, name_and_params
    >>> name_and_params(make_model("xendcg-linear", alpha=0.1), "xendcg-linear")
    ('xendcg-linear', {'alpha': 0.1})
    """
    of_class = [n for n in MODELS if MODELS[n][1] == type(estimator).__name__]
    if not of_class or type(estimator) is not model_class(of_class[0]):
        return None
    if name not in NAMES or base_name(name) not in of_class:
        name = of_class[0]
    usual: Mapping[str, Any] = make_model(name).get_params(deep=False)
    given = estimator.get_params(deep=False).items()
    return name, {k: v for k, v in given if k != "n_jobs" and not _is_same(v, usual[k])}


def _is_same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and repr(a) == repr(b)
