"""``rankwright verify``: every byte counts, and a log says why scores differ."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exports import Certificate
from tests.interfaces.conftest import Cli

GOLDEN = Path(__file__).parents[1] / "golden" / "exports"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with an export."""
    folder = tmp_path_factory.mktemp("export")
    rw.export(rw.load(GOLDEN / "tiny-trees.rw"), "elasticsearch", folder / "m.json")
    return folder


@pytest.fixture
def files(exported: Path, tmp_path: Path) -> Path:
    """Give a folder of its own with the files of an export."""
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_an_export_is_proved_again(files: Path, run: Cli) -> None:
    code, out, err = run("verify", "m.cert.json", "m.json")
    assert (code, err) == (0, "")
    *lines, table, anew, digest = out.splitlines()
    assert lines == [
        "m.cert.json: as it was written",
        "m.json: as certified",
        "m.grid.rw: as certified",
        "m.probes.tsv: as certified",
    ]
    n = json.loads((files / "m.cert.json").read_text())["probes"]["rows"]
    judge = "no score differs, by our interpreter of the plugin's rule"
    assert table == f"{n} probes of m.probes.tsv: {judge}"
    assert anew == f"{n} probes made from the grid model: {judge}"
    assert digest == "these probes and their scores are those certified"
    code, out, _ = run("verify", "m.cert.json", "--json")
    said = json.loads(out)
    assert (code, said["passed"], said["difference"]) == (0, True, None)
    assert said["files"] == {"export": True, "grid": True, "probes": True}


def test_an_export_elsewhere(files: Path, run: Cli) -> None:
    (files / "deployed").mkdir()
    shutil.move(files / "m.json", files / "deployed" / "m.json")
    assert run("verify", "m.cert.json", "deployed/m.json")[0] == 0
    code, _, err = run("verify", "m.cert.json")
    assert (code, err) == (
        2,
        "rankwright: m.json: cannot be read: No such file or directory.\n",
    )


def test_probes_alone_or_the_grid_model_alone_are_enough(files: Path, run: Cli) -> None:
    (files / "m.grid.rw").rename(files / "kept.rw")
    code, out, _ = run("verify", "m.cert.json")
    assert code == 0
    assert "m.grid.rw: not there" in out
    assert "probes of m.probes.tsv: no score differs" in out
    (files / "m.probes.tsv").unlink()
    code, _, err = run("verify", "m.cert.json")
    assert code == 2
    assert err == (
        "rankwright: m.json: there are no probes: m.probes.tsv or m.grid.rw must be beside it, as "
        "they were certified.\n"
    )
    (files / "kept.rw").rename(files / "m.grid.rw")
    code, out, _ = run("verify", "m.cert.json")
    assert code == 0
    assert "probes made from the grid model: no score differs" in out


def test_probes_of_data_are_made_again_with_the_data(tmp_path: Path, run: Cli) -> None:
    rows = np.array([[0.25, 3, 1], [0.5, -1, np.nan], [2, 0, 4]])
    text = "bm25,price,age\n" + "\n".join(
        ",".join("" if x != x else repr(x) for x in row) for row in rows.tolist()
    )
    (tmp_path / "rows.csv").write_text("qid," + text.replace("\n", "\n1,") + "\n")
    shutil.copy(GOLDEN / "tiny-trees.rw", tmp_path / "model.rw")
    words = ("--data", "rows.csv")
    assert run("export", "model.rw", "--to", "elasticsearch", "-o", "m.json", *words)[0] == 0
    code, out, _ = run("verify", "m.cert.json")
    assert code == 0
    assert "those certified" not in out
    code, out, _ = run("verify", "m.cert.json", *words)
    assert code == 0
    assert out.endswith("these probes and their scores are those certified\n")
    (tmp_path / "rows.csv").write_text("qid,bm25,price,age\n1,2,3,4\n")
    code, _, err = run("verify", "m.cert.json", *words)
    message = "data must be the rows that the export was made with, but are others."
    assert (code, err) == (2, f"rankwright: {message}\n")


# ---- one byte ----


def edited(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("name", ["m.json", "m.cert.json", "m.grid.rw", "m.probes.tsv"])
def test_any_byte_that_is_edited_is_found(name: str, files: Path, run: Cli) -> None:
    whole = (files / name).read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole), 25, replace=False):
        edited(files / name, place)
        code, out, err = run("verify", "m.cert.json")
        if code == 2:  # no certificate any more
            assert name == "m.cert.json"
            assert err.startswith("rankwright: m.cert.json: ")
        else:
            assert code == 1
            broken = f"{name}: as " not in out and f"{name}: " in out
            assert broken
        (files / name).write_bytes(whole)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '\\"leaf\\":',
            '\\"leaf\\":1',
            "scores differ; the first: probe 1: our interpreter of the",
        ),
        ('"name": "m"', '"name": "n"', "no score differs, by our interpreter"),
        ('\\"yes\\"', '\\"affirm\\"', "m.json: elasticsearch cannot read it: a node must have the"),
        ('{"model"', '["model"', "m.json: elasticsearch cannot read it: "),
    ],
)
def test_an_edited_export_says_what_differs(
    old: str, new: str, message: str, files: Path, run: Cli
) -> None:
    text = (files / "m.json").read_text()
    assert old in text
    (files / "m.json").write_text(text.replace(old, new, 1))
    code, out, err = run("verify", "m.cert.json")
    assert (code, err) == (1, "")
    assert "m.json: not the certified file\n" in out
    assert message in out
    code, out, _ = run("verify", "m.cert.json", "--json")
    assert (code, json.loads(out)["passed"]) == (1, False)


def forged(folder: Path, **changes: Any) -> None:
    """Seal a certificate anew, with the hash of the export as it is now."""
    said = Certificate.load(folder / "m.cert.json")
    digest = hashlib.sha256((folder / "m.json").read_bytes()).hexdigest()
    files = {**said.files, "export": {**said.files["export"], "sha256": digest}}
    again = replace(said, files=files, probes={**said.probes, **changes})
    (folder / "m.cert.json").write_text(again.to_json())


@pytest.mark.parametrize("left_out", ["m.grid.rw", "m.probes.tsv", None])
def test_scores_count_where_all_hashes_are_right(
    left_out: str | None, files: Path, run: Cli
) -> None:
    """Whoever writes another export, and a certificate to it, has the probes against him."""
    text, leaf = (files / "m.json").read_text(), 0.09343564510345459
    assert repr(leaf) in text
    step = Certificate.load(files / "m.cert.json").g
    assert step is not None
    assert step < 1e-7
    (files / "m.json").write_text(text.replace(repr(leaf), repr(leaf + step)))
    forged(files)
    if left_out is not None:
        (files / left_out).unlink()
    code, out, err = run("verify", "m.cert.json")
    assert (code, err) == (1, "")
    assert "m.cert.json: as it was written\nm.json: as certified\n" in out
    assert "scores differ; the first: probe " in out
    said = json.loads(run("verify", "m.cert.json", "--json")[1])
    assert not said["passed"]
    assert f"the first: {said['difference']}\n" in out


def test_probes_that_were_not_certified_are_told(files: Path, run: Cli) -> None:
    forged(files, sha256="0" * 64)
    code, out, _ = run("verify", "m.cert.json")
    assert code == 1
    assert out.splitlines()[-1] == "these probes and their scores are not those certified"


def test_an_edited_certificate_is_named(files: Path, run: Cli) -> None:
    path = files / "m.cert.json"
    text = path.read_text()
    for changed in (
        text.replace('"moved": ', '"moved": 1'),
        text + " ",
        text.replace(": ", ":", 1),
    ):
        path.write_text(changed)
        code, out, _ = run("verify", "m.cert.json")
        assert code == 1
        assert "m.cert.json: was changed after it was written: its seal is broken\n" in out
        assert "no score differs" in out
        with pytest.raises(rw.DataError, match="its seal is broken"):
            Certificate.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda said: "{", "m.cert.json: is not a certificate."),
        (lambda said: "[]", "m.cert.json: is not a certificate."),
        (lambda said: "{}", "m.cert.json: is not a certificate."),
        (lambda said: "\x00\xff", "m.cert.json: is not a certificate."),
        (
            lambda said: json.dumps({**said, "format": 2}),
            "m.cert.json: has format 2, but must have",
        ),
        (lambda said: json.dumps({**said, "names": 3}), "m.cert.json: is not a certificate."),
        (lambda said: json.dumps({**said, "files": {}}), "m.cert.json: is not a certificate."),
        (
            lambda said: json.dumps({**said, "files": {"a": 1}}),
            "m.cert.json: is not a certificate.",
        ),
        (lambda said: json.dumps({**said, "options": {}}), "m.cert.json: is not a certificate."),
        (lambda said: json.dumps({**said, "more": 1}), "m.cert.json: is not a certificate."),
        (lambda said: json.dumps({**said, "target": "x"}), "m.cert.json: is for 'x', an unknown"),
    ],
)
def test_what_is_no_certificate(
    change: Callable[[dict[str, Any]], str], message: str, files: Path, run: Cli
) -> None:
    path = files / "m.cert.json"
    path.write_text(change(json.loads(path.read_text())))
    code, out, err = run("verify", "m.cert.json")
    assert (code, out) == (2, "")
    assert err.startswith(f"rankwright: {message}")
    assert err.count("\n") == 1


def test_files_of_a_certificate_lie_beside_it(files: Path, run: Cli) -> None:
    path = files / "m.cert.json"
    said = json.loads(path.read_text())
    said["files"]["grid"]["name"] = "../m.grid.rw"
    path.write_text(json.dumps(said))
    assert run("verify", "m.cert.json")[2] == "rankwright: m.cert.json: is not a certificate.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gone.json",), "gone.json: cannot be read: No such file or directory."),
        (("m.grid.rw",), "m.grid.rw is a model: compare it with a log (--log FILE)."),
        (("m.cert.json", "--names", "n"), "--names is for --log: a certificate knows the names."),
        (("m.cert.json", "m.json", "--log", "l.tsv"), "a log is compared with a model alone"),
        (("m.grid.rw", "--log", "gone.tsv"), "gone.tsv: there is no such file."),
        (
            ("m.grid.rw", "--log", "l.tsv"),
            "l.tsv: a log must have the columns query, doc and score",
        ),
        (("m.grid.rw", "--log", "none.tsv"), "none.tsv: has no feature of the model: neither "),
        (("m.grid.rw", "--log", "text.tsv"), "text.tsv"),
    ],
)
def test_one_line_for_what_is_wrong(
    words: tuple[str, ...], message: str, files: Path, run: Cli
) -> None:
    (files / "l.tsv").write_text("query\tdoc\tbm25\nq\td\t1\n")
    (files / "none.tsv").write_text("query\tdoc\tscore\tf\nq\td\t1\t2\n")
    (files / "text.tsv").write_text("query\tdoc\tscore\tbm25\nq\td\tone\t2\n")
    code, out, err = run("verify", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"rankwright: {message}")
    assert err.count("\n") == 1


# ---- logs ----


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".tsv.gz"])
def test_a_log_of_the_engine(ending: str, files: Path, run: Cli) -> None:
    """Scores and features are texts of float32, in any order of queries; a column is no feature."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    X[::4, 2] = np.nan
    data = rw.Dataset(
        X,
        np.isnan(X[:, 2]) * 2 + (X[:, 0] > 0),
        np.arange(300) // 10,
        feature_names=["bm25", "price", "age"],
        allow_nan=True,
    )
    model = rw.BoostedRanker("xendcg", n_estimators=5, num_leaves=5, n_jobs=1).fit_dataset(data)
    rw.export(model, "elasticsearch", files / "m.json", overwrite=True)
    grid = rw.load(files / "m.grid.rw")
    mark = "," if "csv" in ending else "\t"

    def write(scores: Any) -> Path:
        lines = [mark.join(["query", "doc", "score", "age", "bm25", "price", "clicks"])]
        for i, (bm25, price, age) in enumerate(X):
            cells = [f"q{i % 7}", f"d{i}", np.float32(scores[i]), age, bm25, price, i]
            lines.append(mark.join("" if str(cell) == "nan" else str(cell) for cell in cells))
        text, path = "\n".join(lines) + "\n", files / f"log{ending}"
        path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
        return path

    path = write(grid.predict(X))
    for what in ("m.grid.rw", "m.cert.json"):
        code, out, err = run("verify", what, "--log", path.name)
        assert (code, err) == (0, "")
        assert out.splitlines() == [
            f"{path.name}: 300 rows, compared bit for bit as float32 (the model's leaves are on a "
            "grid)",
            "no features of the model: 'clicks'",
            "all scores agree",
        ]
    path = write(grid.predict(np.nan_to_num(X)))
    code, out, _ = run("verify", "m.cert.json", "--log", path.name)
    differ = np.flatnonzero(grid.predict(X) != grid.predict(np.nan_to_num(X)))
    assert code == 1
    assert f"\n{len(differ)} scores differ, by at most " in out
    assert f"\n  line {differ[0] + 2}, query q{differ[0] % 7}, doc d{differ[0]}: the engine" in out
    assert "\nwhy: age: a missing value was taken for 0\n" in out
    assert out.endswith(f"that gives {len(differ)} of the {len(differ)} scores\n")
    code, out, _ = run("verify", "m.cert.json", "--log", path.name, "--json")
    said = json.loads(out)
    assert (code, said["rows"], said["differ"], said["explained"]) == (1, 300, *2 * [len(differ)])
    assert [row["line"] for row in said["differing"]] == (differ + 2).tolist()
    assert said["causes"][0]["kind"] == "missing as 0"
    assert said["causes"][0]["features"] == ["age"]


def test_a_log_with_the_engines_names_and_without_a_column(files: Path, run: Cli) -> None:
    grid = rw.load(files / "m.grid.rw")
    X = np.array([[0.5, 2.0, np.nan], [-0.25, 1.0, np.nan]], dtype=np.float32)
    first, second = grid.predict(X)
    (files / "names.txt").write_text("1\ttitle\n")
    (files / "log.tsv").write_text(
        f"query\tdoc\tscore\ttitle\tprice\nq\ta\t{first}\t0.5\t2\nq\tb\t{second}\t-0.25\t1\n"
    )
    code, out, _ = run("verify", "m.grid.rw", "--log", "log.tsv", "--names", "names.txt")
    assert code == 1  # an engine without a feature is not as it should be
    assert out.splitlines()[1:] == ["not in the log, taken as missing: 'age'", "all scores agree"]
