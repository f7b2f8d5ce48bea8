"""``rankwright datasets`` and ``rankwright simulate``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.cli.datasets import _download_bars
from rankwright.data import (
    BENCHMARKS,
    PositionBased,
    UserBrowsing,
    augment,
    make_mslr_like,
    perturb_labels,
    simulate_clicks,
)
from tests.interfaces.conftest import Cli


@pytest.fixture
def run(run: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.setenv("RANKWRIGHT_DATA", str(tmp_path / "data"))
    return run


def test_a_download_tells_how_much_is_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwright.progress._BETWEEN_LINES", 0.0)
    with _download_bars() as show:
        show("a.zip", 1_500_000, 3_000_000)
        show("b.zip", 500_000, None)
    lines = capsys.readouterr().err
    assert "1.5 of 3.0 MB" in lines
    assert "0.5 MB" in lines
    assert "0.5 of" not in lines


def test_datasets_are_listed(run: Cli, tmp_path: Path) -> None:
    path = tmp_path / "data/movielens-100k/ml-100k/u.data"
    path.parent.mkdir(parents=True)
    path.touch()
    code, out, err = run("datasets")
    assert code == 0
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert set(rows) == {"name", *(entry.name for entry in BENCHMARKS)}
    assert rows["movielens-100k"].split()[1:3] == ["yes", "get"]
    assert rows["mq2008"].split()[1:4] == ["no", "by", "hand"]
    assert f"Folder: {tmp_path}/data" in err
    code, out, _ = run("datasets", "--json", "--folder", "elsewhere")
    facts = json.loads(out)
    assert facts["folder"] == "elsewhere"
    assert [entry["name"] for entry in facts["datasets"]] == [entry.name for entry in BENCHMARKS]
    assert not any(entry["present"] for entry in facts["datasets"])


def test_a_dataset_is_shown_and_got(run: Cli, tmp_path: Path) -> None:
    code, out, _ = run("datasets", "show", "mq2008")
    assert code == 0
    assert f"to {tmp_path}/data/mq2008." in out
    code, _, err = run("datasets", "get", "mq2008")
    assert code == 2
    assert err.startswith(f"rankwright: {tmp_path}/data/mq2008/MQ2008.rar: must be fetched by hand")
    path = tmp_path / "other/movielens-100k/ml-100k/u.data"
    path.parent.mkdir(parents=True)
    path.touch()
    code, out, err = run("datasets", "get", "movielens-100k", "--folder", "other")
    assert (code, out) == (0, "MovieLens 100K: other/movielens-100k\n")
    assert err.startswith("Terms: GroupLens")
    code, out, _ = run("datasets", "--folder", "other", "show", "movielens-100k")
    assert out.endswith("It is there: other/movielens-100k\n")


def test_an_unreachable_server_is_one_line(
    run: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("pooch")
    # A proxy where nobody listens: as good as no network.
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    code, out, err = run("datasets", "get", "movielens-100k")
    assert (code, out) == (2, "")
    assert "files.grouplens.org cannot be reached" in err
    assert "Are you offline?" in err
    assert err.count("\n") == 1


@pytest.fixture
def data(tmp_path: Path) -> rw.Dataset:
    ds = make_mslr_like(n_queries=20, n_features=6, mean_docs=8)
    rw.write_letor(ds, tmp_path / "data.txt")
    return rw.read(tmp_path / "data.txt")


def same(path: Path, expected: rw.Dataset) -> None:
    got = rw.read(path)
    np.testing.assert_array_equal(got.X, expected.X)
    np.testing.assert_allclose(got.y, expected.y, rtol=1e-12)
    np.testing.assert_array_equal(got.qid, expected.qid)


def test_simulate_is_the_same_as_python(run: Cli, data: rw.Dataset, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    arguments = ["simulate", "data.txt", "out.txt", "--seed", "3", "--noise"]
    code, _, err = run(*arguments, "labels", "--level", "0.4")
    assert code == 0
    same(out, perturb_labels(data, 0.4, random_state=3))
    assert err == f"out.txt: {data!r}\n"
    run(*arguments, "labels", "--level", "0.4", "--probabilities", "0.5,0.5", "-j", "1")
    same(out, perturb_labels(data, 0.4, (0.5, 0.5), random_state=3))
    run(*arguments, "augment", "--level", "0.4")
    same(out, augment(data, 0.4, random_state=3))
    run(*arguments, "cascade", "--impressions", "4", "--level", "0.2")
    model = rw.data.Cascade().with_noise(0.2)
    same(out, simulate_clicks(data, model, impressions=4, random_state=3).impressions())
    run(*arguments, "browsing", "--eta", "2", "--top", "5")
    log = simulate_clicks(data, UserBrowsing(examination=2.0), top=5, random_state=3)
    same(out, log.impressions())


def test_clicks_on_ranked_lists(run: Cli, data: rw.Dataset, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "scores.txt", data.restore(data.X[:, 4]))
    code, _, _ = run(
        *["simulate", "data.txt", "out.txt", "--noise", "position", "--scores", "scores.txt"],
        *["--write", "weighted", "--log", "log.tsv", "--probabilities", ".1,.2,.3,.4,.5"],
    )
    assert code == 0
    log = simulate_clicks(data, PositionBased((0.1, 0.2, 0.3, 0.4, 0.5)), scores=data.X[:, 4])
    same(tmp_path / "out.txt", data.with_labels(log.click_rates()))
    lines = (tmp_path / "log.tsv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(log.rows)
    run("simulate", "data.txt", "out.txt", "--noise", "position", "--write", "rates")
    log = simulate_clicks(data, PositionBased())
    same(tmp_path / "out.txt", data.with_labels(log.click_rates(weighted=False)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--noise", "labels"], "--noise labels needs --level, a share such as 0.3."),
        (
            ["--noise", "augment", "--level", "1", "--log", "x"],
            "--log needs clicks, but --noise is augment.",
        ),
        (
            ["--noise", "labels", "--level", "7"],
            "Invalid value for '--level': ",
        ),
        (
            ["--noise", "cascade", "--probabilities", "a,b"],
            "--probabilities must be numbers with commas between, but is 'a,b'.",
        ),
        (
            ["--noise", "cascade", "--scores", "few.txt"],
            "few.txt: there must be one score for each of the {n} documents, but there are 1.",
        ),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, run: Cli, data: rw.Dataset, tmp_path: Path
) -> None:
    (tmp_path / "few.txt").write_text("1\n")
    code, out, err = run("simulate", "data.txt", "out.txt", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"rankwright: {message.format(n=data.n_docs)}")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out.txt").exists()
