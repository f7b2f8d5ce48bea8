"""Searches and studies as a text, and as a notebook shows them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rankwright.html import Number, bar, boxed, fixed, headed, interval_bar, span_of, tabled
from rankwright.showing import and_more, brief, counted, lined_up

if TYPE_CHECKING:
    from rankwright.comparison.noise_curves import NoiseStudy
    from rankwright.comparison.study import Study, Trial

_MOST = 10  # trials of a study, as text


def parameter_text(value: Any) -> str:
    """Return a parameter as people read it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else brief(value)


def share_text(share: float) -> str:
    """Return a share of the training queries as people read it.

    >>> share_text(1 / 9), share_text(1.0)
    ('1/9', 'all')
    """
    return "all" if share == 1 else str(Fraction(share).limit_denominator(10_000))


def study_text(study: Study) -> str:
    """Return the best trials."""
    trials = study.best_first()
    names = list(trials[0].params) if trials else []
    sampled = ["of the queries"] if any(trial.share < 1 for trial in trials) else []
    rows = [["trial", study.metric, *names, *sampled]]
    for trial in trials[:_MOST]:
        params = map(parameter_text, trial.params.values())
        share = [share_text(trial.share) for _ in sampled]
        rows.append([str(trial.number), _value_text(trial), *params, *share])
    return "\n".join(filter(None, [lined_up(rows), and_more(len(trials), _MOST)]))


def _value_text(trial: Trial) -> str:
    return "failed" if trial.error else f"{trial.value:.4f}"


def study_html(study: Study) -> str:
    """Return the trials with bars, best first."""
    trials = study.best_first()
    names = list(trials[0].params) if trials else []
    span = span_of([mean for trial in trials for mean in trial.folds])
    rows = [
        [
            Number(trial.number),
            fixed(trial.value),
            interval_bar(trial.value, min(trial.folds), max(trial.folds), span)
            if trial.folds and not trial.error
            else "",
            *(Number(parameter_text(value)) for value in trial.params.values()),
            fixed(trial.seconds, 1),
            trial.error,
        ]
        for trial in trials
    ]
    title = headed(counted(len(trials), "trial", "trials"), f"by {study.metric}, best first")
    heads = ["trial", study.metric, "over the folds", *names, "seconds", ""]
    return boxed(title, tabled(heads, rows))


def noise_text(study: NoiseStudy) -> str:
    """Return the mean of each model at each level."""
    rows = [["model", *(f"{level:g}" for level in study.levels)]]
    rows += [[model, *(f"{v:.4f}" for v in study.curve(model)[0])] for model in study.models]
    return f"{_about(study)}\n{lined_up(rows)}"


def noise_html(study: NoiseStudy) -> str:
    """Return the mean of each model at each level, with its loss from the first to the last."""
    curves = {model: study.curve(model)[0] for model in study.models}
    lost = {model: float(curve[0] - curve[-1]) for model, curve in curves.items()}
    span = span_of(list(lost.values()), zero=True)
    rows = [
        [model, *map(fixed, curve), fixed(lost[model]), bar(lost[model], span)]
        for model, curve in curves.items()
    ]
    heads = ["model", *(f"{level:g}" for level in study.levels), "lost", ""]
    return boxed(headed(_about(study)), tabled(heads, rows))


def _about(study: NoiseStudy) -> str:
    trials = counted(study.n_trials, "trial", "trials")
    return f"{study.metric}, mean of {trials}, by {study.corruption.level}"
