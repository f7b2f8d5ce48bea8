"""Options that tell what the columns of a table are: every command that reads one has them all."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from rankwright.data.columns import Columns

TABLE: Any = None  # the default of commands, which get what their options say
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
                help="Tables: columns to use, with commas, or repeated; all numbers by default."
            ),
        ],
        None,
    ),
    "ignore": (
        Annotated[_Names, typer.Option(help="Tables: columns to leave out, likewise.")],
        None,
    ),
}


def with_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its argument ``columns``, if it has that one."""
    parameters = inspect.signature(command).parameters
    if "columns" not in parameters:
        return command
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
            for name, (kind, default) in _OPTIONS.items()
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        from rankwright.data.columns import Columns

        chosen = {name: given.pop(name) for name in _OPTIONS}
        for name in ("features", "ignore"):
            texts = chosen[name]
            chosen[name] = None if texts is None else _split(texts)
        chosen["ignore"] = chosen["ignore"] or ()
        command(columns=Columns(**chosen), **given)

    run.__signature__ = inspect.Signature(replaced)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in replaced}
    del run.__wrapped__  # typer would look there
    return run


def column_words(columns: Columns) -> list[str]:
    """Return the options that say the same, for another command."""
    words = []
    for name, (_, default) in _OPTIONS.items():
        value = getattr(columns, name)
        if value in (default, ()):
            continue
        for text in [value] if isinstance(value, str) else value:
            words += [f"--{name.replace('_', '-')}", text]
    return words


def _split(texts: list[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]
