"""Bad inputs of every command: exit code 2, one line that names what is wrong, nothing written."""

from __future__ import annotations

import gzip
import os
import shlex
from pathlib import Path

import pytest

import rankwright as rw
from tests.interfaces.conftest import Cli

ROWS = [
    f"shop {q},{(3 * q + d) % 3},d{q}-{d},{q + d}.5,{d * d},{d - q}"
    for q in range(8)
    for d in range(5)
]
HEAD = "qid,label,doc_id,price,age,clicks"


def table(head: str = HEAD, rows: list[str] | None = None) -> str:
    return "\n".join([head, *(ROWS if rows is None else rows)]) + "\n"


def with_row(number: int, row: str) -> str:
    return table(rows=[*ROWS[:number], row, *ROWS[number + 1 :]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyarrow")
    place = tmp_path_factory.mktemp("bad")
    data = rw.data.make_mslr_like(n_queries=12, n_features=5, mean_docs=6)
    rw.write_letor(data, place / "good.txt")
    rw.save(rw.LinearRanker("listnet").fit(data.X, data.y, data.qid), place / "model.rw")
    trees = rw.BoostedRanker(n_estimators=2, min_child_samples=1)
    rw.save(trees.fit(data.X, data.y, data.qid), place / "trees.rw")
    (place / "scores.txt").write_text("1\n" * data.n_docs)
    texts = {
        "good.csv": table(),
        "empty.txt": "",
        "empty.csv": "",
        "head.csv": HEAD + "\n",
        "text-label.csv": with_row(7, "shop 1,high,d,1,2,3"),
        "nan-label.csv": with_row(7, "shop 1,,d,1,2,3"),
        "inf.csv": with_row(7, "shop 1,1,d,1,inf,3"),
        "no-qid.csv": table(HEAD.replace("qid", "query")),
        "no-label.csv": table(HEAD.replace("label", "grade")),
        "twice.csv": table(HEAD.replace("age", "price")),
        "ragged.csv": with_row(7, "shop 1,1"),
        "words.csv": table("qid,label,shop", [f"{i % 4},{i % 2},x" for i in range(20)]),
        "other.csv": table("qid,label,a,b", [f"{i % 4},{i % 2},1,2" for i in range(20)]),
        "text-label.txt": "1 qid:1 1:1\nhigh qid:1 1:2\n",
        "nan-label.txt": "1 qid:1 1:1\nnan qid:1 1:2\n",
        "negative.txt": "".join(f"{d - 1} qid:{q} 1:{d}\n" for q in range(9) for d in range(3)),
        "inf.txt": "1 qid:1 1:1\n0 qid:1 1:inf\n",
        "repeated.txt": "1 qid:1 1:1 1:2\n",
        "colon.txt": "1 qid:1 1;5\n",
        "one-query.txt": "1 qid:1 1:1\n0 qid:1 1:2\n",
        "equal.txt": "".join(f"1 qid:{q} 1:{d}\n" for q in range(9) for d in range(3)),
        "few-scores.txt": "1\n2\n",
        "word-scores.txt": "1\n" * 3 + "high\n",
        "text.rw": "no model\n",
        "bad.parquet": "no parquet",
        "bad.toml": "[models",
        "wrong.toml": "[models.a]\nmodel = 'linearr'\n",
        "params.toml": "[models.a]\nmodel = 'linear'\nparams = { alfa = 1 }\n",
    }
    for name, text in texts.items():
        (place / name).write_text(text)
    (place / "cut.txt.gz").write_bytes(gzip.compress((place / "good.txt").read_bytes())[:-9])
    (place / "cut.rw").write_bytes((place / "model.rw").read_bytes()[:-50])
    (place / "binary.csv").write_bytes(bytes(range(256)))
    (place / "full").mkdir()
    (place / "full" / "mine.txt").write_text("mine")
    return place


DATA = """
info nope.txt | nope.txt: there is no such file
info nope.csv | nope.csv: there is no such file
info nope.parquet | nope.parquet: there is no such file
info full | full: a folder must hold the parts of one table
info empty.txt | empty.txt: there must be at least one document
info empty.csv | empty.csv
info head.csv | head.csv
info cut.txt.gz | cut.txt.gz: is damaged or cut short
info bad.parquet | bad.parquet: is not a readable parquet file
info binary.csv | binary.csv
info text-label.txt | text-label.txt, line 2, label: must be a number, but is 'high'
info nan-label.txt | nan-label.txt, line 2, label
info inf.txt | inf.txt, feature 1: must be a finite number, but is inf in row 1
info repeated.txt | repeated.txt, line 1
info colon.txt | colon.txt, line 1
info text-label.csv | text-label.csv
info nan-label.csv | nan-label.csv
info inf.csv | inf.csv, line
info no-qid.csv | no-qid.csv, qid: there must be a column 'qid'
info no-label.csv | no-label.csv, label: there must be a column 'label'
info twice.csv | twice.csv
info ragged.csv | ragged.csv
info words.csv | words.csv
info good.csv --qid qidd | there must be a column 'qidd'
info good.csv --label labl | Did you mean 'label'?
info good.csv --doc-id doc | there must be a column 'doc'
info good.csv --features pryce | 'pryce'
info good.csv --ignore pryce | 'pryce'
info good.csv --features label | label
info good.txt --features price | --features is for tables
info good.txt --ignore price | --ignore is for tables
info good.txt --doc-id d | --doc-id is for tables
info good.txt -j 0 | --jobs must be a non-zero integer
info good.txt -j two | --jobs
"""
USAGE = """
inf good.txt | Did you mean 'info'?
info | Missing argument
info a b | unexpected extra argument
info good.txt --strct | --strct
info good.txt --qid | '--qid' requires an argument
train good.txt | --out
datasets gt | Did you mean 'get'?
datasets get | Missing argument
datasets get mslr-wbe10k | Did you mean
datasets show x | there is no data set 'x'
--verbose | --verbose
"""
TRAIN = """
train nope.txt -o m.rw | nope.txt: there is no such file
train good.txt nope.txt -o m.rw | nope.txt: there is no such file
train good.txt good.txt -o m.rw | good.txt is named twice
train good.txt -o m.rw --model boostd | Did you mean 'boosted'?
train good.txt -o m.rw --model xendgc-linear | Did you mean 'xendcg-linear'?
train good.txt -o m.rw --loss lisnet | Did you mean 'listnet'?
train good.txt -o m.rw --penalty l3 | --penalty must be l1, l2, elasticnet or none
train good.txt -o m.rw --alpha -1 | alpha must be a number >= 0, but is -1.0
train good.txt -o m.rw --alpha much | --alpha must be a number or 'auto', but is 'much'
train good.txt -o m.rw --l1-ratio 7 | l1_ratio must be a number between 0 and 1
train good.txt -o m.rw --l1-ratio x | --l1-ratio
train good.txt -o m.rw -p max_iter=abc | max_iter must be a positive integer
train good.txt -o m.rw -p maxiter=3 | Did you mean 'max_iter'?
train good.txt -o m.rw -p alpha | --param must be NAME=VALUE, but is 'alpha'
train good.txt -o m.rw -p standardize=maybe | standardize must be True, False or positive scales
train good.txt -o m.rw --model boosted -p num_leaves=1 | num_leaves must be an integer of at least 2
train good.txt -o m.rw --model boosted --standardize | boosted has no parameter 'standardize'
train good.txt -o m.rw --model pamir -p C=0 | C must be a positive number
train good.txt -o m.rw --model pamir --alpha auto | --alpha auto needs a model with a path
train good.txt -o m.rw --valid good.txt | --valid is for models that grow
train good.txt -o m.rw --model boosted --valid good.txt | must be different
train good.txt -o m.rw --model boosted --valid nope.txt | nope.txt: there is no such file
train good.txt -o m.rw --resume | --resume and --checkpoint-every need --stream
train good.txt -o m.rw --stream | --stream needs a model that learns online
train good.csv -o m.rw --stream --model pamir | good.csv
train good.txt good.csv -o m.rw --stream --model pamir | --stream learns from one file
train negative.txt -o m.rw | label
train good.txt -o full | full: cannot be written: Is a directory
train good.txt -o good.txt/m.rw | good.txt/m.rw: cannot be written: Not a directory
train good.txt -o good.txt/new/m.rw | good.txt: must be a folder, but is a file
train good.txt -o /proc/new/m.rw | /proc/new: cannot be written
train good.txt -o m.rw.gz | a model file is not compressed
train good.txt other.csv -o m.rw | other.csv
"""
MODEL_FILES = """
predict nope.rw good.txt | nope.rw: cannot be read
predict text.rw good.txt | text.rw
predict cut.rw good.txt | cut.rw
predict good.txt good.txt | good.txt
predict full good.txt | full
predict model.rw nope.txt | nope.txt: there is no such file
predict model.rw other.csv | other.csv
predict model.rw good.txt -o full | full: cannot be written: Is a directory
predict model.rw good.txt -o good.txt/s.txt | good.txt/s.txt: cannot be written
bounds trees.rw good.txt | trees.rw: must be a linear model with a loss
bounds text.rw good.txt | text.rw
bounds model.rw nope.txt | nope.txt: there is no such file
formula trees.rw | a formula needs one weight for each feature
formula text.rw | text.rw
formula model.rw --digits 0 | digits
formula model.rw --digits x | --digits
"""
OTHERS = """
convert nope.txt out.csv | nope.txt: there is no such file
convert good.txt full | full: cannot be written: Is a directory
convert good.txt out.txt --spreadsheet-safe | --spreadsheet-safe is for *.csv
evaluate good.txt nope.txt | nope.txt: there is no such file
evaluate good.txt few-scores.txt | few-scores.txt: there must be one score for each
evaluate good.txt word-scores.txt | word-scores.txt, line 4, score
evaluate good.txt scores.txt -m ndgc | Did you mean 'ndcg'?
evaluate good.txt scores.txt -m ndcg@0 | k of NDCG must be a positive integer
evaluate good.txt scores.txt -m ndcg@x | ndcg@x
evaluate good.txt scores.txt -m lihgtgbm:ndcg@5 | Did you mean 'lightgbm'?
evaluate good.txt scores.txt -m 'ndcg(gian=exp2)' | gian
evaluate good.txt scores.txt --per-query full | full: cannot be written
evaluate good.txt scores.txt --seed -1 | --seed
path good.txt --model boosted | path needs a model with a path of penalties
path good.txt --penalty l3 | penalty must be
path good.txt -m x | -m
path good.txt --metric ndgc | Did you mean 'ndcg'?
path good.txt --n-alphas 0 | --n-alphas must be a positive integer
path good.txt -o chart.pdf | --out must be *.svg, *.png or *.html
path good.txt -o good.txt/chart.svg | good.txt/chart.svg: cannot be written
simulate good.txt out.txt | --noise
simulate good.txt out.txt --noise labls | 'labls' is not one of
simulate good.txt out.txt --noise labels | --noise labels needs --level
simulate good.txt out.txt --noise labels --level 2 | --level
simulate good.txt out.txt --noise labels --level x | --level
simulate good.txt out.txt --noise cascade --probabilities a,b | --probabilities must be numbers
simulate good.txt out.txt --noise cascade --impressions 0 | impressions
simulate good.txt out.txt --noise labels --level 0.1 --log log.tsv | --log needs clicks
simulate good.txt good.txt/out.txt --noise cascade | good.txt/out.txt: cannot be written
"""
STUDIES = """
compare nope.txt | nope.txt: there is no such file
compare good.txt --models linearr | Did you mean 'linear'?
compare good.txt --models random,random | two models have the name 'random'
compare good.txt --models nope.toml | nope.toml: cannot be read
compare good.txt --models bad.toml | bad.toml: is not TOML
compare good.txt --models wrong.toml | Did you mean 'linear'?
compare good.txt --models params.toml | Did you mean 'alpha'?
compare good.txt -m ndgc | Did you mean 'ndcg'?
compare good.txt --trials 0 | --trials
compare good.txt --folds 1 | --folds
compare good.txt --folds 3 --test good.txt | --folds cuts DATA into parts
compare good.txt --valid good.txt | valid needs test
compare good.txt --test good.txt | must be different
compare good.txt --json --csv | --json and --csv exclude each other
compare one-query.txt | need at least 3 queries
compare equal.txt | there is nothing to rank
compare full | full: a folder must hold the parts of one table
compare good.txt -o full | full: must be empty or hold a comparison, but holds 'mine.txt'
compare good.txt -o good.txt | good.txt: must be a folder, but is a file
compare good.txt -o good.txt/a | good.txt: must be a folder, but is a file
compare good.txt --refit full | full: cannot be written: Is a directory
compare good.txt --refit - | --refit must be a file
compare good.txt --refit m.rw.gz | a model file is not compressed
compare good.txt --noise x | 'x' is not one of
compare good.txt -j 0 | --jobs must be a non-zero integer
tune nope.txt | nope.txt: there is no such file
tune good.txt --model linearr | Did you mean 'linear'?
tune good.txt --model random | random needs --search
tune good.txt -s alpha | what to search must be NAME=LOW..HIGH
tune good.txt -s alpha=2..1 | alpha
tune good.txt -s alfa=1,2 | xendcg-linear has no parameter 'alfa' to search
tune good.txt -p alfa=1 | Did you mean 'alpha'?
tune good.txt -p alpha=-1 | alpha must be a number >= 0
tune good.txt -m ndgc | Did you mean 'ndcg'?
tune good.txt --sampler grid | --sampler must be random or optuna
tune good.txt --parallel 2 | --parallel is for --sampler optuna
tune good.txt --trials 0 | --trials
tune good.txt --folds 1 | --folds
tune good.txt --study scores.txt | scores.txt: is not a study
tune good.txt --study good.txt/s.jsonl | good.txt/s.jsonl: cannot be written
tune good.txt -o full | full: cannot be written: Is a directory
noise-study good.txt --models linearr | Did you mean 'linear'?
noise-study good.txt --levels a | --levels must be numbers
noise-study good.txt --levels 2 | --levels must be numbers from 0 to 1
noise-study good.txt --trials 1 | --trials
noise-study good.txt --noise x | 'x' is not one of
noise-study good.txt -m ndgc | Did you mean 'ndcg'?
noise-study good.txt -o good.txt | good.txt: must be a folder, but is a file
reproduce slma | slma
reproduce slam --figure 99 | slam has no Figure 99
reproduce slam --figure 1 --table 1 | --figure and --table exclude each other
reproduce slam --data nope | --data must be a folder
reproduce slam --scale huge | 'huge' is not one of
reproduce slam --out good.txt | good.txt: must be a folder, but is a file
"""
CASES = [
    tuple(part.strip() for part in line.split(" | "))
    for block in (DATA, USAGE, TRAIN, MODEL_FILES, OTHERS, STUDIES)
    for line in block.strip().splitlines()
]


def test_there_are_enough() -> None:
    assert len(CASES) == len(set(CASES)) >= 150


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what is in a folder, and when it was written."""
    found = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


@pytest.mark.parametrize(("words", "message"), CASES, ids=[words for words, _ in CASES])
def test_bad_input_is_one_line(
    words: str, message: str, folder: Path, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = state(folder), sorted(os.listdir(folder))
    code, out, err = run(*shlex.split(words))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("rankwright: ")
    assert message in err
    assert (state(folder), sorted(os.listdir(folder))) == before
