"""Who chooses the parameters of the next trial."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from rankwright.comparison.space import Choice, Range, Space, draw_parameters
from rankwright.comparison.store import json_value
from rankwright.data.validation import check_count
from rankwright.extras import load_extra

SamplerName: TypeAlias = Literal["random", "optuna"]


class Sampler(Protocol):
    """Who chooses the parameters of a trial."""

    learns: bool  # whether it chooses by what came of trials before

    def ask(self, number: int, under_way: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the parameters of a trial, given those of which nothing is known yet."""

    def tell(self, params: dict[str, Any], value: float) -> None:
        """Learn what came of a trial."""


class _Even:
    """Points that cover the space evenly, whatever came of those before."""

    learns = False

    def __init__(self, space: Space, random_state: int, higher_is_better: bool) -> None:
        self.space, self.random_state = space, random_state

    def ask(self, number: int, under_way: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return draw_parameters(self.space, number - 1, self.random_state)

    def tell(self, params: dict[str, Any], value: float) -> None:
        pass


class _Optuna:
    """Optuna's TPE, through its ask-and-tell interface."""

    learns = True

    def __init__(self, space: Space, random_state: int, higher_is_better: bool) -> None:
        optuna = load_extra("optuna", "tune", "sampler='optuna' needs")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna, self.space, self.random_state = optuna, space, random_state
        self._direction = "maximize" if higher_is_better else "minimize"
        self._running = optuna.trial.TrialState.RUNNING
        self._told: list[Any] = []
        # A choice is one by its position: Optuna keeps plain values only.
        self._distributions = {
            name: optuna.distributions.CategoricalDistribution(tuple(range(len(d.values))))
            if isinstance(d, Choice)
            else _optuna_range(optuna, d)
            for name, d in space.items()
        }

    def ask(self, number: int, under_way: Sequence[dict[str, Any]]) -> dict[str, Any]:
        # A study and a seed for each trial: it chooses by what it hears here and by nothing else,
        # so that a search that was stopped resumes as if it had not been.
        study = self._optuna.create_study(direction=self._direction, sampler=self._tpe(number))
        study.add_trials([*self._told, *self._trials(under_way, state=self._running)])
        chosen = study.ask(self._distributions).params
        for name, dimension in self.space.items():
            if isinstance(dimension, Choice):
                chosen[name] = dimension.values[chosen[name]]
        return dict(chosen)

    def tell(self, params: dict[str, Any], value: float) -> None:
        if not math.isnan(value):
            self._told += self._trials([params], value=value)

    def _tpe(self, number: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # before Optuna 5 the liar is an experiment
            # Keeps away from what is under way: it counts as if it were bad.
            return self._optuna.samplers.TPESampler(
                seed=self.random_state + number, constant_liar=True
            )

    def _trials(self, tried: Sequence[dict[str, Any]], **known: Any) -> list[Any]:
        """Return trials of Optuna; none for parameters that lie outside the space."""
        places = [self._places(params) for params in tried]
        return [
            self._optuna.trial.create_trial(params=p, distributions=self._distributions, **known)
            for p in places
            if p is not None
        ]

    def _places(self, params: dict[str, Any]) -> dict[str, Any] | None:
        """Return where parameters lie; the estimator's own may lie outside."""
        places: dict[str, Any] = {}
        for name, d in self.space.items():
            place: Any = params[name]
            if isinstance(d, Choice):
                texts = [json_value(v) for v in d.values]
                place = texts.index(json_value(place)) if json_value(place) in texts else None
            elif not d.low <= place <= d.high:
                place = None
            if place is None:
                return None
            places[name] = place
        return places


def _optuna_range(optuna: Any, d: Range) -> Any:
    if d.integer:
        return optuna.distributions.IntDistribution(int(d.low), int(d.high), log=d.log)
    return optuna.distributions.FloatDistribution(d.low, d.high, log=d.log)


def choose_sampler(name: str, n_parallel: int = 1) -> Callable[[Space, int, bool], Sampler]:
    """Return what makes a sampler of a space, a seed, and whether higher is better."""
    samplers: dict[str, type[_Even] | type[_Optuna]] = {"random": _Even, "optuna": _Optuna}
    if name not in samplers:
        raise ValueError(f"sampler must be 'random' or 'optuna', but is {name!r}.")
    check_count("n_parallel", n_parallel)
    if n_parallel > 1 and not samplers[name].learns:
        raise ValueError(
            f"n_parallel is for sampler='optuna': {name!r} has as many trials under way as there "
            "are workers for."
        )
    return samplers[name]
