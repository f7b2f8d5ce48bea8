"""Every erratum that the pages of the papers list is a test, and the README counts them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rankwright.experiments.page import errata

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "docs" / "papers"
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("tests/*/*.py")))
LISTED = errata(PAPERS)


def test_errata_are_numbered_without_gaps() -> None:
    assert len(LISTED) == len(set(LISTED))
    for letter in "SDRXP":
        numbers = sorted(int(number[1:]) for number in LISTED if number[0] == letter)
        assert numbers == list(range(1, len(numbers) + 1)), letter


@pytest.mark.parametrize("number", LISTED)
def test_an_erratum_is_a_test(number: str) -> None:
    assert re.search(rf"^def test_{number.lower()}_\w+\(", TESTS, re.MULTILINE), number


def test_errata_of_tests_are_listed() -> None:
    named = {n.upper() for n in re.findall(r"^def test_([sdrxp]\d+)_", TESTS, re.MULTILINE)}
    assert named == set(LISTED)


def test_tests_that_the_pages_name_exist() -> None:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in PAPERS.glob("*.md"))
    names = set(re.findall(r"`(test_\w+)`", pages))
    assert names
    assert {name for name in names if f"def {name}(" not in TESTS} == set()


def test_the_readme_counts_errata() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(LISTED)} errata, each a test" in readme


def test_what_is_refuted_or_not_reproduced_says_why() -> None:
    records = [json.loads(path.read_text()) for path in PAPERS.glob("results/*/*.json")]
    rows = [row for record in records for row in record["rows"]]
    assert {row["verdict"] for row in rows} <= {
        "holds",
        "refuted",
        "reproduced",
        "not reproduced",
        "undecided",
        "other data",
        "reported",
    }
    against = [row for row in rows if row["verdict"] in ("refuted", "not reproduced")]
    assert against
    assert not [row["what"] for row in against if not row["note"]]
