"""``GET /openapi.json`` and ``GET /docs``: what the API is, for programs and for people.

The page is plain HTML, written here: it needs neither the network nor a script.
"""

from __future__ import annotations

import json
from functools import cache
from html import escape
from typing import Any

from starlette.routing import Route

from rankwright.serve.http.endpoints import Answer, Call, json_answer, route
from rankwright.serve.http.openapi import openapi
from rankwright.serve.http.service import Service

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
pre { overflow-x: auto; padding: .75rem; border: 1px solid color-mix(in srgb, currentColor 25%,
transparent); border-radius: .4rem }
h2 { margin-top: 2.5rem; font-size: 1.1rem; font-family: ui-monospace, monospace }
table { border-collapse: collapse } th, td { text-align: left; padding: .1rem 1rem .1rem 0;
vertical-align: top } th { font-weight: 600 }
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>rankwright API</title>
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/docs.css">
</head>
<body><main>
<h1>rankwright API {version}</h1>
<p>{about}</p>
<p>For programs: <a href="/openapi.json">/openapi.json</a>. The service: <a href="/">/</a>.</p>
{operations}
<h2>Bodies</h2>
{schemas}
</main></body>
</html>
"""
_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"


def routes(service: Service) -> list[Route]:
    """Return the routes."""
    return [
        route(service, "GET", "/openapi.json", None, tell_openapi),
        route(service, "GET", "/docs", None, show_docs),
        route(service, "GET", "/docs.css", None, show_style),
    ]


async def tell_openapi(service: Service, call: Call) -> Answer:
    """Return the description of the API."""
    return json_answer(openapi())


async def show_docs(service: Service, call: Call) -> Answer:
    """Return the description of the API as a page."""
    headers = (("content-security-policy", _POLICY),)
    return Answer(docs_page().encode(), 200, "text/html; charset=utf-8", headers)


async def show_style(service: Service, call: Call) -> Answer:
    """Return how the page looks."""
    return Answer(_STYLE.encode(), 200, "text/css; charset=utf-8")


@cache
def docs_page() -> str:
    """Return the page."""
    api = openapi()
    parts = [
        _operation_html(path, method, told)
        for path, of in api["paths"].items()
        for method, told in of.items()
    ]
    schemas = "".join(
        f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(schema.get("description", ""))}</p>'
        f"<pre>{_pretty(schema)}</pre>"
        for name, schema in api["components"]["schemas"].items()
    )
    return _PAGE.format(
        version=escape(api["info"]["version"]),
        about=escape(api["info"]["description"]),
        operations="".join(parts),
        schemas=schemas,
    )


def _operation_html(path: str, method: str, told: dict[str, Any]) -> str:
    rows = [f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(told['summary'])}</p>"]
    if "description" in told:
        rows.append(f"<p>{escape(told['description'])}</p>")
    rows.append(
        _rows("Parameters", {p["name"]: p.get("description", "") for p in told["parameters"]})
    )
    for media, content in told.get("requestBody", {}).get("content", {}).items():
        rows.append(f"<p>Takes <code>{escape(media)}</code></p>")
        if "example" in content:
            rows.append(f"<pre>{_pretty(content['example'])}</pre>")
    answers = told["responses"]
    rows.append(_rows("Answers", {status: one["description"] for status, one in answers.items()}))
    for one in answers.values():
        rows += [
            f"<pre>{_pretty(c['example'])}</pre>" for c in one["content"].values() if "example" in c
        ]
    return "".join(rows)


def _rows(title: str, items: dict[str, str]) -> str:
    if not items:
        return ""
    lines = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in items.items()
    )
    return f"<table><caption>{title}</caption>{lines}</table>"


def _pretty(value: Any) -> str:
    return escape(json.dumps(value, indent=2))
