"""What came of a soak."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Report:
    """How often what was tried, and what went wrong."""

    done: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def count(self, name: str, times: int = 1) -> None:
        """Count what was tried."""
        self.done[name] += times

    def fail(self, text: str) -> None:
        """Note what went wrong."""
        self.failures.append(text)
