"""The one place that loads LightGBM, when it is first needed.

The OpenMP of most systems does not survive a fork: a child that asks it for a second thread waits
for ever. So LightGBM has one thread in forked processes; the trees are the same.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from rankwright.data.validation import Matrix
from rankwright.docstrings import keep_docstrings
from rankwright.threads import n_threads
from rankwright.trees.shared_bins import current_bins

if TYPE_CHECKING:
    from lightgbm import Booster

QUIET = {"verbosity": -1}
# Bins are made without a look at who will use them: no feature is left out because
# min_child_samples allows no split of it, and the values that bins are made of do not hang on the
# model's seed. So they can be shared.
BINNING = {"feature_pre_filter": False, "data_random_seed": 1}
_GROWING = frozenset(
    {
        "learning_rate",
        "num_leaves",
        "min_data_in_leaf",
        "feature_fraction",
        "feature_fraction_bynode",
        "lambda_l2",
        "path_smooth",
        "min_gain_to_split",
        "extra_trees",
        "seed",
    }
)

_forked = False  # whether this process is the child of one that had loaded this module
_warned = False


def _after_fork() -> None:
    global _forked, _warned
    _forked, _warned = True, False
    if "lightgbm.basic" in sys.modules:
        _limit(sys.modules["lightgbm.basic"])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _limit(basic: Any) -> None:
    """Let LightGBM have one thread, whatever it is asked for: reading a model asks for all."""
    basic._LIB.LGBM_SetMaxThreads(1)


def _lightgbm() -> Any:
    keep_docstrings()
    import lightgbm

    if _forked:
        _limit(lightgbm.basic)
    return lightgbm


def parameter_names() -> list[str]:
    """Return the names of all of LightGBM's parameters, with their aliases."""
    aliases: dict[str, list[str]] = _lightgbm().basic._ConfigAliases._get_all_param_aliases()
    return sorted({name for names in aliases.items() for name in (names[0], *names[1])})


def threads(n_jobs: int | None) -> int:
    """Return the number of threads for LightGBM; one in a forked process, with one warning."""
    global _warned
    n = n_threads(n_jobs)
    if n == 1 or not _forked:
        return n
    if not _warned:
        _warned = True
        warnings.warn(
            "LightGBM uses one thread here: OpenMP cannot start threads in a forked process. Start "
            "processes by spawn or forkserver, or pass n_jobs=1.",
            stacklevel=2,
        )
    return 1


def new_booster(
    params: dict[str, Any],
    X: Matrix,
    valid: Matrix | None,
    categorical: list[int],
    starts: tuple[Any, Any] = (None, None),
    **fields: Any,
) -> Booster | None:
    """Return a booster without trees, or None if no feature can be split.

    ``categorical`` are columns of categories; ``starts`` the scores that training and validation
    begin with; ``fields`` are what LightGBM's own losses need.
    """
    if categorical:
        fields["categorical_feature"] = categorical
    train = _beginning(_binned(params, X, None, fields), starts[0])
    if not any(train.feature_num_bin(j) > 1 for j in range(X.shape[1])):
        return None  # LightGBM takes that for a fault
    booster: Booster = _lightgbm().Booster(params, train)
    if valid is not None:
        other = _beginning(_binned(params, valid, train, {}), starts[1])
        booster.add_valid(other, "valid")
    return booster


def _beginning(dataset: Any, scores: Any) -> Any:
    """Return features with the scores to begin with: a booster copies them when it meets them."""
    dataset.set_field("init_score", scores)  # None as well: others may share what this one had
    return dataset


def _binned(params: dict[str, Any], X: Matrix, reference: Any, fields: dict[str, Any]) -> Any:
    """Return features in LightGBM's bins, or in those of a reference; they may be shared."""
    bins = current_bins()
    # Bins that know labels are not shared, nor those without features that a split of few documents
    # would need: someone asked for that.
    alone = (
        not fields.keys() <= {"categorical_feature"} or params["feature_pre_filter"] is not False
    )
    used = {name: value for name, value in params.items() if name not in _GROWING}

    def make() -> Any:
        rows = as_lightgbm_takes_it(X)
        return _lightgbm().Dataset(rows, params=used, reference=reference, **fields).construct()

    return make() if bins is None or alone else bins.of(X, (used, fields, reference), make)


def read_booster(text: str) -> tuple[Booster, str]:
    """Return the model of a text that was checked, by LightGBM, and LightGBM's version."""
    lightgbm = _lightgbm()
    with errors():
        return lightgbm.Booster(model_str=text), lightgbm.__version__


def as_lightgbm_takes_it(X: Matrix) -> Any:
    """Return the features; of the sparse forms it knows matrices only."""
    return sp.csr_matrix(X) if sp.issparse(X) else X


@contextmanager
def errors() -> Iterator[None]:
    """Turn LightGBM's errors into ours, in one line."""
    kind = _lightgbm().basic.LightGBMError
    try:
        yield
    except kind as error:
        raise ValueError(f"LightGBM: {' '.join(str(error).split())}") from None
