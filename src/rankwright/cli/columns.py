"""Options that tell what a file and its columns are: every command that reads one has them all."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from rankwright.data.columns import Columns

TABLE: Any = None  # the default of commands, which get what their options say
TRAINING: Any = object()  # the default of those that fit models
_Names = list[str] | None
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "label": (Annotated[str, typer.Option(help="Tables: the label column.")], "label"),
    "qid": (Annotated[str, typer.Option(help="Tables: the query id column.")], "qid"),
    "doc_id": (
        Annotated[str | None, typer.Option(help="Tables: the document id column.")],
        None,
    ),
    "features": (
        Annotated[
            _Names,
            typer.Option(
                help="Tables: feature columns, separated by commas; all numeric ones by default."
            ),
        ],
        None,
    ),
    "ignore": (
        Annotated[_Names, typer.Option(help="Tables: columns to ignore, likewise.")],
        None,
    ),
    "categorical": (
        Annotated[_Names, typer.Option(help="Tables: categorical columns, likewise.")],
        None,
    ),
    "format": (
        Annotated[
            str | None,
            typer.Option(
                help="Format of DATA, if its name does not say: letor, csv, tsv, jsonl, parquet."
            ),
        ],
        None,
    ),
}

_FOR_MODELS: dict[str, tuple[Any, Any]] = {
    "missing": (
        Annotated[
            str | None,
            typer.Option(
                help="What stands for missing values in linear and online models: median "
                "(default) or zero; error refuses them."
            ),
        ],
        None,
    ),
    "missing_indicator": (
        Annotated[
            bool,
            typer.Option(
                "--missing-indicator",
                help="Add a feature for each with missing values: 1 where missing.",
            ),
        ],
        False,
    ),
}


def with_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its argument ``columns``, if it has that one."""
    parameters = inspect.signature(command).parameters
    if "columns" not in parameters:
        return command
    trains = parameters["columns"].default is TRAINING
    options = _OPTIONS | (_FOR_MODELS if trains else {})
    hints = get_type_hints(command, localns={"Columns": object}, include_extras=True)
    replaced = []
    for parameter in parameters.values():
        if parameter.name != "columns":
            replaced.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        replaced += [
            inspect.Parameter(
                name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind
            )
            for name, (kind, default) in options.items()
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        from rankwright.data.columns import Columns
        from rankwright.data.missing import MISSING

        chosen = {name: given.pop(name) for name in options}
        if (missing := chosen.get("missing")) not in (None, *MISSING):
            raise ValueError(f"--missing must be one of {', '.join(MISSING)}, but is {missing!r}.")
        for name in ("features", "ignore", "categorical"):
            texts = chosen[name]
            chosen[name] = None if texts is None else _split(texts)
        for name in ("ignore", "categorical"):
            chosen[name] = chosen[name] or ()
        command(columns=Columns(**chosen), **given)

    run.__signature__ = inspect.Signature(replaced)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in replaced}
    del run.__wrapped__  # typer would look there
    return run


def column_words(columns: Columns, *, trains: bool = False) -> list[str]:
    """Return the options that say the same, for another command."""
    words = []
    for name, (_, default) in (_OPTIONS | (_FOR_MODELS if trains else {})).items():
        value, option = getattr(columns, name), f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value not in (default, ()):
            for text in [value] if isinstance(value, str) else value:
                words += [option, text]
    return words


def _split(texts: list[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]
