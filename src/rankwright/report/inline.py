"""What stands inside of a page: values that cannot end their script, and scripts by their hash."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any


def script_json(value: Any) -> str:
    r"""Return a value as JavaScript takes it, whatever its texts are.

    >>> script_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def script_hash(script: str) -> str:
    """Return the source of a Content-Security-Policy that allows this script and no other."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
