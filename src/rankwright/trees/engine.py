"""The one place that loads LightGBM, when it is first needed.

The OpenMP of most systems does not survive a fork: a child that asks it for a second thread waits
for ever. So LightGBM has one thread in forked processes; the trees are the same.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from rankwright.data.groups import Groups
from rankwright.data.pages import give_back
from rankwright.data.spool import Spool
from rankwright.data.validation import Matrix
from rankwright.docstrings import keep_docstrings
from rankwright.threads import n_threads
from rankwright.trees.bins import sample_rows, sample_size
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

_AT_A_TIME = 1 << 22  # values that are sorted into bins at a time, where rows are mapped from files

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
    groups: Groups,
    valid: Matrix | None,
    categorical: list[int],
    starts: tuple[Any, Any] = (None, None),
    **fields: Any,
) -> Booster | None:
    """Return a booster without trees, or None if no feature can be split.

    ``groups`` are the queries of X, by which a sample for the bins is drawn; ``categorical`` are
    columns of categories; ``starts`` the scores that training and validation begin with; ``fields``
    are what LightGBM's own losses need.
    """
    if categorical:
        fields["categorical_feature"] = categorical
    train = _beginning(_binned(params, X, groups, fields), starts[0])
    if not splits_something(train):
        return None
    booster: Booster = _lightgbm().Booster(params, train)
    if valid is not None:
        other = _beginning(_binned(params, valid, train, {}), starts[1])
        booster.add_valid(other, "valid")
    return booster


def _beginning(dataset: Any, scores: Any) -> Any:
    """Return features with the scores to begin with: a booster copies them when it meets them."""
    dataset.set_field("init_score", scores)  # None as well: others may share what this one had
    return dataset


def _binned(params: dict[str, Any], X: Matrix, source: Any, fields: dict[str, Any]) -> Any:
    """Return features in bins, which may be shared: of the source, or of a sample by its queries.

    Parameters
    ----------
    params : dict
        LightGBM's.
    X : ndarray or sparse matrix
        The features.
    source : Groups or lightgbm.Dataset
        The queries of X; or features whose bins these are to have.
    fields : dict
        What else LightGBM is to know of the rows.
    """
    bins = current_bins()
    # Bins that know labels are not shared, nor those without features that a split of few documents
    # would need: someone asked for that.
    alone = (
        not fields.keys() <= {"categorical_feature"} or params["feature_pre_filter"] is not False
    )
    used = {name: value for name, value in params.items() if name not in _GROWING}
    rows, reference = None, source
    if isinstance(source, Groups):
        reference, size = None, sample_size(params)
        if size < source.n_rows:
            rows = sample_rows(source, size, int(params["data_random_seed"]))

    def make() -> Any:
        known = reference if rows is None else bins_of(used, X[rows], fields)
        taken = as_lightgbm_takes_it(X)
        return _lightgbm().Dataset(taken, params=used, reference=known, **fields).construct()

    if bins is None or alone:
        return make()
    drawn = None if rows is None else rows.tobytes()
    return bins.of(X, (used, fields, reference, drawn), make)


def bins_of(params: dict[str, Any], X: Matrix, fields: Mapping[str, Any]) -> Any:
    """Return features that others may have the bins of: all of these rows tell where they end."""
    known = {name: fields[name] for name in ("categorical_feature",) if name in fields}
    rows = sp.csr_matrix(X) if sp.issparse(X) else X
    return _lightgbm().Dataset(rows, params=params, **known).construct()


def splits_something(dataset: Any) -> bool:
    """Tell whether there is a feature with more than one bin; LightGBM takes none for a fault."""
    return any(dataset.feature_num_bin(j) > 1 for j in range(dataset.num_feature()))


def binned_parts(params: dict[str, Any], matrices: Sequence[Matrix], reference: Any) -> Any:
    """Return the rows of several matrices in the bins of a reference, some of them at a time."""
    lightgbm = _lightgbm()
    sequence: Any = lightgbm.Sequence

    class Rows(sequence):
        """The rows of a matrix, which may be mapped from a file."""

        def __init__(self, X: Matrix) -> None:
            self.X = X
            self.batch_size = max(1, _AT_A_TIME // X.shape[1])

        def __getitem__(self, index: Any) -> Any:
            give_back()  # of the rows before these
            taken = self.X[index]
            return taken.toarray() if sp.issparse(taken) else taken

        def __len__(self) -> int:
            return int(self.X.shape[0])

    rows = [Rows(X) for X in matrices]
    return lightgbm.Dataset(rows, params=params, reference=reference).construct()


def packed_bins(dataset: Any, X: Matrix) -> bytes:
    """Return the bins of features as bytes, for :func:`unpacked_bins`, and none of the features."""
    first = X[:1].toarray() if sp.issparse(X) else X[:1]
    one = _lightgbm().Dataset(first, params=dataset.get_params(), reference=dataset)
    place = Spool()
    path = place.folder / "bins"
    one.save_binary(path)
    return path.read_bytes()


def unpacked_bins(params: dict[str, Any], content: bytes) -> Any:
    """Return features that others may have the bins of."""
    descriptor = os.memfd_create("bins")  # a file that goes with its process, however that ends
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        return _lightgbm().Dataset(f"/proc/self/fd/{descriptor}", params=params).construct()
    finally:
        os.close(descriptor)


def networked_booster(params: dict[str, Any], train: Any, valid: Any, starts: Any) -> Booster:
    """Return a booster on a network with others, which waits until all are there.

    ``starts`` are the scores that training and validation documents begin with. LightGBM knows its
    network by the thread: all calls of this booster must come from the thread of this one.
    """
    with _without_output():  # the network says that it listens, whatever the verbosity
        booster: Booster = _lightgbm().Booster(params, _beginning(train, starts[0]))
    if valid is not None:
        booster.add_valid(_beginning(valid, starts[1]), "valid")
    return booster


@contextmanager
def _without_output() -> Iterator[None]:
    """Let nothing come to the standard output of this process, not from compiled code either."""
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


def is_lightgbms(error: BaseException) -> bool:
    """Tell whether an error comes from LightGBM, as those of its network do."""
    return isinstance(error, _lightgbm().basic.LightGBMError)


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
