"""Who chooses the parameters of the next trial."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from rankwright.comparison.space import Choice, Range, Space, draw_parameters
from rankwright.comparison.store import json_value
from rankwright.extras import load_extra

SamplerName: TypeAlias = Literal["random", "optuna"]


class Sampler(Protocol):
    """Who chooses the parameters of a trial."""

    sequential: bool  # whether it must know what came of all trials before

    def ask(self, number: int) -> dict[str, Any]:
        """Return the parameters of a trial."""

    def tell(self, params: dict[str, Any], value: float) -> None:
        """Learn what came of a trial."""


class _Even:
    """Points that cover the space evenly, whatever came of those before."""

    sequential = False

    def __init__(self, space: Space, random_state: int, higher_is_better: bool) -> None:
        self.space, self.random_state = space, random_state

    def ask(self, number: int) -> dict[str, Any]:
        return draw_parameters(self.space, number - 1, self.random_state)

    def tell(self, params: dict[str, Any], value: float) -> None:
        pass


class _Optuna:
    """Optuna's TPE, through its ask-and-tell interface."""

    sequential = True

    def __init__(self, space: Space, random_state: int, higher_is_better: bool) -> None:
        optuna = load_extra("optuna", "tune", "sampler='optuna' needs")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna, self.space, self.random_state = optuna, space, random_state
        self._study = optuna.create_study(direction="maximize" if higher_is_better else "minimize")
        # A choice is one by its position: Optuna keeps plain values only.
        self._distributions = {
            name: optuna.distributions.CategoricalDistribution(tuple(range(len(d.values))))
            if isinstance(d, Choice)
            else _optuna_range(optuna, d)
            for name, d in space.items()
        }

    def ask(self, number: int) -> dict[str, Any]:
        # A sampler seeded by the trial: a study that was stopped resumes as if it had not been.
        self._study.sampler = self._optuna.samplers.TPESampler(seed=self.random_state + number)
        chosen = self._study.ask(self._distributions).params
        for name, dimension in self.space.items():
            if isinstance(dimension, Choice):
                chosen[name] = dimension.values[chosen[name]]
        return dict(chosen)

    def tell(self, params: dict[str, Any], value: float) -> None:
        if math.isnan(value):
            return
        places: dict[str, Any] = {}
        for name, d in self.space.items():
            place: Any = params[name]
            if isinstance(d, Choice):
                texts = [json_value(v) for v in d.values]
                place = texts.index(json_value(place)) if json_value(place) in texts else None
            elif not d.low <= place <= d.high:
                place = None
            if place is None:
                return  # the estimator's own parameters may lie outside
            places[name] = place
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params=places, distributions=self._distributions, value=value
            )
        )


def _optuna_range(optuna: Any, d: Range) -> Any:
    if d.integer:
        return optuna.distributions.IntDistribution(int(d.low), int(d.high), log=d.log)
    return optuna.distributions.FloatDistribution(d.low, d.high, log=d.log)


def choose_sampler(name: str) -> Callable[[Space, int, bool], Sampler]:
    """Return what makes a sampler of a space, a seed, and whether higher is better."""
    samplers: dict[str, Callable[[Space, int, bool], Sampler]] = {
        "random": _Even,
        "optuna": _Optuna,
    }
    if name not in samplers:
        raise ValueError(f"sampler must be 'random' or 'optuna', but is {name!r}.")
    return samplers[name]
