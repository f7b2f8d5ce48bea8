"""The learning-to-rank plugin of OpenSearch."""

from __future__ import annotations

from rankwright.exports.targets.ltr_plugin import LtrPlugin


class Opensearch(LtrPlugin):
    """The fork of OpenSearch, which met missing values in three ways."""

    name = "opensearch"
    plugin = "OpenSearch LTR"
    engine = "OpenSearch LTR >= 3.8.0"
    of_policy = {  # noqa: RUF012 - a ClassVar there
        "by-node": engine,
        "right": "OpenSearch LTR 3.2.0 to 3.7.0 as released",
        "zero": "OpenSearch LTR <= 3.1",
    }
    cache = "so that it is parsed again on every search before 3.9.0"
    text_limit = 50_000_000
