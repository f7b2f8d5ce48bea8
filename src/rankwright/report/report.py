"""The report: one HTML file with everything in it, readable without a network."""

from __future__ import annotations

import base64
import gzip
import json
from importlib import resources
from typing import Any
from urllib.parse import quote

from rankwright.comparison.tables import size_text
from rankwright.data.files import PathLike
from rankwright.data.writing import write_text
from rankwright.evaluation.contest import Contest
from rankwright.report.board import board, downloads, held_tests, segment_tables
from rankwright.report.content import (
    Content,
    content_of,
    mean_text,
    number_text,
    short_p,
    signed_text,
)
from rankwright.report.inline import script_hash
from rankwright.report.payload import payload
from rankwright.report.rankings import ranked_lists, shown_queries
from rankwright.report.reasons import importances, reasons_of
from rankwright.report.samples import data_section

# In the order in which they are needed.
_SCRIPTS = ("base.js", "plots.js", "ranking.js", "queries.js", "training.js", "begin.js")


def write_report(contest: Contest, path: PathLike, title: str = "") -> None:
    """Write a comparison as one self-contained HTML page.

    Parameters
    ----------
    contest : Comparison or Contest
        What :func:`rankwright.compare` returns, or :func:`rankwright.evaluate` for several systems.
    path : str or path-like
        Usually ``report.html``.
    title : str, optional
        Heading of the page.
    """
    write_text(path, report_html(contest, title))
    contest.page = str(path)


def report_html(contest: Contest, title: str = "") -> str:
    """Return the page as text; see :func:`write_report`."""
    return page_of(content_of(contest, title))


def page_of(content: Content) -> str:
    """Return the page as text."""
    page = resources.files("rankwright.report") / "page"

    def text_of(name: str) -> str:
        return (page / name).read_text(encoding="utf-8")

    script = '"use strict";\n(() => {\n' + "".join(map(text_of, _SCRIPTS)) + "})();\n"
    lists = ranked_lists(content)
    reasons = reasons_of(content, lists)
    data = json.dumps(
        payload(content, lists, reasons), separators=(",", ":"), allow_nan=False
    ).encode()
    text: str = (
        _environment()
        .from_string(text_of("report.html.jinja"))
        .render(
            c=content,
            css=text_of("report.css"),
            js=script,
            script_hash=script_hash(script),
            data=_packed(data),
            reasons=_packed(reasons.packed),
            board=board(content),
            segments=segment_tables(content),
            downloads=downloads(content),
            tests=held_tests(content),
            importances=importances(content),
            data_section=data_section(content.parts),
            n_shown=len(shown_queries(content)),
            lists_kept=sum(found is not None for found in lists),
            explained=len(reasons.documents),
        )
    )
    return text


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "mean": mean_text,
        "number": number_text,
        "signed": signed_text,
        "p": short_p,
        "size": size_text,
        "quoted": quote,
    }
    return environment
