"""The best model that a target can hold: those that it cannot are passed over, and said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.comparison.result import Comparison
from rankwright.data.files import PathLike
from rankwright.exceptions import DataError
from rankwright.showing import Brief

if TYPE_CHECKING:
    from rankwright.exports.certificate import Certificate
    from rankwright.exports.refusals import Refusal


@dataclass(frozen=True, repr=False)
class Shipped(Brief):
    """A model of a comparison that was exported.

    Attributes
    ----------
    name : str
        The model.
    model : estimator
        It, fitted to all queries.
    certificate : Certificate
        What was proved.
    passed_over : dict
        The better models, best first, and why the target cannot hold them.
    """

    name: str
    model: Any
    certificate: Certificate
    passed_over: dict[str, str]


class NothingHeldError(DataError):
    """No model of a comparison that a target can hold.

    Attributes
    ----------
    passed_over : dict
        All models, best first, and why the target cannot hold them.
    """

    def __init__(self, target: str, refusals: dict[str, Refusal]) -> None:
        self.passed_over = {name: str(refusal) for name, refusal in refusals.items()}
        name, first = next(iter(refusals.items()))
        super().__init__(f"{target} can hold no model that was compared. Of {name}: {first}")


def export_best(
    result: Comparison,
    target: str,
    path: PathLike,
    *,
    refitted: Mapping[str, Any] | None = None,
    **options: Any,
) -> Shipped:
    """Export the best model that a target can hold, fitted to all queries.

    Models are taken in the order of the leaderboard. One that the target refuses is passed over.
    Its model of the first fold is asked before it is fitted again, which may take long.

    Parameters
    ----------
    result : Comparison
        What was compared.
    target : str
        Where the model goes, such as ``"solr"``; see ``rankwright export --list``.
    path : str or path-like
        The file to write.
    refitted : mapping, optional
        Models that are fitted to all queries already, by name.
    **options
        As for :func:`rankwright.export`; ``data`` are the first test queries by default.

    Raises
    ------
    NothingHeldError
        If the target can hold none.
    """
    # Exports load much that comparisons do not need.
    from rankwright.exports.exporting import check_holds, export
    from rankwright.exports.refusals import Refusal

    if not result.standings:
        raise ValueError("every model failed: there is none to export.")
    # Whether a model can be held depends on neither of the others.
    asked = {key: options[key] for key in options.keys() - {"data", "overwrite", "probes"}}
    called = Path(path).with_suffix("").name
    known = {} if refitted is None else refitted
    given = {"data": result.folds[0].test, **options}
    refusals: dict[str, Refusal] = {}
    for standing in result.standings:
        name = standing.name
        try:
            if (fitted := _kept_model(result, name)) is not None:
                check_holds(fitted, target, called, **asked)
            model = known[name] if name in known else result.refit(name)
            check_holds(model, target, called, **asked)
            certificate = export(model, target, path, **given)
        except Refusal as refusal:
            refusals[name] = refusal
            continue
        told = {other: str(refusal) for other, refusal in refusals.items()}
        return Shipped(name, model, certificate, told)
    raise NothingHeldError(target, refusals)


def _kept_model(result: Comparison, name: str) -> Any:
    """Return the model of the first fold; None if it was not kept."""
    try:
        return result.model(name)
    except KeyError:
        return None
