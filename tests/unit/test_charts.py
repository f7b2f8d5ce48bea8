"""Static charts."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwright.report.charts import (
    COLORS,
    Series,
    line_chart,
    save_chart,
    scatter_chart,
    small_multiples,
)

T = np.arange(1.0, 6.0)


@pytest.fixture(autouse=True)
def _installed(request: pytest.FixtureRequest) -> None:
    if "without" not in request.node.name:
        pytest.importorskip("altair", reason="needs the extra report")
        pytest.importorskip("vl_convert", reason="needs the extra report")


def rows(chart: Any) -> list[dict[str, Any]]:
    """Return the records of a chart; Altair keeps each set of them once, under a name."""
    return [row for values in chart.to_dict()["datasets"].values() for row in values]


def test_a_line_chart_has_the_points_bands_and_titles() -> None:
    curves = {"loss": Series(T, 1 / T, 0.5 / T, 2 / T), "bound": Series(T, 2 / T)}
    chart = line_chart(curves, x="queries", y="mean loss", title="Loss", log_y=True)
    points = rows(chart)
    assert points[0] == {"series": "loss", "x": 1.0, "y": 1.0, "low": 0.5, "high": 2.0}
    assert len(points) == 10
    spec = chart.to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["area", "line"]
    line = spec["layer"][1]["encoding"]
    assert (line["x"]["title"], line["y"]["title"], spec["title"]) == (
        "queries",
        "mean loss",
        "Loss",
    )
    assert line["y"]["scale"]["type"] == "log"
    assert line["color"]["scale"] == {"domain": ["loss", "bound"], "range": list(COLORS[:2])}


def test_points_that_an_axis_cannot_show_are_left_out() -> None:
    curve = {"a": Series([0.0, 1.0, 2.0, 3.0], [1.0, np.nan, -1.0, 4.0], [1, 1, 1, -4], [2] * 4)}
    assert len(rows(line_chart(curve))) == 3
    (kept,) = rows(line_chart(curve, log_x=True, log_y=True))
    assert kept == {"series": "a", "x": 3.0, "y": 4.0, "high": 2.0}


def test_a_scatter_chart_with_a_diagonal_has_equal_axes() -> None:
    cloud = {"queries": Series([0.1, 0.9], [0.3, 0.2], labels=["q1", "q2"])}
    chart = scatter_chart(cloud, diagonal=True)
    spec = chart.to_dict()
    encoding = spec["layer"][1]["encoding"]
    assert encoding["x"]["scale"]["domain"] == encoding["y"]["scale"]["domain"] == [0.1, 0.9]
    assert [row["label"] for row in rows(chart) if "label" in row] == ["q1", "q2"]


def test_ticks_stand_where_they_are_asked_for_and_a_value_is_marked() -> None:
    chart = line_chart({"a": Series(T, T)}, ticks=[1.0, 2.5, 5.0], marked=2.5)
    rule, line = chart.to_dict()["layer"]
    assert rule["mark"]["type"] == "rule"
    assert line["encoding"]["x"]["axis"]["values"] == [1.0, 2.5, 5.0]
    assert {"x": 2.5} in rows(chart)


@pytest.mark.parametrize(("qualities", "best"), [((0.2, 0.5, 0.4), 0.1), ((np.nan,) * 3, 0.01)])
def test_a_path_is_marked_where_validation_is_best(
    qualities: tuple[float, ...], best: float
) -> None:
    from rankwright.linear import PathPoint
    from rankwright.report import path_chart

    points = [
        PathPoint(alpha, np.zeros(2), 1.0, 2, quality, loss)
        for alpha, quality, loss in zip((1.0, 0.1, 0.01), qualities, (0.9, 0.8, 0.7), strict=True)
    ]
    assert {"x": best} in rows(path_chart(points))


def contrast_with_white(color: str) -> float:
    """Return the contrast ratio of WCAG 2."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 1.05 / (luminance + 0.05)


@pytest.mark.parametrize("color", COLORS)
def test_colors_stand_out_from_white(color: str) -> None:
    assert contrast_with_white(color) >= 4.5


def test_charts_are_saved_in_three_formats(tmp_path: Path) -> None:
    one = line_chart({"a": Series(T, T)}, title="One")
    two = scatter_chart({"b": Series(T, T**2), "c": Series(T, T)}, log_y=True)
    chart = small_multiples({"left": one, "right": two}, title="Both", shared_y=True)
    for name in ("chart.svg", "chart.png", "chart.html"):
        save_chart(chart, tmp_path / name)
    svg = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert all(text in svg for text in ("Both", "left", "right"))
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link)[^>]+(src|href)=", page)  # nothing from the network
    assert sorted(p.name for p in tmp_path.iterdir()) == ["chart.html", "chart.png", "chart.svg"]
    assert "config" in one.to_dict()  # the parts are not changed


def test_names_do_not_end_the_script_of_a_page(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script> & é"
    chart = line_chart({name: Series(T, T)}, title=name)
    save_chart(chart, tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    spec = page[page.index("const spec = ") + 13 :].partition(";\n")[0]
    assert json.loads(spec) == chart.to_dict()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: line_chart({}), "a chart needs at least one series."),
        (lambda: small_multiples({}), "small_multiples needs at least one chart."),
        (
            lambda: line_chart({"a": Series([1], [1, 2])}),
            "series 'a' must have vectors of one length, but has {'x': (1,), 'y': (2,)}.",
        ),
        (
            lambda: scatter_chart({"a": Series([1], [1], labels=["x", "y"])}),
            "series 'a' must have one label a point, 1, but has 2.",
        ),
        (
            lambda: save_chart(line_chart({"a": Series([1], [1])}), "chart.gif"),
            "a chart can be saved as .svg, .png or .html, but not as chart.gif.",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_without_the_extra_it_is_named(
    package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    name = package.replace("_", "-")
    message = f"charts need the package {name}. Install it with: pip install 'rankwright[report]'"
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        save_chart(line_chart({"a": Series(T, T)}), tmp_path / "chart.svg")
    assert not list(tmp_path.iterdir())
