"""The targets of fuzzing: seeds are accepted, mutations are accepted or refused cleanly."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import pytest
from fuzz import mutators
from fuzz.targets import TARGETS, BrokenRuleError, Target, check

from rankwright import DataError

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", TARGETS)
def test_most_seeds_are_accepted_and_none_is_a_finding(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    seeds = sorted((CORPUS / name).iterdir())
    path = tmp_path / target.file
    accepted = [check(target, path, seed.read_bytes()) for seed in seeds]
    assert sum(accepted) >= len(seeds) / 2
    assert sum(seed.stat().st_size for seed in seeds) < 100_000


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_seeds_are_accepted_or_refused_cleanly(name: str, tmp_path: Path) -> None:
    target, random = TARGETS[name], Random(0)
    seeds = [seed.read_bytes() for seed in sorted((CORPUS / name).iterdir())]
    path = tmp_path / target.file
    basic = partial(mutators.plain, random=random)
    accepted = []
    for _ in range(200):
        data = target.mutate(random.choice(seeds), random, basic)
        accepted.append(check(target, path, data))
    assert set(accepted) == {True, False}  # structure is kept, and broken


def test_other_errors_and_refusals_that_do_not_name_the_file_are_findings(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def fails(error: Exception) -> Target:
        def read(path: Path) -> None:
            raise error

        return Target(read, "a", mutators.lines)

    assert not check(fails(DataError("is not a number.", path=path)), path, b"")
    with pytest.raises(BrokenRuleError, match="names the file"):
        check(fails(DataError("is not a number.")), path, b"")
    with pytest.raises(KeyError):
        check(fails(KeyError("a")), path, b"")
