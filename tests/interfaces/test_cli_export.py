"""``rankwright export``: the file, what proves it, and one line for what is wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.exports import TARGETS, Certificate
from tests.contracts.exported_sums import partly_linear
from tests.interfaces.conftest import Cli
from tests.interfaces.test_cli_output import LIMITED

GOLDEN = Path(__file__).parents[1] / "golden" / "exports"
FILES = {"out.json", "out.cert.json", "out.grid.rw", "out.probes.tsv"}
WORDS = ("export", "model.rw", "--to", "elasticsearch", "-o", "out.json")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Give a folder with a model of bm25, price and age."""
    shutil.copy(GOLDEN / "tiny-trees.rw", tmp_path / "model.rw")
    lines = ["query,item,age,price,bm25"]
    rng = np.random.default_rng(0)
    for i in range(60):
        age = "" if i % 3 == 0 else repr(float(np.float32(rng.normal())))
        lines.append(f"q{i % 6},d{i},{age},{i % 7},{float(np.float32(rng.normal()))!r}")
    (tmp_path / "sample.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_a_user_sees(model: Path, run: Cli) -> None:
    columns = ("--data", "sample.csv", "--qid", "query", "--ignore", "item")
    code, out, err = run(*WORDS, *columns)
    assert (code, err) == (0, "")
    first, second, *rest = out.splitlines()
    certificate = Certificate.load(model / "out.cert.json")
    assert first == f"elasticsearch ({certificate.engine}): 2 trees, 6 splits"
    n = certificate.judgements[0].n_rows
    assert second.startswith(
        f"exact: {n:,} probe rows give the same bits, by our interpreter of the plugin's rule (no "
        f"engine was run); leaves moved by at most {certificate.moved:.2g}, scores by at most "
        f"{certificate.bound:.2g}"
    )
    assert second.endswith("; no ranking of sample.csv changes")
    assert rest[-1] == "certificate: out.cert.json"
    assert certificate.data["rows"] == 60
    assert certificate.data["queries"] == 6
    assert names(model) == FILES | {"model.rw", "sample.csv"}
    # The grid model is the engine's: offline figures are online figures.
    grid, plain = rw.load(model / "out.grid.rw"), rw.load(model / "model.rw")
    X = np.array([[0.5, 3.0, np.nan], [-1.0, 0.0, 2.0]])
    moved = np.abs(grid.predict(X) - certificate.shift - plain.predict(X))
    assert moved.max() <= certificate.bound


def test_json_is_the_certificate(model: Path, run: Cli) -> None:
    code, out, _ = run(*WORDS, "--json", "--probes", 20)
    assert code == 0
    assert out == (model / "out.cert.json").read_text()
    assert json.loads(out)["probes"]["rows"] <= 20


def test_probes_are_at_most_so_many_with_data(model: Path, run: Cli) -> None:
    code, out, _ = run(
        *WORDS,
        "--json",
        "--probes",
        30,
        "--data",
        "sample.csv",
        "--qid",
        "query",
        "--ignore",
        "item",
    )
    assert code == 0
    assert 15 < json.loads(out)["probes"]["rows"] <= 30


def test_the_list_names_every_target(run: Cli) -> None:
    code, out, _ = run("export", "--list")
    assert code == 0
    head, *lines = out.splitlines()
    assert head.split() == ["target", "engine", "holds", "features", "as"]
    assert [line.split()[0] for line in lines] == list(TARGETS)
    code, out, _ = run("export", "--list", "--json")
    assert [one["target"] for one in json.loads(out)] == list(TARGETS)


@pytest.mark.parametrize(
    "text", ["title_bm25\nprice\nage\n", "1\ttitle_bm25\n", "bm25\ttitle_bm25\r\n\n2\tprice\n"]
)
def test_names_of_the_engine(text: str, model: Path, run: Cli) -> None:
    (model / "names.txt").write_text(text)
    code, _, err = run(*WORDS, "--names", "names.txt", "--name", "m7")
    assert (code, err) == (0, "")
    assert Certificate.load(model / "out.cert.json").names == ("title_bm25", "price", "age")
    exported = (model / "out.json").read_text()
    assert "title_bm25" in exported
    assert json.loads(exported)["model"]["name"] == "m7"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb\n", "names must be 3, one for each feature of the model, but are 2."),
        ("a\nb\na\n", "names must differ, but 'a' came more than once."),
        ("1\tprice\n", "names must differ, but 'price' came more than once."),
        ("prise\tb\n", "names must be of the model's features, not 'prise'. Did you mean 'price'?"),
        ("4\tb\n", "names must be of the model's features, not '4'."),
        ("", "names.txt: must have a name in each line, but is empty."),
        ("a\nb\tc\n", "names.txt, line 2: every line must be a name, or every line a feature and"),
        ("1\ta\n1\tb\n", "names.txt, line 2: '1' has a name already."),
        ("a\nb\n\x01\n", "a name must be a printable text, but one is '\\x01'."),
    ],
)
def test_bad_names(text: str, message: str, model: Path, run: Cli) -> None:
    (model / "names.txt").write_text(text)
    refused(run(*WORDS, "--names", "names.txt"), message, model)


def refused(result: tuple[int, str, str], message: str, folder: Path) -> None:
    """Assert that a command ended in one line, and wrote nothing."""
    code, out, err = result
    assert (code, out) == (2, "")
    assert err.startswith(f"rankwright: {message}")
    assert err.count("\n") == 1
    assert not FILES & names(folder)
    assert not [name for name in names(folder) if name.endswith(".part")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "MODEL must be given: a model file (*.rw). --list tells the targets."),
        (("model.rw",), "--to TARGET must be given"),
        (("model.rw", "--to", "solr"), "--out FILE must be given"),
        (
            ("model.rw", "--to", "elasticsaerch", "-o", "out.json"),
            f"target must be one of {', '.join(TARGETS)}, but is 'elasticsaerch'. Did you mean "
            "'elasticsearch'?",
        ),
        (("nothing.rw", *WORDS[2:]), "nothing.rw: cannot be read: No such file or directory."),
        (("sample.csv", *WORDS[2:]), "sample.csv: is not a rankwright model."),
        ((*WORDS[1:], "--leaves", "own"), "leaves must be 'grid' or 'nearest' for elasticsearch:"),
        ((*WORDS[1:], "--leaves", "x"), "leaves must be one of own, grid, nearest, not 'x'."),
        ((*WORDS[1:-1], "-"), "-: an export must be a file that is not compressed"),
        ((*WORDS[1:-1], "out.json.gz"), "out.json.gz: an export must be a file that is not"),
        (
            (*WORDS[1:], "--data", "other.csv"),
            "other.csv: there must be all 3 features of model.rw",
        ),
        ((*WORDS[1:], "--data", "gone.csv"), "gone.csv: there is no such file."),
    ],
)
def test_one_line_for_what_is_wrong(
    words: tuple[str, ...], message: str, model: Path, run: Cli
) -> None:
    (model / "other.csv").write_text("qid,bm25,cost\n1,2,3\n1,3,4\n")
    refused(run("export", *words), message, model)


def test_a_model_that_is_not_fitted(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^BoostedRanker must be fitted before it is exported\.$"):
        rw.export(rw.BoostedRanker(), "elasticsearch", tmp_path / "out.json")
    with pytest.raises(TypeError, match=r"^there is no option 'stor'\. Did you mean 'store'\?$"):
        rw.export(rw.load(GOLDEN / "tiny-trees.rw"), "elasticsearch", tmp_path / "out", stor="x")
    with pytest.raises(ValueError, match="probes must be a positive integer, but is 0"):
        rw.export(rw.load(GOLDEN / "tiny-trees.rw"), "elasticsearch", tmp_path / "out", probes=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(FILES))
def test_what_exists_is_replaced_only_if_that_is_said(name: str, model: Path, run: Cli) -> None:
    (model / name).write_text("old")
    code, out, err = run(*WORDS)
    message = f"{name}: exists: choose another name, or replace it (overwrite=True; --force)."
    assert (code, out, err) == (2, "", f"rankwright: {message}\n")
    assert {path: (model / path).read_text() for path in FILES & names(model)} == {name: "old"}
    assert run(*WORDS, "--force")[0] == 0
    assert names(model) >= FILES
    assert rw.verify(model / "out.cert.json").passed


def test_the_model_is_not_overwritten(model: Path, run: Cli) -> None:
    before = (model / "model.rw").read_bytes()
    code, _, err = run("export", "model.rw", "--to", "elasticsearch", "-o", "model.rw", "--force")
    assert (code, err) == (2, "rankwright: model.rw: is what is read: write to another place.\n")
    assert (model / "model.rw").read_bytes() == before
    assert names(model) == {"model.rw", "sample.csv"}


def test_a_full_disk_leaves_what_was_there(model: Path) -> None:
    """The limit on the size of files stands for a full disk."""
    for name in FILES:
        (model / name).write_bytes(b"old")
    call = [sys.executable, "-c", LIMITED, json.dumps([[*WORDS, "--force"]])]
    done = subprocess.run(call, cwd=model, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "rankwright: out.cert.json: cannot be written: File too large.\n"
    assert {name: (model / name).read_bytes() for name in names(model) & FILES} == dict.fromkeys(
        FILES, b"old"
    )
    assert names(model) == FILES | {"model.rw", "sample.csv"}


def test_a_disk_that_gets_full_leaves_no_half(
    model: Path, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the files it is."""
    from rankwright.data import disk

    write, room = disk.File.write, 0

    def failing(self: disk.File, data: bytes) -> int:
        nonlocal room
        room -= 1
        if room < 0:
            raise OSError(28, "No space left on device")
        return write(self, data)

    monkeypatch.setattr(disk.File, "write", failing)
    for n_files in range(len(FILES)):
        room = n_files
        code, _, err = run(*WORDS)
        assert code == 2
        assert err.endswith(": cannot be written: No space left on device.\n")
        assert names(model) == {"model.rw", "sample.csv"}
    room = len(FILES)
    assert run(*WORDS)[0] == 0


def test_a_comparison_exports_its_winner(run: Cli, tmp_path: Path) -> None:
    data = rw.data.make_mslr_like(n_queries=30, n_features=10, mean_docs=10)
    rw.write_letor(data, tmp_path / "train.txt")
    words = ["compare", "train.txt", "--trials", 1, "-j", 1, "-o", "run"]
    code, _, err = run(*words, "--models", "xendcg-trees", "--export", "elasticsearch")
    assert code == 0
    assert "run/winner.json: elasticsearch (" in err
    assert rw.verify(tmp_path / "run" / "winner.cert.json").passed
    page = (tmp_path / "run" / "report.html").read_text()
    assert '<a href="winner.cert.json">the certificate</a>' in page
    card = json.loads((tmp_path / "run" / "comparison.json").read_text())["card"]
    assert card["export"]["certificate"] == "winner.cert.json"
    # What cannot be exported is said, and costs nothing else.
    words[-1] = "other"
    code, out, err = run(*words, "--models", "random", "--export", "elasticsearch")
    assert code == 1
    assert "rankwright: random was not exported: " in err
    assert out.startswith("model ")
    assert "Not exported to elasticsearch" in (tmp_path / "other" / "report.html").read_text()
    code, _, err = run(*words, "--export", "elastic-search", "--overwrite")
    assert (code, "Did you mean 'elasticsearch'?" in err) == (2, True)


def test_a_comparison_exports_the_best_model_that_a_target_can_hold(
    run: Cli, tmp_path: Path
) -> None:
    rw.write_letor(partly_linear(), tmp_path / "train.txt")
    (tmp_path / "mine.toml").write_text(
        """[models.sum]
model = "boosted"
params = { base = "linear", n_estimators = 10, num_leaves = 4 }

[models.few-trees]
model = "boosted"
params = { n_estimators = 1, num_leaves = 3 }
"""
    )
    words = ["compare", "train.txt", "--trials", 1, "-j", 1, "--models", "mine.toml"]
    code, _, err = run(*words, "-o", "run", "--export", "elasticsearch")
    assert code == 0, err
    card = json.loads((tmp_path / "run" / "comparison.json").read_text())["card"]["export"]
    assert card["model"] == "few-trees"
    assert list(card["passed_over"]) == ["sum"]
    assert "which elasticsearch cannot hold" in card["passed_over"]["sum"]
    assert "rankwright: sum (ndcg@10 0." in err
    assert ") was passed over: the model is a sum of a linear part and trees, which elastic" in err
    assert "run/exported.rw: few-trees (ndcg@10 0." in err
    assert ", the best model that elasticsearch can hold, fitted to all queries" in err
    # The best model is the refitted one all the same; what was exported lies beside it.
    assert "linear_coef_" in vars(rw.load(tmp_path / "run" / "model.rw"))
    exported = rw.load(tmp_path / "run" / "exported.rw")
    assert exported.n_iter_ == 1
    assert rw.load(tmp_path / "run" / "winner.grid.rw").n_iter_ == 2  # and the shift
    assert rw.verify(tmp_path / "run" / "winner.cert.json").passed
    page = (tmp_path / "run" / "report.html").read_text()
    assert "sum was not exported: the model is a sum of a linear part and trees" in page
    assert "Exported to elasticsearch, few-trees: <a" in page
    # A target that can hold the best one gets it.
    code, _, err = run(*words, "-o", "run", "--export", "c")
    assert code == 0
    card = json.loads((tmp_path / "run" / "comparison.json").read_text())["card"]["export"]
    assert (card["model"], card["passed_over"]) == ("sum", {})
    assert not (tmp_path / "run" / "exported.rw").exists()
    assert "passed over" not in err
    assert "Exported to c: <a" in (tmp_path / "run" / "report.html").read_text()
