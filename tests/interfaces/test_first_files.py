"""Files of the first version, 0.1.0: later versions read them."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.models import MODELS as NAMES
from rankwright.models import model_class
from tests.interfaces.conftest import Cli

FIRST = Path(__file__).parent.parent / "golden" / "first"
MODELS = sorted(path.stem for path in FIRST.glob("*.rw"))
# Several labels a document, or an order of them, are not in data.txt.
ONLINE = [
    name
    for name in MODELS
    if hasattr(model_class(name.rpartition("-")[0]), "partial_fit")
    and not name.startswith(("predtron-multilabel", "predtron-label-ranker"))
]
PREDICTIONS = json.loads((FIRST / "predictions.json").read_text(encoding="utf-8"))


def test_there_is_a_file_of_each_model() -> None:
    assert sorted(PREDICTIONS) == MODELS
    assert {name.rpartition("-")[0] for name in MODELS} == set(NAMES)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_what_it_did(name: str) -> None:
    ds = rw.read(FIRST / "data.txt")
    model = rw.load(FIRST / f"{name}.rw")
    # Bits may differ between processors: exponentials of a kernel, LightGBM's vector code.
    np.testing.assert_allclose(model.predict(ds.X), PREDICTIONS[name], rtol=1e-12)


@pytest.mark.parametrize("name", ONLINE)
def test_an_online_learner_goes_on_learning(name: str) -> None:
    ds = rw.read(FIRST / "data.txt")
    model = rw.load(FIRST / f"{name}.rw")
    rounds = model.n_rounds_
    model.partial_fit(ds.X, ds.y, ds.qid)
    assert model.n_rounds_ > rounds


def test_a_comparison_is_done_again_in_its_folder(run: Cli, tmp_path: Path) -> None:
    shutil.copytree(FIRST, tmp_path, dirs_exist_ok=True)
    before = json.loads((tmp_path / "comparison/comparison.json").read_text(encoding="utf-8"))
    code, _, err = run(
        "compare", "data.txt", "--models", "xendcg-linear,xendcg-trees,random", "--trials", "2",
        "-j", "1", "-o", "comparison", "--json",
    )  # fmt: skip
    assert code == 0, err
    after = json.loads((tmp_path / "comparison/comparison.json").read_text(encoding="utf-8"))
    first, now = _ndcg(before), _ndcg(after)
    assert first.keys() == now.keys()
    for other in ("xendcg-linear", "random"):  # trees of that name were not regularised then
        assert now[other] == pytest.approx(first[other])
    names = "xendcg-linear split, xendcg-trees split, random split"
    note = f"comparison: results that are of an earlier version are done again: {names}."
    assert f"rankwright: warning: {note}" in err.splitlines()


def test_a_study_is_put_aside_and_done_again(run: Cli, tmp_path: Path) -> None:
    shutil.copytree(FIRST, tmp_path, dirs_exist_ok=True)
    code, out, err = run(
        "tune", "data.txt", "--model", "xendcg-linear", "--trials", "3", "-j", "1",
        # Queries without a relevant document were not skipped then.
        "--param", "skip_empty=false", "--study", "study.jsonl", "--json",
    )  # fmt: skip
    assert code == 0, err
    note = "study.jsonl: is of an earlier version: it is now study.jsonl.old, and all is done again"
    assert err.splitlines()[0] == f"rankwright: warning: {note}."
    old = (tmp_path / "study.jsonl.old").read_text(encoding="utf-8").splitlines()[1:]
    values = [trial["value"] for trial in json.loads(out)["trials"]]
    assert values == pytest.approx([json.loads(line)["value"] for line in old])


def test_a_noise_study_is_put_aside_and_done_again(run: Cli, tmp_path: Path) -> None:
    shutil.copytree(FIRST, tmp_path, dirs_exist_ok=True)
    model = 'xendcg-linear = { model = "xendcg-linear", params = { skip_empty = false } }'
    (tmp_path / "then.toml").write_text(f"[models]\n{model}\nrandom = {{}}\n", encoding="utf-8")
    code, _, err = run(
        "noise-study", "data.txt", "--models", "then.toml", "--trials", "2", "-j", "1",
        "-o", "noise", "--json",
    )  # fmt: skip
    assert code == 0, err
    note = "noise/fits.csv: is of an earlier version: it is now fits.csv.old, and all is done again"
    assert err.splitlines()[0] == f"rankwright: warning: {note}."
    tables = []
    for name in ("fits.csv", "fits.csv.old"):
        rows = csv.DictReader((tmp_path / "noise" / name).read_text(encoding="utf-8").splitlines())
        tables.append({(r["model"], r["level"], r["trial"]): float(r["value"]) for r in rows})
    assert tables[0] == pytest.approx(tables[1])


def _ndcg(comparison: Any) -> dict[str, float]:
    return {m["model"]: m["metrics"]["ndcg@10"]["mean"] for m in comparison["models"]}
