"""Who takes part, with what is searched."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.quality.peers import PEERS, code_version, installed
from rankwright.comparison import Entry, lineup
from rankwright.models import NAMES

# The same for every contender: trials, trees at most, and trees without an improvement.
TRIALS, TREES, PATIENCE = 10, 300, 30
OWN = "rankwright"
OURS = (
    "xendcg-trees",
    "lambdarank-trees",
    "stochastic-lambdarank-trees",
    "graft",
    "ensemble",
    "xendcg-linear",
    "domination-rank",
)


def contenders(names: Sequence[str] | None = None) -> list[Entry]:
    """Return those that are here, ours first; what is not installed is told and left out."""
    asked = [*OURS, *PEERS] if names is None else list(names)
    found = []
    for name in asked:
        if name in PEERS:
            kind, objective, known = PEERS[name]
            version = installed(kind.package)
            if version is None:
                print(f"{name}: left out, {kind.package} is not installed.")
                continue
            limits = {"n_estimators": TREES, "early_stopping_rounds": PATIENCE}
            peer = kind(objective, version=f"{version} {code_version()}", **limits, **known)
            found.append(Entry(name, peer, kind.space, "trees"))
        elif name in NAMES:
            found += lineup([name])
        else:
            print(f"{name}: left out, there is no model of this name.")
    return found


def is_ours(name: str) -> bool:
    """Tell whether a contender is one of this library."""
    return name not in PEERS


def library(name: str) -> str:
    """Return whose a contender is."""
    return OWN if is_ours(name) else name.partition("-")[0]
