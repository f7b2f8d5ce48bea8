"""Tables and bars for notebooks: HTML without scripts, style sheets or anything from the network.

Styles are inline, so that none reaches what else is on the page. Text, lines and bars have the
colour of the text around them, which is dark on light in one theme and light on dark in another.
A part is an :class:`Html`; any other text is escaped when it becomes part of one.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from rankwright.showing import and_more

MOST_ROWS = 20
_WIDTH, _HEIGHT = 140, 14  # of a bar, in pixels
_LINE = "1px solid rgba(128, 128, 128, 0.5)"
_CELL = "padding: 0.15em 0.9em 0.15em 0; background: none; border: none; white-space: nowrap; "
_NUMBER = "text-align: right; font-variant-numeric: tabular-nums; "


class Html(str):
    """A text that is HTML."""

    __slots__ = ()


class Number(str):
    """The text of a number: it stands to the right, digits above digits."""

    __slots__ = ()


def fixed(value: float | None, digits: int = 4, *, sign: bool = False) -> Number:
    """Return a number with so many digits; empty if there is none.

    >>> fixed(0.5), fixed(0.25, 2, sign=True), fixed(None), fixed(float("nan"))
    ('0.5000', '+0.25', '', '')
    """
    if value is None or math.isnan(value):
        return Number("")
    return Number(f"{value:{'+' if sign else ''}.{digits}f}")


def escaped(text: object) -> Html:
    """Return a text as HTML.

    >>> escaped("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return text if isinstance(text, Html) else Html(html.escape(str(text)))


def boxed(*parts: str) -> str:
    """Return parts below each other as what ``_repr_html_`` returns; empty ones are left out."""
    style = "font-size: 0.95em; line-height: 1.45; overflow-x: auto; text-align: left"
    return f'<div style="{style}">{"".join(map(escaped, filter(None, parts)))}</div>'


def headed(title: str, note: str = "") -> Html:
    """Return a heading, and a word beside it."""
    beside = f' <span style="opacity: 0.75">{escaped(note)}</span>' if note else ""
    return Html(f'<div style="margin: 0.3em 0"><b>{escaped(title)}</b>{beside}</div>')


def noted(text: str, *, strong: bool = False) -> Html:
    """Return a paragraph; nothing for an empty text."""
    inner = f"<b>{escaped(text)}</b>" if strong else escaped(text)
    return Html(f'<div style="margin: 0.3em 0">{inner}</div>' if text else "")


def linked(text: str, address: str) -> Html:
    """Return a link."""
    safe = html.escape(address, quote=True)
    style = "color: inherit; text-decoration: underline"
    target = 'target="_blank" rel="noopener"'
    return Html(f'<a href="{safe}" {target} style="{style}">{escaped(text)}</a>')


def details(summary: str, *parts: str) -> Html:
    """Return parts that are shown when somebody asks for them."""
    inner = "".join(map(escaped, parts))
    return Html(f'<details style="margin: 0.3em 0"><summary>{escaped(summary)}</summary>{inner}'
                "</details>")  # fmt: skip


def tabled(columns: Sequence[str], rows: Sequence[Sequence[str]], n: int | None = None) -> Html:
    """Return a table; of many rows the first 20.

    Parameters
    ----------
    columns : sequence of str
        Headings.
    rows : sequence of sequence of str
        Texts, numbers (:class:`Number`) and bars.
    n : int, optional
        How many rows there are, if not all of them are given.
    """
    n, shown = len(rows) if n is None else n, rows[:MOST_ROWS]
    numbers = {j for row in shown for j, cell in enumerate(row) if isinstance(cell, Number)}

    def line(tag: str, cells: Sequence[str], more: str = "") -> str:
        styles = (_CELL + (_NUMBER if j in numbers else "text-align: left; ") + more
                  for j in range(len(cells)))  # fmt: skip
        made = (
            f'<{tag} style="{style.strip()}">{escaped(cell)}</{tag}>'
            for style, cell in zip(styles, cells, strict=True)
        )
        return f"<tr>{''.join(made)}</tr>"

    body = [line("td", row) for row in shown]
    if rest := and_more(n, len(shown)):
        style = f"{_CELL}text-align: left; opacity: 0.75"
        body.append(f'<tr><td colspan="{len(columns)}" style="{style}">{rest}</td></tr>')
    head = line("th", columns, f"border-bottom: {_LINE}; ")
    # A page without a doctype would give tables a colour and a size of their own.
    style = (
        "border-collapse: collapse; margin: 0.4em 0; border: none; font: inherit; color: inherit"
    )
    return Html(
        f'<table style="{style}"><thead>{head}</thead><tbody>{"".join(body)}</tbody></table>'
    )


def interval_bar(value: float, low: float, high: float, span: tuple[float, float]) -> Html:
    """Draw a value with its interval, on a scale that goes over ``span``."""
    if not all(map(math.isfinite, (value, low, high))):
        return Html("")
    left, middle, right = (_place_on_axis(v, span) for v in (low, value, high))
    return _drawing(
        f"{value:.4f}, interval {low:.4f} to {high:.4f}",
        f'<line x1="0" x2="{_WIDTH}" y1="7" y2="7" stroke="currentColor" stroke-opacity="0.2"/>'
        f'<rect x="{left:.1f}" y="4" width="{max(right - left, 1):.1f}" height="6" '
        'fill="currentColor" fill-opacity="0.4"/>'
        f'<rect x="{middle - 1:.1f}" y="1" width="2" height="12" fill="currentColor"/>',
    )


def bar(value: float, span: tuple[float, float]) -> Html:
    """Draw a value as a bar from 0, on a scale that goes over ``span``, with 0 in it."""
    if not math.isfinite(value):
        return Html("")
    zero, end = _place_on_axis(0.0, span), _place_on_axis(value, span)
    left, width = min(zero, end), max(abs(end - zero), 0.5)
    return _drawing(
        f"{value:g}",
        f'<rect x="{left:.1f}" y="2" width="{width:.1f}" height="10" fill="currentColor" '
        f'fill-opacity="0.55"/><rect x="{max(zero - 0.5, 0):.1f}" y="0" width="1" height="14" '
        'fill="currentColor"/>',
    )


def span_of(values: Sequence[float], *, zero: bool = False) -> tuple[float, float]:
    """Return the ends of a scale for values; with ``zero`` it has 0 on it.

    >>> span_of([1.0, 3.0, float("nan")]), span_of([0.5], zero=True)
    ((1.0, 3.0), (0.0, 0.5))
    """
    known = [float(v) for v in values if math.isfinite(v)] + ([0.0] if zero else [])
    return (min(known), max(known)) if known else (0.0, 1.0)


def _place_on_axis(value: float, span: tuple[float, float]) -> float:
    low, high = span
    share = (value - low) / (high - low) if high > low else 0.5
    return 1 + (_WIDTH - 2) * min(max(share, 0.0), 1.0)


def _drawing(label: str, content: str) -> Html:
    return Html(
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{html.escape(label)}" '
        f'style="vertical-align: middle; color: inherit">{content}</svg>'
    )
