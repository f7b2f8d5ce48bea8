"""What a verification found."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Verification:
    """What was found.

    Attributes
    ----------
    passed : bool
        Whether all is as it should be.
    lines : tuple of str
        What was looked at, and what was found.
    facts : dict
        The same for machines.
    """

    passed: bool
    lines: tuple[str, ...]
    facts: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def to_json(self) -> str:
        """Return it as JSON."""
        said = {"passed": self.passed, **self.facts, "lines": list(self.lines)}
        return json.dumps(said, indent=1, ensure_ascii=False)
