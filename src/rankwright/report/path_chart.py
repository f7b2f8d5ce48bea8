"""A regularisation path as a chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankwright.report.charts import Series, line_chart, small_multiples

if TYPE_CHECKING:
    from rankwright.linear import PathPoint


def path_chart(points: Sequence[PathPoint], *, quality: str = "NDCG@10", title: str = "") -> Any:
    """Draw quality, loss and number of features against the penalty weight.

    A dashed line is where validation is best: by quality, or else by loss.

    Parameters
    ----------
    points : sequence of PathPoint
        What ``path`` of a linear ranker returns.
    quality : str, default "NDCG@10"
        What to call the quality.
    title : str
        Heading of the whole.

    Returns
    -------
    Altair chart
        Save it with :func:`rankwright.report.charts.save_chart`.
    """
    alphas = [point.alpha for point in points]

    def panel(name: str, series: dict[str, list[float]]) -> Any:
        shown = {key: Series(alphas, values) for key, values in series.items()}
        return line_chart(
            shown,
            x="alpha",
            y=name,
            log_x=True,
            points=True,
            marked=_best_alpha(points),
            width=260,
            height=180,
        )

    panels = {}
    if not all(math.isnan(point.quality) for point in points):
        panels[quality] = panel(quality, {"validation": [point.quality for point in points]})
    losses = {"training": [point.loss for point in points]}
    if not all(math.isnan(point.valid_loss) for point in points):
        losses["validation"] = [point.valid_loss for point in points]
    panels["mean loss"] = panel("mean loss", losses)
    counts = {"features": [float(point.n_features) for point in points]}
    panels["features in use"] = panel("features", counts)
    return small_multiples(panels, columns=3, title=title)


def _best_alpha(points: Sequence[PathPoint]) -> float | None:
    """Return the penalty weight that is best on the validation queries, if there were any."""
    by_quality = [(p.quality, p.alpha) for p in points if not math.isnan(p.quality)]
    by_loss = [(-p.valid_loss, p.alpha) for p in points if not math.isnan(p.valid_loss)]
    return max(by_quality or by_loss)[1] if by_quality or by_loss else None
