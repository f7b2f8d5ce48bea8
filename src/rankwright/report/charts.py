"""Static charts: lines with bands, scatter plots, small multiples, saved as SVG, PNG or HTML.

The functions return Altair charts, so a caller may use Altair's own methods on them. They need the
extra ``report``: ``pip install 'rankwright[report]'``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.files import PathLike, suffix
from rankwright.data.writing import write_atomically
from rankwright.extras import load_extra
from rankwright.report.inline import script_json
from rankwright.showing import Brief

__all__ = ["Series", "line_chart", "save_chart", "scatter_chart", "small_multiples"]

# Told apart by people with any kind of colour vision, and at least 4.5:1 against white. Dashes
# repeat the distinction for print.
COLORS = ("#0b6fb8", "#c2410c", "#047857", "#7c3aed", "#a16207", "#be185d", "#475569", "#0e7490")
DASHES: tuple[tuple[int, ...], ...] = (
    (1, 0),
    (6, 3),
    (2, 2),
    (8, 3, 2, 3),
    (10, 4),
    (4, 2),
    (1, 3),
    (12, 3, 3, 3),
)
_PLACE = "the chart of rankwright"  # in a page of vl-convert's
_INK, _MUTED, _GRID = "#1f2933", "#52606d", "#e4e7eb"


@dataclass(frozen=True, eq=False, repr=False)
class Series(Brief):
    """One curve or cloud of points.

    Attributes
    ----------
    x, y : array-like of shape (n,)
        Coordinates. Points that are not finite, or not positive on a log axis, are left out.
    low, high : array-like of shape (n,), optional
        A band around a curve.
    labels : sequence of str, optional
        One text a point, shown on hover in HTML.
    """

    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    labels: Sequence[str] | None = None


def line_chart(
    series: Mapping[str, Series],
    *,
    x: str = "",
    y: str = "",
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    zero: bool = False,
    points: bool = False,
    step: bool = False,
    ticks: Sequence[float] | None = None,
    marked: float | None = None,
    width: int = 420,
    height: int = 240,
) -> Any:
    """Draw curves, each with a colour and a dash of its own, and with its band if it has one.

    Parameters
    ----------
    series : mapping of str to Series
        The curves by name, in the order of the legend.
    x, y, title : str
        What the axes show, and the heading.
    log_x, log_y : bool, default False
        Logarithmic axes.
    zero : bool, default False
        Let the vertical axis begin at 0.
    points : bool, default False
        Mark the points.
    step : bool, default False
        Steps instead of slopes.
    ticks : sequence of float, optional
        Where the horizontal axis has its marks; round values by default.
    marked : float, optional
        Where to draw a vertical line, such as at the best value.
    width, height : int
        Pixels of the plot itself.

    Examples
    --------
    >>> chart = line_chart(  # doctest: +SKIP
    ...     {"loss": Series(t, loss, low, high), "bound": Series(t, bound)}, x="queries", log_y=True
    ... )
    >>> save_chart(chart, "loss.svg")  # doctest: +SKIP
    """
    alt = _altair()
    rows = _records(series, log_x, log_y)
    names = list(series)
    shown = _axis(alt, x, log_x, [row["x"] for row in rows])
    if ticks is not None:
        shown["axis"] = alt.Axis(values=list(ticks), labelOverlap=True)
    horizontal = alt.X("x:Q", **shown)
    heights = [row[key] for row in rows for key in ("y", "low", "high") if key in row]
    axis = _axis(alt, y, log_y, heights, zero=zero)
    color, dash = _color(alt, names, stroke=True), _dash(alt, names)
    base = alt.Chart(alt.InlineData(values=rows))
    layers = []
    if any(one.low is not None or one.high is not None for one in series.values()):
        band = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        layers.append(
            band.mark_area(
                opacity=0.16, tooltip=False, interpolate="step-after" if step else "linear"
            ).encode(
                x=horizontal,
                y=alt.Y("low:Q", **axis),
                y2="high:Q",
                color=color,
            )
        )
    if marked is not None:
        rule = alt.Chart(alt.InlineData(values=[{"x": marked}]))
        layers.append(rule.mark_rule(color=_MUTED, strokeDash=[4, 3]).encode(x=horizontal))
    mark = base.mark_line(
        strokeWidth=2,
        point={"filled": True, "size": 30} if points else False,
        interpolate="step-after" if step else "linear",
    )
    tooltip = _tooltip(alt, x, y, rows)
    layers.append(
        mark.encode(
            x=horizontal, y=alt.Y("y:Q", **axis), color=color, strokeDash=dash, tooltip=tooltip
        )
    )
    return _styled(alt.layer(*layers).properties(width=width, height=height), title)


def scatter_chart(
    series: Mapping[str, Series],
    *,
    x: str = "",
    y: str = "",
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    diagonal: bool = False,
    width: int = 320,
    height: int = 320,
) -> Any:
    """Draw clouds of points, each with a colour and a shape of its own.

    Parameters
    ----------
    series : mapping of str to Series
        The clouds by name.
    x, y, title : str
        What the axes show, and the heading.
    log_x, log_y : bool, default False
        Logarithmic axes.
    diagonal : bool, default False
        Draw the line on which both coordinates are equal, with equal axes.
    width, height : int
        Pixels of the plot itself.
    """
    alt = _altair()
    rows = _records(series, log_x, log_y)
    names = list(series)
    values = {key: [row[key] for row in rows] for key in ("x", "y")}
    domain = None
    if diagonal and rows:
        domain = [min(min(v) for v in values.values()), max(max(v) for v in values.values())]
    base = alt.Chart(alt.InlineData(values=rows))
    layers = [
        base.mark_point(filled=True, size=36, opacity=0.7).encode(
            x=alt.X("x:Q", **_axis(alt, x, log_x, values["x"], domain=domain)),
            y=alt.Y("y:Q", **_axis(alt, y, log_y, values["y"], domain=domain)),
            color=_color(alt, names),
            shape=alt.Shape("series:N", scale=alt.Scale(domain=names), legend=_legend(alt, names)),
            tooltip=_tooltip(alt, x, y, rows),
        )
    ]
    if domain is not None:
        ends = alt.InlineData(values=[{"x": value, "y": value} for value in domain])
        line = alt.Chart(ends).mark_line(color=_MUTED, strokeDash=[4, 4], strokeWidth=1)
        layers.insert(0, line.encode(x="x:Q", y="y:Q"))
    return _styled(alt.layer(*layers).properties(width=width, height=height), title)


def small_multiples(
    charts: Mapping[str, Any], *, columns: int = 2, title: str = "", shared_y: bool = False
) -> Any:
    """Set charts beside each other, each under its name.

    Parameters
    ----------
    charts : mapping of str to chart
        What :func:`line_chart` and :func:`scatter_chart` return, by heading.
    columns : int, default 2
        Charts in a row.
    title : str
        Heading of the whole.
    shared_y : bool, default False
        One vertical scale for all.
    """
    alt = _altair()
    if not charts:
        raise ValueError("small_multiples needs at least one chart.")
    panels = []
    for name, chart in charts.items():
        panel = chart.copy(deep=True)
        panel.config = alt.Undefined  # only the whole may have one
        panels.append(panel.properties(title=name))
    # One legend for all panels if they show the same series, else one for each.
    colors = {str(chart.to_dict().get("layer")[-1]["encoding"]["color"]) for chart in panels}
    legend = "shared" if len(colors) == 1 else "independent"
    whole = alt.concat(*panels, columns=columns).resolve_scale(
        color=legend, strokeDash=legend, shape=legend, y="shared" if shared_y else "independent"
    )
    return _styled(whole, title)


def save_chart(chart: Any, path: PathLike, *, scale: float = 2.0) -> None:
    """Write a chart; the name tells the format.

    Parameters
    ----------
    chart : Altair chart
        What the functions of this module return.
    path : str or path-like
        ``*.svg``, ``*.png``, or ``*.html``: one page that needs no network.
    scale : float, default 2.0
        Pixels of a ``*.png`` for each of the chart's.
    """
    kind = suffix(path)
    if kind not in (".svg", ".png", ".html"):
        raise ValueError(f"a chart can be saved as .svg, .png or .html, but not as {path!s}.")
    _altair()
    convert: Any = load_extra("vl_convert", "report", "charts need")
    spec = chart.to_dict()
    if kind == ".png":
        content: bytes = convert.vegalite_to_png(spec, scale=scale)
    elif kind == ".svg":
        content = convert.vegalite_to_svg(spec).encode()
    else:
        content = _page(convert, spec).encode()
    with write_atomically(path) as out:
        out.write(content)


def _page(convert: Any, spec: dict[str, Any]) -> str:
    """Return a chart as a page, in which no name ends the script that holds it.

    vl-convert writes names as they come; so it is given a chart of nothing but a mark, which is
    replaced.
    """
    page: str = convert.vegalite_to_html({"description": _PLACE}, bundle=True)
    before, found, after = page.partition(f'{{"description":"{_PLACE}"}}')
    if not found or _PLACE in after:
        raise RuntimeError("vl-convert writes pages in a new way; save the chart as .svg.")
    return f"{before}{script_json(spec)}{after}"


# ---- what the charts share ----


def _altair() -> Any:
    return load_extra("altair", "report", "charts need")


def _records(series: Mapping[str, Series], log_x: bool, log_y: bool) -> list[dict[str, Any]]:
    """Return one record a point; what an axis cannot show is left out."""
    if not series:
        raise ValueError("a chart needs at least one series.")
    rows: list[dict[str, Any]] = []
    for name, one in series.items():
        columns = {
            key: np.asarray(values, dtype=np.float64)
            for key, values in (("x", one.x), ("y", one.y), ("low", one.low), ("high", one.high))
            if values is not None
        }
        shapes = {key: column.shape for key, column in columns.items()}
        if len(set(shapes.values())) > 1 or columns["x"].ndim != 1:
            raise ValueError(f"series {name!r} must have vectors of one length, but has {shapes}.")
        if one.labels is not None and len(one.labels) != len(columns["x"]):
            raise ValueError(
                f"series {name!r} must have one label a point, {len(columns['x'])}, but has "
                f"{len(one.labels)}."
            )
        for i, values in enumerate(zip(*(c.tolist() for c in columns.values()), strict=True)):
            row = {
                key: value
                for key, value in zip(columns, values, strict=True)
                if math.isfinite(value) and (value > 0 or not (log_x if key == "x" else log_y))
            }
            if "x" in row and "y" in row:
                label = {} if one.labels is None else {"label": str(one.labels[i])}
                rows.append({"series": name, **row, **label})
    return rows


def _axis(
    alt: Any,
    title: str,
    log: bool,
    values: list[float],
    *,
    zero: bool = False,
    domain: list[float] | None = None,
) -> dict[str, Any]:
    """Return title, scale and axis of a coordinate."""
    ends = {} if domain is None else {"domain": domain}
    if not log:
        scale = alt.Scale(zero=zero, nice=domain is None, **ends)
        return {"title": title or None, "scale": scale}
    axis = {}
    decades = [math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))]
    if decades[1] - decades[0] >= 3:  # lines at powers of ten only
        powers = [10.0**k for k in range(decades[0], decades[1] + 1)]
        axis = {"axis": alt.Axis(values=powers)}
    return {
        "title": title or None,
        "scale": alt.Scale(type="log", nice=domain is None, **ends),
    } | axis


def _legend(alt: Any, names: list[str], stroke: bool = False) -> Any:
    # A single series needs no key; the title says what it is.
    if len(names) < 2:
        return None
    symbol = {"symbolType": "stroke", "symbolSize": 400} if stroke else {}
    return alt.Legend(
        title=None, orient="bottom", columns=3, labelLimit=260, symbolOpacity=1, **symbol
    )


def _color(alt: Any, names: list[str], stroke: bool = False) -> Any:
    colors = [COLORS[i % len(COLORS)] for i in range(len(names))]
    scale = alt.Scale(domain=names, range=colors)
    return alt.Color("series:N", scale=scale, legend=_legend(alt, names, stroke))


def _dash(alt: Any, names: list[str]) -> Any:
    dashes = [list(DASHES[i % len(DASHES)]) for i in range(len(names))]
    scale = alt.Scale(domain=names, range=dashes)
    return alt.StrokeDash("series:N", scale=scale, legend=_legend(alt, names, stroke=True))


def _tooltip(alt: Any, x: str, y: str, rows: list[dict[str, Any]]) -> list[Any]:
    number = {"type": "quantitative", "format": ".4~g"}
    shown = [alt.Tooltip("series", type="nominal", title="series")]
    if any("label" in row for row in rows):
        shown.append(alt.Tooltip("label", type="nominal", title="point"))
    return [
        *shown,
        alt.Tooltip("x", title=x or "x", **number),
        alt.Tooltip("y", title=y or "y", **number),
    ]


def _styled(chart: Any, title: str) -> Any:
    """Give a chart the house style: quiet axes, readable text, no frame."""
    if title:
        chart = chart.properties(title=title)
    axis = {
        "domainColor": _MUTED,
        "gridColor": _GRID,
        "labelColor": _INK,
        "labelFontSize": 11,
        "tickColor": _MUTED,
        "tickCount": 6,
        "titleColor": _INK,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    }
    font = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
    title_style = {"anchor": "start", "color": _INK, "fontSize": 13, "fontWeight": 600, "offset": 8}
    return chart.configure(
        background="white",
        font=font,
        padding=8,
        axis=axis,
        axisY={"labelFlush": True},  # no label above the plot, so that titles stand level
        title=title_style,
        legend={"labelColor": _INK, "labelFontSize": 12},
        view={"stroke": None},
    )
