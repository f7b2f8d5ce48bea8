"""``rankwright reproduce``: a paper again, with and without a folder to resume from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankwright.experiments import prank_synthetic
from tests.interfaces.conftest import Cli

WORDS = ["reproduce", "prank", "--figure", 2, "--scale", "quick"]


def test_without_a_folder_nothing_is_written(run: Cli, tmp_path: Path) -> None:
    code, out, err = run(*WORDS)
    assert code == 0, err
    assert out.lstrip().startswith("prank, Figure 2: generated data\nsource")
    assert "Results and figures" not in out
    assert list(tmp_path.iterdir()) == []


def test_with_a_folder_it_does_not_do_twice_what_is_done(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run(*WORDS, "--out", "out")
    assert code == 0, err
    assert out.endswith("\nResults and figures: out\n")
    assert list((tmp_path / "out" / "cache").iterdir())
    first = json.loads(
        (tmp_path / "out" / "prank" / "figure2_left.json").read_text(encoding="utf-8")
    )

    def again(*_: object, **__: object) -> None:
        pytest.fail("it was done already")

    monkeypatch.setattr(prank_synthetic, "average_losses", again)
    code, _, err = run(*WORDS, "--out", "out")
    assert code == 0, err
    again_found = json.loads(
        (tmp_path / "out" / "prank" / "figure2_left.json").read_text(encoding="utf-8")
    )
    assert again_found["rows"] == first["rows"]


def test_as_json(run: Cli) -> None:
    code, out, _ = run(*WORDS, "--json")
    assert code == 0
    records = json.loads(out)
    assert {record["paper"] for record in records} == {"prank"}
    assert any(record.get("rows") for record in records)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--figure", 2, "--table", 1], "--figure and --table exclude each other."),
        (["--data", "nowhere"], "--data must be a folder, but nowhere is none."),
    ],
)
def test_bad_input_is_one_line(words: list[object], message: str, run: Cli) -> None:
    assert run("reproduce", "prank", *words) == (2, "", f"rankwright: {message}\n")
