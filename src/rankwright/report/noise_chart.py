"""The metric against the level of noise, and below it the differences of the rankers."""

from __future__ import annotations

from typing import Any

from rankwright.comparison.noise_curves import NoiseStudy
from rankwright.report.charts import Series, line_chart, small_multiples


def noise_chart(study: NoiseStudy) -> Any:
    """Draw a study; the result goes to :func:`rankwright.report.charts.save_chart`.

    Parameters
    ----------
    study : NoiseStudy
        What :func:`rankwright.comparison.noise_study` returns.
    """
    # Trials differ more than models do: bands that overlap above may part below, where
    # differences are paired.
    first, *others = study.models
    curves = {model: Series(study.levels, *study.curve(model)) for model in study.models}
    x, metric = study.corruption.level, str(study.metric)
    ticks = list(study.levels)
    panels = {
        f"{metric} on test queries": line_chart(curves, x=x, y=metric, points=True, ticks=ticks)
    }
    if others:
        # The first model is its own zero line, so that both panels have the same colours.
        below = {first: Series(study.levels, [0.0] * len(study.levels))}
        for other in others:
            rows = [d for d in study.differences() if d.b == other]
            columns = zip(*((d.mean, d.low, d.high) for d in rows), strict=True)
            below[other] = Series(study.levels, *columns)
        panels[f"{first} minus the others"] = line_chart(
            below, x=x, y="difference", points=True, ticks=ticks, height=180
        )
    return small_multiples(panels, columns=1)
