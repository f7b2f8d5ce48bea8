"""``rankwright train --stream``: learning from files larger than memory, with checkpoints."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import typer

from rankwright.cli.meter import meter
from rankwright.cli.stopping import resumable
from rankwright.data.files import STANDARD


def train_stream(
    ranker: Any,
    name: str,
    files: list[str],
    out: str,
    *,
    checkpoint_every: int | None,
    resume: bool,
    jobs: int | None,
) -> Any:
    """Train from a stream, write the model and return it; ``name`` is the model's name here."""
    from rankwright.persistence import save
    from rankwright.streaming import EVERY, fit_stream, is_device

    if len(files) > 1:
        raise ValueError(f"--stream learns from one file, but there are {len(files)}.")
    (data,) = files
    _check_options(ranker, name, data, out, checkpoint_every, resume)
    every = EVERY if checkpoint_every is None else checkpoint_every
    is_kept = every and not any(place == STANDARD or is_device(place) for place in (data, out))
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
    ranker: Any, name: str, data: str, out: str, checkpoint_every: int | None, resume: bool
) -> None:
    """Raise for options that do not go together."""
    from rankwright.models import MODELS, model_class
    from rankwright.online import OnlineLearner
    from rankwright.streaming import is_device

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
    if asked and (data == STANDARD or is_device(data)):
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
