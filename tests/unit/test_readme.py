"""The README is short, and its tables are what the results say."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import table
from benchmarks.harness import RESULTS

from rankwright.experiments.page import BEGIN, END, errata, highlights, in_a_sentence, records

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 130


def test_six_rows_of_speed_all_met() -> None:
    found = {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name in table.TASKS
        if (path := RESULTS / f"{name}.json").exists()
    }
    text = table.headlines(found)
    assert text.strip() == README.partition(table.BEGIN)[2].partition(table.END)[0].strip()
    rows = text.splitlines()[2:-2]
    assert len(rows) == table.SHOWN
    assert all(row.endswith(": met |") for row in rows)


def test_a_kind_is_shown_by_a_task_that_was_measured_in_quiet_and_meets_its_bars() -> None:
    def record(title: str, *, low: float = 2.0, foreign: float = 0.0) -> dict[str, object]:
        speed = {"share": 1, "version": "1", "per_second": {"total": 1e6}}
        peers = [
            {
                **speed,
                "name": name,
                "median_seconds": {},
                "speed_ours_over_theirs": {
                    "total": {"ratio": ratio, "interval": [low, 9.0], "bar": bar}
                },
            }
            for name, ratio, bar in (("far", 7.0, 1.5), ("near", 3.0, 1.5), ("no bar", 2.5, None))
        ]
        return {
            "title": title,
            "unit": "documents",
            "contenders": [{**speed, "name": "ours"}, *peers],
            "date": "2026-01-01",
            "threads": 2,
            "machine": {"cpu": "a CPU"},
            "foreign_cores": foreign,
        }

    found = {
        "metrics": record("missed", low=1.0),
        "metrics-busy": record("busy", foreign=0.5),
        "metrics-quiet": record("quiet"),
        "metrics-later": record("later"),
        "nothing": record("no kind"),
    }
    rows = table.headlines(found).splitlines()[2:-2]
    assert [row.split(" | ")[:3] for row in rows] == [["| quiet", "1.00 M docs/s", "near 1"]]
    assert table.headlines(found).endswith("8 met, 0 missed, 2 unclear.\n")


def test_five_claims_one_of_each_paper() -> None:
    papers = ROOT / "docs" / "papers"
    found = records(papers / "results")
    part = README.partition(BEGIN)[2].partition(END)[0].strip()
    claims = highlights(found, "docs/papers")
    assert part.startswith(claims)
    assert len(claims.splitlines()) == 2 + 5
    assert f"{in_a_sentence(found)} {len(errata(papers))} errata, each a test." in part
