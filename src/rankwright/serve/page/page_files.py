"""The files of the page, read once: their types, their marks of change, and what they may do."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

PAGE = "index.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}


class PageFile(NamedTuple):
    """A file of the page; ``etag`` changes with its content."""

    content: bytes
    content_type: str
    etag: str


@cache
def page_files() -> dict[str, PageFile]:
    """Return all files of the page by their names: a name that is not here does not exist."""
    found: dict[str, PageFile] = {}
    for entry in (files("rankwright.serve.page") / "static").iterdir():
        kind = _TYPES.get(f".{entry.name.rpartition('.')[2]}")
        if kind is not None:
            content = entry.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
            found[entry.name] = PageFile(content, kind, etag)
    return found
