"""Put the results of ``rankwright reproduce`` into the pages of the papers and the README.

``python docs/reproduced.py`` reads docs/papers/results; ``make reproduce`` makes what is there.
"""

from __future__ import annotations

from pathlib import Path

from rankwright.experiments.page import (
    errata,
    highlights,
    paper_page,
    proof_table,
    records,
    replace_part,
    verdict_counts,
)

DOCS = Path(__file__).parent
RESULTS = DOCS / "papers" / "results"


def main() -> None:
    """Write all pages."""
    found = records(RESULTS)
    if not found:
        raise SystemExit("There are no results yet: make reproduce.")
    for paper in dict.fromkeys(record["paper"] for record in found):
        mine = [record for record in found if record["paper"] == paper]
        replace_part(DOCS / "papers" / f"{paper}.md", paper_page(mine, f"results/{paper}"))
    replace_part(DOCS / "papers" / "index.md", proof_table(found))
    count = len(errata(DOCS / "papers"))
    line = f"All that was run: {verdict_counts(found)}; {count} errata, each a test."
    replace_part(DOCS.parent / "README.md", f"{highlights(found, 'docs/papers')}\n{line}\n")


if __name__ == "__main__":
    main()
