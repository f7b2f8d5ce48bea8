"""Put the results of ``rankwright reproduce`` into the pages of the papers and the README.

``python docs/reproduced.py`` reads docs/papers/results; ``make reproduce`` makes what is there.
"""

from __future__ import annotations

from pathlib import Path

from rankwright.experiments.page import (
    errata,
    highlights,
    in_a_sentence,
    paper_page,
    proof_table,
    records,
    replace_part,
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
    line = (
        f"`make reproduce` found these. {in_a_sentence(found)} {count} errata, each a test. "
        "[All results](docs/papers/index.md) · [titles](CITATION.cff)"
    )
    replace_part(DOCS.parent / "README.md", f"{highlights(found, 'docs/papers')}\n{line}\n")


if __name__ == "__main__":
    main()
