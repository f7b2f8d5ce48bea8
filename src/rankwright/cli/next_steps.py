"""The commands that come next, ready to be copied: fit what was found, and score with it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankwright.cli.columns import column_words
from rankwright.cli.terminal import doing
from rankwright.models import name_and_params

if TYPE_CHECKING:
    from rankwright.comparison.result import Comparison
    from rankwright.data.columns import Columns


def train_command(
    estimator: Any,
    name: str,
    data: Sequence[str],
    out: str,
    *,
    columns: Columns,
    allow_overlap: bool = False,
) -> str | None:
    """Return the command that fits an estimator to files; None if there is no such command.

    Parameters
    ----------
    estimator : object
        The model; its parameters that the name does not imply become ``-p``.
    name : str
        Its name; another one is found if ``train`` does not know it.
    data : sequence of str
        The files.
    out : str
        The model file.
    columns : Columns
        What was said about the columns of tables.
    allow_overlap : bool
        Whether files may have queries in common.
    """
    known = name_and_params(estimator, name)
    if known is None or "-" in data:
        return None
    words = ["rankwright", "train", *map(_path_word, data), "--model", known[0]]
    for key, value in known[1].items():
        text = _literal_text(value)
        if text is None:
            return None
        words += ["-p", f"{key}={text}"]
    words += column_words(columns, trains=True)
    words += ["--allow-overlap"] if allow_overlap else []
    return shlex.join([*words, "-o", out])


def predict_command(model: str, data: str, out: str, *, columns: Columns) -> str | None:
    """Return the command that scores a file; None if it cannot be read again."""
    if data == "-":
        return None
    words = ["rankwright", "predict", _path_word(model), _path_word(data)]
    return shlex.join([*words, *column_words(columns), "-o", out])


def _path_word(path: str) -> str:
    """Return a path that is not taken for an option."""
    return f"./{path}" if path.startswith("-") else path


def _literal_text(value: Any) -> str | None:
    """Return the text that ``-p`` reads as this value, or None."""
    from rankwright.comparison.space import literal

    value = value.item() if hasattr(value, "item") else value
    for text in (str(value), repr(value)):
        found = literal(text)
        if type(found) is type(value) and found == value:
            return text
    return None


# ---- after a comparison ----


def write_refitted(result: Comparison, path: str) -> None:
    """Fit the best model to all queries, and write it."""
    from rankwright.evaluation.folds import queries_of
    from rankwright.persistence import save

    if not result.standings:
        raise ValueError("--refit needs a model that did not fail.")
    queries = queries_of(result.folds)
    with doing(f"Fitting {result.best} to all queries"):
        model = result.refit(dataset=queries)
    save(model, path)
    typer.echo(
        f"{path}: {result.best}, fitted to all {queries.n_queries} queries (training, validation "
        f"and test), {queries.n_docs} documents",
        err=True,
    )


def next_steps(
    result: Comparison,
    data: str,
    others: list[str | None],
    refit: str | None,
    out: str,
    columns: Columns,
    allow_overlap: bool,
) -> list[str]:
    """Return the commands that fit the winner to all data, and that score with it."""
    from rankwright.evaluation.folds import fold_files, has_folds, queries_of

    if not result.standings:
        return []
    files = [data, *(path for path in others if path is not None)]
    if Path(data).is_dir() and has_folds(data):
        by_fold = [[str(f) for f in parts.values()] for parts in fold_files(data).values()]
        n_first = sum(part.n_queries for part in result.folds[0].parts().values())
        if queries_of(result.folds).n_queries == n_first:
            files = by_fold[0]
        else:  # the folds are not rotations of the same queries
            files, allow_overlap = [path for paths in by_fold for path in paths], True
    model = str(Path(out) / "model.rw") if refit is None else refit
    train = train_command(
        result.chosen(), result.best, files, model, columns=columns, allow_overlap=allow_overlap
    )
    scores = str(Path(out) / "scores.txt")
    predict = predict_command(model, files[-1], scores, columns=columns)
    return [command for command in (train, predict) if command is not None]


def print_steps(result: Comparison, steps: list[str], *, refitted: bool) -> None:
    """Print the commands, on standard error."""
    if not steps:
        return
    if refitted:
        steps = [step for step in steps if step.startswith("rankwright predict ")]
        typer.echo("\nTo score documents with it:", err=True)
    else:
        typer.echo(
            f"\nTo fit {result.best} to all of this data, and to score documents with it:", err=True
        )
    for command in steps:
        typer.echo(command, err=True)
