"""What came of a soak."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Report:
    """How often what was tried, what went wrong, and what else there is to tell."""

    done: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def count(self, name: str, times: int = 1) -> None:
        """Count what was tried; tell at every fiftieth."""
        before = self.done.total()
        self.done[name] += times
        if self.done.total() // 50 > before // 50:
            print(f"{self.done.total()}, {len(self.failures)} failed", file=sys.stderr, flush=True)

    def fail(self, text: str) -> None:
        """Note what went wrong."""
        self.failures.append(text)
