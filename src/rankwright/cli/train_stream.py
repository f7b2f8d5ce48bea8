"""``rankwright train --stream``: learning from files larger than memory, with checkpoints."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.meter import meter
from rankwright.cli.parts import names_parts, read_local_parts
from rankwright.cli.stopping import resumable
from rankwright.data.files import STANDARD

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def train_stream(
    ranker: Any,
    name: str,
    files: list[str],
    out: str,
    *,
    checkpoint_every: int | None,
    resume: bool,
    jobs: int | None,
    columns: Columns = TABLE,
) -> Any:
    """Train from a stream, write the model and return it; ``name`` is the model's name here."""
    from rankwright.data.files import is_device
    from rankwright.persistence import save
    from rankwright.streaming import EVERY, fit_stream

    in_parts = names_parts(files)
    if len(files) > 1 and not in_parts:
        raise ValueError(f"--stream learns from one file, but there are {len(files)}.")
    read_twice = in_parts or not (files[0] == STANDARD or is_device(files[0]))
    _check_options(ranker, name, files[0], read_twice, out, checkpoint_every, resume)
    data: Any = read_local_parts(files, columns=columns, jobs=jobs) if in_parts else files[0]
    every = EVERY if checkpoint_every is None else checkpoint_every
    is_kept = every and read_twice and not (out == STANDARD or is_device(out))
    kept = resumable(more=("--resume",)) if is_kept else contextlib.nullcontext()
    with kept, meter() as shown, _said():
        fitted = fit_stream(
            ranker,
            data,
            out=None if out == STANDARD else out,
            checkpoint_every=every,
            resume=resume,
            n_jobs=jobs,
            callback=shown,
        )
    if out == STANDARD:
        save(fitted, out)
    return fitted


def _check_options(
    ranker: Any,
    name: str,
    data: str,
    read_twice: bool,
    out: str,
    checkpoint_every: int | None,
    resume: bool,
) -> None:
    """Raise for options that do not go together."""
    from rankwright.data.files import is_device
    from rankwright.models import MODELS, model_class
    from rankwright.online import OnlineLearner

    if not isinstance(ranker, OnlineLearner):
        online = [model for model in MODELS if issubclass(model_class(model), OnlineLearner)]
        raise ValueError(
            f"--stream needs a model that learns online, but is {name}. There are "
            f"{', '.join(online)}."
        )
    if checkpoint_every is not None and checkpoint_every < 0:
        raise ValueError(f"--checkpoint-every must be at least 0, but is {checkpoint_every}.")
    asked = resume or bool(checkpoint_every)
    if asked and (out == STANDARD or is_device(out)):
        where = "standard output" if out == STANDARD else out
        raise ValueError(
            f"there is no place for checkpoints beside {where}: leave out --resume and "
            "--checkpoint-every, or write the model to a file."
        )
    if asked and not read_twice:
        where = "standard input" if data == STANDARD else data
        raise ValueError(
            f"{where} cannot be read twice, so there is nothing to resume from: leave out --resume "
            "and --checkpoint-every, or write the data to a file."
        )


@contextlib.contextmanager
def _said() -> Iterator[None]:
    """Print what the library says of the run."""

    class Echo(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            typer.echo(record.getMessage(), err=True)

    logger, handler = logging.getLogger("rankwright.streaming"), Echo()
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
