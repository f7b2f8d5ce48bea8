"""The learning-to-rank plugin of Elasticsearch (o19s)."""

from __future__ import annotations

from rankwright.exports.targets.ltr_plugin import LtrPlugin


class Elasticsearch(LtrPlugin):
    """The plugin of o19s, which followed splits from 1.5.9 on."""

    name = "elasticsearch"
    plugin = "o19s LTR"
    engine = "o19s LTR >= 1.5.9"
    of_policy = {"by-node": engine, "zero": "o19s LTR <= 1.5.8"}  # noqa: RUF012 - a ClassVar there
    cache = "so that it is parsed again on every search"
