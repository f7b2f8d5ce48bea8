"""Findings files as Markdown: the papers' pages, and the README's table of proofs."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from rankwright.data.writing import write_text

# Claims of each paper, those that matter most first: what is claimed, what the paper says of it if
# it prints no number, and the rows that answer: what stands before our number, and part of what the
# row says. The README shows the first that was decided.
CLAIMS: dict[str, tuple[tuple[str, str, dict[str, str]], ...]] = {
    "slam": (
        (
            "cumulative loss of Algorithm 1 is at most",
            "",
            {"as printed": 'update="printed"', "only misordered": 'update="misordered"'},
        ),
        ("excess loss on new queries, n = 640, is at most", "", {"": "SLAM, n = 640: excess"}),
    ),
    "domination": (
        (
            "NDCG@10 of Domination Rank on OHSUMED",
            "",
            {"": "OHSUMED, letor:ndcg@10, Flat, pooled"},
        ),
        (
            "regularisation raises average precision, 5 % of the labels wrong",
            "raises",
            {"by": "regularisation, 5% of the labels wrong"},
        ),
    ),
    "prank": (
        (
            "EachMovie, documents of length 1, averaged: PRank is best",
            "PRank",
            {
                "multiclass perceptron": "1,813 viewers), scaled, batch, averaged, multiclass",
                "PRank": "1,813 viewers), scaled, batch, averaged, PRank",
            },
        ),
        (
            "PRank loses less than the multiclass perceptron after 7000 rounds",
            "less",
            {"by": "round 7000: loss of the multiclass perceptron"},
        ),
    ),
    "xendcg": (
        (
            "NDCG@5 of XE-NDCG is above that of lambdaMART (generated data that need trees)",
            "above",
            {"by": "web-like ndcg@5, XE-NDCG MART - lambdaMART"},
        ),
        (
            "XE-NDCG's lead in NDCG@5 over lambdaMART is larger for few trees (generated data)",
            "larger",
            {"by": "mslr-like, lead over lambdaMART"},
        ),
    ),
    "predtron": (
        (
            "loss grows less with the number of features by margins in l1 than in l2",
            "less",
            {"by": "Algorithm 1: growth of the loss from p"},
        ),
    ),
}
_DECIDED = ("holds", "refuted", "reproduced")
# An erratum begins a row of a table (S, D, R) or a paragraph (P, X).
_ERRATUM = re.compile(r"^(?:\| |\*\*)([SDRXP]\d+)(?: \||\*\*|\.)", re.MULTILINE)
BEGIN, END = "<!-- reproduce: begin -->", "<!-- reproduce: end -->"


def records(folder: Path) -> list[dict[str, Any]]:
    """Read all result files of a folder, in the order of the experiments."""
    from rankwright.experiments.papers import PAPERS

    paths = (
        folder / paper / f"{experiment.name}.json"
        for paper, experiments in PAPERS.items()
        for experiment in experiments
    )
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]


def paper_page(found: list[dict[str, Any]], figures: str) -> str:
    """Return the tables and figures of one paper; ``figures`` is the folder of its pictures."""
    return "\n\n".join(_section(record, figures) for record in found) + "\n"


def _section(record: dict[str, Any], figures: str) -> str:
    lines = [f"### {record['source']}: {record['title']}", ""]
    settings = ", ".join(
        f"{name} {_setting_text(value)}" for name, value in record["settings"].items()
    )
    lines += [
        f"`{record['command']}`, {record['seconds']:.0f} s"
        + (f"; {settings}." if settings else "."),
        "",
    ]
    if record["rows"]:
        lines += ["| source | what | paper | ours | 95 % interval | verdict | note |"]
        lines += ["|---|---|--:|--:|---|---|---|"]
        lines += [_row_text(row) for row in record["rows"]]
        lines.append("")
    for note in record["notes"]:
        lines += [note, ""]
    for figure in record["figures"]:
        lines += [f"![{figure['caption']}]({figures}/{figure['name']}.svg)", ""]
        lines += [f"{figure['caption']}.", ""]
    return "\n".join(lines).rstrip()


def _row_text(row: dict[str, Any]) -> str:
    interval = "" if row["interval"] is None else "{:.4g} – {:.4g}".format(*row["interval"])
    paper = "" if row["paper"] is None else f"{row['paper']:.4g}"
    cells = [row["source"], row["what"], paper, f"{row['ours']:.4g}", interval]
    texts = (cell.replace("|", "\\|") for cell in (*cells, row["verdict"], row["note"]))
    return "| " + " | ".join(texts).replace("\n", " ") + " |"


def _setting_text(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "(" + ", ".join(f"{name} {_setting_text(item)}" for name, item in value.items()) + ")"
        )
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def proof_table(found: list[dict[str, Any]]) -> str:
    """Return one row per paper: how many of its numbers and statements have which verdict."""
    lines = ["| paper | what was run | verdicts |", "|---|---|---|"]
    for paper in dict.fromkeys(record["paper"] for record in found):
        mine = [record for record in found if record["paper"] == paper]
        sources = "; ".join(dict.fromkeys(record["source"] for record in mine))
        counts = ", ".join(f"{n} {verdict}" for verdict, n in _verdicts(mine).most_common())
        scales = "/".join(sorted({record["scale"] for record in mine}))
        lines.append(f"| [{paper}]({paper}.md) | {sources} ({scales}) | {counts} |")
    return "\n".join(lines) + "\n"


def in_a_sentence(found: list[dict[str, Any]]) -> str:
    """Return how many claims of all papers came out which way."""
    n = _verdicts(found)
    return (
        f"Of all claims, {n['holds'] + n['reproduced']} hold or are reproduced, {n['refuted']} are "
        f"refuted, {n['not reproduced']} are not reproduced and {n['undecided']} are undecided."
    )


def _verdicts(found: list[dict[str, Any]]) -> Counter[str]:
    return Counter(row["verdict"] for record in found for row in record["rows"])


def highlights(found: list[dict[str, Any]], folder: str) -> str:
    """Return the first claim of each paper that was decided: what it has, what came out here.

    ``folder`` is that of the papers' pages, as seen from the page that gets the table.
    """
    lines = ["| paper | claim | theirs | ours | verdict |", "|---|---|--:|--:|---|"]
    for paper, claims in CLAIMS.items():
        mine = [row for record in found if record["paper"] == paper for row in record["rows"]]
        decided = (cells for claim in claims if (cells := _answer(claim, mine)) is not None)
        for cells in islice(decided, 1):
            lines.append(f"| [{paper}]({folder}/{paper}.md) | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _answer(claim: tuple[str, str, dict[str, str]], rows: list[dict[str, Any]]) -> list[str] | None:
    """Return the claim, their value, ours and the verdict; None if it was not run or decided."""
    what, said, wanted = claim
    answers = {
        label: row
        for label, words in wanted.items()
        if (row := next((row for row in rows if words in row["what"]), None)) is not None
    }
    first = next(iter(answers.values()), None)
    if first is None or first["verdict"] not in _DECIDED:
        return None
    ours = ", ".join(f"{label} {_short_number(row['ours'])}" for label, row in answers.items())
    theirs = said if first["paper"] is None else _short_number(first["paper"])
    return [what, theirs, ours.strip(), first["verdict"]]


def _short_number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def errata(folder: Path) -> list[str]:
    """Return the numbers of all errata that the pages of a folder list."""
    pages = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md")))
    return [number for page in pages for number in _ERRATUM.findall(page)]


def replace_part(path: Path, text: str) -> None:
    """Put text between the marks of a page; a page without marks gets them at its end."""
    page = path.read_text(encoding="utf-8") if path.exists() else f"# {path.stem}\n"
    if BEGIN not in page:
        page = f"{page.rstrip()}\n\n## Reproduced\n\n{BEGIN}\n{END}\n"
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    write_text(path, f"{before}{BEGIN}\n\n{text}\n{END}{after}")
